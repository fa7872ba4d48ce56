#include "lib/port_classes/findings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/port_classes/words.h"
#include "lib/tree/fair_parts.h"

namespace rdmaqos::port_classes {
namespace {

constexpr std::string_view kWithOthers = "class 0, with everything outside the policy";

Finding finding_of(const ElementPath& path, std::string requested, std::string achievable, std::string why)
{
    return {FindingKind::TrafficClass, false, path, std::move(requested), std::move(achievable), std::move(why)};
}

bool is_marked(const LevelMark& mark)
{
    return mark.dscp && *mark.dscp != 0;
}

std::string why_unmarked(const LevelMark& mark)
{
    return mark.dscp ? "its `dscp` is 0, as that of packets without a mark"
                     : "it has no `dscp`, so its packets cannot be told from others";
}

void report_child(const ClassRequest& child, bool has_class, std::vector<Finding>& findings)
{
    if (!has_class) {
        const bool has_any = std::ranges::any_of(child.levels, [](const auto& mark) { return mark.dscp.has_value(); });
        findings.push_back(finding_of(child.path, "a traffic class of its own", std::string(kWithOthers),
                                      child.levels.size() == 1 ? why_unmarked(child.levels.front())
                                      : has_any ? "no level of it has a `dscp` other than 0, which packets without a "
                                                  "mark have"
                                                : "no level of it has a `dscp`, so its packets cannot be told from "
                                                  "others"));
        return;
    }
    for (const LevelMark& mark : child.levels) {
        if (!is_marked(mark)) {
            findings.push_back(finding_of(child.path, fmt::format("level {} in its traffic class", mark.level),
                                          std::string(kWithOthers), why_unmarked(mark)));
        }
    }
}

// DSCPs that this child and another one of the group have.
std::vector<std::uint8_t> shared_dscps(const Requests& requests, const Group& group, std::size_t child)
{
    std::vector<std::uint8_t> shared;
    for (const std::uint8_t dscp : group.dscps) {
        const auto has = [&](std::size_t index) {
            return std::ranges::any_of(requests.children[index].levels,
                                       [dscp](const LevelMark& mark) { return mark.dscp == dscp; });
        };
        if (has(child) && std::ranges::count_if(group.children, has) > 1) {
            shared.push_back(dscp);
        }
    }
    return shared;
}

void report_group(const Requests& requests, const Group& group, std::uint8_t classes, std::vector<Finding>& findings)
{
    if (group.children.size() < 2) {
        return;
    }
    for (const std::size_t child : group.children) {
        const auto shared = shared_dscps(requests, group, child);
        std::string why;
        if (!shared.empty()) {
            why = fmt::format("levels of others have DSCP {}, too, so their packets cannot be told apart",
                              ranges_in_words(shared));
        } else if (group.is_overflow) {
            why = fmt::format("the port has {} traffic classes, one of them for everything outside the policy",
                              classes);
        } else {
            why = "they share a DSCP with a third";
        }
        findings.push_back(finding_of(requests.children[child].path, "a traffic class of its own",
                                      "one together with " + in_words(requests, group.children, child),
                                      std::move(why)));
    }
}

}    // namespace

void report_marks(const Requests& requests, const std::vector<Group>& groups, std::uint8_t classes,
                  std::vector<Finding>& findings)
{
    for (std::size_t index = 0; index < requests.children.size(); ++index) {
        const bool has_class = std::ranges::any_of(groups, [index](const Group& group) {
            return std::ranges::find(group.children, index) != group.children.end();
        });
        report_child(requests.children[index], has_class, findings);
    }
    for (const Group& group : groups) {
        report_group(requests, group, classes, findings);
    }
    for (const LevelMark& mark : requests.elsewhere) {
        for (const Group& group : groups) {
            if (is_marked(mark) && group.has(*mark.dscp)) {
                findings.push_back(finding_of(ElementPath("level " + mark.level), std::string(kWithOthers),
                                              "the class of " + in_words(requests, group.children),
                                              fmt::format("DSCP {} is that of a level there, too", *mark.dscp)));
            }
        }
    }
}

namespace {

// By the port alone: the part of each class when those in `is_busy` are. Empty: one of them is strict.
std::optional<std::array<double, dcb::kTrafficClasses>>
parts_of_classes(const dcb::Ets& ets, const std::array<bool, dcb::kTrafficClasses>& is_busy)
{
    std::array<double, dcb::kTrafficClasses> parts{};
    double sum = 0;
    for (std::size_t index = 0; index < dcb::kTrafficClasses; ++index) {
        if (!is_busy.at(index)) {
            continue;
        }
        const dcb::TrafficClass& each = ets.traffic_class.at(index);
        if (each.selection == dcb::Selection::Strict || each.selection == dcb::Selection::CreditBasedShaper) {
            return std::nullopt;
        }
        // What is no vendor's business is by weight; a vendor's own way is taken for equal parts.
        parts.at(index) = each.selection == dcb::Selection::Ets ? std::max<int>(each.weight, 1) : 1;
        sum += parts.at(index);
    }
    for (double& part : parts) {
        part = sum > 0 ? part / sum : 0;
    }
    return parts;
}

}    // namespace

Plan left_to_the_tree(const Requests& requests, const dcb::PortSettings& before, const Options& options)
{
    Plan plan;
    plan.wanted = before;
    if (!before.ets || requests.children.empty()) {
        return plan;
    }
    std::vector<FairClaim> claims;
    for (const ClassRequest& child : requests.children) {
        const double most = child.max_rate ? static_cast<double>(child.max_rate->kbps())
                                           : std::numeric_limits<double>::infinity();
        claims.push_back({most, child.min_rate ? child.min_rate->kbps() : 0, std::max(child.share, 1U)});
    }
    const auto link = static_cast<double>(std::max<std::uint64_t>(options.link_speed.kbps(), 1));
    const auto fair = divide_fairly(link, claims);
    // Only of children that are in one class with all their levels: of the others nothing can be said.
    std::array<double, dcb::kTrafficClasses> wanted{};
    std::array<bool, dcb::kTrafficClasses> is_busy{};
    std::vector<std::optional<std::uint8_t>> classes;
    for (std::size_t index = 0; index < claims.size(); ++index) {
        std::optional<std::uint8_t> only;
        for (const LevelMark& mark : requests.children[index].levels) {
            const std::uint8_t its = dcb::class_of_dscp(before, mark.dscp.value_or(0));
            if (only && *only != its) {
                return plan;
            }
            only = its;
        }
        classes.push_back(only);
        if (only) {
            wanted.at(*only) += fair[index] / link;
            is_busy.at(*only) = true;
        }
    }
    const auto parts = parts_of_classes(*before.ets, is_busy);
    for (std::uint8_t its = 0; its < dcb::kTrafficClasses; ++its) {
        if (!is_busy.at(its) || std::ranges::count(is_busy, true) < 2) {
            continue;
        }
        std::vector<std::size_t> children;
        for (std::size_t index = 0; index < classes.size(); ++index) {
            if (classes[index] == its) {
                children.push_back(index);
            }
        }
        const ElementPath& path = requests.children[children.front()].path;
        const std::string together = children.size() == 1
                                         ? ""
                                         : fmt::format(" for {} together", in_words(requests, children));
        if (!parts) {
            plan.findings.push_back(finding_of(path, fmt::format("its part{}, by the scheduling tree", together),
                                               "what strict classes leave",
                                               fmt::format("{} packets are in traffic class {} of the port, and one of "
                                                           "the classes is strict",
                                                           children.size() == 1 ? "its" : "their", its)));
        } else if (std::abs(parts->at(its) - wanted.at(its)) > kTolerated * wanted.at(its)) {
            plan.findings.push_back(
                finding_of(path,
                           fmt::format("{:.2f} % of the link{} when all are busy, by the scheduling tree",
                                       wanted.at(its) * 100, together),
                           fmt::format("{:.2f} %", parts->at(its) * 100),
                           fmt::format("{} packets are in traffic class {} of the port, which divides itself so",
                                       children.size() == 1 ? "its" : "their", its)));
        }
    }
    return plan;
}

}    // namespace rdmaqos::port_classes
