#include "policy/match/glob_inclusion.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lib/base/text.h"
#include "policy/match/glob_index.h"

namespace rdmaqos {
namespace {

constexpr std::size_t kBytes = 256;
constexpr std::size_t kWordBits = 64;
// Of all patterns of a list together. Such a set of places has eight words.
constexpr std::size_t kMostPlaces = 512;
// Hardly in any pattern.
constexpr std::string_view kForStar = "q~";

using Bytes = std::bitset<kBytes>;

// One place of a pattern: a byte out of some, or any number of any bytes.
struct Token {
    bool star = false;
    Bytes bytes;
};
using Glob = std::vector<Token>;

std::size_t value_of(char c)
{
    return static_cast<unsigned char>(c);
}

Token one_of(const Bytes& bytes)
{
    return {false, bytes};
}

Token just(char c)
{
    return one_of(Bytes().set(value_of(c)));
}

// A text ends at NUL, so that is in no set.
Bytes any_byte()
{
    return Bytes().set().reset(0);
}

// Which single bytes a bracket expression matches is for those to say who match it.
Bytes bytes_of(const std::string& bracket)
{
    Bytes bytes;
    for (std::size_t value = 1; value < kBytes; ++value) {
        bytes.set(value, glob_matches(bracket, std::string(1, static_cast<char>(value))));
    }
    return bytes;
}

// The bracket expression at the start of the text. Empty: none that is understood here.
std::string_view bracket_at_start(std::string_view text)
{
    std::size_t first = 1;
    if (text.size() > first && (text[first] == '!' || text[first] == '^')) {
        ++first;
    }
    // A bracket that comes first is a member.
    const auto close = text.find(']', first + 1);
    if (close == std::string_view::npos || text.substr(1, close - 1).find_first_of("[\\") != std::string_view::npos) {
        return {};
    }
    return text.substr(0, close + 1);
}

// Empty: not understood here.
std::optional<Glob> parse(std::string_view pattern)
{
    Glob glob;
    while (!pattern.empty()) {
        std::size_t length = 1;
        switch (pattern.front()) {
        case '*':
            if (glob.empty() || !glob.back().star) {
                glob.push_back({true, any_byte()});
            }
            break;
        case '?':
            glob.push_back(one_of(any_byte()));
            break;
        case '\\':
            length = 2;
            if (pattern.size() < length) {
                return std::nullopt;
            }
            glob.push_back(just(pattern[1]));
            break;
        case '[': {
            const auto bracket = bracket_at_start(pattern);
            if (bracket.empty()) {
                return std::nullopt;
            }
            length = bracket.size();
            glob.push_back(one_of(bytes_of(std::string(bracket))));
            break;
        }
        default:
            glob.push_back(just(pattern.front()));
        }
        pattern.remove_prefix(length);
    }
    return glob;
}

Glob literally(std::string_view text)
{
    Glob glob;
    for (const char c : text) {
        glob.push_back(just(c));
    }
    return glob;
}

// What a pattern means, one or the other: name_matches() also takes it as it is written.
struct Meaning {
    std::vector<Glob> globs;
    bool is_all = true;    // false: it may mean more
};

Meaning meaning_of(const std::string& pattern)
{
    Meaning meaning;
    if (auto glob = parse(pattern)) {
        meaning.globs.push_back(std::move(*glob));
    } else {
        meaning.is_all = false;
    }
    // Stars and question marks match themselves.
    if (!meaning.is_all || pattern.find_first_of("[\\") != std::string::npos) {
        meaning.globs.push_back(literally(pattern));
    }
    return meaning;
}

// A byte for each kind of bytes that none of the globs tells apart.
class Alphabet {
public:
    void add(const Glob& glob)
    {
        for (const Token& token : glob) {
            if (token.bytes != any_byte() && seen_.insert(token.bytes.to_string()).second) {
                split(token.bytes);
            }
        }
    }

    [[nodiscard]] std::vector<std::size_t> letters() const
    {
        std::vector<std::size_t> letters;
        std::vector<bool> has(kinds_, false);
        for (std::size_t value = 1; value < kBytes; ++value) {
            if (!has[kind_of_[value]]) {
                has[kind_of_[value]] = true;
                letters.push_back(value);
            }
        }
        return letters;
    }

private:
    void split(const Bytes& bytes)
    {
        std::map<std::pair<std::size_t, bool>, std::size_t> kinds;
        for (std::size_t value = 1; value < kBytes; ++value) {
            const auto [kind, is_new] = kinds.try_emplace({kind_of_[value], bytes[value]}, kinds.size());
            kind_of_[value] = kind->second;
        }
        kinds_ = kinds.size();
    }

