#include "tools/rdma-qosctl/rendering/value_text.h"

#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {

std::string rate_text(const std::optional<Bandwidth>& rate)
{
    return rate ? to_string(*rate) : "";
}

std::string limit_text(const std::optional<RateLimit>& limit)
{
    return limit ? fmt::format("{}; {}", to_string(limit->rate), pacing_text(*limit)) : "";
}

std::string hex_text(const std::optional<std::uint16_t>& number)
{
    return number ? fmt::format("{:#06x}", *number) : "";
}

}    // namespace rdmaqos::ctl
