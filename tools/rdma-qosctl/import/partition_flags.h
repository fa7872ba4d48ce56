// The flags of a definition in partitions.conf: `ipoib, rate=3, mtu=4, sl=1, scope=2, defmember=full`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"
#include "tools/rdma-qosctl/import/partition_buffer.h"
#include "tools/rdma-qosctl/import/partitions.h"

namespace rdmaqos {

// As strtoull(3) with base 0 reads it: blanks and a sign may stand in front, and `length` counts them. 0: no number.
struct ScannedNumber {
    std::uint64_t value = 0;
    std::size_t length = 0;
};
[[nodiscard]] ScannedNumber scan_number(std::string_view text);
// Only if the number is the whole text.
[[nodiscard]] std::optional<std::uint64_t> whole_number(std::string_view text);

// Whether OpenSM takes this word for that one: it is that, or its beginning.
[[nodiscard]] constexpr bool abbreviates(std::string_view word, std::string_view full)
{
    return full.starts_with(word);
}

[[nodiscard]] std::optional<PartitionMembership> parse_membership(std::string_view word);

struct PartitionFlags {
    IpoibParameters parameters{0, IbMtu::Mtu2048, IbRate{3}, std::nullopt};    // OpenSM's defaults
    std::string stated;
    bool ipoib = false;
    bool has_sl = false;
    PartitionMembership membership = PartitionMembership::Limited;
    std::uint16_t scopes = 0;    // a bit for each; 0: link local
    std::string bad_mtu;         // "mtu=4096": with this OpenSM makes no group
    std::string bad_rate;
    std::vector<std::string> remarks;
};

class PartitionFlagReader {
public:
    PartitionFlagReader(const PartitionBuffer& buffer, Diagnostics& diagnostics)
        : buffer_(buffer), diagnostics_(diagnostics)
    {
    }

    void read(const PartitionBuffer::Token& token, PartitionFlags& flags);

private:
    enum class Flag : std::uint8_t;

    static Flag flag_of(std::string_view name);
    static std::string_view word_of(Flag flag);
    static std::string expected_of(Flag flag);
    std::optional<std::uint64_t> number_of(const PartitionBuffer::Token& token, Flag flag);
    // The values of the group itself; false: no valid one.
    bool read_group_value(const PartitionBuffer::Token& token, Flag flag, PartitionFlags& flags);
    bool read_limit(const PartitionBuffer::Token& token, Flag flag, std::uint64_t number, PartitionFlags& flags);
    void read_default_membership(const PartitionBuffer::Token& token, PartitionFlags& flags);
    void note(const PartitionBuffer::Token& token, Flag flag, bool good, PartitionFlags& flags);
    void warn(std::string_view at, std::string message, std::string hint);

    const PartitionBuffer& buffer_;
    Diagnostics& diagnostics_;
};

}    // namespace rdmaqos