    std::array<std::size_t, kBytes> kind_of_{};
    std::size_t kinds_ = 1;
    std::set<std::string> seen_;
};

// Whether the text may end here.
bool is_end(const Glob& glob, std::size_t place)
{
    return place == glob.size() || (glob[place].star && place + 1 == glob.size());
}

// Where one glob can go on by a byte: at most two places.
template <typename Visit>
void step(const Glob& glob, std::size_t place, std::size_t byte, Visit visit)
{
    if (place < glob.size() && glob[place].star) {
        visit(place);
        ++place;
    }
    if (place < glob.size() && glob[place].bytes[byte]) {
        visit(place + 1);
    }
}

// Several globs at once, and the places where each of them can be.
class Places {
public:
    using Set = std::vector<std::uint64_t>;

    explicit Places(std::vector<Glob> globs) : globs_(std::move(globs))
    {
        for (const Glob& glob : globs_) {
            first_.push_back(count_);
            count_ += glob.size() + 1;
        }
    }

    [[nodiscard]] std::size_t count() const { return count_; }
    [[nodiscard]] const std::vector<Glob>& globs() const { return globs_; }

    [[nodiscard]] Set start() const
    {
        Set set((count_ + kWordBits - 1) / kWordBits);
        for (const std::size_t first : first_) {
            insert(set, first);
        }
        return set;
    }

    [[nodiscard]] Set after(const Set& set, std::size_t byte) const
    {
        Set next(set.size());
        for_each(set, [&](std::size_t glob, std::size_t place) {
            step(globs_[glob], place, byte, [&](std::size_t to) { insert(next, first_[glob] + to); });
        });
        return next;
    }

    [[nodiscard]] bool any_at_end(const Set& set) const
    {
        bool at_end = false;
        for_each(set, [&](std::size_t glob, std::size_t place) { at_end |= is_end(globs_[glob], place); });
        return at_end;
    }

    // Before a last star: everything that may follow is matched.
    [[nodiscard]] bool any_has_all(const Set& set) const
    {
        bool all = false;
        for_each(set, [&](std::size_t glob, std::size_t place) {
            all |= place < globs_[glob].size() && is_end(globs_[glob], place);
        });
        return all;
    }

private:
    static void insert(Set& set, std::size_t number)
    {
        set[number / kWordBits] |= std::uint64_t{1} << number % kWordBits;
    }

    template <typename Visit>
    void for_each(const Set& set, Visit visit) const
    {
        for (std::size_t glob = 0; glob < globs_.size(); ++glob) {
            for (std::size_t place = 0; place <= globs_[glob].size(); ++place) {
                const std::size_t number = first_[glob] + place;
                if ((set[number / kWordBits] >> number % kWordBits & 1U) != 0) {
                    visit(glob, place);
                }
            }
        }
    }

    std::vector<Glob> globs_;
    std::vector<std::size_t> first_;    // by glob: the number of its first place
    std::size_t count_ = 0;
};

// How far a text has been read.
struct Reading {
    std::size_t a = 0;    // place in a glob
    std::size_t b = 0;
    Places::Set others;

