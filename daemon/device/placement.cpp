#include "daemon/device/placement.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "policy/model/lower.h"

namespace rdmaqos {
namespace {

constexpr std::string_view kPacedSegment = "paced";

std::string key_of(const Principal& principal)
{
    std::string key = principal.class_path.text();
    for (const auto& segment : principal.segments) {
        key += '/';
        key += segment;
    }
    return key;
}

std::string queue_pair_segment(const QueuePairRef& ref)
{
    return fmt::format("qp:{}", ref.number);
}

std::string no_class(const Membership& membership)
{
    return membership.class_path.empty() ? no_schedule(membership.level) : not_on_this_device(membership.level);
}

// Numbers are given again: with another handle or type it is another queue pair.
bool is_same_queue_pair(const QueuePairRef& a, const QueuePairRef& b)
{
    return a.number == b.number && a.type == b.type && a.handle == b.handle && a.sq_number == b.sq_number;
}

bool is_below(const ElementPath& path, const ElementPath& node)
{
    return path != node && (node.is_root() || path.text().starts_with(node.text() + '/'));
}

}    // namespace

bool may_take_over(const Member& present, const Identity& process)
{
    return present.adopted && present.owner->pid == process.pid && present.owner->start_time == process.start_time;
}

PlacementBook::PlacementBook(Capabilities capabilities, Bandwidth link_speed, DeviceNames device)
    : capabilities_(std::move(capabilities)), link_speed_(link_speed), device_(std::move(device)),
      pacing_(capabilities_.pacing.table_size)
{
}

PlacementBook PlacementBook::without_members(Capabilities capabilities) const
{
    PlacementBook book(std::move(capabilities), link_speed_, device_);
    book.pacing_.inherit(pacing_);
    return book;
}

void PlacementBook::set_spec(ScheduleSpec spec)
{
    spec_ = std::move(spec);
    respecify();
}

void PlacementBook::set_device(DeviceNames device, Bandwidth link_speed)
{
    if (device.link_speed.is_zero()) {
        device.link_speed = device_.link_speed;
    }
    const bool other_link = std::exchange(link_speed_, link_speed) != link_speed;
    stale_ |= other_link;
    if (device != device_ || (other_link && device.link_speed.is_zero())) {
        device_ = std::move(device);
        respecify();
    }
}

void PlacementBook::respecify()
{
    for (const auto& [number, entry] : members_) {
        count_process(entry.member, false);
    }
    here_ = tree_for(spec_, device_, link_speed_);
    monitored_here_ = monitored_classes_for(spec_, device_);
    classes_here_.clear();
    for (auto& element : here_.elements) {
        if (!element.is_class) {
            continue;
        }
        classes_here_.insert(element.path);
        // A class without leaves per principal needs them where its queue pairs are capped by leaves.
        if (element.fair_by == FairBy::None && leaf_capped(element.path)) {
            element.fair_by = FairBy::QueuePair;
        }
    }
    for (const std::uint32_t number : members_in_order()) {
        MemberEntry& entry = members_.at(number);
        count_process(entry.member, true);
        rejoin_principal(entry);
    }
    stale_ = all_dirty_ = true;
}

const ElementPath& PlacementBook::among(const std::set<ElementPath>& classes, const ElementPath& path)
{
    static const ElementPath kNowhere;
    return classes.contains(path) ? path : kNowhere;
}

void PlacementBook::take_members_of(const PlacementBook& other)
{
    set_spec(other.spec_);
    for (const std::uint32_t number : other.members_in_order()) {
        add(*other.find(number));
    }
}

bool PlacementBook::leaf_capped(const ElementPath& class_path) const
{
    const auto& paceable = capabilities_.pacing.supported_types;
    return capabilities_.rate_caps && spec_.capped_classes.contains(class_path) &&
           !std::includes(paceable.begin(), paceable.end(), capabilities_.attachable.begin(),
                          capabilities_.attachable.end());
}

bool PlacementBook::paced(const Member& member) const
{
    return capabilities_.pacing.supported_types.contains(member.ref.type);
}

// A maximum is never lifted: the smaller rate and the smaller burst count. A packet size limits nothing.
std::optional<RateLimit> PlacementBook::limit_if_enforced(const Member& member)
{
    const PerQueuePair& level = member.membership.per_queue_pair;
    const auto& requested = member.requested_rate;
    const auto smaller = [](const auto& a, const auto& b) { return a && b ? std::min(a, b) : (a ? a : b); };
    const auto given = [](const auto& size) { return size.value_or(0) == 0 ? std::nullopt : size; };
    const auto rate = smaller(level.max_rate, requested ? std::optional(requested->rate) : std::nullopt);
    if (!rate) {
        return std::nullopt;
    }
    RateLimit limit{*rate, given(level.max_burst), given(level.typical_packet)};
    if (requested) {
        limit.max_burst = smaller(limit.max_burst, given(requested->max_burst));
        limit.typical_packet = given(requested->typical_packet) ? requested->typical_packet : limit.typical_packet;
    }
    return limit;
}

std::optional<RateLimit> PlacementBook::limit_of(const Member& member)
{
    return member.membership.monitored ? std::nullopt : limit_if_enforced(member);
}

std::optional<MissingLeaf> PlacementBook::missing_leaf(const Membership& membership) const
{
    if (class_here(membership).empty()) {
        return MissingLeaf{false, no_class(membership)};
    }
    if (membership.fair_by == FairBy::QueuePair || spec_.capped_classes.contains(membership.class_path)) {
        return std::nullopt;
    }
    return MissingLeaf{false, fmt::format("in level {} it has no leaf of its own; give the level `per-queue-pair: "
                                          "{{max-rate: ...}}` or `fair-by: queue-pair`",
                                          membership.level)};
}

HeldLimit PlacementBook::hold(const Member& member) const
{
    const auto limit = limit_of(member);
    return limit ? hold_limit(*limit, member.ref.type, capabilities_, missing_leaf(member.membership)) : HeldLimit{};
}

HeldLimit PlacementBook::expected_limit(const Membership& membership, QueuePairType type) const
{
    Member member;
    member.membership = membership;
    member.ref.type = type;
    return hold(member);
}

std::optional<Principal> PlacementBook::principal_of(const Member& member) const
{
    const Membership& membership = member.membership;
    if (class_here(membership).empty()) {
        return std::nullopt;
    }
    Principal principal{membership.class_path, {}, {}};
    const bool own_leaf = membership.fair_by == FairBy::QueuePair;
    if (membership.fair_by != FairBy::None && !own_leaf) {
        principal.segments.push_back(principal_segment(membership.fair_by, membership.fair_cgroup, *member.owner,
                                                       QueuePairId{member.ref.number}));
    }
    if (own_leaf || leaf_capped(membership.class_path)) {
        const bool shares_paced_leaf = !own_leaf && paced(member);
        principal.segments.push_back(shares_paced_leaf ? std::string(kPacedSegment) : queue_pair_segment(member.ref));
        if (const HeldLimit held = hold(member); held.by == LimitHolder::Leaf) {
            principal.max_rate = held.limit->rate;
        }
    }
    if (principal.segments.empty()) {
        return std::nullopt;
    }
    return principal;
}

void PlacementBook::join_principal(MemberEntry& entry)
{
    auto principal = principal_of(entry.member);
    if (!principal) {
        return;
    }
    const auto [known, is_new] = principal_keys_.try_emplace(key_of(*principal), next_principal_);
    if (is_new) {
        ++next_principal_;
    }
    entry.principal = known->second;
    PrincipalEntry& shared = principals_[known->second];
    if (is_new || shared.principal != *principal) {
        shared.principal = std::move(*principal);
        stale_ = stale_ || !is_new || !tree_.add(known->second, shared.principal);
    }
    shared.members.insert(entry.member.ref.number);
}

void PlacementBook::leave_principal(MemberEntry& entry)
{
    if (!entry.principal) {
        return;
    }
    const auto found = principals_.find(*entry.principal);
    entry.principal.reset();
    found->second.members.erase(entry.member.ref.number);
    if (found->second.members.empty()) {
        principal_keys_.erase(key_of(found->second.principal));
        stale_ = stale_ || !tree_.remove(found->first);
        principals_.erase(found);
    }
}

void PlacementBook::rejoin_principal(MemberEntry& entry)
{
    const auto principal = principal_of(entry.member);
    const bool stays = principal && entry.principal &&
                       key_of(*principal) == key_of(principals_.at(*entry.principal).principal);
    // Leaving and joining again would cost a principal its place in the order of arrival, and perhaps its leaf.
    if (!stays) {
        leave_principal(entry);
    }
    join_principal(entry);
}

void PlacementBook::add(Member member)
{
    if (const auto present = members_.find(member.ref.number); present != members_.end()) {
        MemberEntry& entry = present->second;
        member.order = entry.member.order;
        if (is_same_queue_pair(entry.member.ref, member.ref)) {
            member.requested_rate = entry.member.requested_rate;
        }
        count_process(entry.member, false);
        entry.member = std::move(member);
        count_process(entry.member, true);
        rejoin_principal(entry);
        dirty_.insert(entry.member.ref.number);
        return;
    }
    if (member.order == 0) {
        member.order = next_order_;
    }
    next_order_ = std::max(next_order_, member.order + 1);
    const std::uint32_t number = member.ref.number;
    MemberEntry& entry = members_[number];
    entry.member = std::move(member);
    count_process(entry.member, true);
    join_principal(entry);
    dirty_.insert(number);
}

void PlacementBook::remove(std::uint32_t number)
{
    const auto found = members_.find(number);
    if (found != members_.end()) {
        leave_principal(found->second);
        count_process(found->second.member, false);
        pacing_.want(number, found->second.member.order, std::nullopt);
        members_.erase(found);
        dirty_.erase(number);
    }
}

void PlacementBook::change(std::uint32_t number, Membership membership, std::optional<RateLimit> requested_rate)
{
    MemberEntry& entry = members_.at(number);
    count_process(entry.member, false);
    entry.member.membership = std::move(membership);
    count_process(entry.member, true);
    entry.member.requested_rate = requested_rate;
    rejoin_principal(entry);
    dirty_.insert(number);
}

void PlacementBook::clear()
{
    members_.clear();
    principals_.clear();
    principal_keys_.clear();
    pacing_.clear();
    processes_.clear();
    ++processes_revision_;
    dirty_.clear();
    stale_ = true;
}

bool PlacementBook::compile_now()
{
    LiveTree::Principals principals;
    for (const auto& [order, entry] : principals_) {
        principals.emplace_hint(principals.end(), order, &entry.principal);
    }
    stale_ = false;
    return tree_.compile({here_, {}, capabilities_, link_speed_, spec_.leaf_reserve}, principals);
}

Placement PlacementBook::place(const MemberEntry& entry) const
{
    Placement placement;
    const Member& member = entry.member;
    if (entry.held.by == LimitHolder::Pacing && pacing_.granted(*entry.held.limit)) {
        placement.rate = entry.held.limit;
    }
    const auto leaves = compiled().classes.find(member.membership.class_path);
    if (member.membership.class_path.empty() || leaves == compiled().classes.end()) {
        return placement;
    }
    placement.requester = entry.principal ? leaf_of(*entry.principal) : leaves->second.shared_leaf;
    // Only reliable connections answer RDMA READ; their answers belong to the class too.
    if (member.ref.type == QueuePairType::Rc && capabilities_.responder_leaf) {
        placement.responder = leaves->second.responder_leaf.empty() ? placement.requester
                                                                    : leaves->second.responder_leaf;
    }
    return placement;
}

PlacementBook::Changes PlacementBook::update()
{
    Changes changes;
    if (stale_) {
        changes.tree = compile_now();
    } else {
        changes.elements = tree_.take_changes();
        changes.tree = !changes.elements->empty();
    }
    for (const std::uint64_t principal : tree_.take_moved()) {
        const auto& members = principals_.at(principal).members;
        dirty_.insert(members.begin(), members.end());
    }
    if (all_dirty_) {
        for (const auto& [number, entry] : members_) {
            dirty_.insert(number);
        }
        all_dirty_ = false;
    }
    for (const std::uint32_t number : dirty_) {
        MemberEntry& entry = members_.at(number);
        entry.asked = limit_of(entry.member);
        entry.held = hold(entry.member);
        const bool is_paced = entry.held.by == LimitHolder::Pacing;
        pacing_.want(number, entry.member.order, is_paced ? entry.held.limit : std::nullopt);
    }
    const auto served = pacing_.settle();
    dirty_.insert(served.begin(), served.end());
    for (const std::uint32_t number : dirty_) {
        MemberEntry& entry = members_.at(number);
        Placement placement = place(entry);
        if (placement != entry.placement) {
            entry.placement = placement;
            changes.placements.emplace(QueuePairId{number}, std::move(placement));
        }
    }
    dirty_.clear();
    return changes;
}

DesiredState PlacementBook::nothing_desired() const
{
    DesiredState state;
    for (const auto& [number, entry] : members_) {
        state.queue_pairs[QueuePairId{number}] = {};
    }
    return state;
}

DesiredState PlacementBook::desired() const
{
    DesiredState state{compiled().tree, {}};
    for (const auto& [number, entry] : members_) {
        state.queue_pairs.emplace(QueuePairId{number}, entry.placement);
    }
    return state;
}

const Member* PlacementBook::find(std::uint32_t number) const
{
    const auto found = members_.find(number);
    return found == members_.end() ? nullptr : &found->second.member;
}

const Placement& PlacementBook::placement(std::uint32_t number) const
{
    return members_.at(number).placement;
}

std::vector<std::uint32_t> PlacementBook::members_in_order() const
{
    std::vector<std::uint32_t> numbers;
    numbers.reserve(members_.size());
    for (const auto& [number, entry] : members_) {
        numbers.push_back(number);
    }
    std::sort(numbers.begin(), numbers.end(), [this](std::uint32_t a, std::uint32_t b) {
        return members_.at(a).member.order < members_.at(b).member.order;
    });
    return numbers;
}

ElementPath PlacementBook::expected_leaf(const Membership& membership, const Identity& owner) const
{
    const auto leaves = compiled().classes.find(membership.class_path);
    if (leaves == compiled().classes.end()) {
        return {};
    }
    if (membership.fair_by == FairBy::None || membership.fair_by == FairBy::QueuePair ||
        leaf_capped(membership.class_path)) {
        return leaves->second.shared_leaf;
    }
    const std::string segment = principal_segment(membership.fair_by, membership.fair_cgroup, owner, QueuePairId{});
    const auto known = principal_keys_.find(key_of(Principal{membership.class_path, {segment}, {}}));
    if (known != principal_keys_.end()) {
        return leaf_of(known->second);
    }
    return leaves->second.shared_leaf.parent().child(segment);
}

bool PlacementBook::in_own_leaf(const MemberEntry& entry) const
{
    return entry.principal && leaf_of(*entry.principal).name() == queue_pair_segment(entry.member.ref);
}

bool PlacementBook::waits_for_pacing(const MemberEntry& entry) const
{
    return entry.held.by == LimitHolder::Pacing && !pacing_.granted(*entry.held.limit);
}

HeldLimit PlacementBook::held_limit(std::uint32_t number) const
{
    const MemberEntry& entry = members_.at(number);
    if (waits_for_pacing(entry)) {
        return {LimitHolder::Nobody,
                std::nullopt,
                LimitGap::PacingTable,
                fmt::format("all {} entries of the device's pacing table have other limits; use fewer different rates, "
                            "bursts and packet sizes",
                            pacing_.table_size()),
                {}};
    }
    if (entry.held.by != LimitHolder::Leaf || in_own_leaf(entry)) {
        return entry.held;
    }
    const auto& findings = compiled().findings;
    const auto budget = std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) {
        return finding.kind == FindingKind::BudgetExceeded && finding.path == entry.member.membership.class_path;
    });
    const std::string why = budget == findings.end() ? std::string("the device's leaves are used up") : budget->why;
    return hold_limit(*entry.asked, entry.member.ref.type, capabilities_, MissingLeaf{true, no_leaf_left(why)});
}

