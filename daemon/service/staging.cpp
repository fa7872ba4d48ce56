#include "daemon/service/staging.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "daemon/port_classes/port_kernel.h"
#include "daemon/service/lost_levels.h"
#include "lib/base/file.h"
#include "lib/model/busy_rates.h"
#include "policy/explain/changes.h"
#include "policy/explain/part_changes.h"
#include "policy/load/policy_reader.h"
#include "policy/match/hidden_rules.h"
#include "policy/yaml/fabric_reader.h"
#include "policy/yaml/settings_reader.h"

namespace rdmaqos {
namespace {

// The paths that the classes of two compiled policies have, and their responders.
std::set<ElementPath> classes_of(const Compiled& before, const Compiled& after)
{
    std::set<ElementPath> classes;
    for (const auto* compiled : {&before, &after}) {
        for (const auto& [path, leaves] : compiled->classes) {
            classes.insert(path);
            if (!leaves.responder_leaf.empty()) {
                classes.insert(leaves.responder_leaf);
            }
        }
    }
    return classes;
}

std::optional<LossReason> reason_of(const Membership& membership)
{
    return membership.lost == nullptr ? std::nullopt : std::optional(membership.lost->reason);
}

// Where a queue pair stands, in the terms of a SessionChange.
struct Standing {
    std::string level;
    std::string leaf;

