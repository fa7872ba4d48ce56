#include "tools/rdma-qosctl/import/partitions.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/model/ib.h"
#include "policy/model/opensm_order.h"
#include "tools/rdma-qosctl/import/text_lines.h"

namespace rdmaqos {
namespace {

using namespace reader;
using namespace std::string_view_literals;

constexpr std::size_t kLongestPartitionsLine = 4094;    // what OpenSM reads at once
constexpr std::size_t kLongestName = 31;
constexpr std::uint64_t kHighestScope = 15;
constexpr std::uint64_t kHighestFlowLabel = 0xFFFFF;
constexpr std::uint32_t kFirstOrder = 2;    // 0 and 1 are what the default partition starts with

// In OpenSM's order: a word may be cut short, and the first it fits is meant.
enum class Flag : std::uint8_t { Mtu, Rate, Scope, QKey, TClass, Sl, FlowLabel, Ipoib, DefMember, Index0, None };
constexpr std::array<std::pair<std::string_view, Flag>, 9> kFlags{{{"mtu", Flag::Mtu},
                                                                   {"rate", Flag::Rate},
                                                                   {"scope", Flag::Scope},
                                                                   {"Q_Key", Flag::QKey},
                                                                   {"TClass", Flag::TClass},
                                                                   {"sl", Flag::Sl},
                                                                   {"FlowLabel", Flag::FlowLabel},
                                                                   {"ipoib", Flag::Ipoib},
                                                                   {"defmember", Flag::DefMember}}};

// `name = value` with the blanks around both gone.
struct Token {
    std::string_view text;    // as it stands
    std::string_view name;
    std::optional<std::string_view> value;
};

Token parse_token(std::string_view text)
{
    Token token{without_blanks(text), {}, std::nullopt};
    const auto equals = text.find('=');
    token.name = without_blanks(text.substr(0, equals));
    if (equals != std::string_view::npos) {
        token.value = without_blanks(text.substr(equals + 1));
    }
    return token;
}

// Splits at commas; the last part is followed by nothing.
class Tokens {
public:
    explicit Tokens(std::string_view text) : rest_(text) {}

    std::optional<Token> next()
    {
        if (!rest_) {
            return std::nullopt;
        }
        const auto comma = rest_->find(',');
        const Token token = parse_token(rest_->substr(0, comma));
        rest_ = comma == std::string_view::npos ? std::nullopt : std::optional(rest_->substr(comma + 1));
        return token;
    }
    [[nodiscard]] std::string_view rest() const { return rest_.value_or(std::string_view{}); }

private:
    std::optional<std::string_view> rest_;
};

bool abbreviates(std::string_view word, std::string_view full)
{
    return full.starts_with(word);
}

// The whole of a text as a number.
std::optional<std::uint64_t> whole_number(std::string_view text)
{
    const CNumber number = read_c_number(text);
    return number.length != 0 && number.length == text.size() ? std::optional(number.value) : std::nullopt;
}

// The header of a definition, while it is being read.
struct Definition {
    IpoibParameters parameters{0, IbMtu::Mtu2048, IbRate{3}, std::nullopt};
    std::string stated;
    bool ipoib = false;
    bool has_sl = false;
    PartitionMembership membership = PartitionMembership::Limited;
    std::vector<std::string> remarks;
};

class PartitionReader {
public:
    explicit PartitionReader(std::shared_ptr<const SourceFile> source) : lines_(std::move(source))
    {
        ConfiguredPartition standard;
        standard.name = "Default";
        standard.pkey = kPKeyMask;
        standard.by_type.fill(Assigned{PartitionMembership::Limited, 0});
        standard.subnet_manager = Assigned{PartitionMembership::Full, 1};
        standard.location = lines_.start();
        add(std::move(standard));
    }