std::string PlacementBook::shortfall(std::uint32_t number) const
{
    const MemberEntry& entry = members_.at(number);
    return entry.asked ? rdmaqos::shortfall(*entry.asked, held_limit(number)) : std::string{};
}

void PlacementBook::count_process(const Member& member, bool joins)
{
    for (ElementPath path = class_here(member.membership); !path.empty(); path = path.parent()) {
        auto& owners = processes_[path];
        const auto owner = owners.try_emplace(member.owner->pid, 0).first;
        processes_revision_ += joins && owner->second == 0 ? 1 : 0;
        owner->second += joins ? 1 : 0;
        owner->second -= joins ? 0 : 1;
        if (owner->second == 0) {
            owners.erase(owner);
            ++processes_revision_;
        }
    }
}

std::size_t PlacementBook::processes(const ElementPath& path) const
{
    const auto found = processes_.find(path);
    return found == processes_.end() ? 0 : found->second.size();
}

std::size_t PlacementBook::processes_with(const ElementPath& path, std::optional<pid_t> pid) const
{
    const auto found = processes_.find(path);
    const bool joins = pid && (found == processes_.end() || !found->second.contains(*pid));
    return processes(path) + (joins ? 1 : 0);
}

ClassPromise PlacementBook::promise(const ElementPath& class_path, std::optional<pid_t> pid) const
{
    ClassPromise result;
    result.path = class_path;
    result.processes = processes_with(class_path, pid);
    result.device_processes = processes_with(ElementPath::root(), pid);
    for (const auto& element : here_.elements) {
        const bool is_class = element.path == class_path;
        const bool above = is_below(class_path, element.path);
        if (is_class) {
            result.rate = element.rate;
            // A class that has leaves per queue pair only to cap them promises nothing among them.
            result.fair_by = leaf_capped(class_path) && element.fair_by == FairBy::QueuePair ? FairBy::None
                                                                                             : element.fair_by;
        }
        if ((is_class || above) && element.rate.max_rate) {
            result.caps.push_back({element.path, *element.rate.max_rate, processes_with(element.path, pid), is_class});
        }
        const bool beside = !is_class && !above && is_below(class_path, element.path.parent());
        result.competes = result.competes || beside;
    }
    std::reverse(result.caps.begin(), result.caps.end());    // the narrowest scope first
    return result;
}

