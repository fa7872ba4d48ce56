#include "policy/opensm/values.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos::opensm {
namespace {

// What std::isspace() of the C locale takes; vertical tab and form feed as their numbers.
constexpr std::string_view kSpace = " \t\n\013\014\r";

constexpr bool is_word_character(char c)
{
    return is_letter(c) || is_digit(c) || c == '-' || c == '_';
}

// As std::strtoull() with base 0 reads it: 010 is 8, 018 is 1 (octal stops at the 8), too much is the largest number.
std::uint64_t value_of(std::string_view spelled, bool& is_too_large)
{
    int base = 10;
    if (spelled.size() > 2 && (spelled[1] | 0x20) == 'x') {
        base = 16;
        spelled.remove_prefix(2);
    } else if (spelled.size() > 1 && spelled[0] == '0') {
        base = 8;
    }
    std::uint64_t value = 0;
    const auto read = std::from_chars(spelled.data(), spelled.data() + spelled.size(), value, base);
    is_too_large = read.ec == std::errc::result_out_of_range;
    return is_too_large ? std::numeric_limits<std::uint64_t>::max() : value;
}

// Whether a word is one of these tags, for which only its colon is missing.
bool is_tag(std::string_view word, TokenSet wanted)
{
    for (auto kind = static_cast<unsigned>(TokenKind::Name); kind <= static_cast<unsigned>(TokenKind::Sl2vlTable);
         ++kind) {
        if (wanted.contains(static_cast<TokenKind>(kind)) && word_of(static_cast<TokenKind>(kind)) == word) {
            return true;
        }
    }
    return false;
}

}    // namespace

const Token& Values::peek()
{
    if (!next_) {
        next_ = refusal_ ? Token{} : lexer_.next();
    }
    return *next_;
}

Token Values::take()
{
    static_cast<void>(peek());
    return *std::exchange(next_, std::nullopt);
}

bool Values::take_if(TokenKind kind)
{
    if (peek().kind != kind) {
        return false;
    }
    next_.reset();
    return true;
}

std::optional<Refusal> Values::take_refusal()
{
    return std::move(refusal_);
}

std::string_view Values::whole_word(const Token& token) const
{
    const std::string_view text = context_.files().front()->text;
    const std::size_t begin = offset_of(token.spelled);
    std::size_t end = begin;
    while (end < text.size() && is_word_character(text[end]) && end - begin < kLongestShown) {
        ++end;
    }
    return text.substr(begin, std::max<std::size_t>(end - begin, 1));
}

std::string Values::hint(std::string_view word, TokenSet wanted, std::string_view wanted_in_words)
{
    std::vector<std::string_view> words;
    for (unsigned kind = 0; kind <= static_cast<unsigned>(TokenKind::Sl2vlTable); ++kind) {
        if (const auto known = word_of(static_cast<TokenKind>(kind));
            !known.empty() && wanted.contains(static_cast<TokenKind>(kind))) {
            words.push_back(known);
        }
    }
    const std::string otherwise = words.empty() ? fmt::format("expected {}", wanted_in_words)
                                                : fmt::format("expected one of {}", reader::in_backticks(words));
    return context_.suggest(word, words, otherwise);
}

void Values::refuse(std::string_view place, TokenSet wanted, std::string_view wanted_in_words)
{
    if (refusal_) {
        return;
    }
    const Token token = peek();
    if (last_refused_ == token.at.line) {
        return;    // one is enough for a line
    }
    last_refused_ = token.at.line;
    const bool at_end = token.kind == TokenKind::End;
    const std::string_view word = at_end                                  ? std::string_view{}
                                  : kKeywordsAndTags.contains(token.kind) ? word_of(token.kind)
                                  : token.kind == TokenKind::Ulp          ? form_of(token.ulp).name
                                                                          : whole_word(token);
    const bool lacks_colon = token.kind == TokenKind::Text && is_tag(word, wanted);
    const std::string message = at_end        ? fmt::format("the file ends inside {}", place)
                                : lacks_colon ? fmt::format("`{}` needs a `:`", word)
                                              : fmt::format("`{}` is not allowed in {}", printable(word), place);
    const std::string advice = lacks_colon ? fmt::format("write `{}: ` and its value", word)
                                           : hint(word, wanted, wanted_in_words);
    if (mode_ == OpensmMode::Strict) {
        refusal_ = Refusal{lexer_.mark_behind_first(token), "syntax error", fmt::format("{}; {}", message, advice)};
        next_.reset();
        return;
    }
    Position at = token.at;
    at.length = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(word.size()));
    context_.error(at, message, advice);
}

