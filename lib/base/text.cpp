#include "lib/base/text.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fnmatch.h>

#include "lib/base/edit_distance.h"

namespace rdmaqos {
namespace {

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 if there is none.
std::size_t utf8_sequence(std::string_view text)
{
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) {
        return 1;
    }
    const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < length) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80) {
            return 0;
        }
    }
    // Overlong forms, surrogates, and code points above U+10FFFF.
    if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F) || (lead == 0xF0 && byte(1) < 0x90) ||
        (lead == 0xF4 && byte(1) > 0x8F)) {
        return 0;
    }
    return length;
}

}    // namespace

bool equals_ignoring_case(std::string_view a, std::string_view b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return to_lower(x) == to_lower(y); });
}

std::string to_lower(std::string_view text)
{
    std::string result(text);
    for (char& c : result) {
        c = to_lower(c);
    }
    return result;
}

std::string_view without_leading_blanks(std::string_view text, std::string_view blanks)
{
    return text.substr(std::min(text.find_first_not_of(blanks), text.size()));
}

std::string_view without_blanks(std::string_view text, std::string_view blanks)
{
    text = without_leading_blanks(text, blanks);
    return text.substr(0, text.find_last_not_of(blanks) + 1);
}

std::vector<std::string_view> lines_of(std::string_view text)
{
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        lines.push_back(text.substr(0, text.find('\n')));
        text.remove_prefix(std::min(lines.back().size() + 1, text.size()));
    }
    return lines;
}

std::optional<std::string_view> did_you_mean(std::string_view word, std::span<const std::string_view> candidates)
{
    if (word.empty() || word.size() > kLongestWordCompared) {
        return std::nullopt;
    }
    // At least one letter has to be right.
    const std::size_t limit = std::min(std::max<std::size_t>(1, word.size() / 3), word.size() - 1);
    EditDistance from(word);
    std::optional<std::string_view> best;
    std::size_t best_distance = limit + 1;
    for (const auto candidate : candidates) {
        if (const auto distance = from.below(best_distance, candidate)) {
            best = candidate;
            best_distance = *distance;
        }
    }
    return best;
}

bool glob_matches(const std::string& pattern, const std::string& text)
{
    return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

bool has_glob(std::string_view pattern)
{
    return pattern.find_first_of("*?[") != std::string_view::npos;
}

bool is_valid_utf8(std::string_view text)
{
    while (!text.empty()) {
        const std::size_t length = utf8_sequence(text);
        if (length == 0 || text[0] == '\0') {
            return false;
        }
        text.remove_prefix(length);
    }
    return true;
}

namespace {

// A character that shows nothing itself, and changes how what is around it is shown: C1 controls, separators of lines
// and paragraphs, marks that turn the direction of writing, and those without width.
bool steers_the_reader(std::string_view character)
{
    struct Range {
        std::string_view first;
        std::string_view last;
    };
    constexpr std::array kRanges{
        Range{"\xC2\x80", "\xC2\x9F"},            // C1
        Range{"\xD8\x9C", "\xD8\x9C"},            // U+061C
        Range{"\xE2\x80\x8B", "\xE2\x80\x8F"},    // U+200B..U+200F
        Range{"\xE2\x80\xA8", "\xE2\x80\xAE"},    // U+2028..U+202E
        Range{"\xE2\x81\xA0", "\xE2\x81\xAF"},    // U+2060..U+206F
        Range{"\xEF\xBB\xBF", "\xEF\xBB\xBF"},    // U+FEFF
    };
    // UTF-8 sorts as its characters do; so do sequences of one length here.
    return std::ranges::any_of(kRanges, [&](const Range& range) {
        return character.size() == range.first.size() && character >= range.first && character <= range.last;
    });
}

}    // namespace

std::string printable(std::string_view text)
{
    std::string result;
    result.reserve(text.size());
    while (!text.empty()) {
        const std::size_t length = utf8_sequence(text);
        const auto byte = static_cast<unsigned char>(text[0]);
        const bool control = byte < 0x20 || byte == 0x7F || steers_the_reader(text.substr(0, length));
        if (length == 0 || control) {
            const std::size_t escaped = std::max<std::size_t>(length, 1);
            for (const char each : text.substr(0, escaped)) {
                fmt::format_to(std::back_inserter(result), "\\x{:02x}", static_cast<unsigned char>(each));
            }
            text.remove_prefix(escaped);
            continue;
        }
        result.append(text.substr(0, length));
        text.remove_prefix(length);
    }
    return result;
}

std::string_view beginning_of(std::string_view text, std::size_t longest)
{
    if (text.size() <= longest) {
        return text;
    }
    // A character begins at most three bytes before the cut, if it reaches over it.
    for (std::size_t start = longest; start-- > 0 && longest - start < 4;) {
        const std::size_t length = utf8_sequence(text.substr(start));
        if (length > 1) {
            return text.substr(0, start + length <= longest ? longest : start);
        }
    }
    return text.substr(0, longest);
}

std::string shortened(std::string_view text, std::size_t longest)
{
    return fmt::format("{}{}", beginning_of(text, longest), text.size() > longest ? "..." : "");
}

std::size_t display_width(std::string_view text)
{
    // Continuation bytes take none.
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

std::string padded(std::string_view text, std::size_t columns)
{
    std::string result(text);
    result.append(columns - std::min(columns, display_width(text)), ' ');
    return result;
}

std::string counted(std::size_t count, std::string_view noun)
{
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}    // namespace rdmaqos
