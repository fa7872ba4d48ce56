#include "tools/rdma-qosctl/import/opensm.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/base/interval_set.h"
#include "lib/base/text.h"
#include "policy/model/ib.h"
#include "policy/opensm/reader.h"
#include "policy/text/context.h"
#include "policy/text/yaml_text.h"
#include "policy/yaml/fields.h"
#include "tools/rdma-qosctl/import/opensm_values.h"
#include "tools/rdma-qosctl/import/text_lines.h"

namespace rdmaqos {
namespace {

using namespace opensm;

constexpr std::size_t kSection = 0;
constexpr std::size_t kEntry = 4;    // the keys of an entry; its `- ` stands before them
constexpr std::uint64_t kHighestOpensmPort = 255;
constexpr std::string_view kToFill = "#~ ";

// A name that may be a part of the path of a scheduling element.
bool is_path_segment(std::string_view name)
{
    return name.find('/') == std::string_view::npos && !equals_ignoring_case(name, "others") &&
           !to_lower(name).ends_with(".responder");
}

class Importer {
public:
    Importer(const File& file, const Fabric& fabric, Diagnostics& diagnostics)
        : file_(file), fabric_(fabric), context_({file.source}, diagnostics)
    {
    }

    std::string write()
    {
        find_first_definitions();
        yaml_.comment(kSection, fmt::format("Policy of rdma-qosd, made by `rdma-qosctl import-opensm` from {}",
                                            file_.source->name));
        yaml_.comment(kSection,
                      "It answers as OpenSM does with that file, and makes no element on a NIC. For classes in "
                      "the NIC's tree fill in");
        yaml_.comment(kSection, "lines that start with `#~ `: without these three characters they are YAML.");
        yaml_.line(kSection, "version: 1");
        write_groups();
        write_levels();
        write_rules();
        write_ulps();
        write_setups();
        return yaml_.take();
    }

private:
    // Of several definitions of a name, ignoring case, OpenSM finds the first in the file; ulps define groups too.
    void find_first_definitions()
    {
        for (const Section& section : file_.sections) {
            for (std::size_t i = section.first; i < section.first + section.count; ++i) {
                if (section.kind == SectionKind::Groups && file_.groups[i].name) {
                    groups_.reserve(file_.groups[i].name->value);
                    first_groups_.emplace(to_lower(file_.groups[i].name->value), &file_.groups[i]);
                } else if (section.kind == SectionKind::Ulps) {
                    const auto name = meaning_of(file_.ulps[i]).group_name;
                    if (!name.empty()) {
                        groups_.reserve(name);
                        first_groups_.emplace(to_lower(name), nullptr);
                    }
                }
            }
        }
        for (const Level& level : file_.levels) {
            if (level.name) {
                levels_.reserve(level.name->value);
                first_levels_.emplace(to_lower(level.name->value), &level);
            }
        }
    }

    static UlpMeaning meaning_of(const UlpEntry& entry)
    {
        const bool is_pkey = entry.criterion == UlpCriterion::PKey;
        return rdmaqos::meaning_of(entry.ulp, entry.criterion,
                                   is_pkey ? pkeys_of(entry.ranges) : intervals_of(entry.ranges));
    }

    [[nodiscard]] std::string place(const Position& at) const
    {
        return fmt::format("{}:{}", file_.source->name, at.line);
    }

    // Remarks on a value stand above it.
    void key(std::string_view key, const std::string& scalar)
    {
        flush_remarks();
        yaml_.line(kEntry, fmt::format("{}: {}", key, scalar));
    }
    void list(std::string_view key, const std::vector<std::string>& items)
    {
        flush_remarks();
        if (!items.empty()) {
            yaml_.list(kEntry, key, items);
        }
    }
    void flush_remarks()
    {
        for (const auto& remark : scalars_.take_remarks()) {
            yaml_.comment(kEntry, remark);
        }
    }
    void warn(const Position& at, std::string message, std::string hint)
    {
        context_.warning(context_.locate(at), std::move(message), std::move(hint));
    }

