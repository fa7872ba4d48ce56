// qos-ulps: OpenSM's simplified rules, translated as OpenSM does, and the choice of the default level.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/build.h"

namespace rdmaqos::reader {
namespace {

using namespace std::string_view_literals;

enum class Ulp : std::uint8_t { Default, Sdp, Rds, Iser, Srp, Ipoib, Any };

constexpr std::array<Choice<Ulp>, 7> kUlps{{{"default", Ulp::Default},
                                            {"sdp", Ulp::Sdp},
                                            {"rds", Ulp::Rds},
                                            {"iser", Ulp::Iser},
                                            {"srp", Ulp::Srp},
                                            {"ipoib", Ulp::Ipoib},
                                            {"any", Ulp::Any}}};
constexpr std::array kUlpKeys{"ulp"sv,  "use"sv, "port-num"sv,         "service-id"sv,
                              "pkey"sv, "target-port-guid"sv, "source-port-guid"sv, "source-target-port-guid"sv,
                              "sl"sv,   "qos-level-name"sv};
constexpr std::array kCriteria{"port-num"sv,         "service-id"sv,       "pkey"sv,
                               "target-port-guid"sv, "source-port-guid"sv, "source-target-port-guid"sv};
constexpr std::uint64_t kHighestPort = 0xFFFF;
constexpr std::uint64_t kDefaultPartition = 0x7FFF;

struct UlpForm {
    Ulp ulp;
    std::string_view name;
    std::vector<std::string_view> criteria;    // one of these may stand
    bool needs_one = false;
    std::uint64_t service_base = 0;    // port-num is added to it
    Interval service_id{};             // without a criterion
};

// SDP's and the rdma_cm's TCP port space; RDS and iSER have one well-known port each.
const std::array<UlpForm, 7>& forms()
{
    static const std::array<UlpForm, 7> kForms{{
        {Ulp::Default, "default", {}, false, 0, {}},
        {Ulp::Sdp, "sdp", {"port-num"}, false, 0x10000, {0x10000, 0x1FFFF}},
        {Ulp::Rds, "rds", {"port-num"}, false, 0x1060000, {0x10648CA, 0x10648CA}},
        {Ulp::Iser, "iser", {"port-num"}, false, 0x1060000, {0x1060CBC, 0x1060CBC}},
        {Ulp::Srp, "srp", {"target-port-guid"}, true, 0, {}},
        {Ulp::Ipoib, "ipoib", {"pkey"}, false, 0, {}},
        {Ulp::Any,
         "any",
         {"service-id", "pkey", "target-port-guid", "source-port-guid", "source-target-port-guid"},
         true,
         0,
         {}},
    }};
    return kForms;
}

// The level that stands for an SL; made when first asked for.
class SimpleLevels {
public:
    explicit SimpleLevels(Policy& policy) : policy_(policy) {}

    std::size_t of(std::uint8_t sl, const Location& location)
    {
        auto& index = by_sl_.at(sl);
        if (!index) {
            index = make(fmt::format("SimpleQoSLevel_SL{}", sl), sl, location);
        }
        return *index;
    }

