#include "tools/rdma-qosctl/import/partitions.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/model/ib.h"
#include "policy/model/opensm_order.h"
#include "tools/rdma-qosctl/import/partition_buffer.h"
#include "tools/rdma-qosctl/import/partition_flags.h"

namespace rdmaqos {
namespace {

using Token = PartitionBuffer::Token;

constexpr std::size_t kLongestName = 31;
constexpr std::uint16_t kLinkLocalScope = 1U << 2;
constexpr std::uint32_t kFirstOrder = 2;    // 0 and 1 are what the default partition starts with
constexpr std::array<std::string_view, 5> kMemberWords{"ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF"};
constexpr std::string_view kBlanks = " \t\n";
constexpr std::string_view kSeparators = " \t\n,;:=#";

class PartitionReader {
public:
    explicit PartitionReader(std::shared_ptr<const SourceFile> source)
        : buffer_(std::move(source)), flag_reader_(buffer_, diagnostics_)
    {
        ConfiguredPartition standard;
        standard.name = "Default";
        standard.pkey = kPKeyMask;
        standard.by_type.fill(Assigned{PartitionMembership::Limited, 0});
        standard.subnet_manager = Assigned{PartitionMembership::Full, 1};
        standard.location = buffer_.start();
        add(std::move(standard));
    }
    PartitionReader(const PartitionReader&) = delete;
    PartitionReader& operator=(const PartitionReader&) = delete;

