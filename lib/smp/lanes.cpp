#include "lib/smp/lanes.h"

#include <algorithm>
#include <string_view>

#include "lib/base/try.h"

namespace rdmaqos::smp {
namespace {

// Of PortInfo.
constexpr std::size_t kHighLimitAt = 38;
constexpr std::size_t kHighEntriesAt = 39;
constexpr std::size_t kLowEntriesAt = 40;
constexpr std::size_t kOperationalVlsAt = 43;    // its upper half

constexpr std::size_t kEntriesOfBlock = 32;
constexpr std::size_t kMostEntries = 2 * kEntriesOfBlock;
constexpr std::uint32_t kFirstLowBlock = 1;
constexpr std::uint32_t kFirstHighBlock = 3;

using Bytes = std::array<std::uint8_t, kDataBytes>;

// By the numbers of PortInfo; 1 for those that are reserved.
std::uint8_t vls_of(std::uint8_t code)
{
    constexpr std::array<std::uint8_t, 6> kVls{1, 1, 2, 4, 8, 15};
    return code < kVls.size() ? kVls.at(code) : std::uint8_t{1};
}

class Reader {
public:
    explicit Reader(const Exchange& exchange) : exchange_(exchange) {}

    Result<Bytes> ask(Attribute attribute, std::uint32_t modifier, std::string_view what)
    {
        const Packet question = get(attribute, modifier, ++transaction_);
        const auto answer = exchange_(question);
        if (!answer) {
            return fail(answer.error().with_context(what));
        }
        const auto data = data_of(question, *answer);
        if (!data) {
            return fail(data.error().with_context(what));
        }
        Bytes bytes{};
        std::ranges::copy(*data, bytes.begin());
        return bytes;
    }

    Result<std::vector<Turn>> table(std::uint32_t first_block, std::size_t entries, std::string_view what)
    {
        std::vector<Turn> turns;
        for (std::size_t begin = 0; begin < std::min(entries, kMostEntries); begin += kEntriesOfBlock) {
            const auto block = static_cast<std::uint32_t>(first_block + begin / kEntriesOfBlock);
            // The lower half of the modifier is the port, which is the one that is asked.
            const Bytes data = TRY(ask(Attribute::VlArbitration, block << 16U, what));
            for (std::size_t i = 0; i < std::min(entries - begin, kEntriesOfBlock); ++i) {
                const Turn turn{static_cast<std::uint8_t>(data.at(2 * i) & 0xfU), data.at(2 * i + 1)};
                if (turn.weight > 0) {
                    turns.push_back(turn);
                }
            }
        }
        return turns;
    }

private:
    const Exchange& exchange_;
    std::uint32_t transaction_ = 0;
};

}    // namespace

Result<PortLanes> read_lanes(const Exchange& exchange)
{
    Reader reader(exchange);
    PortLanes lanes;
    const Bytes info = TRY(reader.ask(Attribute::PortInfo, 0, "PortInfo"));
    lanes.data_vls = vls_of(info[kOperationalVlsAt] >> 4U);
    lanes.high_limit = info[kHighLimitAt];
    if (lanes.data_vls == 1) {
        return lanes;    // a port may not have the tables then
    }
    lanes.high = TRY(reader.table(kFirstHighBlock, info[kHighEntriesAt], "VL arbitration table of high priority"));
    lanes.low = TRY(reader.table(kFirstLowBlock, info[kLowEntriesAt], "VL arbitration table of low priority"));
    const Bytes map = TRY(reader.ask(Attribute::SlToVl, 0, "SL to VL table"));
    for (std::size_t sl = 0; sl < kServiceLevels; ++sl) {
        const std::uint8_t pair = map.at(sl / 2);
        lanes.vl_of_sl.at(sl) = sl % 2 == 0 ? static_cast<std::uint8_t>(pair >> 4U)
                                            : static_cast<std::uint8_t>(pair & 0xfU);
    }
    return lanes;
}

}    // namespace rdmaqos::smp