    void use(const std::optional<Text>& text)
    {
        if (!text || text->value.empty()) {
            return;
        }
        std::string shown = is_printable_utf8(text->value) ? text->value : printable(text->value);
        if (shown.size() > reader::kLongestDescription) {
            scalars_.remark("cut short: a `use` has at most {} bytes", reader::kLongestDescription);
            shown = beginning_of(shown, reader::kLongestDescription);
        }
        key("use", yaml_scalar(shown));
    }

    void ranges(std::string_view key, const std::vector<Range>& ranges)
    {
        std::vector<std::string> items;
        items.reserve(ranges.size());
        for (const Range& range : ranges) {
            items.push_back(scalars_.range(range));
        }
        list(key, items);
    }
    void pkeys(const std::vector<Range>& ranges)
    {
        std::vector<std::string> items;
        items.reserve(ranges.size());
        for (const Range& range : ranges) {
            items.push_back(scalars_.pkeys(range));
        }
        list("pkey", items);
    }

    void defined_name(const Text& name, Names& names)
    {
        scalars_.name(name, "name");
        const std::string made = names.of(name.value);
        if (made != name.value) {
            scalars_.remark("the name is \"{}\" to OpenSM; no name of a YAML policy can be", name.value);
        }
        key("name", yaml_scalar(made));
    }

    void write_groups()
    {
        if (file_.groups.empty()) {
            return;
        }
        yaml_.blank();
        const bool any = std::any_of(file_.groups.begin(), file_.groups.end(),
                                     [this](const Group& group) { return is_first(group); });
        if (any) {
            yaml_.line(kSection, "port-groups:");
        }
        for (const Group& group : file_.groups) {
            if (is_first(group)) {
                write_group(group);
            } else if (group.name) {
                yaml_.comment(2, fmt::format("{}: OpenSM never finds this port-group `{}`: another one is before it",
                                             place(group.at), shortened(group.name->value)));
            }
        }
    }

    [[nodiscard]] bool is_first(const Group& group) const
    {
        return group.name && first_groups_.at(to_lower(group.name->value)) == &group;
    }

    void write_group(const Group& group)
    {
        yaml_.comment(2, place(group.at));
        yaml_.begin_entry();
        defined_name(*group.name, groups_);
        use(group.use);
        write_guids(group);
        write_port_names(group);
        pkeys(group.pkeys);
        write_partitions(group);
        std::vector<std::string> types;
        for (const NodeTypeWord word : group.node_types) {
            if (word != NodeTypeWord::Self) {
                types.emplace_back(word_of(word));
            }
        }
        list("node-type", types);
    }

    static std::string_view word_of(NodeTypeWord word)
    {
        switch (word) {
        case NodeTypeWord::Ca:
            return "CA";
        case NodeTypeWord::Switch:
            return "SWITCH";
        case NodeTypeWord::Router:
            return "ROUTER";
        case NodeTypeWord::All:
            return "ALL";
        case NodeTypeWord::Self:
            break;
        }
        return "SELF";
    }

    // With the port of the subnet manager, which OpenSM calls SELF.
    void write_guids(const Group& group)
    {
        std::vector<std::string> items;
        for (const Range& range : group.port_guids) {
            items.push_back(scalars_.range(range));
        }
        if (std::find(group.node_types.begin(), group.node_types.end(), NodeTypeWord::Self) != group.node_types.end()) {
            const auto manager = std::find_if(fabric_.ports.begin(), fabric_.ports.end(),
                                              [](const FabricPort& port) { return port.subnet_manager; });
            if (manager != fabric_.ports.end()) {
                items.push_back(to_string(manager->guid));
                scalars_.remark("`node-type: SELF` is {}, the port of the subnet manager", items.back());
            } else {
                scalars_.remark(
                    "left out: `node-type: SELF`, the port of the subnet manager, which no fabric file tells");
                warn(group.name->at, "`node-type: SELF` is left out: which port is the subnet manager's is not known",
                     "give a fabric file with `sm: true` at that port (--fabric); here SELF is the ports of this host");
            }
        }
        list("port-guid", items);
    }

    void write_port_names(const Group& group)
    {
        std::vector<std::string> items;
        for (const Text& name : group.port_names) {
            scalars_.name(name, "port-name");
            if (const auto written = port_name(name)) {
                items.push_back(yaml_quoted(*written));
            }
        }
        list("port-name", items);
    }