    ReadResult<PartitionTable> read()
    {
        while (!given_up_ && buffer_.next()) {
            read_part();
        }
        if (is_open_ && !given_up_) {
            warn(buffer_.part(), "the last definition does not end with `;`", "OpenSM takes it as it is");
        }
        if (!has_definitions_ && !diagnostics_.has_errors()) {
            diagnostics_.warning(buffer_.start(), "there is no partition in this file")
                .hint = "OpenSM then behaves as without a file: all ports are full members of Default";
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
    // Something after which OpenSM reads behind the end of the part.
    struct Overrun {
        std::string_view text;
        std::string what;
        std::string remedy;
    };

    void read_part()
    {
        warn_of_long_line();
        buffer_.cut(0, '#');
        for (std::size_t at = buffer_.skip_blanks(0); !buffer_.is_end_of_text(at); at = buffer_.skip_blanks(at)) {
            if (buffer_.is_left_over(at)) {
                fail_left_over(at);
                break;
            }
            const auto end = buffer_.cut(at, ';');
            const auto next = read_text(at, end);
            if (!end || given_up_) {
                break;
            }
            is_open_ = false;
            if (stopped_) {
                break;
            }
            at = next.value_or(*end + 1);
        }
        if (overrun_) {
            warn(
                overrun_->text, overrun_->what,
                "OpenSM reads on behind the end of this line, and takes the file only because nothing is left there of "
                "an earlier one; " +
                    overrun_->remedy);
            overrun_.reset();
        }
    }

    void warn_of_long_line()
    {
        const std::string_view before = buffer_.before_part();
        const std::string_view rest = buffer_.rest_of_line();
        if (before.empty() || without_blanks(rest).empty()) {
            return;
        }
        const bool in_comment = before.substr(before.size() - PartitionBuffer::kLongestPart).find('#') !=
                                std::string_view::npos;
        const std::size_t begin = before.find_last_of(kSeparators) + 1;    // 0 if there is none
        const std::size_t length = std::min(rest.find_first_of(kSeparators), rest.size());
        const std::string_view word(before.data() + begin, before.size() - begin + length);
        std::string what = "what is here begins one";
        if (in_comment) {
            what = "the comment ends here";
        } else if (begin != before.size() && length != 0) {
            what = fmt::format("`{}` is cut in two here", shortened(word));
        }
        warn(rest, fmt::format("OpenSM reads a line in parts of {} bytes: {}", PartitionBuffer::kLongestPart, what),
             in_comment ? "break the comment" : "break the line after a comma");
    }

    // A definition, or what follows its first line; `end`: its ';'. Returns where OpenSM reads on, nothing after an
    // error.
    std::optional<std::size_t> read_text(std::size_t at, std::optional<std::size_t> end)
    {
        stopped_ = false;
        is_nested_ = false;
        if (is_open_ && !current_) {
            return std::nullopt;    // of a definition that was refused
        }
        if (end == at) {
            overrun_ = {buffer_.source_at(at, 1), "`;` with nothing before it on its line",
                        "put `;` behind the last port"};
            ++at;
        }
        if (is_open_) {
            const std::string_view head = buffer_.text(at);
            const std::size_t colon = head.find(':');
            is_nested_ = colon != std::string_view::npos &&
                         head.substr(0, colon).find("mgid") == std::string_view::npos;
            return read_members(at, end);
        }
        is_open_ = true;
        current_.reset();
        const auto members = read_header(at);
        return members ? read_members(*members, end) : std::nullopt;
    }

    // Returns where the members begin.
    std::optional<std::size_t> read_header(std::size_t at)
    {
        const auto colon = buffer_.cut(at, ':');
        if (!colon) {
            const std::string_view text = without_blanks(buffer_.text(at), kBlanks);
            if (text == "\r") {
                fail_carriage_return(text);
            } else {
                fail(text, "a definition without `:`",
                     "it takes one line, `Name=0x0010, ipoib :`; ports may follow on others");
            }
            return std::nullopt;
        }
        has_definitions_ = true;
        flags_ = PartitionFlags{};
        auto comma = buffer_.cut(at, ',');
        const Token head = buffer_.take_token(at);
        at = head.next;
        while (comma) {
            comma = buffer_.cut(at, ',');
            const Token token = buffer_.take_token(at);
            flag_reader_.read(token, flags_);
            at = token.next;
        }
        current_ = find_or_add(head);
        if (!current_) {
            return std::nullopt;
        }
        ConfiguredPartition& partition = table_.partitions[*current_];
        if (flags_.ipoib) {
            add_broadcast(head, partition);
        } else if (flags_.has_sl) {
            flags_.remarks.push_back(
                fmt::format("sl={}: of paths in the partition, where OpenSM runs with QoS and without a policy",
                            *flags_.parameters.sl));
        }
        std::move(flags_.remarks.begin(), flags_.remarks.end(), std::back_inserter(partition.remarks));
        return *colon + 1;
    }

    void add_broadcast(const Token& head, ConfiguredPartition& partition)
    {
        if (flags_.scopes != 0 && (flags_.scopes & kLinkLocalScope) == 0) {
            make_no_broadcast(head, partition, "`scope` leaves out 2, link local, which IPoIB asks for");
        } else if (partition.broadcast) {
            const IpoibParameters& first = partition.broadcast->parameters;
            const IpoibParameters& second = flags_.parameters;
            if (first.sl != second.sl || first.mtu != second.mtu || first.rate != second.rate) {
                warn(head.text,
                     fmt::format("partition `{}` has its broadcast group already, with other parameters",
                                 shortened(partition.name)),
                     "the first definition with `ipoib` makes the group");
            }
        } else if (!flags_.bad_mtu.empty() || !flags_.bad_rate.empty()) {
            const std::string& bad = flags_.bad_mtu.empty() ? flags_.bad_rate : flags_.bad_mtu;
            make_no_broadcast(head, partition, fmt::format("`{}` has no valid value", shortened(bad)));
        } else {
            partition.broadcast = BroadcastGroup{flags_.parameters, flags_.stated};
            partition.no_broadcast.clear();
        }
    }

    void make_no_broadcast(const Token& head, ConfiguredPartition& partition, std::string why)
    {
        if (partition.broadcast) {
            return;
        }
        warn(head.text,
             fmt::format("OpenSM makes no broadcast group of partition `{}`: {}", shortened(partition.name), why),
             "IPoIB does not come up in this partition");
        partition.no_broadcast = std::move(why);
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
            fail(head.text, fmt::format("`{}` is not a P_Key", shortened(*id)),
                 "a definition is `Name=0x0010`, or only one of them");
            return std::nullopt;
        }
        const auto pkey = partition_of(static_cast<std::uint16_t>(*number));
        if (*number > 0xFFFF) {
            warn(*id, fmt::format("the P_Key `{}` has more than 16 bits", shortened(*id)),
                 fmt::format("only the lower 15 count: it is read as {:#06x}", pkey));
        }
        if (pkey != 0) {
            return find_or_add(name, pkey, head.text);
        }
        if (const auto same = by_name_.find(std::string(name)); same != by_name_.end()) {
            return same->second;
        }
        const auto made = generate();
        if (!made) {
            fail(head.text, "no P_Key is left for a partition without one");
            return std::nullopt;
        }
        warn(head.text, fmt::format("a partition without a P_Key: OpenSM makes one, {:#06x}", *made),
             "it may be another one if the file changed while OpenSM was running; state it");
        return find_or_add(name, *made, head.text);
    }

    std::size_t find_or_add(std::string_view name, std::uint16_t pkey, std::string_view at)
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
        partition.location = buffer_.locate(at);
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

    std::optional<std::size_t> read_members(std::size_t at, std::optional<std::size_t> end)
    {
        const std::size_t errors = diagnostics_.error_count();
        for (;;) {
            const auto comma = buffer_.cut(at, ',');
            const Token token = buffer_.take_token(at);
            at = token.next;
            if (token.name == "mgid") {
                at = read_multicast_group(token, !comma, end.has_value());    // it takes the rest of the line
                break;
            }
            if (!token.name.empty() && !abbreviates(token.name, "NONE")) {
                read_member(token);
            }
            if (!comma || stopped_) {
                break;
            }
        }
        return diagnostics_.error_count() == errors ? std::optional(at) : std::nullopt;
    }

    // Returns where OpenSM reads on. It takes one flag at least, also where there is none: what stands behind the end.
    std::size_t read_multicast_group(const Token& token, bool is_last, bool has_end)
    {
        const auto gid = token.value ? parse_gid(*token.value) : std::nullopt;
        if (!gid || gid->bytes[0] != 0xFF) {
            warn(token.text, "`mgid` is not a multicast address", "OpenSM ignores the group");
            return token.next;
        }
        std::size_t at = token.next;
        const std::string_view flags = without_blanks(buffer_.text(at), kBlanks);
        table_.partitions[*current_].remarks.push_back(fmt::format("multicast group {}{}{}", *token.value,
                                                                   is_last || flags.empty() ? "" : ", ",
                                                                   is_last ? std::string_view() : flags));
        if (is_last && has_end) {
            overrun_ = {token.text, "`mgid` without a flag right before `;`", "give the group a flag, such as `sl=0`"};
            if (!flags.empty() && !buffer_.is_left_over(at)) {
                warn(flags, fmt::format("OpenSM takes `{}` for flags of the multicast group", shortened(flags)),
                     "begin a line with it");
            }
        }
        for (bool more = true; more;) {
            more = buffer_.cut(at, ',').has_value();
            at = buffer_.take_token(at).next;
        }
        return at;
    }

    PartitionMembership membership_of(const Token& token)
    {
        if (!token.value) {
            return flags_.membership;
        }
        if (token.value->empty()) {
            warn(token.text, "nothing after `=`: a full member, as OpenSM reads it", "write `=full` or `=limited`");
        }
        const auto membership = parse_membership(*token.value);
        if (!membership) {
            warn(*token.value, fmt::format("`{}` is not a membership", shortened(*token.value)),
                 "OpenSM reads it as `limited`");
        }
        if (membership == PartitionMembership::Both && !warned_of_both_) {
            warn(*token.value, "`both` is written as `full`",
                 "so it is unless OpenSM runs with `allow_both_pkeys TRUE`");
            warned_of_both_ = true;
        }
        return membership.value_or(PartitionMembership::Limited);
    }

    // ALL, SELF and the like, whole or cut short.
    static bool is_word(std::string_view name)
    {
        return std::any_of(kMemberWords.begin(), kMemberWords.end(),
                           [name](std::string_view word) { return abbreviates(name, word); });
    }

    // `ALL=full`, `0x0002c90300a1b2c1`
    void read_member(const Token& token)
    {
        const auto guid = whole_number(token.name);
        if (!is_word(token.name) && guid.value_or(0) == 0) {
            fail_member(token);
            return;
        }
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
        } else {
            partition.ports.insert_or_assign(*guid, assigned);
        }
    }

