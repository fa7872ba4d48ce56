#include "tools/rdma-qosctl/rendering/rules.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rdmaqos::ctl {
namespace {

std::string_view state_word(const RuleView& rule)
{
    return rule.skipped ? to_string(rule.skipped->why) : "read";
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

}    // namespace rdmaqos::ctl