    // "DESCRIPTION/P1": the number in decimal, whatever stands behind it left out.
    std::optional<std::string> port_name(const Text& name)
    {
        const auto slash = name.value.rfind('/');
        const std::string description = name.value.substr(0, slash);
        const std::string_view port = slash == std::string::npos || slash + 2 > name.value.size()
                                          ? std::string_view{}
                                          : std::string_view(name.value).substr(slash + 2);
        const reader::CNumber number = reader::read_c_number(port);
        if (!is_valid_utf8(description) || description.empty() || number.value == 0 ||
            number.value > kHighestOpensmPort) {
            scalars_.remark("left out: \"{}\" is not the name of a port", name.value);
            warn(name.at, fmt::format("port-name `{}` is left out: no port can have it", shortened(name.value)), {});
            return std::nullopt;
        }
        std::string written = fmt::format("{}/P{}", description, number.value);
        if (std::string_view(written).substr(slash + 2) != port) {
            scalars_.remark("\"{}\" is port {} to OpenSM", name.value, number.value);
        }
        return written;
    }

    void write_partitions(const Group& group)
    {
        std::vector<std::string> items;
        for (const Text& name : group.partitions) {
            scalars_.name(name, "partition");
            if (is_valid_utf8(name.value) && name.value.find_first_not_of(' ') != std::string::npos) {
                items.push_back(yaml_scalar(name.value));
            } else {
                scalars_.remark("left out: a YAML policy cannot name the partition \"{}\"", name.value);
                warn(name.at,
                     fmt::format("partition `{}` is left out: a YAML policy cannot name it", shortened(name.value)),
                     {});
            }
        }
        list("partition", items);
    }

    void write_levels()
    {
        yaml_.blank();
        if (!file_.levels.empty() || !file_.ulps.empty()) {
            yaml_.line(kSection, "qos-levels:");
        }
        for (const Level& level : file_.levels) {
            if (!level.name) {
                continue;
            }
            if (first_levels_.at(to_lower(level.name->value)) == &level) {
                write_level(level);
            } else {
                yaml_.comment(2, fmt::format("{}: OpenSM never finds this qos-level `{}`: another one is before it",
                                             place(level.at), shortened(level.name->value)));
            }
        }
        write_levels_of_ulps();
    }

    void write_level(const Level& level)
    {
        yaml_.comment(2, place(level.at));
        yaml_.begin_entry();
        defined_name(*level.name, levels_);
        use(level.use);
        byte("sl", level.sl, kHighestSl);
        if (level.mtu_limit && level.mtu_limit->value >= 1 && level.mtu_limit->value <= 5) {
            static_cast<void>(scalars_.number(*level.mtu_limit));
            key("mtu-limit", fmt::format("{}    # {} of OpenSM", bytes(static_cast<IbMtu>(level.mtu_limit->value)),
                                         level.mtu_limit->value));
        }
        const auto rate = level.rate_limit ? ib_rate_from_number(level.rate_limit->value) : std::nullopt;
        if (rate) {
            static_cast<void>(scalars_.number(*level.rate_limit));
            key("rate-limit", fmt::format("{:g}Gbps    # {} of OpenSM; of path answers, it caps nothing on the NIC",
                                          static_cast<double>(nominal(*rate).kbps()) / 1e6, number(*rate)));
        }
        byte("packet-life", level.packet_life, kHighestPacketLife);
        if (!level.path_bits.empty()) {
            scalars_.remark("`path-bits` has no effect, as in OpenSM");
        }
        ranges("path-bits", level.path_bits);
        pkeys(level.pkeys);
        offer_schedule(levels_.of(level.name->value));
    }

    // OpenSM keeps the lowest 8 bits of these.
    void byte(std::string_view name, const std::optional<Number>& number, std::uint64_t highest)
    {
        if (!number) {
            return;
        }
        const std::uint64_t value = number->value & 0xFFU;
        if (value > highest) {
            context_.error(number->at,
                           fmt::format("`{}: {}` is {} to OpenSM: that is above {}, and no YAML policy can say it",
                                       name, number->spelled, value, highest),
                           "correct it; what OpenSM makes of it is not defined by InfiniBand");
        } else if (value != number->value) {
            scalars_.remark("{} is {} to OpenSM: the lowest 8 bits", number->spelled, value);
        }
        key(name, scalars_.number(*number, value));
    }