void Values::refuse_file(std::string_view message, std::string_view advice)
{
    const Token token = peek();
    if (mode_ == OpensmMode::Strict) {
        refusal_ = Refusal{lexer_.mark_behind_first(token), "syntax error", fmt::format("{}; {}", message, advice)};
        next_.reset();
        return;
    }
    context_.error(token.at, std::string(message), std::string(advice));
}

void Values::refuse_too_long(const Token& first)
{
    const auto message = fmt::format("a value is longer than {} bytes", kLongestOpensmValue);
    if (mode_ == OpensmMode::Strict) {
        refusal_ = Refusal{mark(), message, "OpenSM has no room for it and overwrites its own memory"};
        next_.reset();
        return;
    }
    context_.error(first.at, message, "OpenSM has no room for more; is a closing quote missing?");
}

void Values::recover(TokenSet kinds)
{
    while (!refusal_) {
        // What is left of a word must not be taken for a keyword.
        next_.reset();
        lexer_.skip_line();
        if (peek().kind == TokenKind::End || kinds.contains(peek().kind)) {
            return;
        }
    }
}

std::size_t Values::offset_of(std::string_view part) const
{
    return static_cast<std::size_t>(part.data() - context_.files().front()->text.data());
}

void Values::append(const Token& part, Text& text)
{
    if (part.kind != TokenKind::Text) {
        context_.warning(context_.locate(part.at),
                         fmt::format("`{}` continues the value of the line before: OpenSM rejects the file",
                                     printable(part.spelled)),
                         "keep a value on one line");
    }
    const std::size_t begin = text.spelled.empty() ? offset_of(part.spelled) : offset_of(text.spelled);
    const std::size_t end = begin + text.spelled.size();
    text.lost_blanks = text.lost_blanks || (!text.spelled.empty() && offset_of(part.spelled) != end);
    text.is_quoted = text.is_quoted || part.is_quoted;
    text.spelled = std::string_view(context_.files().front()->text)
                       .substr(begin, offset_of(part.spelled) + part.spelled.size() - begin);
    if (text.value.size() <= kLongestOpensmValue) {
        text.value += part.text;
    }
}

void Values::finish(Text& text) const
{
    text.value = std::string(without_blanks(text.value, kSpace));
    text.spelled = text.spelled.substr(0, text.spelled.find_last_not_of(kSpace) + 1);
    text.at.length = static_cast<std::uint32_t>(
        std::max<std::size_t>(1, std::min(text.spelled.size(), text.spelled.find('\n'))));
}

std::optional<Text> Values::read_text()
{
    if (peek().kind != TokenKind::Text) {
        refuse("a name or description", TokenSet(), "a text");
        return std::nullopt;
    }
    const Token first = peek();
    Text text;
    text.at = first.at;
    // What the lines of a value begin with can be numbers to OpenSM.
    const TokenSet continued = mode_ == OpensmMode::Strict ? TokenSet()
                                                           : TokenSet(TokenKind::Number, TokenKind::Dash,
                                                                      TokenKind::Colon, TokenKind::Asterisk);
    while (peek().kind == TokenKind::Text || continued.contains(peek().kind)) {
        append(take(), text);
    }
    text.acted = mark();
    if (text.value.size() > kLongestOpensmValue) {
        refuse_too_long(first);
        return std::nullopt;
    }
    finish(text);
    return text;
}

bool Values::read_texts(std::vector<Text>& texts)
{
    const std::size_t first = texts.size();
    do {
        auto text = read_text();
        if (!text) {
            texts.resize(first);    // OpenSM has not acted on any of them
            return false;
        }
        texts.push_back(std::move(*text));
    } while (take_if(TokenKind::Comma));
    for (std::size_t i = first; i < texts.size(); ++i) {
        texts[i].acted = mark();
    }
    return true;
}

