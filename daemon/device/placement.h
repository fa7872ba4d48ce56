// Who is where on one device: the queue pairs that sessions brought, the principals they stand for, and the tree the
// policy compiles to with them. Values and pure functions only; ManagedDevice sends the result to the worker.
//
//     member (queue pair) ──▶ class of its level ──▶ principal (process, user, ...) ──▶ leaf
//
// Where a level limits each queue pair and the device cannot pace its type, the queue pair gets a leaf of its own with
// that cap ("leaf-capped"): below its principal, or directly below the class. Queue pairs of such a class whose type
// can be paced share a leaf `paced`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/device/attach_words.h"
#include "daemon/device/membership.h"
#include "daemon/device/pacing_budget.h"
#include "daemon/device/schedule_spec.h"
#include "daemon/model/session.h"
#include "lib/reconcile/reconciler.h"
#include "lib/tree/compile.h"
#include "lib/tree/live_tree.h"
#include "lib/tree/queue_pair_limit.h"

namespace rdmaqos {

struct Member {
    SessionId session{};
    QueuePairRef ref;
    Request request;    // path keys of its own, over those of its session
    bool has_path = false;
    bool adopted = false;    // its program did not register
    std::shared_ptr<const Identity> owner;
    Membership membership;
    std::optional<RateLimit> requested_rate;    // by SetRate
    std::uint64_t order = 0;                    // of arrival; set by add()
};

// Whether a session of this process may have a queue pair that another one attached: what the daemon adopted goes to
// its program when that registers.
[[nodiscard]] bool may_take_over(const Member& present, const Identity& process);

class PlacementBook {
public:
    PlacementBook(Capabilities capabilities, Bandwidth link_speed, DeviceNames device = {});

    void set_spec(ScheduleSpec spec);
    // A speed of 0 leaves what was known of the link: a port that is down keeps its classes.
    void set_device(DeviceNames device, Bandwidth link_speed);

    // Keeps `order` if it is set (when members move to a new book), else numbers it. A number that is there already is
    // replaced and keeps its order, and if it is the same queue pair also the rate it asked for.
    void add(Member member);
    void remove(std::uint32_t number);
    // A level changed, or a rate was asked for.
    void change(std::uint32_t number, Membership membership, std::optional<RateLimit> requested_rate);
    void clear();
    // With the spec of `other`.
    void take_members_of(const PlacementBook& other);
    // Of the same device, without members and without a spec; limits that have an entry of the pacing table here keep
    // it.
    [[nodiscard]] PlacementBook without_members(Capabilities capabilities) const;

    struct Changes {
        bool tree = false;                              // compiled().tree differs from the last time
        std::optional<ElementChanges> elements;         // by these; empty: it was compiled as a whole
        std::map<QueuePairId, Placement> placements;    // those that differ, new members included
    };
    // Compiles if need be; what changed since the last call.
    [[nodiscard]] Changes update();

    [[nodiscard]] const Compiled& compiled() const { return tree_.compiled(); }
    [[nodiscard]] DesiredState desired() const;
    // No tree, and every member in no leaf and without a rate.
    [[nodiscard]] DesiredState nothing_desired() const;
    [[nodiscard]] const Member* find(std::uint32_t number) const;
    [[nodiscard]] const Placement& placement(std::uint32_t number) const;
    [[nodiscard]] std::vector<std::uint32_t> members_in_order() const;
    [[nodiscard]] std::size_t size() const { return members_.size(); }

    // The leaf a queue pair of this owner would get, as far as that can be said before it is there.
    [[nodiscard]] ElementPath expected_leaf(const Membership& membership, const Identity& owner) const;
    // How many principals of a class share its leaf `others`.
    [[nodiscard]] std::size_t principals_in_others(const ElementPath& class_path) const
    {
        return tree_.in_others(class_path);
    }
    // What following its members has cost so far.
    [[nodiscard]] const LiveTree::Work& work() const { return tree_.work(); }

