#include "tools/rdma-qosctl/rendering/transient.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "policy/load/transient_files.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

std::string_view state_word(const RuleView& rule)
{
    return rule.skipped ? to_string(rule.skipped->why) : "read";
}

constexpr std::string_view kAppliedWord = "applied";

std::string ends_in_text(const ListedOverride& listed, std::chrono::system_clock::time_point now)
{
    const Transient& transient = listed.view.transient;
    if (listed.state == "ended") {
        return "ended";
    }
    if (transient.until) {
        return time_in_words(*transient.until - std::chrono::floor<std::chrono::seconds>(now));
    }
    return transient.cgroup.empty() ? "next boot" : "";
}

}    // namespace

std::string render_rules(const std::vector<RuleView>& rules, const Screen& screen)
{
    if (rules.empty()) {
        return fmt::format("no transient rules: there is no file in {}\n", kTransientDirectory);
    }
    using Fit = Table::Fit;
    constexpr auto kLeft = Table::Align::Left;
    Table table({{"NAME"},
                 {"UNTIL"},
                 {"OWNER", kLeft, Fit::Shorten},
                 {"CGROUP", kLeft, Fit::ShortenPath},
                 {"STATE"},
                 {"FILE", kLeft, Fit::DropSoon}});
    for (const auto& rule : rules) {
        const Transient& transient = rule.file.transient;
        table.add({rule.name, transient.until ? utc_text(*transient.until) : "", transient.owner, transient.cgroup,
                   Cell(std::string(state_word(rule)), rule.skipped ? Style::Bad : Style::Plain),
                   rule.file.path.string()});
    }
    return table.render(screen);
}

Json rule_json(const RuleView& rule)
{
    Json json{{"name", rule.name}, {"file", rule.file.path.string()}, {"state", state_word(rule)}};
    set_text(json, "until", rule.file.transient.until ? utc_text(*rule.file.transient.until) : "");
    set_text(json, "owner", rule.file.transient.owner);
    set_text(json, "cgroup", rule.file.transient.cgroup);
    return json;
}

std::string render_overrides(const std::vector<ListedOverride>& overrides, std::chrono::system_clock::time_point now,
                             const Screen& screen)
{
    if (overrides.empty()) {
        return fmt::format("no level is overridden: no file in {} does it\n", kTransientDirectory);
    }
    using Fit = Table::Fit;
    constexpr auto kLeft = Table::Align::Left;
    Table table({{"LEVEL", kLeft, Fit::Shorten},
                 {"PROPERTY"},
                 {"VALUE"},
                 {"IN-PLACE-OF"},
                 {"ENDS-IN"},
                 {"CGROUP", kLeft, Fit::Drop},
                 {"STATE"},
                 {"FILE", kLeft, Fit::DropSoon}});
    for (const auto& listed : overrides) {
        const OverrideView& view = listed.view;
        table.add({view.level, view.property, view.value, view.in_place_of, ends_in_text(listed, now),
                   view.transient.cgroup, Cell(listed.state, listed.state == kAppliedWord ? Style::Plain : Style::Bad),
                   view.file});
    }
    return table.render(screen);
}

std::string render_set_override(const OverrideView& view, const std::optional<ReloadView>& reload,
                                std::chrono::system_clock::time_point now)
{
    const bool is_endless = !view.transient.until && view.transient.cgroup.empty();
    std::string state = "is written, and in force when a daemon runs";
    if (reload) {
        const auto but = but_not_on_devices(*reload);
        state = but.empty() ? "is in force" : fmt::format("is in policy {}{}", reload->revision, but);
    }
    return fmt::format("the override of {} {}; it {}{}\n", printable(view.level), printable(state),
                       end_in_words(view.transient, now), is_endless ? ", for there is no `--for`" : "");
}

Json override_json(const OverrideView& view)
{
    Json json{{"level", view.level}, {"property", view.property}, {"value", view.value}};
    set_text(json, "in-place-of", view.in_place_of);
    set_text(json, "until", view.transient.until ? utc_text(*view.transient.until) : "");
    set_text(json, "cgroup", view.transient.cgroup);
    set_text(json, "owner", view.transient.owner);
    set_text(json, "file", view.file);
    return json;
}

Json listed_override_json(const ListedOverride& listed)
{
    Json json = override_json(listed.view);
    json["state"] = listed.state;
    return json;
}

std::string describe_overrides(const std::vector<OverrideView>& overrides, std::chrono::system_clock::time_point now)
{
    std::vector<std::string> words;
    std::ranges::transform(overrides, std::back_inserter(words), [&](const OverrideView& view) {
        return fmt::format("{}, {}", change_in_words(view), end_in_words(view.transient, now));
    });
    return fmt::format("{}: {}", overrides.size(), fmt::join(words, "; "));
}

}    // namespace rdmaqos::ctl