    friend auto operator<=>(const Standing&, const Standing&) = default;
};

// `held_back`: the device has no leaf for anybody.
Standing standing_of(const PlacementBook& book, std::uint32_t number, bool held_back)
{
    return {book.find(number)->membership.level, held_back ? "" : book.placement(number).requester.text()};
}

void add_queue_pairs(const Scene::Device& device, const PlacementBook& after, std::vector<SessionChange>& changes)
{
    const PlacementBook& before = *device.book;
    std::map<std::tuple<SessionId, Standing, Standing>, SessionChange> moves;
    for (const std::uint32_t number : before.members_in_order()) {
        const Member& member = *before.find(number);
        auto from = standing_of(before, number, device.held_back);
        auto to = standing_of(after, number, device.held_back);
        if (from == to) {
            continue;
        }
        SessionChange& change = moves[{member.session, from, to}];
        const Membership& then = after.find(number)->membership;
        change = {member.session,      member.owner,         device.key,         std::move(from.level),
                  std::move(to.level), std::move(from.leaf), std::move(to.leaf), change.queue_pairs + 1,
                  then.rule,           reason_of(then)};
    }
    for (auto& [key, change] : moves) {
        changes.push_back(std::move(change));
    }
}

// A reload finds out first, by writing, what a plan can only assume.
Finding not_tested()
{
    return {
        FindingKind::NotSupported,
        false,
        ElementPath::root(),
        "a plan from what the device is known to do",
        "this one assumes the expected attach mode; a reload tests the device first, and may refuse the policy then",
        "it has not been tested yet"};
}

std::string revision_of_main_file(const std::filesystem::path& root)
{
    auto text = read_regular_file(below_root(root, kTriedFile), kMaxConfigFileSize);
    return text ? revision_of({std::make_shared<const SourceFile>(SourceFile{std::string(kTriedFile), *text})})
                : std::string{};
}

// Going back means to read the files: who tries a policy expects the one that runs.
void warn_of_way_back(const Reading& reading, Loaded& loaded)
{
    const auto files = read_host_policy(reading.root, reading.names,
                                        loaded.fabric.value ? *loaded.fabric.value : Fabric{});
    if (!files.value) {
        loaded.policy.diagnostics.warning({}, "the files of this host cannot be used as they are")
            .hint = "`rdma-qosctl check` says why; going back means the policy that was in force before";
    } else if (files.value->revision != reading.before_trial) {
        loaded.policy.diagnostics
            .warning({}, fmt::format("the files of this host, revision {}, are not what was in force, revision {}",
                                     files.value->revision, reading.before_trial))
            .hint = "going back means the files";
    }
}

}    // namespace

Diagnostics Loaded::diagnostics() const
{
    Diagnostics all = settings.diagnostics;
    all.append(fabric.diagnostics);
    all.append(policy.diagnostics);
    return all;
}

std::filesystem::path fabric_path(const std::filesystem::path& root)
{
    return below_root(root, "/etc/rdma-qos/fabric.yaml");
}

FabricFile load_fabric(const std::filesystem::path& root)
{
    const auto path = fabric_path(root);
    const FileStamp stamp = stamp_of(path);    // before it is read: what is written meanwhile is read again
    return {stamp, read_fabric(path)};
}

Loaded load_files(const std::filesystem::path& root, const NameService& names,
                  std::chrono::system_clock::time_point now, const std::shared_ptr<const SourceFile>& main_file)
{
    auto transient_files = find_transient_files(root, now);
    FabricFile fabric = load_fabric(root);
    const Fabric known = fabric.read.value ? *fabric.read.value : Fabric{};
    auto policy = main_file ? read_host_policy(root, ProposedFile{kTriedFile, main_file}, names, known)
                            : read_host_policy(root, names, known);
    return {read_settings(below_root(root, kSettingsPath), names), std::move(fabric.read), fabric.stamp,
            std::move(policy), std::move(transient_files)};
}

void check_privilege(ReadResult<Settings>& settings, const std::string& why_ports_cannot_be_set)
{
    if (settings.value && settings.value->port_classes == PortClassesSetting::Manage &&
        !why_ports_cannot_be_set.empty()) {
        settings.diagnostics
            .error(settings.value->port_classes_at.at, "`port-classes: manage`: " + why_ports_cannot_be_set)
            .hint = how_to_allow_ports() + "; `port-classes: report` needs none";
        settings.value = nullptr;
    }
}

Rules make_rules(std::shared_ptr<const Policy> policy, std::shared_ptr<const Fabric> fabric,
                 const std::vector<LocalPort>& ports)
{
    Rules made;
    made.policy = std::move(policy);
    made.fabric = fabric ? std::move(fabric) : std::make_shared<const Fabric>();
    if (!made.policy) {
        return made;
    }
    made.matcher = std::make_shared<const Matcher>(*made.policy, resolve(*made.policy, *made.fabric, ports));
    made.by_port = std::ranges::any_of(
        made.policy->rules, [](const MatchRule& rule) { return !rule.devices.empty() || !rule.source.empty(); });
    return made;
}

Choice choose(const Rules& rules, const Request& request, const Identity& owner)
{
    Choice choice;
    const auto found = rules.matcher->match(request, owner);
    if (found) {
        choice.level = found->level;
        choice.verified = found->verified;
        choice.membership = membership(*rules.policy, *found->level, rules.matcher->why(*found, request, owner));
    } else {
        choice.refused = found.error();
        choice.membership.rule = found.error().message;
    }
    return choice;
}

bool has_own_choice(const Member& member, const Rules& rules, const Request& of_session, bool session_names_device)
{
    return member.has_path || (rules.by_port && !session_names_device && !of_session.level);
}

Staged stage(const Scene& scene, Rules rules, const Settings& settings)
{
    Staged staged;
    staged.rules = std::move(rules);
    const ScheduleSpec spec = schedule_spec(*staged.rules.policy, settings.leaf_reserve);
    std::unordered_map<std::uint64_t, const Scene::Party*> parties;
    const Policy& policy = *staged.rules.policy;
    LostLevels lost(
        scene.policy.get(), policy,
        {"", {}, "", scene.is_for_reload, policy.revision, std::chrono::floor<std::chrono::seconds>(scene.now)});
    for (const auto& session : scene.sessions) {
        Choice choice = choose(staged.rules, session.request, *session.owner);
        if (!session.adopted) {    // else it is released
            lost.move(session.id, *session.owner, {session.level, session.lost}, choice.membership, 0);
        }
        staged.sessions.emplace(session.id, std::move(choice));
        parties.emplace(static_cast<std::uint64_t>(session.id), &session);
    }
    std::vector<DeviceTrial> trials;
    for (const auto& device : scene.devices) {
        PlacementBook book = device.empty;
        book.set_spec(spec);
        for (const std::uint32_t number : device.book->members_in_order()) {
            Member member = *device.book->find(number);
            const Scene::Party& session = *parties.at(static_cast<std::uint64_t>(member.session));
            const Membership before = std::move(member.membership);
            member.membership = has_own_choice(member, staged.rules, session.request, session.names_device)
                                    ? choose(staged.rules, member.request, *session.owner).membership
                                    : staged.sessions.at(member.session).membership;
            if (!session.adopted) {
                lost.move(session.id, *session.owner, {before.level, before.lost}, member.membership, 1);
            }
            book.add(std::move(member));
        }
        static_cast<void>(book.update());
        if (!device.held_back) {
            trials.push_back({device.key, device.book->compiled().findings, book.compiled().findings});
        }
        staged.devices.push_back({device.key, std::move(book)});
    }
    staged.findings = judge(trials, settings.on_unsupported);
    staged.left_out = scene.left_out;
    staged.losses = lost.losses();
    staged.renamings = lost.renamings();
    return staged;
}

std::vector<SessionChange> session_changes(const Scene& scene, const Staged& staged)
{
    std::vector<SessionChange> changes;
    for (const auto& session : scene.sessions) {
        const Membership& after = staged.sessions.at(session.id).membership;
        if (!session.has_queue_pairs && session.level != after.level) {
            changes.push_back(
                {session.id, session.owner, {}, session.level, after.level, {}, {}, 0, after.rule, reason_of(after)});
        }
    }
    for (std::size_t i = 0; i < scene.devices.size(); ++i) {
        add_queue_pairs(scene.devices[i], staged.devices[i].book, changes);
    }
    return changes;
}

std::shared_ptr<Tried> read_and_stage(const Reading& reading)
{
    auto tried = std::make_shared<Tried>();
    Loaded& loaded = tried->loaded;
    if (reading.text || reading.running) {
        loaded.settings.value = std::make_shared<Settings>(reading.settings);
        loaded.fabric.value = reading.fabric ? reading.fabric : std::make_shared<const Fabric>();
    }
    if (reading.text) {
        loaded.policy = read_policy({reading.text}, reading.names, *loaded.fabric.value);
    } else if (reading.running) {
        loaded.transient_files = find_transient_files(reading.root, reading.now);
        loaded.policy = read_running_policy(reading.root, *reading.running, reading.names, *loaded.fabric.value);
    } else {
        loaded = load_files(reading.root, reading.names, reading.now, reading.main_file);
        check_privilege(loaded.settings, reading.why_ports_cannot_be_set);
    }
    if (reading.main_file) {
        tried->main_file_before = revision_of_main_file(reading.root);
    }
    if (!reading.before_trial.empty()) {
        warn_of_way_back(reading, loaded);
    }
    tried->is_refresh = reading.running.has_value();
    tried->scene = reading.scene;
    if (loaded.ok()) {
        Rules rules = make_rules(loaded.policy.value, loaded.fabric.value, tried->scene.ports);
        loaded.policy.diagnostics.append(warnings_of_hidden_rules(*rules.matcher));
        tried->staged = stage(tried->scene, std::move(rules), *loaded.settings.value);
    }
    return tried;
}

Scene running_in(Scene scene, const Staged& policy)
{
    for (std::size_t i = 0; i < scene.devices.size(); ++i) {
        scene.devices[i].book = std::make_shared<const PlacementBook>(policy.devices.at(i).book);
    }
    return scene;
}

std::vector<std::string> differing_files(const Policy& a, const Policy& b)
{
    const auto stands_in = [](const auto& file, const Policy& policy) {
        return std::ranges::any_of(
            policy.sources, [&](const auto& other) { return other->name == file->name && other->text == file->text; });
    };
    std::vector<std::string> names;
    for (const auto& [from, to] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
        for (const auto& file : from->sources) {
            if (!stands_in(file, *to) && std::ranges::find(names, file->name) == names.end()) {
                names.push_back(file->name);
            }
        }
    }
    return names;
}

PlanDraft draft_plan(const Tried& tried, const Policy& running)
{
    PlanDraft draft;
    const Staged& staged = *tried.staged;
    draft.report.revision = staged.rules.policy->revision;
    draft.report.levels = level_changes(running, *staged.rules.policy);
    auto& parts = draft.report.parts;
    parts = part_changes(running, *staged.rules.policy);
    if (parts.size() > PlanReport::kMostPartChanges) {
        draft.report.more_parts = parts.size() - PlanReport::kMostPartChanges;
        parts.resize(PlanReport::kMostPartChanges);
    }
    draft.report.sessions = session_changes(tried.scene, staged);
    draft.report.losses = staged.losses;
    draft.report.left_out = staged.left_out;
    draft.report.monitors = tried.loaded.settings.value->mode == Mode::Monitor;
    for (std::size_t i = 0; i < staged.devices.size(); ++i) {
        const Scene::Device& device = tried.scene.devices[i];
        if (device.held_back) {
            continue;
        }
        const Compiled& before = device.book->compiled();
        const Compiled& after = staged.devices[i].book.compiled();
        DevicePlan& plan = draft.report.devices.emplace_back();
        plan.device = device.key;
        plan.requested_before = before.requested;
        plan.requested_after = after.requested;
        std::ranges::copy_if(staged.findings, std::back_inserter(plan.findings),
                             [&](const JudgedFinding& finding) { return finding.device == device.key; });
        if (!device.is_tested && makes_elements(staged.rules.policy.get(), *tried.loaded.settings.value)) {
            plan.findings.push_back({device.key, not_tested(), FindingVerdict::Harmless});
        }
        if (device.is_one_tree) {
            plan.rates = compare_busy_rates(before.tree, after.tree, device.link_speed, classes_of(before, after));
        }
        plan.link_speed = device.link_speed;
        draft.desired.push_back(std::make_shared<const DesiredState>(staged.devices[i].book.desired()));
    }
    return draft;
}

}    // namespace rdmaqos
