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

void Arbiter::Rate::set_cap(std::optional<Bandwidth> to, Time now)
{
    if (std::exchange(cap, to) != to) {
        bucket = {now};
    }
}

Arbiter::Arbiter(Time burst) : burst_(burst)
{
    port_.link.rate = &port_.speed;
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
        port_.ranks.at(rank).rank = static_cast<unsigned>(rank);
        port_.ranks.at(rank).rate = &port_.rates_of_ranks.at(rank);
        hang(port_.ranks.at(rank), port_.link);
    }
    for (std::size_t number = 0; number < kPortClasses; ++number) {
        port_.classes.at(number).rate = &port_.rates_of_classes.at(number);
    }
    set_classes({});
}

Arbiter::~Arbiter() = default;

Arbiter::ElementNumber Arbiter::parent_of(ElementNumber number, const Element& element) const
{
    const ElementNumber wanted = element.settings.parent;
    return wanted != number && elements_.contains(wanted) ? wanted : 0;
}

Arbiter::Node& Arbiter::node(std::uint8_t port_class, ElementNumber number)
{
    const auto found = elements_.find(number);
    if (found == elements_.end()) {
        return port_.classes.at(port_class);
    }
    Element& element = found->second;
    auto& place = element.in_class.at(port_class);
    if (!place) {
        place = std::make_unique<Node>();
        place->number = number;
        place->rate = &element.rate;
        place->share = std::max(1U, element.settings.share);
        hang(*place, node(port_class, parent_of(number, element)));
    }
    return *place;
}

void Arbiter::begin(Sibling& child)
{
    if (child.place || child.parent == nullptr) {
        return;
    }
    Node& parent = *child.parent;
    child.virtual_time = std::max(child.virtual_time, parent.virtual_time_of_children);
    if (child.rate->competing++ == 0) {
        child.rate->bucket.begin(now_);
    }
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
    --child.rate->competing;
    if (parent.competing.empty()) {
        end(parent);
    }
}

void Arbiter::count_backlogged(Node* from, std::size_t flows, Time since)
{
    for (Node* above = from; above != nullptr && flows > 0; above = above->parent) {
        above->backlogged += flows;
        if (above->rate->backlogged == 0) {
            above->rate->bucket.begin(since);
        }
        above->rate->backlogged += flows;
    }
}