    // Its level, or SetRate, limits it on its own.
    [[nodiscard]] bool is_limited(std::uint32_t number) const { return members_.at(number).asked.has_value(); }
    // What its level and SetRate limit it to, or would if the level were not only monitored.
    [[nodiscard]] static std::optional<RateLimit> limit_if_enforced(const Member& member);
    // How its own limit is held here: by pacing that has an entry of the table, by a leaf that is its own, or not.
    [[nodiscard]] HeldLimit held_limit(std::uint32_t number) const;
    // Why that is less than was asked; empty: it is not.
    [[nodiscard]] std::string shortfall(std::uint32_t number) const;
    // How a limit of its level would be held for a queue pair of this type that has not come yet.
    [[nodiscard]] HeldLimit expected_limit(const Membership& membership, QueuePairType type) const;
    // What is different from what was asked, but harms nothing; empty: nothing.
    [[nodiscard]] std::string remark(std::uint32_t number) const { return members_.at(number).held.note; }
    // Its limit has no entry of the device's pacing table (yet).
    [[nodiscard]] bool waits_for_pacing(std::uint32_t number) const { return waits_for_pacing(members_.at(number)); }
    // What a class promises here; `pid`, who may not have come yet, is counted in.
    [[nodiscard]] ClassPromise promise(const ElementPath& class_path, std::optional<pid_t> pid) const;
    // Distinct owners' processes in a class or below a node; the root: in any class.
    [[nodiscard]] std::size_t processes(const ElementPath& path) const;
    // The same with this process, which may not have come yet.
    [[nodiscard]] std::size_t processes_with(const ElementPath& path, std::optional<pid_t> pid) const;
    // Changes with the number of processes of any class.
    [[nodiscard]] std::uint64_t processes_revision() const { return processes_revision_; }
    // What the policy asks of this device.
    [[nodiscard]] const TreeSpec& tree_spec() const { return here_; }
    // The class of a member's level; empty: it has none, or none on this device.
    [[nodiscard]] const ElementPath& class_here(const Membership& membership) const
    {
        return among(classes_here_, membership.class_path);
    }
    // The class that a level that is only monitored would have here; empty: none.
    [[nodiscard]] const ElementPath& monitored_class_here(const Membership& membership) const
    {
        return among(monitored_here_, membership.class_path);
    }
    // The lowest cap from a leaf, which need not be there yet, up to the root, and the link. Empty: the link.
    // `divided_for`: caps are divided among the processes below them, this one counted in; empty: each is whole.
    [[nodiscard]] Bandwidth narrowest_cap(const ElementPath& leaf, std::optional<pid_t> divided_for) const;
    // Can SetRate give this member this limit (empty: the class's own) at all? Says why not.
    [[nodiscard]] Result<void> can_set_rate(std::uint32_t number, const std::optional<RateLimit>& rate) const;

private:
    struct PrincipalEntry {
        Principal principal;
        std::set<std::uint32_t> members;
    };
    struct MemberEntry {
        Member member;
        std::optional<std::uint64_t> principal;    // key in principals_
        std::optional<RateLimit> asked;            // its own limit, by its level and SetRate
        HeldLimit held;                            // as long as the table has an entry, or the class a leaf for it
        Placement placement;
    };

    // The path, if it is there; else empty.
    [[nodiscard]] static const ElementPath& among(const std::set<ElementPath>& classes, const ElementPath& path);
    [[nodiscard]] bool leaf_capped(const ElementPath& class_path) const;
    [[nodiscard]] bool paced(const Member& member) const;
    [[nodiscard]] static std::optional<RateLimit> limit_of(const Member& member);
    // Empty: its queue pairs that cannot be paced get leaves of their own, as far as there are any.
    [[nodiscard]] std::optional<MissingLeaf> missing_leaf(const Membership& membership) const;
    [[nodiscard]] HeldLimit hold(const Member& member) const;
    [[nodiscard]] bool in_own_leaf(const MemberEntry& entry) const;
    [[nodiscard]] bool waits_for_pacing(const MemberEntry& entry) const;
    [[nodiscard]] std::optional<Principal> principal_of(const Member& member) const;
    [[nodiscard]] Placement place(const MemberEntry& entry) const;
    void join_principal(MemberEntry& entry);
    // After a change of the member.
    void rejoin_principal(MemberEntry& entry);
    void leave_principal(MemberEntry& entry);
    // Whether the tree is another one.
    bool compile_now();
    [[nodiscard]] const ElementPath& leaf_of(std::uint64_t principal) const { return tree_.leaf(principal); }
    // After a change of the spec or the device.
    void respecify();
    // The member's process in its class and in all that is above it.
    void count_process(const Member& member, bool joins);

    Capabilities capabilities_;
    Bandwidth link_speed_;
    DeviceNames device_;
    ScheduleSpec spec_;
    TreeSpec here_;    // tree_for() this device
    std::set<ElementPath> classes_here_;
    std::set<ElementPath> monitored_here_;
    LiveTree tree_;
    std::unordered_map<std::uint32_t, MemberEntry> members_;
    std::map<std::uint64_t, PrincipalEntry> principals_;    // by arrival
    std::unordered_map<std::string, std::uint64_t> principal_keys_;
    PacingBudget pacing_;
    std::map<ElementPath, std::map<pid_t, std::size_t>> processes_;    // queue pairs of each
    std::uint64_t processes_revision_ = 0;
    std::set<std::uint32_t> dirty_;    // members whose placement must be looked at
    std::uint64_t next_order_ = 1;
    std::uint64_t next_principal_ = 1;
    bool stale_ = false;    // tree_ has to be compiled as a whole
    bool all_dirty_ = false;
};

}    // namespace rdmaqos
