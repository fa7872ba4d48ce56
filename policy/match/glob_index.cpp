#include "policy/match/glob_index.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

// The pieces of a part that has no bracket.
void add_pieces(std::string_view part, std::vector<std::string_view>& pieces)
{
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= part.size(); ++i) {
        if (i < part.size() && part[i] != '*' && part[i] != '?' && part[i] != '\\') {
            continue;
        }
        if (i > begin) {
            pieces.push_back(part.substr(begin, i - begin));
        }
        // What is behind a backslash stands for itself, or is left out when it was the last.
        begin = i < part.size() && part[i] == '\\' ? ++i + 1 : i + 1;
    }
}

std::size_t index_of(char c)
{
    return static_cast<unsigned char>(c);
}

}    // namespace

bool is_literal(std::string_view pattern)
{
    return pattern.find_first_of("*?[\\") == std::string_view::npos;
}

bool name_matches(const std::string& pattern, const std::string& text)
{
    return pattern == text || glob_matches(pattern, text);
}

std::vector<std::string_view> literal_pieces(std::string_view pattern)
{
    std::vector<std::string_view> pieces;
    const auto open = pattern.find('[');
    add_pieces(pattern.substr(0, open), pieces);
    if (open == std::string_view::npos) {
        return pieces;
    }
    // Behind the last bracket that closes nothing can be inside of one.
    if (const auto close = pattern.rfind(']'); close != std::string_view::npos && close > open) {
        const auto rest = pattern.substr(close + 1);
        add_pieces(rest.substr(0, rest.find('[')), pieces);
    }
    return pieces;
}

// The automaton while it grows: edges by label, patterns by node.
class GlobIndex::Builder {
public:
    void add(std::string_view piece, std::uint32_t pattern)
    {
        State state = kStart;
        for (const char c : piece) {
            const auto [edge, is_new] = children_[state].try_emplace(c, static_cast<State>(children_.size()));
            state = edge->second;
            if (is_new) {
                children_.emplace_back();
                patterns_.emplace_back();
            }
        }
        patterns_[state].push_back(pattern);
    }

    void finish(GlobIndex& index) const
    {
        for (State state = 0; state < children_.size(); ++state) {
            Node node;
            node.first_edge = static_cast<std::uint32_t>(index.edges_.size());
            node.first_pattern = static_cast<std::uint32_t>(index.patterns_of_.size());
            index.nodes_.push_back(node);
            for (const auto& [label, target] : children_[state]) {
                index.edges_.push_back({label, target});
                if (state == kStart) {
                    index.start_[index_of(label)] = target;
                }
            }
            index.patterns_of_.insert(index.patterns_of_.end(), patterns_[state].begin(), patterns_[state].end());
        }
        Node behind;
        behind.first_edge = static_cast<std::uint32_t>(index.edges_.size());
        behind.first_pattern = static_cast<std::uint32_t>(index.patterns_of_.size());
        index.nodes_.push_back(behind);
        add_fallbacks(index);
    }

private:
    // Breadth first: a fallback is nearer to the start.
    void add_fallbacks(GlobIndex& index) const
    {
        std::vector<State> order{kStart};
        for (std::size_t i = 0; i < order.size(); ++i) {
            const State state = order[i];
            Node& node = index.nodes_[state];
            node.ending = patterns_[state].empty() ? index.nodes_[node.fallback].ending : state;
            for (const auto& [label, target] : children_[state]) {
                index.nodes_[target].fallback = state == kStart ? kStart : index.step(node.fallback, label);
                order.push_back(target);
            }
        }
    }

    std::vector<std::map<char, State>> children_ = std::vector<std::map<char, State>>(1);
    std::vector<std::vector<std::uint32_t>> patterns_ = std::vector<std::vector<std::uint32_t>>(1);
};

GlobIndex::GlobIndex(std::vector<std::string> patterns) : patterns_(std::move(patterns))
{
    std::map<std::string_view, std::size_t> commonness;
    for (const auto& pattern : patterns_) {
        for (const auto piece : literal_pieces(pattern)) {
            ++commonness[piece];
        }
    }
    Builder builder;
    for (std::uint32_t number = 0; number < patterns_.size(); ++number) {
        const std::string& pattern = patterns_[number];
        exact_.emplace(pattern, number);
        if (is_literal(pattern)) {
            continue;
        }
        const auto pieces = literal_pieces(pattern);
        const auto rarest = std::min_element(pieces.begin(), pieces.end(), [&](auto a, auto b) {
            const auto common_a = commonness[a];
            const auto common_b = commonness[b];
            return common_a != common_b ? common_a < common_b : a.size() > b.size();
        });
        if (rarest == pieces.end()) {
            always_.push_back(number);
        } else {
            builder.add(*rarest, number);
        }
    }
    builder.finish(*this);
}

GlobIndex::State GlobIndex::step(State state, char next) const
{
    while (state != kStart) {
        const auto begin = edges_.begin() + nodes_[state].first_edge;
        const auto end = edges_.begin() + nodes_[state + 1].first_edge;
        const auto edge = std::find_if(begin, end, [next](const Edge& candidate) { return candidate.label == next; });
        if (edge != end) {
            return edge->target;
        }
        state = nodes_[state].fallback;
    }
    return start_[index_of(next)];
}

std::vector<GlobIndex::State> GlobIndex::endings_in(const std::string& text) const
{
    std::vector<State> endings;
    State state = kStart;
    for (const char c : text) {
        state = step(state, c);
        for (State end = nodes_[state].ending; end != kStart; end = nodes_[nodes_[end].fallback].ending) {
            endings.push_back(end);
        }
    }
    std::sort(endings.begin(), endings.end());
    endings.erase(std::unique(endings.begin(), endings.end()), endings.end());
    return endings;
}

std::vector<std::uint32_t> GlobIndex::find(const std::string& text) const
{
    std::vector<std::uint32_t> found;
    if (patterns_.empty()) {
        return found;
    }
    if (const auto same = exact_.find(text); same != exact_.end()) {
        found.push_back(same->second);
    }
    const auto try_pattern = [&](std::uint32_t number) {
        if (name_matches(patterns_[number], text)) {
            found.push_back(number);
        }
    };
    for (const std::uint32_t number : always_) {
        try_pattern(number);
    }
    for (const State end : endings_in(text)) {
        for (auto i = nodes_[end].first_pattern; i < nodes_[end + 1].first_pattern; ++i) {
            try_pattern(patterns_of_[i]);
        }
    }
    return found;
}

std::size_t GlobIndex::memory() const
{
    std::size_t bytes = nodes_.capacity() * sizeof(Node) + edges_.capacity() * sizeof(Edge) +
                        (patterns_of_.capacity() + always_.capacity()) * sizeof(std::uint32_t);
    for (const auto& pattern : patterns_) {
        bytes += 2 * (sizeof(std::string) + pattern.capacity()) + 2 * sizeof(void*);    // here and in exact_
    }
    return bytes;
}

}    // namespace rdmaqos