    ReadResult<PartitionTable> read()
    {
        while (lines_.next()) {
            read_line();
        }
        if (is_open_) {
            warn(lines_.locate(), "the last definition does not end with `;`", "OpenSM takes it as it is");
        }
        if (!has_definitions_ && !diagnostics_.has_errors()) {
            warn(lines_.start(), "there is no partition in this file",
                 "OpenSM then behaves as without a file: all ports are full members of Default");
            table_ = default_partitions();
        }
        ReadResult<PartitionTable> result;
        if (!diagnostics_.has_errors()) {
            result.value = std::make_shared<const PartitionTable>(std::move(table_));
        }
        result.diagnostics = std::move(diagnostics_);
        return result;
    }

private:
    void read_line()
    {
        std::string_view line = lines_.line();
        if (line.size() > kLongestPartitionsLine) {
            warn(lines_.locate(line.substr(kLongestPartitionsLine)),
                 fmt::format("OpenSM reads a line in parts of {} bytes: what is here begins one", kLongestPartitionsLine),
                 "break the line after a comma");
        }
        if (lines_.has_carriage_return() && !warned_of_carriage_return_) {
            warn(lines_.locate(line.substr(line.size())), "lines end with a carriage return",
                 "OpenSM would drop the whole file");
            warned_of_carriage_return_ = true;
        }
        line = line.substr(0, line.find('#'));
        while (!(line = without_leading_blanks(line)).empty()) {
            const auto end = line.find(';');
            read_part(line.substr(0, end));
            if (end == std::string_view::npos) {
                return;
            }
            is_open_ = false;
            line = line.substr(end + 1);
        }
    }

    // A definition, or what follows its first line.
    void read_part(std::string_view part)
    {
        if (is_open_) {
            read_members(part);
            return;
        }
        is_open_ = true;
        current_.reset();
        const auto colon = part.find(':');
        if (colon == std::string_view::npos) {
            fail(lines_.locate(without_blanks(part)), "a definition without `:`",
                 "it takes one line, `Name=0x0010, ipoib :`; ports may follow on others");
            return;
        }
        read_header(part.substr(0, colon));
        read_members(part.substr(colon + 1));
    }

    void read_header(std::string_view text)
    {
        has_definitions_ = true;
        Tokens tokens(text);
        const Token head = *tokens.next();
        definition_ = Definition{};
        while (const auto token = tokens.next()) {
            read_flag(*token);
        }
        current_ = find_or_add(head);
        if (!current_) {
            return;
        }
        ConfiguredPartition& partition = table_.partitions[*current_];
        if (definition_.ipoib) {
            add_broadcast(head, partition);
        } else if (definition_.has_sl) {
            definition_.remarks.push_back(fmt::format(
                "sl={}: of paths in the partition where no QoS policy is in force", *definition_.parameters.sl));
        }
        std::move(definition_.remarks.begin(), definition_.remarks.end(), std::back_inserter(partition.remarks));
    }

    void add_broadcast(const Token& head, ConfiguredPartition& partition)
    {
        if (!partition.broadcast) {
            partition.broadcast = BroadcastGroup{definition_.parameters, definition_.stated};
            return;
        }
        const IpoibParameters& first = partition.broadcast->parameters;
        const IpoibParameters& second = definition_.parameters;
        if (first.sl != second.sl || first.mtu != second.mtu || first.rate != second.rate) {
            warn(lines_.locate(head.text),
                 fmt::format("partition `{}` has its broadcast group already, with other parameters",
                             shortened(partition.name)),
                 "the first definition with `ipoib` makes the group");
        }
    }

