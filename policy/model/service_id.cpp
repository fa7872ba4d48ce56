#include "policy/model/service_id.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

// The kernel's enum rdma_ucm_port_space.
constexpr std::array<std::pair<std::string_view, std::uint64_t>, 4> kPortSpaces{{
    {"tcp", 0x0106},
    {"udp", 0x0111},
    {"ipoib", 0x0002},
    {"ib", 0x013F},
}};
constexpr unsigned kPortBits = 16;

}    // namespace

Result<std::uint64_t> service_id_of(std::string_view port_space, std::uint16_t port)
{
    for (const auto& [name, number] : kPortSpaces) {
        if (name == port_space) {
            return number << kPortBits | port;
        }
    }
    return fail(ErrorCode::InvalidArgument,
                fmt::format("unknown port space \"{}\"; expected one of tcp, udp, ipoib and ib", port_space));
}

}    // namespace rdmaqos
