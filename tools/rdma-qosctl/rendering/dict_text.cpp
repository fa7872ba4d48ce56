#include "tools/rdma-qosctl/rendering/dict_text.h"

#include <fmt/format.h>

#include "lib/base/units.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {

std::string rate_text(const bus::Dict& dict, std::string_view key)
{
    const auto rate = rate_of(dict, key);
    return rate ? to_string(*rate) : "";
}

std::string limit_text(const bus::Dict& dict, const std::string& prefix, std::string_view rate_key)
{
    const std::string rate = rate_text(dict, prefix + std::string(rate_key));
    return rate.empty()
               ? rate
               : fmt::format("{}; {}", rate, pacing_text(dict, prefix + "max-burst", prefix + "typical-packet"));
}

std::string number_text(const bus::Dict& dict, std::string_view key)
{
    const auto number = find_number(dict, key);
    return number ? std::to_string(*number) : "";
}

std::string hex_text(const bus::Dict& dict, std::string_view key)
{
    const auto number = find_number(dict, key);
    return number ? fmt::format("{:#06x}", *number) : "";
}

}    // namespace rdmaqos::ctl