    void to_fill(std::size_t indent, std::string_view text) { yaml_.line(indent, fmt::format("{}{}", kToFill, text)); }

    void offer_schedule(const std::string& name)
    {
        if (!is_path_segment(name)) {
            yaml_.comment(kEntry, "a `schedule:` needs another name: without `/`, not `others` or `*.responder`");
            return;
        }
        to_fill(kEntry, "schedule:");
        to_fill(kEntry, "  share: 1               # weight among its siblings");
        to_fill(kEntry, "  max-rate: unlimited    # cap of the whole class: 40Gbps");
        to_fill(kEntry,
                "  fair-by: none          # or queue-pair, process, user, unit, slurm-job: each gets an equal part");
    }

    // An entry of qos-ulps has an SL; OpenSM makes a level of each, which no rule can name. Here they are levels like
    // others, under OpenSM's names, so that they can become classes.
    void write_levels_of_ulps()
    {
        std::map<std::uint64_t, const UlpEntry*> first_of_sl;
        for (const UlpEntry& entry : file_.ulps) {
            if (entry.sl && entry.ulp != Ulp::Default) {
                first_of_sl.emplace(entry.sl->value, &entry);
            }
        }
        for (const auto& [sl, entry] : first_of_sl) {
            level_of_sl_.emplace(sl, write_level_of_ulp(*entry, fmt::format("SimpleQoSLevel_SL{}", sl)));
        }
        if (const UlpEntry* entry = default_entry(); entry != nullptr && entry->sl) {
            default_level_ = write_level_of_ulp(*entry, "SimpleQoSLevel_DEFAULT");
        }
    }

    std::string write_level_of_ulp(const UlpEntry& entry, std::string name)
    {
        std::string made = levels_.unused(std::move(name));
        yaml_.comment(2, fmt::format("of qos-ulps, {}", place(entry.at)));
        yaml_.begin_entry();
        key("name", made);
        byte("sl", entry.sl, kHighestSl);
        offer_schedule(made);
        return made;
    }

    // The `default` that counts; null: none, or a level of this name is before it.
    [[nodiscard]] const UlpEntry* default_entry() const
    {
        const auto last = std::find_if(file_.ulps.rbegin(), file_.ulps.rend(),
                                       [](const UlpEntry& entry) { return entry.ulp == Ulp::Default; });
        return last == file_.ulps.rend() || first_levels_.contains("default") ? nullptr : &*last;
    }

    void references(std::string_view what, const std::vector<Text>& names)
    {
        std::vector<std::string> items;
        for (const Text& name : names) {
            scalars_.name(name, "port-group");
            items.push_back(yaml_scalar(groups_.of(name.value)));
        }
        list(what, items);
    }

    void write_rules()
    {
        if (file_.rules.empty()) {
            return;
        }
        yaml_.blank();
        yaml_.line(kSection, "qos-match-rules:");
        for (std::size_t i = 0; i < file_.rules.size(); ++i) {
            const Rule& rule = file_.rules[i];
            yaml_.comment(2, fmt::format("rule {}, {}", i + 1, place(rule.at)));
            yaml_.begin_entry();
            use(rule.use);
            references("source", rule.source);
            references("destination", rule.destination);
            ranges("qos-class", rule.qos_class);
            ranges("service-id", rule.service_id);
            pkeys(rule.pkey);
            if (rule.level_name) {
                scalars_.name(*rule.level_name, "qos-level");
                key("qos-level-name", yaml_scalar(levels_.of(rule.level_name->value)));
            }
        }
    }

