#include "lib/model/dwrr.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "lib/model/indexed_tree.h"

namespace rdmaqos {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Units: packets of equal size and packet times of the link, so that the link's rate is 1.
class Simulation {
public:
    // At least a root, and a link that is not standing still.
    Simulation(std::vector<IndexedElement> elements, Bandwidth link_speed, const Demands& demands,
               const DwrrOptions& options)
        : elements_(std::move(elements)), states_(elements_.size()), link_kbps_(static_cast<double>(link_speed.kbps()))
    {
        for (std::size_t at = 0; at < elements_.size(); ++at) {
            set_up(at, demands, options);
        }
    }

    void run_until(double time)
    {
        while (now_ < time) {
            const double next = refresh();
            if (next > now_) {
                now_ = std::min(next, time);
                continue;
            }
            send();
            now_ += 1.0;
        }
    }

    void start_measuring()
    {
        measured_from_ = now_;
        for (State& state : states_) {
            state.sent_before = state.sent;
        }
    }

    [[nodiscard]] std::map<ElementPath, double> rates() const
    {
        std::map<ElementPath, double> result;
        const double time = now_ - measured_from_;
        for (std::size_t at = 0; at < elements_.size(); ++at) {
            const double packets = static_cast<double>(states_[at].sent - states_[at].sent_before);
            result.emplace(*elements_[at].path, time > 0 ? packets / time * link_kbps_ : 0.0);
        }
        return result;
    }

private:
    struct State {
        double quantum = 0;    // packets per round
        double deficit = 0;
        double cap = kNever;    // packets per packet time
        double depth = 0;
        double tokens = 0;    // as of `filled_at`
        double filled_at = 0;
        double demand = 0;           // leaves; kNever: saturated
        double ready_at = kNever;    // earliest time it may send its next packet
        std::size_t turn = 0;        // nodes: the child whose turn it is
        std::uint64_t sent = 0;
        std::uint64_t sent_before = 0;
    };

    void set_up(std::size_t at, const Demands& demands, const DwrrOptions& options)
    {
        const IndexedElement& element = elements_[at];
        State& state = states_[at];
        if (element.cap_kbps) {
            state.cap = *element.cap_kbps / link_kbps_;
            state.depth = std::max(2.0, state.cap * static_cast<double>(options.bucket_packet_times));
        }
        if (element.kind == ElementKind::Leaf) {
            if (const auto demand = demands.find(*element.path); demand != demands.end()) {
                state.demand = demand->second ? static_cast<double>(demand->second->kbps()) / link_kbps_ : kNever;
            }
        }
        std::uint64_t heaviest = 1;
        for (std::size_t child = 0; child < element.child_count; ++child) {
            heaviest = std::max(heaviest, elements_[element.first_child + child].weight);
        }
        for (std::size_t child = 0; child < element.child_count; ++child) {
            const std::size_t index = element.first_child + child;
            states_[index].quantum = static_cast<double>(elements_[index].weight) / static_cast<double>(heaviest);
        }
    }

    // Brings every `ready_at` up to date; returns the root's.
    double refresh()
    {
        for (std::size_t at = elements_.size(); at-- > 0;) {
            State& state = states_[at];
            double ready = kNever;
            if (elements_[at].kind == ElementKind::Leaf) {
                ready = packet_arrives_at(state);
            } else {
                for (std::size_t child = 0; child < elements_[at].child_count; ++child) {
                    ready = std::min(ready, states_[elements_[at].first_child + child].ready_at);
                }
            }
            state.ready_at = std::max(ready, tokens_suffice_at(state));
        }
        return states_[0].ready_at;
    }

    static double packet_arrives_at(const State& state)
    {
        if (state.demand == 0) {
            return kNever;
        }
        return state.demand == kNever ? 0.0 : static_cast<double>(state.sent + 1) / state.demand;
    }

    static double tokens_suffice_at(const State& state)
    {
        if (state.cap == kNever) {
            return 0.0;
        }
        if (state.cap == 0) {
            return kNever;
        }
        return state.filled_at + (1.0 - state.tokens) / state.cap;
    }

    // One packet of the leaf whose turn it is, on every level from the root.
    void send()
    {
        std::size_t at = 0;
        count_packet(at);
        while (elements_[at].kind != ElementKind::Leaf) {
            at = choose_child(at);
            states_[at].deficit -= 1.0;
            count_packet(at);
        }
    }

    void count_packet(std::size_t at)
    {
        State& state = states_[at];
        ++state.sent;
        if (state.cap != kNever) {
            state.tokens = std::min(state.depth, state.tokens + (now_ - state.filled_at) * state.cap) - 1.0;
            state.filled_at = now_;
        }
    }

    // Deficit round robin among the children that may send now. Rounds in which nobody's deficit would cover a packet
    // yet are played at once.
    std::size_t choose_child(std::size_t node)
    {
        const IndexedElement& element = elements_[node];
        State& state = states_[node];
        for (;;) {
            double rounds = kNever;
            for (std::size_t step = 0; step < element.child_count; ++step) {
                const std::size_t turn = (state.turn + step) % element.child_count;
                const State& child = states_[element.first_child + turn];
                if (child.ready_at > now_) {
                    continue;
                }
                if (child.deficit >= 1.0 - kSlack) {
                    state.turn = turn;
                    return element.first_child + turn;
                }
                rounds = std::min(rounds, std::ceil((1.0 - kSlack - child.deficit) / child.quantum));
            }
            for (std::size_t child = element.first_child; child < element.first_child + element.child_count; ++child) {
                if (states_[child].ready_at <= now_) {
                    states_[child].deficit += std::max(rounds, 1.0) * states_[child].quantum;
                }
            }
        }
    }

    // Quanta such as 1/3 add up to a packet in spite of rounding.
    static constexpr double kSlack = 1e-9;

    const std::vector<IndexedElement> elements_;
    std::vector<State> states_;
    const double link_kbps_;
    double now_ = 0;
    double measured_from_ = 0;
};

}    // namespace

std::map<ElementPath, double> simulate_dwrr(const Tree& tree, Bandwidth link_speed, const Demands& demands,
                                            const DwrrOptions& options)
{
    std::vector<IndexedElement> elements = index_tree(tree);
    if (link_speed.is_zero() || elements.empty()) {
        std::map<ElementPath, double> nothing;
        for (const IndexedElement& element : elements) {
            nothing.emplace(*element.path, 0.0);
        }
        return nothing;
    }
    Simulation simulation(std::move(elements), link_speed, demands, options);
    simulation.run_until(static_cast<double>(options.warm_up_packets));
    simulation.start_measuring();
    simulation.run_until(static_cast<double>(options.warm_up_packets + options.packets));
    return simulation.rates();
}

}    // namespace rdmaqos