    friend auto operator<=>(const Reading&, const Reading&) = default;
};

// Is there a text that both `a` and `b` match, but none of `others`? Nobody knows: true.
bool perhaps_escapes(const Glob& a, const Glob& b, const Places& others, Effort& effort)
{
    if (others.count() > kMostPlaces) {
        return true;
    }
    Alphabet alphabet;
    alphabet.add(a);
    alphabet.add(b);
    for (const Glob& glob : others.globs()) {
        alphabet.add(glob);
    }
    const auto letters = alphabet.letters();
    std::set<Reading> seen{{0, 0, others.start()}};
    std::vector<Reading> open(seen.begin(), seen.end());
    bool escapes = false;
    while (!open.empty() && !escapes) {
        const Reading now = std::move(open.back());
        open.pop_back();
        if (!effort.spend(letters.size() * (1 + others.count() / 4))) {
            return true;
        }
        for (const std::size_t byte : letters) {
            Places::Set next = others.after(now.others, byte);
            if (others.any_has_all(next)) {
                continue;
            }
            const bool others_end = others.any_at_end(next);
            step(a, now.a, byte, [&](std::size_t next_a) {
                step(b, now.b, byte, [&](std::size_t next_b) {
                    escapes |= !others_end && is_end(a, next_a) && is_end(b, next_b);
                    if (const auto entry = seen.insert({next_a, next_b, next}); entry.second) {
                        open.push_back(*entry.first);
                    }
                });
            });
        }
    }
    return escapes;
}

const Glob& everything()
{
    static const Glob glob{{true, any_byte()}};
    return glob;
}

bool has_pattern(Globs patterns, const std::string& pattern)
{
    return std::find(patterns.begin(), patterns.end(), pattern) != patterns.end();
}

std::vector<Glob> all_meanings(Globs patterns)
{
    std::vector<Glob> globs;
    for (const auto& pattern : patterns) {
        auto meaning = meaning_of(pattern);
        std::move(meaning.globs.begin(), meaning.globs.end(), std::back_inserter(globs));
    }
    return globs;
}

bool any_is_empty(Globs patterns)
{
    return std::any_of(patterns.begin(), patterns.end(), [](const std::string& pattern) { return pattern.empty(); });
}

bool is_literal_text(const std::string& pattern)
{
    return !has_glob(pattern) && pattern.find('\\') == std::string::npos;
}

bool any_matches_text(Globs patterns, const std::string& text)
{
    return std::any_of(patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return name_matches(pattern, text); });
}

std::size_t size_of(Globs patterns)
{
    std::size_t size = 0;
    for (const auto& pattern : patterns) {
        size += 1 + pattern.size() + (pattern.find('[') == std::string::npos ? 0 : kBytes);
    }
    return size;
}

// Of the texts that match all of some patterns (one or two).
bool includes_all_of(Globs wide, const Places& places, std::span<const std::string* const> patterns, Effort& effort)
{
    std::vector<Meaning> meanings;
    for (const std::string* pattern : patterns) {
        if (has_pattern(wide, *pattern)) {
            return true;
        }
        if (is_literal_text(*pattern)) {
            if (any_matches_text(wide, *pattern)) {
                return true;
            }
            if (patterns.size() == 1) {
                return false;
            }
        }
        Meaning meaning = meaning_of(*pattern);
        if (meaning.is_all) {
            meanings.push_back(std::move(meaning));
        }
    }
    if (meanings.empty()) {
        return false;
    }
    const std::vector<Glob> anything{everything()};
    const auto& seconds = meanings.size() > 1 ? meanings[1].globs : anything;
    return std::ranges::all_of(meanings[0].globs, [&](const Glob& first) {
        return std::ranges::all_of(seconds,
                                   [&](const Glob& second) { return !perhaps_escapes(first, second, places, effort); });
    });
}

}    // namespace

bool surely_includes(Globs wide, Globs narrow, Effort& effort)
{
    if (any_is_empty(narrow) || !effort.spend(size_of(wide) + size_of(narrow))) {
        return false;
    }
    if (std::all_of(narrow.begin(), narrow.end(), [&](const auto& pattern) { return has_pattern(wide, pattern); })) {
        return true;
    }
    // Most often they have nothing to do with each other, which one text can show.
    const auto escapes = [&](const std::string& pattern) {
        return !any_matches_text(wide, example_of(pattern, kForStar));
    };
    if (std::any_of(narrow.begin(), narrow.end(), escapes)) {
        return false;
    }
    const Places places(all_meanings(wide));
    return std::all_of(narrow.begin(), narrow.end(), [&](const std::string& pattern) {
        const std::array<const std::string*, 1> patterns{&pattern};
        return includes_all_of(wide, places, patterns, effort);
    });
}

bool surely_includes(Globs wide, Globs narrow, Globs narrower, Effort& effort)
{
    if (any_is_empty(narrow) || any_is_empty(narrower) ||
        !effort.spend(size_of(wide) + size_of(narrow) + size_of(narrower))) {
        return false;
    }
    const Places places(all_meanings(wide));
    return std::all_of(narrow.begin(), narrow.end(), [&](const std::string& first) {
        return std::all_of(narrower.begin(), narrower.end(), [&](const std::string& second) {
            const std::array patterns{&first, &second};
            return includes_all_of(wide, places, patterns, effort);
        });
    });
}

bool surely_disjoint(Globs a, Globs b, Effort& effort)
{
    if (any_is_empty(a) || any_is_empty(b)) {
        return false;
    }
    const Places nothing({});
    return std::all_of(a.begin(), a.end(), [&](const std::string& first) {
        return std::all_of(b.begin(), b.end(), [&](const std::string& second) {
            const Meaning meaning_a = meaning_of(first);
            const Meaning meaning_b = meaning_of(second);
            return meaning_a.is_all && meaning_b.is_all &&
                   std::ranges::all_of(meaning_a.globs, [&](const Glob& glob_a) {
                       return std::ranges::all_of(meaning_b.globs, [&](const Glob& glob_b) {
                           return !perhaps_escapes(glob_a, glob_b, nothing, effort);
                       });
                   });
        });
    });
}

std::string example_of(const std::string& pattern, std::string_view for_star)
{
    const auto glob = parse(pattern);
    if (!glob) {
        return pattern;
    }
    std::string text;
    for (const Token& token : *glob) {
        if (token.star) {
            text += for_star;
            continue;
        }
        std::size_t byte = 'x';
        for (std::size_t value = 1; value < kBytes && !token.bytes[byte]; ++value) {
            byte = value;
        }
        text.push_back(static_cast<char>(byte));
    }
    return text;
}

}    // namespace rdmaqos