    std::size_t make(std::string name, std::uint8_t sl, const Location& location)
    {
        QosLevel level;
        level.name = std::move(name);
        level.sl = sl;
        level.from_ulp = true;
        level.location = location;
        policy_.levels.push_back(std::move(level));
        return policy_.levels.size() - 1;
    }

private:
    Policy& policy_;
    std::array<std::optional<std::size_t>, 16> by_sl_;
};

// What an entry leads to: an SL or, [host], a level.
struct Target {
    std::optional<std::uint8_t> sl;
    std::optional<std::size_t> level;
};

Target read_target(Build& build, const Mapping& mapping)
{
    Context& context = build.context;
    const auto sl = mapping.find("sl");
    const auto name = mapping.find("qos-level-name");
    Target target;
    if (sl) {
        target.sl = read_integer<std::uint8_t>(context, *sl, 0, 15);
    }
    if (name) {
        target.level = find_level(build, *name);
    }
    if (sl && name) {
        context.error(*find_key(mapping.node(), "qos-level-name"), "an ulp has either `sl` or `qos-level-name`");
        context.note(context.locate(*find_key(mapping.node(), "sl")), "`sl` is stated here");
    } else if (!sl && !name && !mapping.has_unknown_keys()) {
        context.error(mapping.node(), "an ulp needs an `sl` or a `qos-level-name`");
    }
    return target;
}

// The one criterion that stands and may stand.
std::optional<Field> read_criterion(Context& context, const Mapping& mapping, const UlpForm& form)
{
    std::optional<Field> criterion;
    for (const auto key : kCriteria) {
        const auto field = mapping.find(key);
        if (!field) {
            continue;
        }
        const Node& at = *find_key(mapping.node(), key);
        if (std::find(form.criteria.begin(), form.criteria.end(), key) == form.criteria.end()) {
            context.error(at, fmt::format("`{}` cannot stand with `ulp: {}`", key, form.name),
                          form.criteria.empty() ? "" : fmt::format("it takes {}", in_backticks(form.criteria)));
        } else if (criterion) {
            context.error(at, fmt::format("`{}` and `{}` in one ulp", criterion->key, key),
                          "an ulp has one criterion; write a match rule for more");
        } else {
            criterion = field;
        }
    }
    if (form.needs_one && !criterion && !mapping.has_unknown_keys()) {
        context.error(mapping.node(), fmt::format("`ulp: {}` needs a criterion", form.name),
                      fmt::format("one of {}", in_backticks(form.criteria)));
    }
    return criterion;
}

std::size_t add_group(Build& build, std::string_view name, const Field& field, const Location& location)
{
    PortGroup group;
    group.name = name;
    group.use = "made by qos-ulps";
    group.port_guids = read_ranges(build.context, field, ~std::uint64_t{0});
    group.location = location;
    // Match rules may name it; a port-group of the same name comes first.
    build.groups.add(name, build.policy.groups.size());
    build.policy.groups.push_back(std::move(group));
    return build.policy.groups.size() - 1;
}

IntervalSet shifted(const IntervalSet& set, std::uint64_t base)
{
    std::vector<Interval> intervals;
    for (const Interval& interval : set.intervals()) {
        intervals.push_back({base + interval.first, base + interval.last});
    }
    return IntervalSet(std::move(intervals));
}

void translate(Build& build, const UlpForm& form, const std::optional<Field>& criterion, MatchRule& rule)
{
    Context& context = build.context;
    const std::string_view key = criterion ? criterion->key : std::string_view{};
    if (key == "port-num") {
        rule.service_id = shifted(read_ranges(context, *criterion, kHighestPort), form.service_base);
    } else if (key == "service-id") {
        rule.service_id = read_ranges(context, *criterion, ~std::uint64_t{0});
    } else if (key == "pkey") {
        rule.pkey = read_pkeys(context, *criterion);
    } else if (key == "target-port-guid") {
        const auto name = form.ulp == Ulp::Srp ? "_SRP_Targets_" : "_ULP_Targets_";
        rule.destination = {add_group(build, name, *criterion, rule.location)};
    } else if (key == "source-port-guid") {
        rule.source = {add_group(build, "_ULP_Sources_", *criterion, rule.location)};
    } else if (key == "source-target-port-guid") {
        rule.source = {add_group(build, "_ULP_Sources_Targets_", *criterion, rule.location)};
        rule.destination = rule.source;
    } else if (form.ulp == Ulp::Ipoib) {
        rule.pkey = IntervalSet({{kDefaultPartition, kDefaultPartition}});
    } else {
        rule.service_id = IntervalSet({form.service_id});
    }
}

// "sdp, port-num 10000-20000" as the entry reads in OpenSM's own format.
std::string in_opensm_words(const UlpForm& form, const std::optional<Field>& criterion)
{
    std::string text(form.name);
    if (!criterion) {
        return text;
    }
    text += fmt::format(", {} ", criterion->key);
    if (criterion->value->is_scalar()) {
        return text + criterion->value->text;
    }
    bool first = true;
    for (const Node& item : criterion->value->children) {
        text += (first ? "" : ",") + item.text;
        first = false;
    }
    return text;
}

void read_default(Build& build, const Mapping& mapping, const Location& location, SimpleLevels& simple)
{
    const Target target = read_target(build, mapping);
    if (build.ulp_default) {
        build.context.warning(location, "a second `ulp: default`: it replaces the first");
    }
    build.ulp_default = target.level ? *target.level
                                     : simple.make("SimpleQoSLevel_DEFAULT", target.sl.value_or(0), location);
    if (build.levels.find("default")) {
        build.context.warning(location, "`ulp: default` is ignored: there is a qos-level `DEFAULT`");
    }
}

void read_ulp(Build& build, const Node& entry, SimpleLevels& simple)
{
    Context& context = build.context;
    const Mapping mapping(context, entry, "an ulp", kUlpKeys);
    if (!mapping.is_valid()) {
        return;
    }
    const auto name = mapping.find("ulp");
    if (!name) {
        context.error(entry, "an entry of `qos-ulps` needs an `ulp`");
        return;
    }
    const auto ulp = read_choice(context, *name, kUlps);
    if (!ulp) {
        return;
    }
    const UlpForm& form = forms().at(static_cast<std::size_t>(*ulp));
    MatchRule rule;
    rule.origin = RuleOrigin::Ulp;
    rule.location = context.locate(entry);
    if (const auto use = mapping.find("use")) {
        rule.use = read_description(context, *use);
    }
    const auto criterion = read_criterion(context, mapping, form);
    if (*ulp == Ulp::Default) {
        read_default(build, mapping, rule.location, simple);
        return;
    }
    rule.ulp = in_opensm_words(form, criterion);
    const Target target = read_target(build, mapping);
    rule.level = target.level ? *target.level : simple.of(target.sl.value_or(0), rule.location);
    translate(build, form, criterion, rule);
    build.ulp_rules.push_back(std::move(rule));
}

}    // namespace

void read_ulps(Build& build)
{
    SimpleLevels simple(build.policy);
    for (const Node& entry : build.sections.ulps) {
        read_ulp(build, entry, simple);
    }
}

void choose_default_level(Build& build)
{
    if (const auto level = build.levels.find("default")) {
        build.policy.default_level = *level;
        return;
    }
    if (build.ulp_default) {
        build.policy.default_level = *build.ulp_default;
        return;
    }
    if (build.sections.incomplete || build.context.files().empty()) {
        return;
    }
    const auto& at = build.sections.levels_at;
    build.context.error(at ? build.context.locate(*at) : build.context.start_of(0), "there is no default level",
                        "add a qos-level `DEFAULT` (`- {name: DEFAULT, sl: 0}`) or an `ulp: default`");
    if (const Position* removed = build.sections.levels.removed_at("default")) {
        build.context.note(build.context.locate(*removed), "it is removed here");
    }
}

}    // namespace rdmaqos::reader