void Arbiter::discount_backlogged(Node* from, std::size_t flows)
{
    for (Node* above = from; above != nullptr; above = above->parent) {
        above->backlogged -= flows;
        above->rate->backlogged -= flows;
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
    discount_backlogged(child.parent, backlogged);
    child.parent = &parent;
    child.virtual_time = parent.virtual_time_of_children;
    if (competes) {
        begin(child);
    }
    count_backlogged(&parent, backlogged, now_);
}

void Arbiter::enter(Sibling& child, Time late)
{
    child.rate->bucket.begin(now_ - late);
    count_backlogged(child.parent, 1, now_ - late);
}

void Arbiter::leave(Sibling& child)
{
    discount_backlogged(child.parent, 1);
}

void Arbiter::set_link(Bandwidth speed)
{
    port_.speed.set_cap(speed, now_);
}

void Arbiter::set_classes(const PortClasses& port)
{
    for (std::size_t number = 0; number < kPortClasses; ++number) {
        Node& at = port_.classes.at(number);
        at.share = weight_of(port.classes.at(number));
        at.rate->set_cap(port.classes.at(number).max_rate, now_);
        hang(at, port_.ranks.at(rank_of(port, number)));
    }
}

void Arbiter::set_elements(const std::map<ElementNumber, ElementSettings>& elements)
{
    // What is gone stays until nothing hangs from it.
    std::map<ElementNumber, Element> gone;
    for (auto at = elements_.begin(); at != elements_.end();) {
        const auto here = at++;
        if (!elements.contains(here->first)) {
            gone.insert(elements_.extract(here));
        }
    }
    for (const auto& [number, settings] : elements) {
        Element& element = elements_[number];
        element.settings = settings;
        element.rate.set_cap(settings.cap, now_);
    }
    // First all that move, so that none is ever below itself.
    for (auto& [number, element] : elements_) {
        const auto above = elements_.find(parent_of(number, element));
        for (std::uint8_t port_class = 0; port_class < kPortClasses; ++port_class) {
            Node* const place = element.in_class.at(port_class).get();
            Node* const wanted = above == elements_.end() ? &port_.classes.at(port_class)
                                                          : above->second.in_class.at(port_class).get();
            if (place != nullptr && place->parent != wanted) {
                hang(*place, port_.classes.at(port_class));
            }
        }
    }
    for (auto& [number, element] : elements_) {
        for (std::uint8_t port_class = 0; port_class < kPortClasses; ++port_class) {
            if (Node* const place = element.in_class.at(port_class).get(); place != nullptr) {
                place->share = std::max(1U, element.settings.share);
                hang(*place, node(port_class, parent_of(number, element)));
            }
        }
    }
    for (auto& [number, flow] : flows_) {
        if (gone.contains(flow.parent->number)) {
            hang(flow, port_.classes.at(flow.port_class));
        }
    }
}

void Arbiter::set_flow(FlowNumber number, ElementNumber leaf, std::optional<Bandwidth> cap, std::uint8_t port_class)
{
    Flow& flow = flows_[number];
    flow.flow = number;
    flow.rate = &flow.own;
    flow.own.set_cap(cap, now_);
    flow.port_class = port_class;
    hang(flow, node(port_class, leaf));
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
    Bucket& bucket = child.rate->bucket;
    if (!child.rate->cap || bucket.full_until <= now_) {
        return false;
    }
    bucket.is_short = now_ >= bucket.patient_from;
    next = std::min(next, bucket.full_until);
    return true;
}

Arbiter::Outcome Arbiter::choose(Node& at, bool rate_is_short, Choice& choice) const
{
    rate_is_short = rate_is_short || at.rate->bucket.is_short;
    // The earliest may be held by a cap, its own or those of all below it: then the next one is asked.
    std::set<const Sibling*> passed;
    const auto is_away = [&](const Sibling& child) {
        return child.flow && !child.is_backlogged && !(rate_is_short && child.expected_until > now_);
    };
    const auto is_before = [](const Sibling& child, const Sibling& other) {
        return child.rank != other.rank ? child.rank > other.rank : child.virtual_time < other.virtual_time;
    };
    while (true) {
        Sibling* first = nullptr;
        for (Sibling* child : at.competing) {
            if (is_away(*child) || is_held(*child, choice.next)) {
                child->virtual_time = std::max(child->virtual_time, at.virtual_time_of_children);
            } else if ((first == nullptr || is_before(*child, *first)) && !passed.contains(child)) {
                first = child;
            }
        }
        if (first == nullptr) {
            return Outcome::AllAreHeld;
        }
        if (!first->flow) {
            const Outcome outcome = choose(static_cast<Node&>(*first), rate_is_short, choice);
            // An element that its own cap holds back gives its time away while it waits: it will catch up.
            if (outcome == Outcome::Found || (outcome == Outcome::Await && !first->rate->bucket.is_short)) {
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
    if (port_.link.backlogged == 0) {
        return {};
    }
    Choice choice;
    if (!is_held(port_.link, choice.next)) {
        static_cast<void>(choose(port_.link, false, choice));
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
        Rate& rate = *child->rate;
        if (rate.cap) {
            rate.bucket.charge(bytes, *rate.cap, now, burst_);
            left = std::max(left, rate.bucket.full_until);
        }
        rate.bytes += bytes;
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
    const auto is_slow = [&](const Sibling& at) { return at.rate->cap && time_for(bytes, *at.rate->cap) >= least; };
    bool is_idle = is_slow(flow->second);
    for (const Node* above = flow->second.parent; above != nullptr; above = above->parent) {
        is_idle = is_idle || (above->rate->backlogged == 0 && is_slow(*above));
    }
    return is_idle;
}

std::map<Arbiter::ElementNumber, std::uint64_t> Arbiter::bytes_of_elements() const
{
    std::map<ElementNumber, std::uint64_t> bytes;
    for (const auto& [number, element] : elements_) {
        bytes.emplace(number, element.rate.bytes);
    }
    return bytes;
}

std::array<std::uint64_t, kPortClasses> Arbiter::bytes_of_classes() const
{
    std::array<std::uint64_t, kPortClasses> bytes{};
    for (std::size_t number = 0; number < kPortClasses; ++number) {
        bytes.at(number) = port_.rates_of_classes.at(number).bytes;
    }
    return bytes;
}

}    // namespace rdmaqos
