// Any bytes in the queues of a program: they are a request that stays within what was read, or none.
#include <gtest/gtest.h>

#include "tests/fuzz/support/mutator.h"
#include "tools/emulator/datapath/work_request.h"

namespace rdmaqos::test {
namespace {

using namespace emulator;

std::span<const std::uint8_t> bytes_of(const std::string& text)
{
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(Fuzz, SendRequests)
{
    // Each kind with its segments: control, remote address, data.
    std::vector<std::string> seeds;
    for (const int opcode : {0x00, 0x01, 0x08, 0x09, 0x0a, 0x0b, 0x10, 0x11, 0x12, 0x25}) {
        std::string seed(128, '\0');
        seed[3] = static_cast<char>(opcode);
        seed[6] = 1;    // of queue pair 1
        seed[7] = 5;    // segments
        seed[11] = 8;
        seed[35] = 8;
        seed[51] = 8;
        seeds.push_back(seed);
    }
    fuzz("send-requests", seeds, [](const std::string& text) {
        const auto bytes = bytes_of(text);
        ASSERT_GE(block_count(bytes), 1U);
        ASSERT_LE(block_count(bytes), kMaxBlocks);
        for (const auto type : {QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud, QueuePairType::RawPacket}) {
            const auto request = parse_send(bytes, type, 1, static_cast<std::uint16_t>(be32_at(bytes, 0) >> 8));
            if (!request) {
                continue;
            }
            std::uint64_t length = request->inlined.size();
            for (const auto& piece : request->pieces) {
                length += piece.length;
            }
            ASSERT_EQ(request->length, length);
            ASSERT_LE(request->inlined.size(), text.size());
            ASSERT_LE(request->pieces.size() * 16, text.size());
        }
    });
}

TEST(Fuzz, ReceiveRequests)
{
    fuzz("receive-requests", {std::string(64, '\0'), std::string(16, '\x7f')},
         [](const std::string& text) { ASSERT_LE(parse_receive(bytes_of(text)).size() * 16, text.size()); });
}

}    // namespace
}    // namespace rdmaqos::test
