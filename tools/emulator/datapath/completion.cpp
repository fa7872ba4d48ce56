#include "tools/emulator/datapath/completion.h"

#include <cstring>

#include <endian.h>

namespace rdmaqos::emulator {

CompletionBytes encode(const Completion& completion, std::uint32_t round, std::uint64_t time)
{
    CompletionBytes bytes{};
    const auto put = [&bytes](std::size_t at, auto value) { std::memcpy(&bytes[at], &value, sizeof(value)); };
    constexpr std::uint32_t kRoute = 1U << 28;
    put(24, htobe32(completion.source | (completion.has_route ? kRoute : 0)));
    put(32, htobe32(completion.user_index));
    put(36, completion.immediate);
    put(44, htobe32(completion.bytes));
    if (completion.kind == MLX5_CQE_REQ_ERR || completion.kind == MLX5_CQE_RESP_ERR) {
        bytes[55] = completion.syndrome;
    } else {
        put(48, htobe64(time));
    }
    put(56, htobe32(std::uint32_t{completion.opcode} << 24 | completion.queue_pair));
    put(60, htobe16(completion.index));
    bytes[63] = static_cast<std::uint8_t>(completion.kind << 4 | (completion.is_solicited ? 2 : 0) | (round & 1U));
    return bytes;
}

}    // namespace rdmaqos::emulator
