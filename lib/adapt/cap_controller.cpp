#include "lib/adapt/cap_controller.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "lib/model/process_trees.h"
#include "lib/model/solver.h"

namespace rdmaqos::adapt {
namespace {

constexpr Duration kPeriod = std::chrono::seconds(1);
constexpr Duration kLately = std::chrono::milliseconds(300);
constexpr Duration kBetweenProbes = std::chrono::milliseconds(500);

// Of the link or of a cap. What is measured is off by some percent from step to step: samples are not taken at the same
// moment at all counters.
constexpr double kFull = 0.965;
constexpr double kAtCap = 0.93;
constexpr double kProbe = 0.03;

constexpr double kCrowded = 0.96;          // of the link: what a crowded port carries
constexpr double kAlone = 0.94;            // of the room: who sends less on a crowded port is not alone
constexpr double kLeastRoomOfAll = 0.1;    // of the link
// Of the room before; less than what a full port may seem to be short of.
constexpr double kPerhapsMoreRoom = 1.03;

// Of the most that a copy may send.
constexpr double kSends = 0.003;
constexpr double kSmallChange = 0.004;

// Who wants more must be able to fill the link although others are measured inexactly; who has enough, to be seen when
// it wants more.
constexpr double kSlack = 1.01;
constexpr double kRoomToGrow = 1.2;
constexpr double kLeastRoom = 0.01;
constexpr double kTooMuchRoom = 1.3;
constexpr double kTooMuchWhileOthersWait = 1.02;

Bandwidth whole_mbps(double kbps)
{
    return Bandwidth::from_mbps(std::max<std::uint64_t>(Bandwidth::from_computed(kbps + 999).mbps(), 1));
}

}    // namespace

bool CapController::is_active(const State& state, TimePoint now)
{
    return state.wants_more || (state.sent_at && now - *state.sent_at < kLately);
}

// Each cap above a leaf, its own first.
template <typename F>
void CapController::for_caps_above(const ElementPath& leaf, F call) const
{
    for (auto at = tree_.find(leaf); at != tree_.end(); at = tree_.find(at->second.parent)) {
        if (const auto& cap = at->second.attributes.max_rate) {
            call(at->first, static_cast<double>(cap->kbps()));
        }
    }
}

double CapController::most_of(const LeafCopy& copy, double link) const
{
    for_caps_above(copy.leaf, [&](const ElementPath&, double cap) { link = std::min(link, cap); });
    return link;
}

double CapController::cap_in_force(const LeafCopy& copy, const State& state, double link) const
{
    const auto leaf = tree_.find(copy.leaf);
    if (leaf != tree_.end() && leaf->second.attributes.max_rate) {
        link = std::min(link, static_cast<double>(leaf->second.attributes.max_rate->kbps()));
    }
    return state.cap ? std::min(link, static_cast<double>(state.cap->kbps())) : link;
}

std::set<std::pair<std::uint64_t, ElementPath>> CapController::full_elements() const
{
    std::map<std::pair<std::uint64_t, ElementPath>, double> free;
    for (const auto& [copy, state] : copies_) {
        for_caps_above(copy.leaf, [&, &copy = copy, &state = state](const ElementPath& path, double cap) {
            free.try_emplace({copy.process, path}, kFull * cap).first->second -= state.sent_kbps;
        });
    }
    std::set<std::pair<std::uint64_t, ElementPath>> full;
    for (const auto& [element, left] : free) {
        if (left <= 0) {
            full.insert(element);
        }
    }
    return full;
}

// What all copies together can send. It is not the link's speed: others send, too, and headers may be part of what the
// port carries and not of what queue pairs send. It is less if the port is crowded by so little, and more if those who
// want more get all that they are given.
void CapController::measure_room(const Sample& sample)
{
    const auto link = static_cast<double>(sample.link_speed.kbps());
    double all = 0;
    double got = 0;
    double could = 0;
    for (const auto& [copy, state] : copies_) {
        all += state.sent_kbps;
        if (state.wants_more) {
            got += state.sent_kbps;
            could += std::min(cap_in_force(copy, state, link), state.part_kbps);
        }
    }
    if (std::exchange(link_, sample.link_speed) != sample.link_speed) {
        room_kbps_.reset();
    }
    double& room = room_kbps_ ? *room_kbps_ : room_kbps_.emplace(link);
    all_kbps_ += all;
    ++all_count_;
    if (sample.port_kbps) {
        const double average = std::exchange(all_kbps_, 0.0) / std::exchange(all_count_, 0.0);
        if (*sample.port_kbps >= kCrowded * link && average < kAlone * room && average > 0) {
            room = std::max(average, kLeastRoomOfAll * link);
            // What seemed to be enough was perhaps all that there is.
            for (auto& [copy, state] : copies_) {
                state.wants_more = state.wants_more || state.sent_kbps > 0;
            }
        }
    }
    if (could > 0 && got >= 0.985 * could) {
        room = std::min(kPerhapsMoreRoom * room, link);
    }
    is_full_ = all >= kFull * room;
}

void CapController::observe(const Sample& sample)
{
    const auto link = static_cast<double>(sample.link_speed.kbps());
    std::erase_if(copies_, [&](const auto& entry) {
        return !sample.sent_kbps.contains(entry.first) || !tree_.contains(entry.first.leaf);
    });
    Rates grown_by;
    for (const auto& [copy, sent] : sample.sent_kbps) {
        if (!tree_.contains(copy.leaf)) {
            continue;    // it is going
        }
        State& state = copies_[copy];
        grown_by[copy] = sent - std::exchange(state.sent_kbps, sent);
    }
    measure_room(sample);
    const auto full = full_elements();
    for (auto& [copy, state] : copies_) {
        const double most = most_of(copy, link);
        const double sent = state.sent_kbps;
        const bool sends = sent > kSends * most;
        bool is_held = is_full_;
        for_caps_above(copy.leaf, [&, &copy = copy](const ElementPath& path, double) {
            is_held = is_held || full.contains({copy.process, path});
        });
        state.wanted_more = state.wants_more;
        if (sends) {
            state.sent_at = sample.taken_at;
        }
        if (sends && sent >= kAtCap * cap_in_force(copy, state, link)) {
            state.wants_more = true;
        } else if (!is_held) {
            const bool is_as_before = !state.wants_more &&
                                      std::abs(sent - state.enough_kbps) < 0.05 * state.enough_kbps + kSends * most;
            state.enough_kbps += (is_as_before ? 0.25 : 1.0) * (sent - state.enough_kbps);
            state.wants_more = false;
        } else if (!state.wants_more) {
            const bool has_grown = sent > 1.06 * state.enough_kbps + kSmallChange * most;
            state.wants_more = has_grown || (probe_kbps_ > 0 && grown_by.at(copy) > probe_kbps_ / 2);
        }
    }
}

CapController::Parts CapController::parts(const Sample& sample) const
{
    Tree tree = tree_;
    Demands now;
    Demands due;
    Demands promised;
    for (const auto& [copy, state] : copies_) {
        add_copy(tree, copy.process, copy.leaf);
        const ElementPath path = path_of_copy(copy.process, copy.leaf);
        now.emplace(path, state.wants_more ? std::nullopt : std::optional(Bandwidth::from_computed(state.enough_kbps)));
        promised.emplace(path, std::nullopt);
        if (is_active(state, sample.taken_at)) {
            due.emplace(path, std::nullopt);
        }
    }
    const auto room = Bandwidth::from_computed(room_kbps_.value_or(0));
    const auto by_copy = [&](const Demands& demands) {
        const Allocations solved = solve(tree, room, demands);
        Rates rates;
        for (const auto& [copy, state] : copies_) {
            rates.emplace(copy, solved.at(path_of_copy(copy.process, copy.leaf)).kbps);
        }
        return rates;
    };
    return {by_copy(now), by_copy(due), by_copy(promised)};
}

bool CapController::some_wait(const Parts& parts) const
{
    return is_full_ && std::ranges::any_of(copies_, [&](const auto& entry) {
               const auto& [copy, state] = entry;
               return state.wants_more && state.wanted_more && state.sent_kbps < 0.95 * parts.now.at(copy);
           });
}

double CapController::part_of(const LeafCopy& copy, const State& state, const Sample& sample, const Parts& parts)
{
    return is_active(state, sample.taken_at) ? parts.due.at(copy) : parts.promised.at(copy);
}

double CapController::cap_of_contented(const LeafCopy& copy, const State& state, const Sample& sample,
                                       const Parts& parts, bool others_wait) const
{
    const auto link = static_cast<double>(sample.link_speed.kbps());
    const bool active = is_active(state, sample.taken_at);
    const double least = std::max(part_of(copy, state, sample, parts),
                                  kRoomToGrow * state.enough_kbps + kLeastRoom * most_of(copy, link));
    if (!state.cap) {
        return !active && state.enough_kbps < least / 2 ? link : least;
    }
    const auto cap = static_cast<double>(state.cap->kbps());
    const bool is_too_much = active && cap > least * (others_wait ? kTooMuchWhileOthersWait : kTooMuchRoom);
    return cap < least || is_too_much ? least : cap;
}

std::optional<CapController::Probe> CapController::probe(const Sample& sample, const Parts& parts)
{
    const auto link = static_cast<double>(sample.link_speed.kbps());
    const bool is_due = !probed_at_ || sample.taken_at - *probed_at_ >= kBetweenProbes;
    probe_kbps_ = 0;
    if (!is_due || !is_full_) {
        return {};
    }
    Probe probe{nullptr, kSmallChange * link};
    bool have_some_less = false;
    for (const auto& [copy, state] : copies_) {
        const double promised = parts.promised.at(copy);
        if (state.wants_more && parts.now.at(copy) - promised > probe.kbps) {
            probe = {&copy, parts.now.at(copy) - promised};
        }
        have_some_less = have_some_less || (!state.wants_more && state.sent_kbps > 0 &&
                                            state.enough_kbps < 0.97 * part_of(copy, state, sample, parts));
    }
    if (probe.copy == nullptr || !have_some_less) {
        return {};
    }
    probe.kbps = std::min(probe.kbps, kProbe * link);
    probed_at_ = sample.taken_at;
    probe_kbps_ = probe.kbps;
    return probe;
}

std::vector<CapChange> CapController::step(const Sample& sample)
{
    if (sample.link_speed.is_zero()) {
        return {};    // it is down
    }
    observe(sample);
    const auto link = static_cast<double>(sample.link_speed.kbps());
    const bool wants_any = std::ranges::any_of(copies_, [](const auto& entry) { return entry.second.wants_more; });
    if (wants_any || is_full_) {
        has_room_since_.reset();
    } else if (!has_room_since_) {
        has_room_since_ = sample.taken_at;
    }
    const bool opens = has_room_since_ && sample.taken_at - *has_room_since_ >= kPeriod;
    if (!wants_any && !opens) {
        return {};
    }
    const Parts parts = this->parts(sample);
    for (auto& [copy, state] : copies_) {
        state.part_kbps = parts.now.at(copy);
    }
    const auto probed = probe(sample, parts);
    const bool others_wait = some_wait(parts);
    std::vector<Target> targets;
    for (auto& [copy, state] : copies_) {
        double cap = link;
        if (probed && probed->copy == &copy) {
            cap = parts.now.at(copy) - probed->kbps;
        } else if (state.wants_more || parts.now.at(copy) < 0.99 * state.enough_kbps) {
            cap = kSlack * parts.now.at(copy);
        } else if (!opens) {
            cap = cap_of_contented(copy, state, sample, parts, others_wait);
        }
        const double before = cap_in_force(copy, state, link);
        cap = std::min(cap, cap_in_force(copy, {}, link));
        const bool is_small = std::abs(cap - before) <= std::max(kSmallChange * most_of(copy, link), 0.015 * before);
        if (!is_small || state.is_unknown) {
            targets.push_back({copy, &state, cap, std::abs(cap - before) * (state.wants_more ? 1.0 : 0.3)});
        }
    }
    return choose(std::move(targets), sample);
}

std::vector<CapChange> CapController::choose(std::vector<Target> targets, const Sample& sample)
{
    while (!changes_.empty() && sample.taken_at - changes_.front() >= kPeriod) {
        changes_.pop_front();
    }
    std::ranges::stable_sort(targets, std::greater<>(), &Target::urgency);
    std::vector<CapChange> chosen;
    for (const Target& target : targets) {
        if (changes_.size() == kMostChanges) {
            break;
        }
        changes_.push_back(sample.taken_at);
        const double open = cap_in_force(target.copy, {}, static_cast<double>(sample.link_speed.kbps()));
        target.state->cap = target.cap_kbps < open ? std::optional(whole_mbps(target.cap_kbps)) : std::nullopt;
        target.state->is_unknown = false;
        chosen.push_back({target.copy, target.state->cap});
    }
    return chosen;
}

void CapController::not_set(const LeafCopy& copy)
{
    if (const auto found = copies_.find(copy); found != copies_.end()) {
        found->second.is_unknown = true;
    }
}

std::vector<CapChange> CapController::stop(const std::vector<LeafCopy>& copies)
{
    std::map<ElementPath, std::size_t> below;
    for (const auto& copy : copies) {
        for_caps_above(copy.leaf, [&](const ElementPath& path, double) { ++below[path]; });
    }
    std::map<LeafCopy, State> stopped;
    std::vector<CapChange> changes;
    for (const auto& copy : copies) {
        double part = std::numeric_limits<double>::infinity();
        for_caps_above(copy.leaf, [&](const ElementPath& path, double whole) {
            part = std::min(part, whole / static_cast<double>(below.at(path)));
        });
        State& state = stopped[copy];
        if (part < cap_in_force(copy, {}, std::numeric_limits<double>::infinity())) {
            state.cap = part_of_cap(Bandwidth::from_computed(part), 1);
        }
        const auto known = copies_.find(copy);
        if (known == copies_.end() || known->second.is_unknown || known->second.cap != state.cap) {
            changes.push_back({copy, state.cap});
        }
    }
    copies_ = std::move(stopped);
    has_room_since_.reset();
    room_kbps_.reset();
    probe_kbps_ = 0;
    return changes;
}

}    // namespace rdmaqos::adapt
