// Which of many globs match a text, without trying all of them.
//
// Every text a glob matches contains the glob's literal pieces ("/slurm/" and "/job_17/" in "/slurm/*/job_17/*"). Of
// each glob the piece that the fewest others have is looked for; all pieces are found in one pass over the text
// (Aho-Corasick), and only the globs they belong to are tried. Globs without a literal piece ("*") are always tried.
// Memory is proportional to the length of the patterns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rdmaqos {

// Equal, or matched as a glob. Equality counts because unit names hold backslashes ("a\x2db.service"), which a glob
// takes for escapes.
[[nodiscard]] bool name_matches(const std::string& pattern, const std::string& text);

// Matches nothing but itself.
[[nodiscard]] bool is_literal(std::string_view pattern);

// Text that is in everything `pattern` matches, piece by piece. May leave some out.
[[nodiscard]] std::vector<std::string_view> literal_pieces(std::string_view pattern);

class GlobIndex {
public:
    GlobIndex() = default;
    // A pattern's number is its place in the list.
    explicit GlobIndex(std::vector<std::string> patterns);

    // The numbers of the patterns that match; one may come twice.
    [[nodiscard]] std::vector<std::uint32_t> find(const std::string& text) const;
    [[nodiscard]] std::size_t memory() const;

private:
    using State = std::uint32_t;
    static constexpr State kStart = 0;

    struct Edge {
        char label;
        State target;
    };
    struct Node {
        std::uint32_t first_edge = 0;       // its edges end where the next node's begin
        State fallback = kStart;            // the longest other piece's beginning that the text read so far ends with
        State ending = kStart;              // the nearest of itself and its fallbacks where a piece ends; kStart: none
        std::uint32_t first_pattern = 0;    // as first_edge
    };
    class Builder;

    [[nodiscard]] State step(State state, char next) const;
    [[nodiscard]] std::vector<State> endings_in(const std::string& text) const;

    std::vector<std::string> patterns_;
    std::unordered_map<std::string, std::uint32_t> exact_;
    std::vector<std::uint32_t> always_;    // patterns without a literal piece
    std::array<State, 256> start_{};       // the edges of kStart
    std::vector<Node> nodes_;              // and one behind the last
    std::vector<Edge> edges_;
    std::vector<std::uint32_t> patterns_of_;    // patterns by the node where their piece ends
};

}    // namespace rdmaqos
