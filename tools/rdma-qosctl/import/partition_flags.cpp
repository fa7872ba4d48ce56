#include "tools/rdma-qosctl/import/partition_flags.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/model/ib.h"
#include "tools/rdma-qosctl/import/text_lines.h"

namespace rdmaqos {

// In OpenSM's order: a word may be cut short, and the first it fits is meant.
enum class PartitionFlagReader::Flag : std::uint8_t {
    Mtu,
    Rate,
    Scope,
    QKey,
    TClass,
    Sl,
    FlowLabel,
    Ipoib,
    DefMember,
    Index0,
    None,
};

namespace {

constexpr std::uint64_t kHighestScope = 15;
constexpr std::uint64_t kHighestFlowLabel = 0xFFFFF;
constexpr std::array<std::string_view, 9> kFlagWords{"mtu", "rate",      "scope", "Q_Key",    "TClass",
                                                     "sl",  "FlowLabel", "ipoib", "defmember"};

// What OpenSM makes of an MTU or rate: it keeps 8 bits, and puts them below a selector in the two highest ones.
struct Encoded {
    std::uint8_t value = 0;
    bool is_largest = false;    // the selector became another one: the highest value that all hosts have
};

constexpr Encoded encode(std::uint64_t number)
{
    constexpr std::uint64_t kValue = 0x3F;
    constexpr std::uint64_t kSelector = 0x40;
    return {static_cast<std::uint8_t>(number & kValue), (number & kSelector) != 0};
}

// "for 4096 bytes write `mtu=5`": of who states bytes.
std::string mtu_of_bytes(const std::optional<std::uint64_t>& number)
{
    const auto mtu = number ? ib_mtu_from_bytes(*number) : std::nullopt;
    return mtu ? fmt::format("; for {} bytes write `mtu={}`", *number, static_cast<unsigned>(*mtu)) : "";
}

}    // namespace

ScannedNumber scan_number(std::string_view text)
{
    constexpr std::string_view kSpace = " \t\n\v\f\r";
    std::size_t skipped = std::min(text.find_first_not_of(kSpace), text.size());
    const bool has_sign = skipped < text.size() && (text[skipped] == '-' || text[skipped] == '+');
    const bool is_negative = has_sign && text[skipped] == '-';
    skipped += has_sign ? 1 : 0;
    const reader::CNumber number = reader::read_c_number(text.substr(skipped));
    if (number.length == 0) {
        return {};
    }
    return {is_negative ? 0 - number.value : number.value, skipped + number.length};
}

std::optional<std::uint64_t> whole_number(std::string_view text)
{
    const ScannedNumber number = scan_number(text);
    return number.length != 0 && number.length == text.size() ? std::optional(number.value) : std::nullopt;
}

std::optional<PartitionMembership> parse_membership(std::string_view word)
{
    if (abbreviates(word, "full")) {
        return PartitionMembership::Full;
    }
    if (abbreviates(word, "both")) {
        return PartitionMembership::Both;
    }
    return abbreviates(word, "limited") ? std::optional(PartitionMembership::Limited) : std::nullopt;
}

PartitionFlagReader::Flag PartitionFlagReader::flag_of(std::string_view name)
{
    const auto* const word = std::find_if(kFlagWords.begin(), kFlagWords.end(),
                                          [name](std::string_view full) { return abbreviates(name, full); });
    if (word != kFlagWords.end()) {
        return static_cast<Flag>(word - kFlagWords.begin());
    }
    return name == "indx0" ? Flag::Index0 : Flag::None;
}

std::string_view PartitionFlagReader::word_of(Flag flag)
{
    return flag < Flag::Index0 ? kFlagWords.at(static_cast<std::size_t>(flag)) : std::string_view();
}

void PartitionFlagReader::read(const PartitionBuffer::Token& token, PartitionFlags& flags)
{
    if (token.text.empty()) {
        return;
    }
    const Flag flag = flag_of(token.name);
    bool good = true;
    switch (flag) {
    case Flag::Ipoib:
        flags.ipoib = true;
        break;
    case Flag::DefMember:
        read_default_membership(token, flags);
        break;
    case Flag::Index0:
        flags.remarks.emplace_back(token.text);
        break;
    case Flag::None:
        warn(token.text, fmt::format("unknown flag `{}`", shortened(token.name)), "OpenSM ignores it");
        flags.remarks.push_back(fmt::format("{} (unknown)", token.text));
        break;
    default:
        good = read_group_value(token, flag, flags);
    }
    note(token, flag, good, flags);
}

bool PartitionFlagReader::read_group_value(const PartitionBuffer::Token& token, Flag flag, PartitionFlags& flags)
{
    const auto number = number_of(token, flag);
    switch (flag) {
    case Flag::Mtu:
    case Flag::Rate:
        return token.value && read_limit(token, flag, number.value_or(0), flags);
    case Flag::Sl: {
        const bool good = number && static_cast<std::uint32_t>(*number) <= kHighestSl;
        flags.has_sl = true;
        flags.parameters.sl = good ? static_cast<std::uint8_t>(*number) : *flags.parameters.sl;
        return good;
    }
    case Flag::Scope: {
        const bool good = number && *number != 0 && *number <= kHighestScope;
        flags.scopes = static_cast<std::uint16_t>(flags.scopes | (good ? 1U << *number : 0U));
        return good;
    }
    case Flag::FlowLabel:
        return number && *number <= kHighestFlowLabel;
    default:
        return number.has_value();
    }
}

// `mtu` and `rate`. What is no number is 0 to OpenSM.
bool PartitionFlagReader::read_limit(const PartitionBuffer::Token& token, Flag flag, std::uint64_t number,
                                     PartitionFlags& flags)
{
    const Encoded encoded = encode(number);
    bool good = encoded.is_largest;
    if (flag == Flag::Mtu) {
        const bool is_mtu = !good && encoded.value >= 1 && encoded.value <= 5;
        flags.parameters.mtu = is_mtu ? std::optional(static_cast<IbMtu>(encoded.value)) : std::nullopt;
        good = good || is_mtu;
        flags.bad_mtu = good ? "" : token.text;
    } else {
        flags.parameters.rate = good ? std::nullopt : ib_rate_from_number(encoded.value);
        good = good || flags.parameters.rate;
        flags.bad_rate = good ? "" : token.text;
    }
    if (good && encoded.value != number) {
        const auto meant = encoded.is_largest ? "the highest that all hosts have" : fmt::format("{}", encoded.value);
        warn(token.text, fmt::format("`{}` is read as {}", shortened(token.text), meant),
             fmt::format("OpenSM keeps 8 bits of it; {}", expected_of(flag)));
    }
    return good;
}

// The value of a flag. Where OpenSM takes the number at its start and passes over the rest, so does this.
std::optional<std::uint64_t> PartitionFlagReader::number_of(const PartitionBuffer::Token& token, Flag flag)
{
    const bool is_strict = flag == Flag::Sl || flag == Flag::FlowLabel;
    const ScannedNumber number = token.value ? scan_number(*token.value) : ScannedNumber{};
    if (number.length == 0 || (is_strict && number.length != token.value->size())) {
        return std::nullopt;
    }
    if (number.length != token.value->size()) {
        warn(*token.value, fmt::format("`{}` is read as {}", shortened(*token.value), number.value),
             "OpenSM ignores what follows the number");
    }
    return number.value;
}

// What was stated of the group, and what of it no fabric file says.
void PartitionFlagReader::note(const PartitionBuffer::Token& token, Flag flag, bool good, PartitionFlags& flags)
{
    const auto word = word_of(flag);
    if (!good) {
        const auto number = flag == Flag::Mtu && token.value ? whole_number(*token.value) : std::nullopt;
        warn(token.text, fmt::format("`{}` has no valid value", word), expected_of(flag) + mtu_of_bytes(number));
        flags.remarks.push_back(fmt::format("{} (no valid value)", token.text));
    } else if (flag == Flag::Mtu || flag == Flag::Rate || flag == Flag::Sl) {
        flags.stated += fmt::format("{}{}", flags.stated.empty() ? "" : ", ", word);
    } else if (flag == Flag::Scope || flag == Flag::QKey || flag == Flag::TClass || flag == Flag::FlowLabel) {
        flags.remarks.push_back(fmt::format("{}={}", word, *token.value));
    }
}

std::string PartitionFlagReader::expected_of(Flag flag)
{
    switch (flag) {
    case Flag::Mtu:
        return "it is 1 to 5: 4 is 2048 bytes, 5 is 4096";
    case Flag::Rate:
        return "it is 2 to 24: 3 is 10 Gbit/s, 16 is 100 Gbit/s";
    case Flag::Sl:
        return "it is 0 to 15; OpenSM ignores it";
    case Flag::Scope:
        return "it is 1 to 15: 2 is link local, 5 site local";
    case Flag::FlowLabel:
        return "it is 0 to 0xfffff";
    default:
        return "it is a number";
    }
}

void PartitionFlagReader::read_default_membership(const PartitionBuffer::Token& token, PartitionFlags& flags)
{
    const auto membership = token.value ? parse_membership(*token.value) : std::nullopt;
    if (membership) {
        flags.membership = *membership;
    } else {
        warn(token.text, "`defmember` is `full`, `limited` or `both`", "OpenSM ignores it");
    }
}

void PartitionFlagReader::warn(std::string_view at, std::string message, std::string hint)
{
    diagnostics_.warning(buffer_.locate(at), std::move(message)).hint = std::move(hint);
}

}    // namespace rdmaqos
