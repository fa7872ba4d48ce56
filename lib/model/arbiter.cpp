#include "lib/model/arbiter.h"

#include <algorithm>
#include <set>
#include <utility>

namespace rdmaqos {
namespace {

// Of virtual time, so that a byte by the largest share is still something.
constexpr unsigned kFraction = 16;

// The transmission time of a message at this rate; a day if there is none.
std::chrono::nanoseconds time_for(std::size_t bytes, Bandwidth rate)
{
    constexpr std::uint64_t kBitsAndNanoseconds = 8 * 1'000'000;    // of a byte; for a bit at 1 kbit/s
    constexpr auto kForever = std::chrono::hours(24);
    return rate.is_zero() ? std::chrono::nanoseconds(kForever)
                          : std::chrono::nanoseconds(bytes * kBitsAndNanoseconds / rate.kbps());
}

}    // namespace

void Arbiter::Bucket::charge(std::size_t bytes, Bandwidth rate, Time now, Time burst)
{
    if (full_until < now - burst) {
        full_until = now - burst;
        if (std::exchange(is_short, false)) {
            const Time longest = 10 * burst;
            const bool is_rare = now > patient_from + 2 * longest;
            pause = std::clamp(is_rare ? pause / 2 : 2 * pause, burst, longest);
            patient_from = now + pause;
        }
    }
    full_until += time_for(bytes, rate);
}

void Arbiter::Bucket::begin(Time from)
{
    if (full_until < from) {
        full_until = from;
        is_short = false;
    }
}

Arbiter::Arbiter(Time burst) : burst_(burst) {}

Arbiter::~Arbiter() = default;

Arbiter::Node& Arbiter::node(ElementNumber number)
{
    const auto found = elements_.find(number);
    return found == elements_.end() ? root_ : *found->second;
}

void Arbiter::begin(Sibling& child)
{
    if (child.place || child.parent == nullptr) {
        return;
    }
    Node& parent = *child.parent;
    child.virtual_time = std::max(child.virtual_time, parent.virtual_time_of_children);
    child.bucket.begin(now_);
    child.place = parent.competing.size();
    parent.competing.push_back(&child);
    begin(parent);
}

void Arbiter::end(Sibling& child)
{
    if (!child.place) {
        return;
    }
    Node& parent = *child.parent;
    Sibling* const last = parent.competing.back();
    parent.competing.at(*child.place) = last;
    last->place = child.place;
    parent.competing.pop_back();
    child.place.reset();
    if (parent.competing.empty()) {
        end(parent);
    }
}

void Arbiter::hang(Sibling& child, Node& parent)
{
    if (child.parent == &parent) {
        return;
    }
    const bool competes = child.place.has_value();
    const std::size_t backlogged = child.flow ? (child.is_backlogged ? 1 : 0) : static_cast<Node&>(child).backlogged;
    end(child);
    for (Node* above = child.parent; above != nullptr; above = above->parent) {
        above->backlogged -= backlogged;
    }
    child.parent = &parent;
    child.virtual_time = parent.virtual_time_of_children;
    if (competes) {
        begin(child);
    }
    for (Node* above = &parent; above != nullptr && backlogged > 0; above = above->parent) {
        if (above->backlogged == 0) {
            above->bucket.begin(now_);
        }
        above->backlogged += backlogged;
    }
}

void Arbiter::enter(Sibling& child, Time late)
{
    child.bucket.begin(now_ - late);
    for (Node* above = child.parent; above != nullptr; above = above->parent) {
        if (above->backlogged++ == 0) {
            above->bucket.begin(now_ - late);
        }
    }
}

void Arbiter::leave(Sibling& child)
{
    for (Node* above = child.parent; above != nullptr; above = above->parent) {
        --above->backlogged;
    }
}

void Arbiter::set_link(Bandwidth speed)
{
    if (std::exchange(root_.cap, speed) != speed) {
        root_.bucket = {now_};
    }
}

void Arbiter::set_elements(const std::map<ElementNumber, ElementSettings>& elements)
{
    for (const auto& [number, settings] : elements) {
        auto& element = elements_[number];
        if (!element) {
            element = std::make_unique<Node>();
            element->number = number;
        }
    }
    const auto parent_of = [&](ElementNumber number) -> Node& {
        const ElementNumber wanted = elements.at(number).parent;
        return elements.contains(wanted) && wanted != number ? node(wanted) : root_;
    };
    // First all that move, so that none is ever below itself.
    for (const auto& [number, settings] : elements) {
        Node& element = *elements_.at(number);
        if (element.parent != &parent_of(number)) {
            hang(element, root_);
        }
    }
    for (auto& [number, element] : elements_) {
        const auto wanted = elements.find(number);
        if (wanted == elements.end()) {
            continue;
        }
        element->share = std::max(1U, wanted->second.share);
        if (std::exchange(element->cap, wanted->second.cap) != wanted->second.cap) {
            element->bucket = {now_};
        }
        hang(*element, parent_of(number));
    }
    for (auto& [number, flow] : flows_) {
        if (flow.parent != &root_ && !elements.contains(flow.parent->number)) {
            hang(flow, root_);
        }
    }
    std::erase_if(elements_, [&](const auto& entry) { return !elements.contains(entry.first); });
}

void Arbiter::set_flow(FlowNumber number, ElementNumber leaf, std::optional<Bandwidth> cap)
{
    Sibling& flow = flows_[number];
    flow.flow = number;
    if (std::exchange(flow.cap, cap) != cap) {
        flow.bucket = {now_};
    }
    hang(flow, node(leaf));
}

void Arbiter::remove_flow(FlowNumber number)
{
    if (const auto flow = flows_.find(number); flow != flows_.end()) {
        set_backlogged(flow->second, false, Time(0));
        flows_.erase(flow);
    }
}

void Arbiter::set_backlogged(Sibling& flow, bool backlogged, Time late)
{
    const bool before = std::exchange(flow.is_backlogged, backlogged);
    backlogged ? begin(flow) : end(flow);
    if (backlogged && !before) {
        enter(flow, late);
    } else if (!backlogged && before) {
        leave(flow);
    }
}

void Arbiter::set_backlogged(FlowNumber number, bool backlogged, Time now, Time late)
{
    now_ = now;
    forget_those_that_did_not_come();
    if (const auto flow = flows_.find(number); flow != flows_.end()) {
        set_backlogged(flow->second, backlogged, late);
    }
}

void Arbiter::expect(FlowNumber number, Time now)
{
    now_ = now;
    const auto found = flows_.find(number);
    if (found == flows_.end() || !found->second.is_backlogged) {
        return;
    }
    Sibling& flow = found->second;
    flow.is_backlogged = false;
    leave(flow);
    flow.expected_until = now + burst_;
    if (!std::exchange(flow.is_in_queue, true)) {
        expected_.emplace_back(flow.expected_until, number);
    }
}

void Arbiter::forget_those_that_did_not_come()
{
    while (!expected_.empty() && expected_.front().first <= now_) {
        const FlowNumber number = expected_.front().second;
        expected_.pop_front();
        const auto found = flows_.find(number);
        if (found == flows_.end()) {
            continue;
        }
        Sibling& flow = found->second;
        const bool is_expected = flow.place && !flow.is_backlogged;
        if (is_expected && flow.expected_until > now_) {
            expected_.emplace_back(flow.expected_until, number);    // it has come and gone meanwhile
            continue;
        }
        flow.is_in_queue = false;
        if (is_expected) {
            end(flow);
        }
    }
}

bool Arbiter::is_held(Sibling& child, Time& next) const
{
    if (!child.cap || child.bucket.full_until <= now_) {
        return false;
    }
    child.bucket.is_short = now_ >= child.bucket.patient_from;
    next = std::min(next, child.bucket.full_until);
    return true;
}

Arbiter::Outcome Arbiter::choose(Node& at, bool rate_is_short, Choice& choice) const
{
    rate_is_short = rate_is_short || at.bucket.is_short;
    // The earliest may be held by a cap, its own or those of all below it: then the next one is asked.
    std::set<const Sibling*> passed;
    const auto is_away = [&](const Sibling& child) {
        return child.flow && !child.is_backlogged && !(rate_is_short && child.expected_until > now_);
    };
    while (true) {
        Sibling* first = nullptr;
        for (Sibling* child : at.competing) {
            if (is_away(*child) || is_held(*child, choice.next)) {
                child->virtual_time = std::max(child->virtual_time, at.virtual_time_of_children);
            } else if ((first == nullptr || child->virtual_time < first->virtual_time) && !passed.contains(child)) {
                first = child;
            }
        }
        if (first == nullptr) {
            return Outcome::AllAreHeld;
        }
        if (!first->flow) {
            const Outcome outcome = choose(static_cast<Node&>(*first), rate_is_short, choice);
            // An element that its own cap holds back gives its time away while it waits: it will catch up.
            if (outcome == Outcome::Found || (outcome == Outcome::Await && !first->bucket.is_short)) {
                return outcome;
            }
        } else if (first->is_backlogged) {
            choice.flow = first;
            return Outcome::Found;
        } else {
            choice.awaited = first;
            return Outcome::Await;
        }
        passed.insert(first);
        first->virtual_time = std::max(first->virtual_time, at.virtual_time_of_children);
    }
}

Arbiter::Turn Arbiter::turn(Time now)
{
    now_ = now;
    forget_those_that_did_not_come();
    if (root_.backlogged == 0) {
        return {};
    }
    Choice choice;
    if (!is_held(root_, choice.next)) {
        static_cast<void>(choose(root_, false, choice));
    }
    Turn turn;
    if (choice.awaited != nullptr) {
        turn.awaited = choice.awaited->flow;
        choice.next = std::min(choice.next, choice.awaited->expected_until);
    }
    if (choice.flow != nullptr) {
        turn.flow = choice.flow->flow;
    } else {
        turn.next = choice.next;
    }
    return turn;
}

Arbiter::Time Arbiter::sent(FlowNumber number, std::size_t bytes, Time now)
{
    now_ = now;
    Time left = now;
    const auto flow = flows_.find(number);
    if (flow == flows_.end()) {
        return left;
    }
    for (Sibling* child = &flow->second; child != nullptr; child = child->parent) {
        if (child->cap) {
            child->bucket.charge(bytes, *child->cap, now, burst_);
            left = std::max(left, child->bucket.full_until);
        }
        if (!child->flow) {
            static_cast<Node*>(child)->bytes += bytes;
        }
        if (child->parent != nullptr) {
            child->parent->virtual_time_of_children = child->virtual_time;
            child->virtual_time += (std::uint64_t{bytes} << kFraction) / child->share;
        }
    }
    return left;
}

bool Arbiter::has_idle_rate(FlowNumber number, std::size_t bytes, Time least) const
{
    const auto flow = flows_.find(number);
    if (flow == flows_.end() || flow->second.is_backlogged) {
        return false;
    }
    const auto is_slow = [&](const Sibling& at) { return at.cap && time_for(bytes, *at.cap) >= least; };
    bool is_idle = is_slow(flow->second);
    for (const Node* above = flow->second.parent; above != nullptr; above = above->parent) {
        is_idle = is_idle || (above->backlogged == 0 && is_slow(*above));
    }
    return is_idle;
}

std::map<Arbiter::ElementNumber, std::uint64_t> Arbiter::bytes_of_elements() const
{
    std::map<ElementNumber, std::uint64_t> bytes;
    for (const auto& [number, element] : elements_) {
        bytes.emplace(number, element->bytes);
    }
    return bytes;
}

}    // namespace rdmaqos
