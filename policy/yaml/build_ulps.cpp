#include "policy/yaml/build_ulps.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/keys/choices.h"
#include "policy/keys/objects.h"
#include "policy/model/ulp_forms.h"

namespace rdmaqos::reader {
namespace {

using namespace std::string_view_literals;

constexpr std::array kCriteria{UlpCriterion::PortNum,        UlpCriterion::ServiceId,
                               UlpCriterion::PKey,           UlpCriterion::TargetPortGuid,
                               UlpCriterion::SourcePortGuid, UlpCriterion::SourceTargetPortGuid};
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
        target.sl = read_integer<std::uint8_t>(context, *sl);
    }
    if (name) {
        target.level = find_level(build, *name);
    }
    if (sl && name) {
        context.error(*find_key(mapping.node(), "qos-level-name"), "a ULP has either `sl` or `qos-level-name`");
        context.note(context.locate(*find_key(mapping.node(), "sl")), "`sl` is given here");
    } else if (!sl && !name && !mapping.has_unknown_keys()) {
        context.error(mapping.node(), "a ULP needs an `sl` or a `qos-level-name`");
    }
    return target;
}

struct UlpField {
    UlpCriterion criterion;
    Field field;
};

std::vector<std::string_view> names_of(const std::vector<UlpCriterion>& criteria)
{
    std::vector<std::string_view> names;
    names.reserve(criteria.size());
    for (const UlpCriterion criterion : criteria) {
        names.push_back(to_string(criterion));
    }
    return names;
}

// The one criterion that stands and may stand.
std::optional<UlpField> read_criterion(Context& context, const Mapping& mapping, const UlpForm& form)
{
    std::optional<UlpField> criterion;
    for (const UlpCriterion asked : kCriteria) {
        const auto key = to_string(asked);
        const auto field = mapping.find(key);
        if (!field) {
            continue;
        }
        const Node& at = *find_key(mapping.node(), key);
        if (std::find(form.criteria.begin(), form.criteria.end(), asked) == form.criteria.end()) {
            context.error(at, fmt::format("`{}` cannot be combined with `ulp: {}`", key, form.name),
                          form.criteria.empty() ? ""
                                                : fmt::format("it accepts {}", in_backticks(names_of(form.criteria))));
        } else if (criterion) {
            context.error(at, fmt::format("`{}` and `{}` in one ULP", criterion->field.key, key),
                          "a ULP has one criterion; use a match rule for more");
        } else {
            criterion = UlpField{asked, *field};
        }
    }
    if (form.needs_one && !criterion && !mapping.has_unknown_keys()) {
        context.error(mapping.node(), fmt::format("`ulp: {}` needs a criterion", form.name),
                      fmt::format("one of {}", in_backticks(names_of(form.criteria))));
    }
    return criterion;
}

IntervalSet read_criterion_ranges(Context& context, const UlpField& criterion)
{
    switch (criterion.criterion) {
    case UlpCriterion::PortNum:
        return read_ranges(context, criterion.field, kHighestUlpPort);
    case UlpCriterion::PKey:
        return read_pkeys(context, criterion.field);
    default:
        return read_ranges(context, criterion.field, ~std::uint64_t{0});
    }
}

UlpMeaning read_meaning(Context& context, const UlpForm& form, const std::optional<UlpField>& criterion)
{
    return criterion ? meaning_of(form.ulp, criterion->criterion, read_criterion_ranges(context, *criterion))
                     : meaning_of(form.ulp, std::nullopt, {});
}

std::string in_opensm_words(const UlpForm& form, const std::optional<UlpField>& criterion)
{
    if (!criterion) {
        return ulp_in_words(form.ulp, std::nullopt, {});
    }
    std::vector<std::string> ranges;
    const Node& value = *criterion->field.value;
    for (const Node& item : value.is_scalar() ? std::span(&value, 1) : std::span(value.children)) {
        ranges.push_back(item.text);
    }
    return ulp_in_words(form.ulp, criterion->criterion, ranges);
}

void read_default(Build& build, const Mapping& mapping, const Location& location)
{
    const Target target = read_target(build, mapping);
    build.set_ulp_default(target.level ? *target.level : build.default_level_of_sl(target.sl.value_or(0), location),
                          location, "`ulp: default`");
}

void read_ulp(Build& build, const Node& entry)
{
    Context& context = build.context;
    const Mapping mapping(context, entry, keys::kUlp);
    if (!mapping.is_valid()) {
        return;
    }
    const auto name = mapping.find("ulp");
    if (!name) {
        context.error(entry, "an entry of `qos-ulps` needs a `ulp`");
        return;
    }
    const auto ulp = read_choice(context, *name, keys::kUlps);
    if (!ulp) {
        return;
    }
    const UlpForm& form = form_of(*ulp);
    MatchRule rule;
    rule.origin = RuleOrigin::Ulp;
    rule.location = context.locate(entry);
    if (const auto use = mapping.find("use")) {
        rule.use = read_description(context, *use);
    }
    const auto criterion = read_criterion(context, mapping, form);
    if (*ulp == Ulp::Default) {
        read_default(build, mapping, rule.location);
        return;
    }
    rule.ulp = in_opensm_words(form, criterion);
    const Target target = read_target(build, mapping);
    rule.level = target.level ? *target.level : build.level_of_sl(target.sl.value_or(0), rule.location);
    build.add_ulp(read_meaning(context, form, criterion), std::move(rule));
}

}    // namespace

void read_ulps(Build& build)
{
    for (const Node& entry : build.sections.ulps) {
        read_ulp(build, entry);
    }
}

void report_no_default(Build& build)
{
    if (build.sections.incomplete || build.context.files().empty()) {
        return;
    }
    const auto& at = build.sections.levels_at;
    build.context.error(at ? build.context.locate(*at) : build.context.start_of(0), "there is no default level",
                        "add a qos-level `DEFAULT` (`- {name: DEFAULT, sl: 0}`) or a `ulp: default`");
    if (const Position* removed = build.sections.levels.removed_at("default")) {
        build.context.note(build.context.locate(*removed), "it is removed here");
    }
}

}    // namespace rdmaqos::reader