bool Values::read_text_of(const Token& tag, std::optional<Text>& text, std::vector<Repeated>& repeated)
{
    auto read = read_text();
    if (!read) {
        return false;
    }
    if (text) {
        repeated.push_back({word_of(tag.kind), tag.at, read->acted});
    } else {
        text = std::move(*read);
    }
    return true;
}

void Values::warn_about(const Number& number)
{
    if (number.is_too_large) {
        context_.warning(context_.locate(number.at), "the number is above 2^64 - 1: it is read as 0xffffffffffffffff");
    } else if (number.is_octal && number.spelled.find_first_not_of('0') != std::string_view::npos) {
        context_.warning(
            context_.locate(number.at),
            fmt::format("`{}` is read as {}: a leading 0 means octal, as in OpenSM", number.spelled, number.value),
            "omit the 0 for decimal");
    }
}

std::optional<Number> Values::read_number()
{
    if (peek().kind != TokenKind::Number) {
        refuse("a numeric value", TokenSet(), "a number, decimal or 0x hex");
        return std::nullopt;
    }
    const Token token = take();
    Number number;
    number.at = token.at;
    number.spelled = token.spelled;
    number.value = value_of(token.spelled, number.is_too_large);
    number.is_octal = token.spelled.size() > 1 && token.spelled[0] == '0' && (token.spelled[1] | 0x20) != 'x';
    number.acted = mark();
    warn_about(number);
    return number;
}

bool Values::read_number_of(const Token& tag, std::optional<Number>& number, std::vector<Repeated>& repeated)
{
    const auto read = read_number();
    if (!read) {
        return false;
    }
    if (number) {
        repeated.push_back({word_of(tag.kind), tag.at, read->acted});
    } else {
        number = *read;
    }
    return true;
}

bool Values::read_ranges(std::vector<Range>& ranges)
{
    do {
        const auto first = read_number();
        if (!first) {
            return false;
        }
        Range range{*first, std::nullopt, first->at};
        if (take_if(TokenKind::Dash)) {
            range.last = read_number();
            if (!range.last) {
                return false;
            }
            if (range.last->at.line == range.at.line) {
                range.at.length = range.last->at.column + range.last->at.length - range.at.column;
            }
        }
        ranges.push_back(range);
    } while (take_if(TokenKind::Comma));
    return true;
}

bool Values::read_node_types(std::vector<NodeTypeWord>& types)
{
    do {
        if (peek().kind != TokenKind::NodeType) {
            refuse("a list of node types", TokenSet(), "CA, SWITCH, ROUTER, ALL or SELF");
            return false;
        }
        types.push_back(take().node_type);
    } while (take_if(TokenKind::Comma));
    return true;
}

bool Values::read_pairs(std::vector<VlarbPair>& pairs)
{
    do {
        const auto vl = read_number();
        if (!vl) {
            return false;
        }
        if (!take_if(TokenKind::Colon)) {
            refuse("a list of VLs and weights", TokenSet(), "`:` and a weight");
            return false;
        }
        const auto weight = read_number();
        if (!weight) {
            return false;
        }
        pairs.push_back({*vl, *weight});
    } while (take_if(TokenKind::Comma));
    return true;
}

bool Values::read_ports(const Token& tag, std::vector<PortList>& lists)
{
    PortList list;
    list.at = tag.at;
    list.all = take_if(TokenKind::Asterisk);
    if (!list.all && !read_ranges(list.ranges)) {
        return false;
    }
    list.acted = mark();
    lists.push_back(std::move(list));
    return true;
}

bool Values::read_table(const Token& tag, std::vector<Sl2vlTable>& tables)
{
    Sl2vlTable table;
    table.at = tag.at;
    do {
        const auto number = read_number();
        if (!number) {
            return false;
        }
        table.values.push_back(*number);
    } while (take_if(TokenKind::Comma));
    table.acted = mark();
    tables.push_back(std::move(table));
    return true;
}

}    // namespace rdmaqos::opensm