    // `Name=0x0010`, `Name` or `0x0010`
    std::optional<std::size_t> find_or_add(const Token& head)
    {
        std::string_view name = head.name;
        std::optional<std::string_view> id = head.value;
        const bool is_number = !id && !name.empty() && is_digit(name.front());
        if (is_number) {
            id = name;
            name = {};
        }
        const auto number = id ? whole_number(*id) : std::optional<std::uint64_t>(0);
        if (!number) {
            fail(lines_.locate(head.text), fmt::format("`{}` is not a P_Key", shortened(*id)),
                 "a definition is `Name=0x0010`, or only one of them");
            return std::nullopt;
        }
        const auto pkey = partition_of(static_cast<std::uint16_t>(*number));
        if (*number > 0xFFFF) {
            warn(lines_.locate(*id), fmt::format("the P_Key `{}` has more than 16 bits", shortened(*id)),
                 fmt::format("only the lower 15 count: it is read as {:#06x}", pkey));
        }
        if (pkey != 0) {
            return find_or_add(name, pkey, lines_.locate(head.text));
        }
        if (const auto same = by_name_.find(std::string(name)); same != by_name_.end()) {
            return same->second;
        }
        const auto made = generate();
        if (!made) {
            fail(lines_.locate(head.text), "no P_Key is left for a partition without one");
            return std::nullopt;
        }
        warn(lines_.locate(head.text), fmt::format("a partition without a P_Key: OpenSM makes one, {:#06x}", *made),
             "it may be another one if the file changed while OpenSM was running; state it");
        return find_or_add(name, *made, lines_.locate(head.text));
    }

    std::size_t find_or_add(std::string_view name, std::uint16_t pkey, const Location& at)
    {
        if (const auto known = by_pkey_.find(pkey); known != by_pkey_.end()) {
            const auto& first = table_.partitions[known->second].name;
            if (!name.empty() && first != beginning_of(name, kLongestName)) {
                warn(at, fmt::format("partition {:#06x} is `{}` already", pkey, shortened(first)),
                     "the first name counts, and what is said of ports is added");
            }
            return known->second;
        }
        if (name.size() > kLongestName) {
            warn(at, fmt::format("the name has more than {} bytes", kLongestName), "OpenSM keeps the first of them");
        }
        ConfiguredPartition partition;
        partition.name = name.empty() ? fmt::format("{:04x}", pkey) : std::string(beginning_of(name, kLongestName));
        partition.pkey = pkey;
        partition.location = at;
        return add(std::move(partition));
    }

    std::size_t add(ConfiguredPartition partition)
    {
        const std::size_t index = table_.partitions.size();
        by_pkey_.emplace(partition.pkey, index);
        // Of several with one name OpenSM finds the first in its table.
        const auto [same, is_new] = by_name_.emplace(partition.name, index);
        if (!is_new && opensm_order(partition.pkey) < opensm_order(table_.partitions[same->second].pkey)) {
            same->second = index;
        }
        table_.partitions.push_back(std::move(partition));
        return index;
    }

    std::optional<std::uint16_t> generate()
    {
        while (last_generated_ < kPKeyMask - 1) {
            if (!by_pkey_.contains(++last_generated_)) {
                return last_generated_;
            }
        }
        return std::nullopt;
    }

    static Flag flag_of(std::string_view name)
    {
        for (const auto& [word, flag] : kFlags) {
            if (abbreviates(name, word)) {
                return flag;
            }
        }
        return name == "indx0" ? Flag::Index0 : Flag::None;
    }

    void read_flag(const Token& token)
    {
        if (token.text.empty()) {
            return;
        }
        const Flag flag = flag_of(token.name);
        const auto number = number_of(token, flag);
        bool good = true;
        switch (flag) {
        case Flag::Mtu:
            good = number && *number >= 1 && *number <= 5;
            definition_.parameters.mtu = good ? std::optional(static_cast<IbMtu>(*number)) : std::nullopt;
            break;
        case Flag::Rate:
            definition_.parameters.rate = number ? ib_rate_from_number(*number) : std::nullopt;
            good = definition_.parameters.rate.has_value();
            break;
        case Flag::Sl:
            good = number && *number <= kHighestSl;
            definition_.has_sl = true;
            definition_.parameters.sl = good ? static_cast<std::uint8_t>(*number) : *definition_.parameters.sl;
            break;
        case Flag::Scope:
            good = number && *number != 0 && *number <= kHighestScope;
            break;
        case Flag::FlowLabel:
            good = number && *number <= kHighestFlowLabel;
            break;
        case Flag::QKey:
        case Flag::TClass:
            good = number.has_value();
            break;
        case Flag::Ipoib:
            definition_.ipoib = true;
            break;
        case Flag::DefMember:
            read_default_membership(token);
            break;
        case Flag::Index0:
            definition_.remarks.emplace_back(token.text);
            break;
        case Flag::None:
            warn(lines_.locate(token.text), fmt::format("unknown flag `{}`", shortened(token.name)),
                 "OpenSM ignores it");
            definition_.remarks.push_back(fmt::format("{} (unknown)", token.text));
            break;
        }
        note_flag(token, flag, good);
    }