    void fail_member(const Token& token)
    {
        if (token.name.ends_with('\r')) {
            fail_carriage_return(token.name);
        } else if (is_nested_ && !overrun_) {
            fail(token.text,
                 fmt::format("the definition above, of `{}`, does not end with `;`",
                             shortened(table_.partitions[*current_].name)),
                 fmt::format("OpenSM takes `{}` for a port of it, and drops the file", shortened(token.name)));
            stopped_ = true;
        } else {
            fail(token.text, fmt::format("`{}` is not a port", shortened(token.name)),
                 "it is a port GUID, ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS or SELF");
        }
    }

    void fail_carriage_return(std::string_view word)
    {
        fail(word.substr(word.size() - 1), "lines end with a carriage return",
             "it belongs to the last word of a line for OpenSM, which drops the file; dos2unix removes them");
        given_up_ = true;
        stopped_ = true;
    }

    void fail_left_over(std::size_t at)
    {
        if (!overrun_) {
            return;    // told already
        }
        const auto there = buffer_.locate(buffer_.text(at));
        fail({}, {});
        diagnostics_.note(there, "OpenSM reads on here, in what is left of an earlier line");
    }

    // After an overrun that is the mistake, whatever comes of it.
    void fail(std::string_view at, std::string message, std::string hint = {})
    {
        if (overrun_) {
            at = overrun_->text;
            message = std::move(overrun_->what);
            hint = fmt::format("OpenSM reads on behind it, and drops the file; {}", overrun_->remedy);
            overrun_.reset();
            stopped_ = true;
        }
        diagnostics_.error(buffer_.locate(at), std::move(message)).hint = std::move(hint);
    }
    void warn(std::string_view at, std::string message, std::string hint)
    {
        diagnostics_.warning(buffer_.locate(at), std::move(message)).hint = std::move(hint);
    }

    PartitionBuffer buffer_;
    Diagnostics diagnostics_;
    PartitionFlagReader flag_reader_;
    PartitionTable table_;
    std::unordered_map<std::uint16_t, std::size_t> by_pkey_;
    std::unordered_map<std::string, std::size_t> by_name_;
    bool is_open_ = false;                  // a definition has begun and no ';' has come
    std::optional<std::size_t> current_;    // its partition; empty: it was refused
    PartitionFlags flags_;
    std::optional<Overrun> overrun_;    // in the current part
    bool is_nested_ = false;            // this text looks like a definition within another
    bool stopped_ = false;              // the rest of this text says nothing
    bool given_up_ = false;             // nor does the rest of the file
    std::uint32_t next_order_ = kFirstOrder;
    std::uint16_t last_generated_ = 0;
    bool has_definitions_ = false;
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
