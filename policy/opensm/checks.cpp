#include "policy/opensm/checks.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/model/ib.h"

namespace rdmaqos::opensm {
namespace {

constexpr std::uint64_t kHighestSwitchPort = 127;
constexpr std::size_t kTableSize = 16;

// One mistake in both tongues.
struct Mistake {
    Mark acted;
    std::string opensm;    // its message
    Position at;
    std::string message;    // ours
    std::string hint;
};

class Checker {
public:
    Checker(reader::Context& context, OpensmMode mode, const FabricDirectory& directory)
        : context_(context), mode_(mode), directory_(directory), ipoib_(directory.partitions_with(2))
    {
    }

    void check(const Group& group);
    void check(const Level& level);
    void check(const Rule& rule);
    void check(const UlpEntry& entry);
    void check(const Setup& setup);

    [[nodiscard]] std::optional<Refusal> take_refusal() { return std::move(refusal_); }

private:
    [[nodiscard]] bool is_strict() const { return mode_ == OpensmMode::Strict; }
    void report(Mistake mistake);
    // An error to OpenSM, which does not start without the fabric; here the file may be right.
    void report_of_fabric(Mistake mistake);
    void keep_first(Mistake mistake);

    void check_repeated(const std::vector<Repeated>& repeated, std::string_view object,
                        std::initializer_list<std::string_view> quoted_tags);
    void check_port_name(const Text& name);
    void check_limits(const Level& level);
    void check_ipoib(const UlpEntry& entry);
    void check(const VlarbScope& scope);
    void check(const Sl2vlScope& scope);
    void check_ports(const std::vector<PortList>& lists, std::string_view tag);
    void check_tables(const std::vector<Sl2vlTable>& tables);