    void write_ulps()
    {
        if (file_.ulps.empty()) {
            return;
        }
        yaml_.blank();
        const UlpEntry* chosen_default = default_entry();
        const bool any = std::any_of(file_.ulps.begin(), file_.ulps.end(), [&](const UlpEntry& entry) {
            return entry.ulp != Ulp::Default || &entry == chosen_default;
        });
        if (any) {
            yaml_.line(kSection, "qos-ulps:");
        }
        std::size_t number = file_.rules.size();
        for (const UlpEntry& entry : file_.ulps) {
            if (entry.ulp != Ulp::Default) {
                write_ulp(entry, ++number);
            } else if (chosen_default == nullptr) {
                yaml_.comment(2, fmt::format("{}: `default` is ignored by OpenSM: there is a qos-level of this name",
                                             place(entry.at)));
            } else if (&entry != chosen_default) {
                yaml_.comment(2, fmt::format("{}: this `default` is replaced by a later one", place(entry.at)));
            } else {
                yaml_.comment(2, fmt::format("{}: not covered by any rule", place(entry.at)));
                yaml_.begin_entry();
                key("ulp", "default");
                if (entry.sl) {
                    key("qos-level-name", default_level_);
                }
            }
        }
    }

    void write_ulp(const UlpEntry& entry, std::size_t number)
    {
        yaml_.comment(2, fmt::format("rule {}, {}: {}", number, place(entry.at), in_words(entry)));
        if (entry.ulp == Ulp::Ipoib) {
            yaml_.comment(2, "OpenSM drops its whole policy while such a partition has fewer than two full members");
        }
        if (entry.criterion == UlpCriterion::SourceTargetPortGuid) {
            yaml_.comment(2, "both ends must be among the ports; OpenSM's manual says one of them");
        }
        yaml_.begin_entry();
        key("ulp", std::string(form_of(entry.ulp).name));
        if (entry.criterion == UlpCriterion::PKey) {
            pkeys(entry.ranges);
        } else if (entry.criterion) {
            ranges(to_string(*entry.criterion), entry.ranges);
        }
        if (entry.sl) {
            key("qos-level-name", level_of_sl_.at(entry.sl->value));
        }
    }

    // "service-id 0x10000-0x1ffff"
    static std::string in_words(const UlpEntry& entry)
    {
        const UlpMeaning meaning = meaning_of(entry);
        const auto shown = [](const IntervalSet& set) { return shortened(to_string(set, NumberBase::Hex)); };
        if (!meaning.service_id.empty()) {
            return "service-id " + shown(meaning.service_id);
        }
        if (!meaning.pkey.empty()) {
            return "pkey " + shown(meaning.pkey);
        }
        const std::string_view ends = meaning.group_is_source && meaning.group_is_destination ? "source and destination"
                                      : meaning.group_is_source                               ? "source"
                                                                                              : "destination";
        return fmt::format("{} in the port-group `{}` of these ports", ends, meaning.group_name);
    }

    void write_setups()
    {
        for (const Setup& setup : file_.setups) {
            yaml_.blank();
            yaml_.comment(kSection, fmt::format("{}: `qos-setup` is left out. It has no effect: OpenSM reads VL "
                                                "arbitration and SL2VL tables",
                                                place(setup.at)));
            yaml_.comment(kSection, "from its own options (qos_*), and a host has none.");
        }
    }

    const File& file_;
    const Fabric& fabric_;
    reader::Context context_;
    YamlLines yaml_;
    ScalarWriter scalars_;
    Names groups_{"group"};
    Names levels_{"level"};
    std::map<std::string, const Group*> first_groups_;    // null: an ulp makes it
    std::map<std::string, const Level*> first_levels_;
    std::map<std::uint64_t, std::string> level_of_sl_;    // those of ulps
    std::string default_level_;                           // of `default`
};

}    // namespace

ReadResult<std::string> import_opensm(const opensm::File& file, const Fabric& fabric)
{
    ReadResult<std::string> result;
    std::string text = Importer(file, fabric, result.diagnostics).write();
    if (!result.diagnostics.has_errors()) {
        result.value = std::make_shared<const std::string>(std::move(text));
    }
    return result;
}

ReadResult<std::string> import_opensm(const std::shared_ptr<const SourceFile>& source, const Fabric& fabric)
{
    OpensmResult native = read_opensm_policy(source, OpensmMode::Strict, fabric);
    if (!native.value) {
        native = read_opensm_policy(source, OpensmMode::Default, fabric);
    }
    ReadResult<std::string> result;
    if (native.value) {
        result = import_opensm(*native.file, fabric);
    }
    native.diagnostics.append(std::move(result.diagnostics));
    result.diagnostics = std::move(native.diagnostics);
    result.diagnostics.sort_by_location();
    return result;
}

}    // namespace rdmaqos