Bandwidth PlacementBook::narrowest_cap(const ElementPath& leaf, std::optional<pid_t> divided_for) const
{
    Bandwidth narrowest = link_speed_;
    for (ElementPath path = leaf; !path.empty(); path = path.parent()) {
        const auto element = compiled().tree.find(path);
        if (element == compiled().tree.end() || !element->second.attributes.max_rate) {
            continue;
        }
        // Below its class, a process has its elements for itself.
        const bool is_divided = divided_for && processes_.contains(path);
        const Bandwidth cap = *element->second.attributes.max_rate;
        narrowest = std::min(narrowest, is_divided ? part_of_cap(cap, processes_with(path, divided_for)) : cap);
    }
    return narrowest;
}

Result<void> PlacementBook::can_set_rate(std::uint32_t number, const std::optional<RateLimit>& rate) const
{
    const MemberEntry& entry = members_.at(number);
    if (!rate || entry.member.membership.monitored) {
        return {};    // without a limit of its class there is none to restore
    }
    Member member = entry.member;
    member.requested_rate = rate;
    const HeldLimit held = hold(member);
    const bool burst_is_lost = rate->max_burst.value_or(0) != 0 && held.gap != LimitGap::None;
    if (held.by == LimitHolder::Nobody || burst_is_lost) {
        return fail(ErrorCode::Unsupported, refusal(*limit_of(member), held));
    }
    if (held.by == LimitHolder::Leaf && !in_own_leaf(entry)) {
        return fail(
            ErrorCode::NoSpace,
            fmt::format("the limit of {} per queue pair cannot be held: queue pair {} has no leaf of its own, as "
                        "none is left on the device or in the `leaf-budget` of its level",
                        to_string(rate->rate), number));
    }
    return {};
}

}    // namespace rdmaqos
