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
    full_until = std::max(full_until, now - burst) + time_for(bytes, rate);
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
    child.place = parent.backlogged.size();
    parent.backlogged.push_back(&child);
    begin(parent);
}

void Arbiter::end(Sibling& child)
{
    if (!child.place) {
        return;
    }
    Node& parent = *child.parent;
    Sibling* const last = parent.backlogged.back();
    parent.backlogged.at(*child.place) = last;
    last->place = child.place;
    parent.backlogged.pop_back();
    child.place.reset();
    if (parent.backlogged.empty()) {
        end(parent);
    }
}

void Arbiter::hang(Sibling& child, Node& parent)
{
    if (child.parent == &parent) {
        return;
    }
    const bool is_backlogged = child.place.has_value();
    end(child);
    child.parent = &parent;
    child.virtual_time = parent.virtual_time_of_children;
    if (is_backlogged) {
        begin(child);
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
    for (auto& [number, element] : elements_) {
        const auto wanted = elements.find(number);
        if (wanted == elements.end()) {
            continue;
        }
        element->share = std::max(1U, wanted->second.share);
        if (std::exchange(element->cap, wanted->second.cap) != wanted->second.cap) {
            element->bucket = {};
        }
        Node& parent = elements.contains(wanted->second.parent) ? node(wanted->second.parent) : root_;
        hang(*element, &parent == element.get() ? root_ : parent);
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
        flow.bucket = {};
    }
    hang(flow, node(leaf));
}

void Arbiter::remove_flow(FlowNumber flow)
{
    set_backlogged(flow, false);
    flows_.erase(flow);
}

void Arbiter::set_backlogged(FlowNumber number, bool backlogged)
{
    if (const auto flow = flows_.find(number); flow != flows_.end()) {
        backlogged ? begin(flow->second) : end(flow->second);
    }
}

Arbiter::Sibling* Arbiter::choose(Node& at, Time now, Time& next) const
{
    // The earliest may be held by a cap, its own or those of all below it: then the next one is asked.
    std::set<const Sibling*> held;
    while (true) {
        Sibling* first = nullptr;
        for (Sibling* child : at.backlogged) {
            if (child->cap && child->bucket.full_until > now) {
                next = std::min(next, child->bucket.full_until);
                child->virtual_time = std::max(child->virtual_time, at.virtual_time_of_children);
            } else if ((first == nullptr || child->virtual_time < first->virtual_time) && !held.contains(child)) {
                first = child;
            }
        }
        if (first == nullptr || first->flow) {
            return first;
        }
        if (Sibling* const flow = choose(static_cast<Node&>(*first), now, next)) {
            return flow;
        }
        held.insert(first);
        first->virtual_time = std::max(first->virtual_time, at.virtual_time_of_children);
    }
}

Arbiter::Turn Arbiter::turn(Time now)
{
    if (root_.backlogged.empty()) {
        return {};
    }
    if (link_.full_until > now) {
        return {std::nullopt, link_.full_until};
    }
    Time next = Time::max();
    if (const Sibling* const chosen = choose(root_, now, next)) {
        return {chosen->flow, std::nullopt};
    }
    return {std::nullopt, next};
}

void Arbiter::sent(FlowNumber number, std::size_t bytes, Time now)
{
    const auto flow = flows_.find(number);
    if (flow == flows_.end()) {
        return;
    }
    link_.charge(bytes, link_speed_, now, burst_);
    for (Sibling* child = &flow->second; child->parent != nullptr; child = child->parent) {
        if (child->cap) {
            child->bucket.charge(bytes, *child->cap, now, burst_);
        }
        child->parent->virtual_time_of_children = child->virtual_time;
        child->virtual_time += (std::uint64_t{bytes} << kFraction) / child->share;
    }
}

}    // namespace rdmaqos
