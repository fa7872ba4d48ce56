#include "policy/match/criteria.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/match/client.h"
#include "policy/match/glob_index.h"

namespace rdmaqos {
namespace {

std::optional<ClientKey> client_key(Criterion criterion)
{
    switch (criterion) {
    case Criterion::User:
        return ClientKey::User;
    case Criterion::Group:
        return ClientKey::Group;
    case Criterion::Unit:
        return ClientKey::Unit;
    case Criterion::Cgroup:
        return ClientKey::Cgroup;
    case Criterion::Executable:
        return ClientKey::Executable;
    default:
        return std::nullopt;
    }
}

bool contains(const IntervalSet& set, const std::optional<std::uint64_t>& value)
{
    return set.empty() || (value && set.contains(*value));
}

std::optional<std::uint64_t> masked(const std::optional<std::uint16_t>& pkey)
{
    return pkey ? std::optional<std::uint64_t>(partition_of(*pkey)) : std::nullopt;
}

template <typename T, typename Format>
std::string or_absent(const std::optional<T>& value, Format format)
{
    return value ? format(*value) : std::string("absent");
}

std::string names_of(const std::vector<std::size_t>& groups, const Policy& policy)
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
    return text;
}

}    // namespace

std::string_view key_of(Criterion criterion)
{
    switch (criterion) {
    case Criterion::Source:
        return "source";
    case Criterion::Destination:
        return "destination";
    case Criterion::QosClass:
        return "qos-class";
    case Criterion::ServiceId:
        return "service-id";
    case Criterion::PKey:
        return "pkey";
    case Criterion::Device:
        return "device";
    case Criterion::User:
        return "client.user";
    case Criterion::Group:
        return "client.group";
    case Criterion::Unit:
        return "client.unit";
    case Criterion::Cgroup:
        return "client.cgroup";
    case Criterion::Executable:
        return "client.executable";
    }
    return "";
}

std::vector<std::string> names_of(const DeviceNames& device)
{
    std::vector<std::string> names{device.device, fmt::format("{}/{}", device.device, device.port)};
    for (const auto& other : {device.netdev, device.pci_address}) {
        if (!other.empty()) {
            names.push_back(other);
        }
    }
    return names;
}

Judge::Judge(const Policy& policy, const ResolvedGroups& groups, const Request& request, const Identity& identity)
    : policy_(policy), groups_(groups), request_(request), identity_(identity),
      source_(path_end(request.source, groups)), destination_(path_end(request.destination, groups))
{
    assert(groups.groups.size() == policy.groups.size());
    if (request.device) {
        device_names_ = names_of(*request.device);
    }
}

bool Judge::is_member(const ResolvedGroup& group, const PathEnd& end)
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

bool Judge::end_holds(const std::vector<std::size_t>& asked, const std::optional<Endpoint>& endpoint,
                      const PathEnd& end) const
{
    if (asked.empty()) {
        return true;
    }
    return endpoint && std::any_of(asked.begin(), asked.end(),
                                   [&](std::size_t index) { return is_member(groups_.groups[index], end); });
}

bool Judge::device_holds(const MatchRule& rule) const
{
    return rule.devices.empty() ||
           std::any_of(rule.devices.begin(), rule.devices.end(), [&](const std::string& pattern) {
               return std::any_of(device_names_.begin(), device_names_.end(),
                                  [&](const std::string& name) { return name_matches(pattern, name); });
           });
}

bool Judge::asks(const MatchRule& rule, Criterion criterion)
{
    switch (criterion) {
    case Criterion::Source:
        return !rule.source.empty();
    case Criterion::Destination:
        return !rule.destination.empty();
    case Criterion::QosClass:
        return !rule.qos_class.empty();
    case Criterion::ServiceId:
        return !rule.service_id.empty();
    case Criterion::PKey:
        return !rule.pkey.empty();
    case Criterion::Device:
        return !rule.devices.empty();
    default:
        return rule.client && rdmaqos::asks(*rule.client, *client_key(criterion));
    }
}

bool Judge::holds(const MatchRule& rule, Criterion criterion) const
{
    switch (criterion) {
    case Criterion::Source:
        return end_holds(rule.source, request_.source, source_);
    case Criterion::Destination:
        return end_holds(rule.destination, request_.destination, destination_);
    case Criterion::QosClass:
        return contains(rule.qos_class, request_.qos_class);
    case Criterion::ServiceId:
        return contains(rule.service_id, request_.service_id);
    case Criterion::PKey:
        return contains(rule.pkey, masked(request_.pkey));
    case Criterion::Device:
        return device_holds(rule);
    default:
        return !asks(rule, criterion) ||
               rdmaqos::holds(*rule.client, *client_key(criterion), identity_, ClientUse::Classify);
    }
}

std::string Judge::asked(const MatchRule& rule, Criterion criterion) const
{
    switch (criterion) {
    case Criterion::Source:
        return names_of(rule.source, policy_);
    case Criterion::Destination:
        return names_of(rule.destination, policy_);
    case Criterion::QosClass:
        return rdmaqos::to_string(rule.qos_class, NumberBase::Decimal);
    case Criterion::ServiceId:
        return rdmaqos::to_string(rule.service_id, NumberBase::Hex);
    case Criterion::PKey:
        return rdmaqos::to_string(rule.pkey, NumberBase::Hex);
    case Criterion::Device:
        return fmt::format("{}", fmt::join(rule.devices, ", "));
    default:
        return rule.client ? rdmaqos::asked(*rule.client, *client_key(criterion)) : std::string();
    }
}

std::string Judge::has(Criterion criterion) const
{
    const auto endpoint = [](const Endpoint& end) { return to_string(end); };
    const auto hex = [](std::uint64_t value) { return fmt::format("{:#x}", value); };
    switch (criterion) {
    case Criterion::Source:
        return or_absent(request_.source, endpoint);
    case Criterion::Destination:
        return or_absent(request_.destination, endpoint);
    case Criterion::QosClass:
        return or_absent(request_.qos_class, [](std::uint16_t value) { return fmt::format("{}", value); });
    case Criterion::ServiceId:
        return or_absent(request_.service_id, hex);
    case Criterion::PKey:
        return or_absent(request_.pkey, hex);
    case Criterion::Device:
        return or_absent(request_.device, to_words);
    default: {
        const std::string value = rdmaqos::has(identity_, *client_key(criterion));
        return value.empty() ? "absent" : value;
    }
    }
}

std::string Judge::reasons(const MatchRule& rule) const
{
    std::string text;
    for (const auto criterion : kCriteria) {
        if (!asks(rule, criterion)) {
            continue;
        }
        const auto key = client_key(criterion);
        const std::string fact = key ? has_in_words(identity_, *key)
                                     : fmt::format("{} {}", key_of(criterion), has(criterion));
        text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", fact, key ? "verified" : "claimed");
    }
    return text;
}

}    // namespace rdmaqos
