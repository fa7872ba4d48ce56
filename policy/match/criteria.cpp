#include "policy/match/criteria.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "lib/base/overloaded.h"
#include "lib/base/text.h"
#include "policy/match/client.h"

namespace rdmaqos {
namespace {

std::string group_names(const std::vector<std::size_t>& groups, const Policy& policy)
{
    std::string text;
    for (const std::size_t index : groups) {
        text += fmt::format("{}{}", text.empty() ? "" : ", ", policy.groups.at(index).name);
    }
    return text;
}

std::string to_words(const DeviceNames& names)
{
    std::string text = fmt::format("{}/{}", printable(names.device), names.port);
    for (const auto& other : {names.netdev, names.pci_address}) {
        if (!other.empty()) {
            text += ", " + printable(other);
        }
    }
    if (names.link_layer) {
        text += fmt::format(", {}", to_string(*names.link_layer));
    }
    if (!names.link_speed.is_zero()) {
        text += fmt::format(", {}", to_string(names.link_speed));
    }
    return text;
}

}    // namespace

std::string in_words(std::uint64_t number, NumberBase base)
{
    return base == NumberBase::Hex ? fmt::format("{:#x}", number) : fmt::format("{}", number);
}

Evaluator::Evaluator(const Policy& policy, const ResolvedGroups& groups, const Request& request,
                     const Identity& identity)
    : policy_(policy), groups_(groups), request_(request), identity_(identity)
{
    assert(groups.groups.size() == policy.groups.size());
}

bool Evaluator::is_member(const ResolvedGroup& group, const PathEnd& end)
{
    const NodeTypes& types = group.node_types;
    if (includes_all(types)) {
        return true;
    }
    if (end.type && ((*end.type == NodeType::Ca && types.ca) || (*end.type == NodeType::Switch && types.switch_) ||
                     (*end.type == NodeType::Router && types.router))) {
        return true;
    }
    if (end.guid && group.guids.contains(*end.guid)) {
        return true;
    }
    return end.gid != nullptr && std::any_of(group.gids.begin(), group.gids.end(),
                                             [&](const GidPrefix& prefix) { return prefix.contains(*end.gid); });
}

bool Evaluator::is_in(const std::vector<std::size_t>& groups, const std::optional<Endpoint>& end) const
{
    const PathEnd forms = path_end(end, groups_);
    return end && std::any_of(groups.begin(), groups.end(),
                              [&](std::size_t index) { return is_member(groups_.groups[index], forms); });
}

bool Evaluator::asks(const MatchRule& rule, const Criterion& criterion)
{
    return std::visit(Overloaded{
                          [&](const EndKind& kind) { return !(rule.*kind.groups).empty(); },
                          [&](const NumberKind& kind) { return !(rule.*kind.intervals).empty(); },
                          [&](const DeviceKind& kind) { return !(rule.*kind.selectors).empty(); },
                          [&](const ClientKey* key) { return rule.client && rdmaqos::asks(*rule.client, *key); },
                      },
                      criterion.kind);
}

bool Evaluator::holds(const MatchRule& rule, const Criterion& criterion) const
{
    if (!asks(rule, criterion)) {
        return true;
    }
    return std::visit(
        Overloaded{
            [&](const EndKind& kind) { return is_in(rule.*kind.groups, request_.*kind.end); },
            [&](const NumberKind& kind) {
                const auto number = kind.number(request_);
                return number && (rule.*kind.intervals).contains(*number & kind.mask);
            },
            [&](const DeviceKind& kind) {
                const auto& device = request_.*kind.device;
                return device && is_selected(rule.*kind.selectors, *device);
            },
            [&](const ClientKey* key) { return rdmaqos::holds(*rule.client, *key, identity_, ClientUse::Classify); },
        },
        criterion.kind);
}

std::string Evaluator::asked(const MatchRule& rule, const Criterion& criterion) const
{
    return std::visit(
        Overloaded{
            [&](const EndKind& kind) { return group_names(rule.*kind.groups, policy_); },
            [&](const NumberKind& kind) { return to_string(rule.*kind.intervals, kind.base); },
            [&](const DeviceKind& kind) { return to_string(rule.*kind.selectors); },
            [&](const ClientKey* key) { return rule.client ? rdmaqos::asked(*rule.client, *key) : std::string(); },
        },
        criterion.kind);
}

std::string Evaluator::has(const Criterion& criterion) const
{
    const std::string value = std::visit(Overloaded{
                                             [&](const EndKind& kind) {
                                                 const auto& end = request_.*kind.end;
                                                 return end ? to_string(*end) : std::string();
                                             },
                                             [&](const NumberKind& kind) {
                                                 const auto number = kind.number(request_);
                                                 return number ? in_words(*number, kind.base) : std::string();
                                             },
                                             [&](const DeviceKind& kind) {
                                                 const auto& device = request_.*kind.device;
                                                 return device ? to_words(*device) : std::string();
                                             },
                                             [&](const ClientKey* key) { return rdmaqos::has(identity_, *key); },
                                         },
                                         criterion.kind);
    return value.empty() ? "absent" : value;
}

std::string Evaluator::reasons(const MatchRule& rule) const
{
    std::string text;
    for (const Criterion& criterion : kCriteria) {
        if (!asks(rule, criterion)) {
            continue;
        }
        const auto* key = std::get_if<const ClientKey*>(&criterion.kind);
        const std::string fact = key != nullptr ? has_in_words(identity_, **key)
                                                : fmt::format("{} {}", criterion.key, has(criterion));
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", fact, to_string(trust_in(criterion, request_)));
    }
    return text;
}

}    // namespace rdmaqos
