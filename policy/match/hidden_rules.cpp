#include "policy/match/hidden_rules.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/match/demands.h"
#include "policy/match/effort.h"
#include "policy/match/match_index.h"
#include "policy/match/port_sets.h"
#include "policy/match/rule_example.h"

namespace rdmaqos {
namespace {

// Some 50 ms; 0.3 s for the worst patterns.
constexpr std::size_t kMostSteps = 4'000'000;
// Of rules that hide one together, so many are tried whether they can be left out.
constexpr std::size_t kMostThinned = 32;
constexpr std::size_t kMostRulesShown = 20;
constexpr std::size_t kMostHidersShown = 4;

// No rule is compared with one that has this.
constexpr PlaceMask kNeverDecides = ~PlaceMask{0};

class Search {
public:
    explicit Search(const Matcher& matcher) : matcher_(matcher), ports_(matcher.groups()) {}

    std::vector<HiddenRule> run()
    {
        const Policy& policy = matcher_.policy();
        rules_.reserve(policy.rules.size());
        places_.reserve(policy.rules.size());
        for (const MatchRule& rule : policy.rules) {
            rules_.emplace_back(policy, rule);
            places_.push_back(rules_.back().places());
            examine(rules_.size() - 1);
        }
        return std::move(found_);
    }

private:
    void examine(std::size_t rule)
    {
        const Demands& demands = rules_[rule];
        if (demands.asks_for_nothing_there_is(ports_)) {
            places_[rule] = kNeverDecides;
            return;
        }
        const ClientKey* const key = demands.admits_nobody() ? nullptr : contradiction(demands, effort_);
        if (demands.admits_nobody() || key != nullptr) {
            places_[rule] = kNeverDecides;
            found_.push_back({rule, key == nullptr ? Hidden::ByNobody : Hidden::ByItsLevel, {}, false, key});
            return;
        }
        if (const auto above = rules_above_examples(rule); above && !effort_.is_spent()) {
            look_for_hiders(rule, *above);
        }
    }

    // The rules that decide about examples of what this one takes. Empty: it does itself about one of them.
    std::optional<std::vector<std::size_t>> rules_above_examples(std::size_t rule)
    {
        std::vector<std::size_t> above;
        const MatchRule* const all = matcher_.policy().rules.data();
        for (std::size_t number = 0; number < kRuleExamples; ++number) {
            const RuleExample example = example_of(rules_[rule], ports_, number);
            const MatchRule* const decides = matcher_.index().find(example.request, example.identity).rule;
            if (decides == all + rule) {
                return std::nullopt;
            }
            if (decides != nullptr && decides < all + rule) {
                above.push_back(static_cast<std::size_t>(decides - all));
            }
        }
        std::ranges::sort(above);
        above.erase(std::unique(above.begin(), above.end()), above.end());
        return above;
    }

    void look_for_hiders(std::size_t rule, const std::vector<std::size_t>& likely)
    {
        for (const std::size_t above : likely) {
            if (lacking(above, rule, 1).places == 0) {
                add({above}, rule);
                return;
            }
        }
        // By the one demand that the rule does not imply.
        std::array<std::vector<std::size_t>, kPlaceCount> but_for;
        const PlaceMask implied = rules_[rule].places_implied();
        for (std::size_t above = 0; above < rule; ++above) {
            if ((places_[above] & ~implied) != 0) {
                continue;
            }
            if (!effort_.spend(1)) {
                return;
            }
            const Lacking lacks = lacking(above, rule, 2);
            if (lacks.places == 0) {
                add({above}, rule);
                return;
            }
            if (lacks.places == 1) {
                but_for.at(lacks.last).push_back(above);
            }
        }
        for (std::size_t place = 0; place < kPlaceCount; ++place) {
            if (but_for.at(place).size() > 1 && meet_together(but_for.at(place), place, rule)) {
                add(thinned(std::move(but_for.at(place)), place, rule), rule);
                return;
            }
        }
    }

    struct Lacking {
        std::size_t places = 0;
        std::size_t last = 0;
    };

    // The demands of `above` that a client may not meet although it meets those of `rule`, up to so many of them.
    Lacking lacking(std::size_t above, std::size_t rule, std::size_t most)
    {
        const Demands& upper = rules_[above];
        const Demands& lower = rules_[rule];
        PlaceMask open = places_[above];
        if (upper.level() == lower.level()) {
            open &= bit_of_place(kCriteria.size()) - 1;
        }
        Lacking lacks;
        for (; open != 0 && lacks.places < most; open &= open - 1) {
            const auto place = static_cast<std::size_t>(std::countr_zero(open));
            if (!surely_imply(lower, place, upper.at(place), ports_, effort_)) {
                ++lacks.places;
                lacks.last = place;
            }
        }
        return lacks;
    }

    bool meet_together(const std::vector<std::size_t>& above, std::size_t place, std::size_t rule)
    {
        std::vector<const Demand*> demands;
        std::size_t parts = 0;
        for (const std::size_t one : above) {
            demands.push_back(&rules_[one].at(place));
            parts += 1 + demands.back()->numbers.intervals().size() + demands.back()->groups.size();
        }
        return effort_.spend(16 * parts) && surely_imply(rules_[rule], place, any_of(demands), ports_, effort_);
    }