    // The value of a flag. Where OpenSM takes the number at its start and passes over the rest, so does this.
    std::optional<std::uint64_t> number_of(const Token& token, Flag flag)
    {
        const bool is_strict = flag == Flag::Sl || flag == Flag::FlowLabel;
        const CNumber number = token.value ? read_c_number(*token.value) : CNumber{};
        if (number.length == 0 || (is_strict && number.length != token.value->size())) {
            return std::nullopt;
        }
        if (number.length != token.value->size() && flag < Flag::Ipoib) {
            warn(lines_.locate(*token.value), fmt::format("`{}` is read as {}", shortened(*token.value), number.value),
                 "OpenSM ignores what follows the number");
        }
        return number.value;
    }

    // What was stated of the group, and what of it no fabric file says.
    void note_flag(const Token& token, Flag flag, bool good)
    {
        const auto word = flag_word(flag);
        if (!good) {
            warn(lines_.locate(token.text), fmt::format("`{}` has no valid value", word), expected_of(flag));
            definition_.remarks.push_back(fmt::format("{} (no valid value)", token.text));
        } else if (flag == Flag::Mtu || flag == Flag::Rate || flag == Flag::Sl) {
            definition_.stated += fmt::format("{}{}", definition_.stated.empty() ? "" : ", ", word);
        } else if (flag == Flag::Scope || flag == Flag::QKey || flag == Flag::TClass || flag == Flag::FlowLabel) {
            definition_.remarks.push_back(fmt::format("{}={}", word, *token.value));
        }
    }

    static std::string_view flag_word(Flag flag)
    {
        const auto* const entry = std::find_if(kFlags.begin(), kFlags.end(),
                                               [flag](const auto& candidate) { return candidate.second == flag; });
        return entry == kFlags.end() ? "" : entry->first;
    }

    static std::string expected_of(Flag flag)
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

    void read_default_membership(const Token& token)
    {
        const auto membership = token.value ? parse_membership(*token.value) : std::nullopt;
        if (membership) {
            definition_.membership = *membership;
        } else {
            warn(lines_.locate(token.text), "`defmember` is `full`, `limited` or `both`", "OpenSM ignores it");
        }
    }

    static std::optional<PartitionMembership> parse_membership(std::string_view word)
    {
        if (abbreviates(word, "full")) {
            return PartitionMembership::Full;
        }
        if (abbreviates(word, "both")) {
            return PartitionMembership::Both;
        }
        return abbreviates(word, "limited") ? std::optional(PartitionMembership::Limited) : std::nullopt;
    }

    void read_members(std::string_view text)
    {
        if (!current_) {
            return;    // of a definition that was refused
        }
        Tokens tokens(text);
        while (const auto token = tokens.next()) {
            if (token->name == "mgid") {
                read_multicast_group(*token, tokens.rest());
                return;    // it takes the rest of the line
            }
            if (!token->name.empty() && !abbreviates(token->name, "NONE")) {
                read_member(*token);
            }
        }
    }