    reader::Context& context_;
    OpensmMode mode_;
    const FabricDirectory& directory_;
    IntervalSet ipoib_;    // partitions in which IPoIB works
    std::optional<Mark> first_;
    std::optional<Refusal> refusal_;
};

void Checker::keep_first(Mistake mistake)
{
    if (!first_ || mistake.acted < *first_) {
        first_ = mistake.acted;
        refusal_ = Refusal{mistake.acted, std::move(mistake.opensm), std::move(mistake.hint)};
    }
}

void Checker::report(Mistake mistake)
{
    if (is_strict()) {
        keep_first(std::move(mistake));
    } else {
        context_.error(mistake.at, std::move(mistake.message), std::move(mistake.hint));
    }
}

void Checker::report_of_fabric(Mistake mistake)
{
    if (is_strict()) {
        keep_first(std::move(mistake));
    } else {
        context_.warning(context_.locate(mistake.at), std::move(mistake.message), std::move(mistake.hint));
    }
}

// OpenSM names the object with quotes in its messages about some tags.
void Checker::check_repeated(const std::vector<Repeated>& repeated, std::string_view object,
                             std::initializer_list<std::string_view> quoted_tags)
{
    for (const Repeated& tag : repeated) {
        const bool is_quoted = std::find(quoted_tags.begin(), quoted_tags.end(), tag.tag) != quoted_tags.end();
        report({tag.acted, fmt::format("{0}{1}{0} has multiple '{2}' tags", is_quoted ? "'" : "", object, tag.tag),
                tag.at, fmt::format("duplicate `{}` in a `{}`", tag.tag, object), "OpenSM accepts only one"});
    }
}

void Checker::check_port_name(const Text& name)
{
    constexpr std::string_view kForm =
        "a port-name is a node description, `/P` and a port number from 1: `vs1 HCA-1/P1`";
    const auto parts = split_port_name(name.value);
    if (!parts) {
        report({name.acted, fmt::format("'{}' - illegal port name", name.value), name.at,
                fmt::format("`{}` is not the name of a port", printable(name.value)), std::string(kForm)});
        return;
    }
    if (parts->port == 0) {
        report({name.acted, fmt::format("'{}' - illegal port number in port name", name.value), name.at,
                fmt::format("`{}` has no port number", printable(name.value)), std::string(kForm)});
        return;
    }
    const NodeLookup found = directory_.find_port(parts->description, parts->port);
    const bool is_beyond = found.type == NodeType::Switch && found.highest_port > 0 && parts->port > found.highest_port;
    if (found.node_known && (!found.guid || is_beyond)) {
        report_of_fabric({name.acted, fmt::format("'{}' - port number out of range in port name", parts->description),
                          name.at,
                          fmt::format("port {} of node `{}` is not in the fabric file: the name refers to nothing",
                                      parts->port, printable(parts->description)),
                          "OpenSM rejects the whole file until the port is there"});
    }
}

void Checker::check(const Group& group)
{
    check_repeated(group.repeated, "port-group", {});
    for (const Text& name : group.port_names) {
        check_port_name(name);
    }
    if (group.ended && !group.name) {
        report({*group.ended,
                "port-group validation failed - no port group name specified",
                group.at,
                "a port-group needs a `name`",
                {}});
    }
}

void Checker::check_limits(const Level& level)
{
    constexpr std::uint64_t kHighestMtu = 5;
    const auto check = [this](const std::optional<Number>& number, std::string_view opensm, std::string_view key,
                              std::uint64_t lowest, std::uint64_t highest, std::string_view hint) {
        if (number && (number->value < lowest || number->value > highest)) {
            // OpenSM prints the lower half of the number.
            report(
                {number->acted,
                 fmt::format("{} limit is out of range, value: {}", opensm, static_cast<std::int32_t>(number->value)),
                 number->at, fmt::format("`{}` must be from {} to {}, not {}", key, lowest, highest, number->spelled),
                 std::string(hint)});
        }
    };
    check(level.mtu_limit, "mtu", "mtu-limit", 1, kHighestMtu, "1 = 256, 2 = 512, 3 = 1024, 4 = 2048, 5 = 4096 bytes");
    check(level.rate_limit, "rate", "rate-limit", kLowestIbRate, kHighestIbRate,
          "an InfiniBand rate: 2 = 2.5, 3 = 10, 6 = 20, 7 = 40, 12 = 56, 16 = 100 Gb/s, ...");
    if (is_strict()) {
        return;
    }
    const auto check_byte = [this](const std::optional<Number>& number, std::string_view key, std::uint64_t highest) {
        if (number && number->value > highest) {
            context_.error(number->at, fmt::format("`{}` must be from 0 to {}, not {}", key, highest, number->spelled),
                           fmt::format("OpenSM takes its lowest 8 bits, {}", number->value & 0xFFU));
        }
    };
    check_byte(level.sl, "sl", kHighestSl);
    check_byte(level.packet_life, "packet-life", kHighestPacketLife);
}

void Checker::check(const Level& level)
{
    check_repeated(level.repeated, "qos-level", {"sl", "mtu-limit", "rate-limit", "packet-life"});
    check_limits(level);
    if (!level.ended) {
        return;
    }
    if (!level.sl) {
        report({*level.ended,
                "qos-level validation failed - no 'sl' specified",
                level.at,
                "a qos-level needs an `sl`",
                {}});
    }
    if (!level.name) {
        report({*level.ended,
                "qos-level validation failed - no 'name' specified",
                level.at,
                "a qos-level needs a `name`",
                {}});
    }
}

void Checker::check(const Rule& rule)
{
    check_repeated(rule.repeated, "qos-match-rule", {"use"});
    if (rule.ended && !rule.level_name) {
        report({*rule.ended,
                "match-rule validation failed - no 'qos-level-name' specified",
                rule.at,
                "a match rule needs a `qos-level-name`",
                {}});
    }
}

void Checker::check_ipoib(const UlpEntry& entry)
{
    if (!is_strict() && directory_.is_empty()) {
        return;    // nothing is known
    }
    const IntervalSet asked = entry.criterion ? pkeys_of(entry.ranges)
                                              : meaning_of(entry.ulp, std::nullopt, IntervalSet{}).pkey;
    for (const Interval& interval : asked.intervals()) {
        const auto& good = ipoib_.intervals();
        const auto after = std::upper_bound(good.begin(), good.end(), interval.first,
                                            [](std::uint64_t pkey, const Interval& i) { return pkey < i.first; });
        const bool first_is_good = after != good.begin() && std::prev(after)->last >= interval.first;
        const std::uint64_t missing = first_is_good ? std::prev(after)->last + 1 : interval.first;
        if (missing > interval.last) {
            continue;
        }
        const bool exists = directory_.has_partition({missing, missing});
        const std::string_view why = exists ? "partition has less than two full members" : "partition doesn't exist";
        report_of_fabric({entry.acted, fmt::format("IPoIB partition, pkey 0x{:04X} - {}", missing, why), entry.at,
                          fmt::format("by the fabric file the partition with P_Key 0x{:04x} {}", missing,
                                      exists ? "has fewer than two full members" : "does not exist"),
                          "OpenSM rejects the whole file until this is fixed: IPoIB would not work"});
        return;
    }
}

void Checker::check(const UlpEntry& entry)
{
    if (entry.criterion == UlpCriterion::PortNum) {
        const IntervalSet ports = intervals_of(entry.ranges);
        if (!ports.empty() && ports.intervals().back().last > kHighestUlpPort) {
            report({entry.acted,
                    "SDP port number out of range",
                    entry.at,
                    fmt::format("a `port-num` must be from 0 to {}", kHighestUlpPort),
                    {}});
        }
    }
    if (entry.ulp == Ulp::Ipoib) {
        check_ipoib(entry);
    }
    if (entry.sl && entry.sl->value > kHighestSl) {
        report({entry.sl->acted,
                "illegal SL value",
                entry.sl->at,
                fmt::format("an SL must be from 0 to {}, not {}", kHighestSl, entry.sl->spelled),
                {}});
    }
}

void Checker::check(const VlarbScope& scope)
{
    if (scope.ended && scope.group.empty() && scope.across.empty()) {
        report({*scope.ended,
                "vlarb-scope validation failed - no port groups specified by 'group' or by 'across'",
                scope.at,
                "a vlarb-scope needs `group` or `across`",
                {}});
    }
}

void Checker::check_ports(const std::vector<PortList>& lists, std::string_view tag)
{
    for (const PortList& list : lists) {
        if (std::any_of(list.ranges.begin(), list.ranges.end(),
                        [](const Range& range) { return range.interval().last > kHighestSwitchPort; })) {
            report({list.acted,
                    fmt::format("port number out of range '{}' list", tag),
                    list.at,
                    fmt::format("the ports of `{}` must be from 0 to {}", tag, kHighestSwitchPort),
                    {}});
        }
    }
}

void Checker::check_tables(const std::vector<Sl2vlTable>& tables)
{
    for (std::size_t i = 0; i < tables.size(); ++i) {
        const Sl2vlTable& table = tables[i];
        if (i > 0) {
            report({table.acted,
                    "sl2vl-scope has more than one sl2vl-table",
                    table.at,
                    "duplicate `sl2vl-table` in an `sl2vl-scope`",
                    {}});
        } else if (table.values.size() != kTableSize) {
            report({table.acted,
                    "wrong number of values in 'sl2vl-table' (should be 16)",
                    table.at,
                    fmt::format("`sl2vl-table` has {}, not 16", counted(table.values.size(), "value")),
                    {}});
        } else if (std::any_of(table.values.begin(), table.values.end(),
                               [](const Number& number) { return number.value > kHighestSl; })) {
            report({table.acted,
                    "wrong VL value in 'sl2vl-table' (should be 0 to 15)",
                    table.at,
                    "the VLs of `sl2vl-table` must be from 0 to 15",
                    {}});
        }
    }
}

void Checker::check(const Sl2vlScope& scope)
{
    check_ports(scope.from, "from");
    check_ports(scope.to, "to");
    check_tables(scope.tables);
    if (!scope.ended) {
        return;
    }
    if (scope.tables.empty()) {
        report({*scope.ended,
                "sl2vl-scope validation failed - no sl2vl table specified",
                scope.at,
                "an sl2vl-scope needs `sl2vl-table`, the 16 VLs of SL 0 to 15",
                {}});
    }
    if (scope.group.empty() && scope.across.empty() && scope.across_from.empty() && scope.across_to.empty()) {
        report({*scope.ended,
                "sl2vl-scope validation failed - no port groups specified by 'group', 'across-to' or 'across-from'",
                scope.at,
                "an sl2vl-scope needs `group`, `across`, `across-from` or `across-to`",
                {}});
    }
}

void Checker::check(const Setup& setup)
{
    for (const VlarbScope& scope : setup.vlarb) {
        check(scope);
    }
    for (const Sl2vlScope& scope : setup.sl2vl) {
        check(scope);
    }
}

}    // namespace

std::optional<Refusal> check_file(reader::Context& context, const File& file, OpensmMode mode,
                                  const FabricDirectory& directory)
{
    Checker checker(context, mode, directory);
    const auto check_all = [&checker](const auto& objects) {
        for (const auto& object : objects) {
            checker.check(object);
        }
    };
    check_all(file.groups);
    check_all(file.levels);
    check_all(file.rules);
    check_all(file.ulps);
    check_all(file.setups);
    return checker.take_refusal();
}

}    // namespace rdmaqos::opensm