    // Without those that are not needed: first of all those that never decide, then the lowest.
    std::vector<std::size_t> thinned(std::vector<std::size_t> above, std::size_t place, std::size_t rule)
    {
        if (above.size() > kMostThinned) {
            return above;
        }
        std::vector<std::size_t> order(above.rbegin(), above.rend());
        std::stable_partition(order.begin(), order.end(), [this](std::size_t one) { return hider_of_.contains(one); });
        for (const std::size_t one : order) {
            auto others = above;
            std::erase(others, one);
            if (!others.empty() && meet_together(others, place, rule)) {
                above = std::move(others);
            }
        }
        return above;
    }

    void add(std::vector<std::size_t> by, std::size_t rule)
    {
        HiddenRule hidden{rule, Hidden::ByRules, std::move(by), false, nullptr};
        if (hidden.by.size() == 1) {
            // Of one that is hidden itself, those that hide it.
            if (const auto known = hider_of_.find(hidden.by.front()); known != hider_of_.end()) {
                hidden.by = found_[known->second].by;
            }
            hidden.is_equal = hidden.by.size() == 1 && lacking(rule, hidden.by.front(), 1).places == 0;
        }
        hider_of_[rule] = found_.size();
        found_.push_back(std::move(hidden));
    }

    const Matcher& matcher_;
    PortSets ports_;
    Effort effort_{kMostSteps};
    std::vector<Demands> rules_;
    std::vector<PlaceMask> places_;    // by rule
    std::vector<HiddenRule> found_;
    std::map<std::size_t, std::size_t> hider_of_;    // from rules that are hidden by others into found_
};

// "match rule 3"
std::string name_of(const MatchRule& rule)
{
    return fmt::format("{} rule {}", rule.origin == RuleOrigin::Ulp ? "ulp" : "match", rule.number);
}

// Not all but one: that takes as much room as the last one.
std::size_t shown_of(std::size_t count, std::size_t most)
{
    return count > most + 1 ? most : count;
}

// "match rule 3 (policy.yaml:40:5) takes", "match rule 1, match rule 2 and 7 more together take"; the places of several
// are in the notes.
std::string hiders_take(const Policy& policy, const std::vector<std::size_t>& by)
{
    if (by.size() == 1) {
        return policy.describe_rule(policy.rules[by.front()]) + " takes";
    }
    std::string text;
    const std::size_t shown = shown_of(by.size(), kMostHidersShown);
    for (std::size_t i = 0; i < shown; ++i) {
        const std::string_view joint = i == 0 ? "" : i + 1 == by.size() ? " and " : ", ";
        text += fmt::format("{}{}", joint, name_of(policy.rules[by[i]]));
    }
    if (by.size() > shown) {
        text += fmt::format(" and {} more", by.size() - shown);
    }
    return text + " together take";
}

std::string hint_for(const Policy& policy, const HiddenRule& hidden)
{
    const MatchRule& rule = policy.rules[hidden.rule];
    const bool is_behind_all = rule.origin == RuleOrigin::Ulp &&
                               policy.rules[hidden.by.front()].origin == RuleOrigin::MatchRule;
    if (is_behind_all) {
        return "ulps come after all match rules: make it a match rule above, or remove it";
    }
    if (hidden.is_equal) {
        return "both take the same requests: remove one of them";
    }
    return hidden.by.size() == 1 ? "move it above that rule, or remove it" : "move it above these rules, or remove it";
}

void add_warning(const Policy& policy, const HiddenRule& hidden, Diagnostics& diagnostics)
{
    const MatchRule& rule = policy.rules[hidden.rule];
    const QosLevel& level = policy.levels[rule.level];
    const std::string subject = fmt::format("this {} can never match", rule.origin == RuleOrigin::Ulp ? "ulp" : "rule");
    if (hidden.how == Hidden::ByRules) {
        diagnostics
            .warning(rule.location,
                     fmt::format("{}: {} every request that it would", subject, hiders_take(policy, hidden.by)))
            .hint = hint_for(policy, hidden);
        for (std::size_t i = 0; i < shown_of(hidden.by.size(), kMostHidersShown); ++i) {
            const MatchRule& above = policy.rules[hidden.by[i]];
            diagnostics.note(above.location, name_of(above) + " is here");
        }
        return;
    }
    const std::string reason = hidden.how == Hidden::ByNobody
                                   ? fmt::format("nobody meets the `allow` of level `{}`", printable(level.name))
                                   : fmt::format("its `client` takes {0} {1}, and level `{2}` allows only {0} {3}",
                                                 hidden.key->name(), printable(asked(*rule.client, *hidden.key)),
                                                 printable(level.name), printable(asked(*level.allow, *hidden.key)));
    diagnostics.warning(rule.location, fmt::format("{}: {}", subject, reason))
        .hint = "change the `allow`, or remove the rule";
    diagnostics.note(level.allow->location, "the `allow` is here");
}

}    // namespace

std::vector<HiddenRule> hidden_rules(const Matcher& matcher)
{
    return Search(matcher).run();
}

Diagnostics warnings_of_hidden_rules(const Matcher& matcher)
{
    Diagnostics diagnostics;
    const auto hidden = hidden_rules(matcher);
    const std::size_t shown = shown_of(hidden.size(), kMostRulesShown);
    for (std::size_t i = 0; i < shown; ++i) {
        add_warning(matcher.policy(), hidden[i], diagnostics);
    }
    if (hidden.size() > shown) {
        diagnostics.warning(
            matcher.policy().rules[hidden[shown].rule].location,
            fmt::format("this rule and {} can never match either", counted(hidden.size() - shown - 1, "more rule")));
    }
    return diagnostics;
}

}    // namespace rdmaqos