    void read_multicast_group(const Token& token, std::string_view flags)
    {
        const auto gid = token.value ? parse_gid(*token.value) : std::nullopt;
        if (!gid || gid->bytes[0] != 0xFF) {
            warn(lines_.locate(token.text), "`mgid` is not a multicast address", "OpenSM ignores the group");
            return;
        }
        flags = without_blanks(flags);
        table_.partitions[*current_].remarks.push_back(
            fmt::format("multicast group {}{}{}", *token.value, flags.empty() ? "" : ", ", flags));
    }

    PartitionMembership membership_of(const Token& token)
    {
        if (!token.value) {
            return definition_.membership;
        }
        if (token.value->empty()) {
            warn(lines_.locate(token.text), "nothing after `=`: a full member, as OpenSM reads it",
                 "write `=full` or `=limited`");
        }
        const auto membership = parse_membership(*token.value);
        if (!membership) {
            warn(lines_.locate(*token.value), fmt::format("`{}` is not a membership", shortened(*token.value)),
                 "OpenSM reads it as `limited`");
        }
        if (membership == PartitionMembership::Both && !warned_of_both_) {
            warn(lines_.locate(*token.value), "`both` is written as `full`",
                 "so it is unless OpenSM runs with `allow_both_pkeys TRUE`");
            warned_of_both_ = true;
        }
        return membership.value_or(PartitionMembership::Limited);
    }

    // `ALL=full`, `0x0002c90300a1b2c1`
    void read_member(const Token& token)
    {
        const Assigned assigned{membership_of(token), next_order_++};
        ConfiguredPartition& partition = table_.partitions[*current_];
        const std::string_view name = token.name;
        if (abbreviates(name, "ALL")) {
            partition.by_type.fill(assigned);
        } else if (abbreviates(name, "ALL_CAS")) {
            partition.by_type[static_cast<std::size_t>(NodeType::Ca)] = assigned;
        } else if (abbreviates(name, "ALL_SWITCHES")) {
            partition.by_type[static_cast<std::size_t>(NodeType::Switch)] = assigned;
        } else if (abbreviates(name, "ALL_ROUTERS")) {
            partition.by_type[static_cast<std::size_t>(NodeType::Router)] = assigned;
        } else if (abbreviates(name, "SELF")) {
            partition.subnet_manager = assigned;
        } else if (const auto guid = whole_number(name); guid && *guid != 0) {
            partition.ports.insert_or_assign(*guid, assigned);
        } else {
            fail(lines_.locate(token.text), fmt::format("`{}` is not a port", shortened(name)),
                 "it is a port GUID, ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS or SELF");
        }
    }

    void warn(const Location& at, std::string message, std::string hint)
    {
        diagnostics_.warning(at, std::move(message)).hint = std::move(hint);
    }
    void fail(const Location& at, std::string message, std::string hint = {})
    {
        diagnostics_.error(at, std::move(message)).hint = std::move(hint);
    }

    TextLines lines_;
    Diagnostics diagnostics_;
    PartitionTable table_;
    std::unordered_map<std::uint16_t, std::size_t> by_pkey_;
    std::unordered_map<std::string, std::size_t> by_name_;
    bool is_open_ = false;                  // a definition has begun and no ';' has come
    std::optional<std::size_t> current_;    // its partition; empty: it was refused
    Definition definition_;
    std::uint32_t next_order_ = kFirstOrder;
    std::uint16_t last_generated_ = 0;
    bool has_definitions_ = false;
    bool warned_of_carriage_return_ = false;
    bool warned_of_both_ = false;
};

}    // namespace

PartitionTable default_partitions()
{
    ConfiguredPartition standard;
    standard.name = "Default";
    standard.pkey = kPKeyMask;
    standard.by_type.fill(Assigned{PartitionMembership::Full, 0});
    standard.broadcast = BroadcastGroup{{0, IbMtu::Mtu2048, IbRate{3}, std::nullopt}, {}};
    return {{std::move(standard)}};
}

ReadResult<PartitionTable> read_partitions(std::shared_ptr<const SourceFile> source)
{
    return PartitionReader(std::move(source)).read();
}

}    // namespace rdmaqos
