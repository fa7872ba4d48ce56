#include "policy/opensm/lexer.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos::opensm {
namespace {

struct Word {
    std::string_view text;
    TokenKind kind = TokenKind::End;
    bool is_tag = false;    // a colon must follow, perhaps behind blanks, and belongs to it
};

// By first letter.
constexpr std::array kWords{
    Word{"across", TokenKind::Across, true},
    Word{"across-from", TokenKind::AcrossFrom, true},
    Word{"across-to", TokenKind::AcrossTo, true},
    Word{"destination", TokenKind::Destination, true},
    Word{"end-port-group", TokenKind::EndPortGroup},
    Word{"end-port-groups", TokenKind::EndPortGroups},
    Word{"end-qos-level", TokenKind::EndQosLevel},
    Word{"end-qos-levels", TokenKind::EndQosLevels},
    Word{"end-qos-match-rule", TokenKind::EndQosMatchRule},
    Word{"end-qos-match-rules", TokenKind::EndQosMatchRules},
    Word{"end-qos-setup", TokenKind::EndQosSetup},
    Word{"end-qos-ulps", TokenKind::EndQosUlps},
    Word{"end-sl2vl-scope", TokenKind::EndSl2vlScope},
    Word{"end-sl2vl-tables", TokenKind::EndSl2vlTables},
    Word{"end-vlarb-scope", TokenKind::EndVlarbScope},
    Word{"end-vlarb-tables", TokenKind::EndVlarbTables},
    Word{"from", TokenKind::From, true},
    Word{"group", TokenKind::Group, true},
    Word{"mtu-limit", TokenKind::MtuLimit, true},
    Word{"name", TokenKind::Name, true},
    Word{"node-type", TokenKind::NodeTypes, true},
    Word{"packet-life", TokenKind::PacketLife, true},
    Word{"partition", TokenKind::Partition, true},
    Word{"path-bits", TokenKind::PathBits, true},
    Word{"pkey", TokenKind::PKey, true},
    Word{"port-group", TokenKind::PortGroup},
    Word{"port-groups", TokenKind::PortGroups},
    Word{"port-guid", TokenKind::PortGuid, true},
    Word{"port-name", TokenKind::PortName, true},
    Word{"qos-class", TokenKind::QosClass, true},
    Word{"qos-level", TokenKind::QosLevel},
    Word{"qos-level-name", TokenKind::QosLevelName, true},
    Word{"qos-levels", TokenKind::QosLevels},
    Word{"qos-match-rule", TokenKind::QosMatchRule},
    Word{"qos-match-rules", TokenKind::QosMatchRules},
    Word{"qos-setup", TokenKind::QosSetup},
    Word{"qos-ulps", TokenKind::QosUlps},
    Word{"rate-limit", TokenKind::RateLimit, true},
    Word{"service-id", TokenKind::ServiceId, true},
    Word{"sl", TokenKind::Sl, true},
    Word{"sl2vl-scope", TokenKind::Sl2vlScope},
    Word{"sl2vl-table", TokenKind::Sl2vlTable, true},
    Word{"sl2vl-tables", TokenKind::Sl2vlTables},
    Word{"source", TokenKind::Source, true},
    Word{"to", TokenKind::To, true},
    Word{"use", TokenKind::Use, true},
    Word{"vl-high-limit", TokenKind::VlHighLimit, true},
    Word{"vlarb-high", TokenKind::VlarbHigh, true},
    Word{"vlarb-low", TokenKind::VlarbLow, true},
    Word{"vlarb-scope", TokenKind::VlarbScope},
    Word{"vlarb-tables", TokenKind::VlarbTables},
};

// kWords[kFirstOf[c - 'a']] is the first with this letter, kFirstOf[c - 'a' + 1] the one behind the last.
constexpr std::array<std::uint8_t, 27> kFirstOf = [] {
    std::array<std::uint8_t, 27> first{};
    for (std::size_t letter = 0; letter <= 26; ++letter) {
        while (first[letter] < kWords.size() && kWords[first[letter]].text[0] - 'a' < static_cast<int>(letter)) {
            ++first[letter];
        }
    }
    return first;
}();

struct NodeWord {
    std::string_view text;
    NodeTypeWord type;
};
constexpr std::array kNodeWords{NodeWord{"ca", NodeTypeWord::Ca}, NodeWord{"switch", NodeTypeWord::Switch},
                                NodeWord{"router", NodeTypeWord::Router}, NodeWord{"all", NodeTypeWord::All},
                                NodeWord{"self", NodeTypeWord::Self}};

constexpr TokenSet kStringTags(TokenKind::Name, TokenKind::QosLevelName, TokenKind::PortName, TokenKind::Partition,
                               TokenKind::Source, TokenKind::Destination, TokenKind::Group, TokenKind::Across,
                               TokenKind::AcrossFrom, TokenKind::AcrossTo);
constexpr TokenSet kNumberTags(TokenKind::PortGuid, TokenKind::PKey, TokenKind::Sl, TokenKind::MtuLimit,
                               TokenKind::RateLimit, TokenKind::PacketLife, TokenKind::PathBits, TokenKind::QosClass,
                               TokenKind::ServiceId, TokenKind::From, TokenKind::To, TokenKind::VlarbHigh,
                               TokenKind::VlarbLow, TokenKind::VlHighLimit, TokenKind::Sl2vlTable);

constexpr bool is_hex_digit(char c)
{
    return is_digit(c) || (to_lower(c) >= 'a' && to_lower(c) <= 'f');
}

std::size_t behind_blanks(std::string_view text, std::size_t at)
{
    while (at < text.size() && is_blank(text[at])) {
        ++at;
    }
    return at;
}

// `[ \t]*C[ \t]*` from `at` on: where it ends, or npos.
std::size_t behind_separator(std::string_view text, std::size_t at, char separator)
{
    at = behind_blanks(text, at);
    return at < text.size() && text[at] == separator ? behind_blanks(text, at + 1) : std::string_view::npos;
}

// `word` is in lower case.
bool starts_with_ignoring_case(std::string_view text, std::size_t at, std::string_view word)
{
    return text.size() - at >= word.size() && equals_ignoring_case(text.substr(at, word.size()), word);
}

std::size_t number_length(std::string_view text, std::size_t at)
{
    std::size_t end = at;
    const bool has_prefix = text[at] == '0' && at + 2 < text.size() && to_lower(text[at + 1]) == 'x' &&
                            is_hex_digit(text[at + 2]);
    if (has_prefix) {
        end = at + 2;
        while (end < text.size() && is_hex_digit(text[end])) {
            ++end;
        }
        return end - at;
    }
    while (end < text.size() && is_digit(text[end])) {
        ++end;
    }
    return end - at;
}

TokenKind punctuation(char c)
{
    switch (c) {
    case '-':
        return TokenKind::Dash;
    case ':':
        return TokenKind::Colon;
    case ',':
        return TokenKind::Comma;
    case '*':
        return TokenKind::Asterisk;
    default:
        return TokenKind::Text;
    }
}

}    // namespace

std::string_view word_of(TokenKind kind)
{
    const auto found = std::find_if(kWords.begin(), kWords.end(),
                                    [kind](const Word& word) { return word.kind == kind; });
    return found == kWords.end() ? std::string_view{} : found->text;
}

Lexer::Lexer(reader::Context& context, OpensmMode mode)
    : context_(context), text_(context.files().front()->text), tolerant_(mode == OpensmMode::Default),
      last_newline_(text_.rfind('\n')), last_quote_(text_.rfind('"'))
{
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (tolerant_ && text_.starts_with(kByteOrderMark)) {
        warn(0, kByteOrderMark.size(), "the file starts with a byte order mark: OpenSM rejects it", "remove it");
        position_ = kByteOrderMark.size();
    }
}

Position Lexer::position_at(std::size_t offset, std::size_t length) const
{
    return {line_, column_of(offset), static_cast<std::uint32_t>(std::max<std::size_t>(length, 1)), 0};
}

void Lexer::warn(std::size_t offset, std::size_t length, std::string_view message, std::string_view hint)
{
    context_.warning(context_.locate(position_at(offset, length)), std::string(message), std::string(hint));
}

void Lexer::end_line(std::size_t newline)
{
    position_ = newline + 1;
    line_start_ = position_;
    ++line_;
    in_description_ = in_string_ = in_node_type_ = false;
}

void Lexer::skip_line()
{
    const auto newline = text_.find('\n', position_);
    if (newline == std::string_view::npos) {
        position_ = text_.size();
    } else {
        end_line(newline);
    }
}

bool Lexer::is_comment(std::size_t at) const
{
    return text_[at] == '#' && last_newline_ != std::string_view::npos && at < last_newline_;
}

std::size_t Lexer::quoted_length(std::size_t at) const
{
    if (text_[at] != '"' || at >= last_quote_) {
        return 0;
    }
    return text_.find('"', at + 1) + 1 - at;
}

bool Lexer::skip_comment()
{
    if (is_comment(position_)) {
        end_line(text_.find('\n', position_));
        return true;
    }
    if (tolerant_ && text_[position_] == '#') {
        warn(position_, text_.size() - position_,
             "the file ends in a comment without a newline: OpenSM reads it as text and rejects the file",
             "end the last line with a newline");
        position_ = text_.size();
        return true;
    }
    return false;
}

// What OpenSM takes for text although it looks like a blank.
bool Lexer::skip_oddity()
{
    const char c = text_[position_];
    if (c == '\r') {
        if (!warned_of_line_ends_) {
            warn(position_, 1, "lines end in CR LF: OpenSM reads the CR as text and rejects the file",
                 "convert the file, for example with `sed -i 's/\\r$//'`");
            warned_of_line_ends_ = true;
        }
        ++position_;
        return true;
    }
    if ((c == '\f' || c == '\v') && !in_description_ && !in_string_) {
        warn(position_, 1, "a form feed or vertical tab: OpenSM reads it as text and rejects the file",
             "use spaces, tabs and newlines");
        ++position_;
        return true;
    }
    return false;
}

bool Lexer::skip_blank()
{
    if (position_ == text_.size()) {
        return false;
    }
    switch (text_[position_]) {
    case '\n':
        end_line(position_);
        return true;
    case '#':
        return skip_comment();
    case ' ':
    case '\t': {
        const std::size_t end = behind_blanks(text_, position_);
        if (in_description_ && end < text_.size() && text_[end] != '\n') {
            return false;
        }
        position_ = end;
        return true;
    }
    case '\r':
    case '\f':
    case '\v':
        return tolerant_ && skip_oddity();
    default:
        return false;
    }
}

Lexer::Scanned Lexer::scan_word(std::size_t at) const
{
    Scanned longest;
    const auto take = [&longest](const Scanned& scanned) {
        if (scanned.length > longest.length) {
            longest = scanned;
        }
    };
    const char letter = text_[at];
    if (letter >= 'a' && letter <= 'z') {
        const auto index = static_cast<std::size_t>(letter - 'a');
        const std::string_view rest = text_.substr(at);
        for (std::size_t i = kFirstOf.at(index); i < kFirstOf.at(index + 1); ++i) {
            const Word& word = kWords.at(i);
            if (!rest.starts_with(word.text)) {
                continue;
            }
            const std::size_t end = at + word.text.size();
            const std::size_t token_end = word.is_tag ? behind_separator(text_, end, ':') : end;
            if (token_end != std::string_view::npos) {
                take({word.kind, token_end - at, word.text.size()});
            }
        }
    }
    for (const NodeWord& word : kNodeWords) {
        if (starts_with_ignoring_case(text_, at, word.text)) {
            take({TokenKind::NodeType, word.text.size(), word.text.size(), word.type});
        }
    }
    for (const UlpForm& form : ulp_forms()) {
        if (form.host_only || !starts_with_ignoring_case(text_, at, form.name)) {
            continue;
        }
        const std::size_t end = at + form.name.size();
        const std::size_t behind_colon = behind_separator(text_, end, ':');
        if (!form.needs_one && behind_colon != std::string_view::npos) {
            take({TokenKind::Ulp, behind_colon - at, form.name.size(), {}, form.ulp, std::nullopt});
        }
        const std::size_t behind_comma = behind_separator(text_, end, ',');
        for (const UlpCriterion criterion : form.criteria) {
            const auto name = to_string(criterion);
            if (behind_comma != std::string_view::npos && text_.substr(behind_comma).starts_with(name)) {
                take({TokenKind::Ulp, behind_comma + name.size() - at, form.name.size(), {}, form.ulp, criterion});
            }
        }
    }
    return longest;
}

Lexer::Scanned Lexer::scan(std::size_t at) const
{
    const char c = text_[at];
    if (is_digit(c)) {
        const std::size_t length = number_length(text_, at);
        return {TokenKind::Number, length, length};
    }
    if (is_letter(c)) {
        return scan_word(at);
    }
    return {punctuation(c), 1, 1};
}

bool Lexer::is_part_of_value(const Scanned& scanned, std::size_t at)
{
    if (!tolerant_ || ends_of_value_.contains(scanned.kind)) {
        return false;
    }
    const auto word = text_.substr(at, scanned.word_length);
    warn(at, word.size(), fmt::format("`{}` inside a value: OpenSM reads it as a keyword and rejects the file", word),
         "put the value in quotes");
    return true;
}

std::size_t Lexer::end_of_text(std::size_t at)
{
    while (at < text_.size()) {
        const char c = text_[at];
        if (c == '\n' || c == '\0' || (c == '\r' && tolerant_) || (c == '"' && quoted_length(at) > 0) ||
            (c == '#' && (tolerant_ || is_comment(at)))) {
            break;
        }
        if (in_description_) {
            ++at;
            continue;
        }
        if (is_blank(c) || c == ',') {
            break;
        }
        const Scanned scanned = scan(at);
        const bool is_word = scanned.kind == TokenKind::NodeType ? in_node_type_ : scanned.kind >= TokenKind::Ulp;
        if (!is_word) {
            at += scanned.length;
        } else if (is_part_of_value(scanned, at)) {
            at += scanned.word_length;
        } else {
            break;
        }
    }
    return at;
}

Token Lexer::make_text(std::size_t end)
{
    Token token;
    token.kind = TokenKind::Text;
    token.at = position_at(position_, end - position_);
    token.spelled = text_.substr(position_, end - position_);
    token.text = token.spelled == std::string_view("\0", 1) ? std::string_view{} : token.spelled;
    position_ = end;
    return token;
}

Token Lexer::make_quoted(std::size_t length)
{
    Token token;
    token.kind = TokenKind::Text;
    token.is_quoted = true;
    token.spelled = text_.substr(position_, length);
    token.text = token.spelled.substr(1, length - 2);
    if (const auto nul = token.text.find('\0'); nul != std::string_view::npos) {
        // OpenSM takes the closing quote off a C string that has already ended.
        token.text = token.text.substr(0, nul == 0 ? 0 : nul - 1);
    }
    token.at = position_at(position_, std::min(length, token.spelled.find('\n')));
    const auto last = token.spelled.rfind('\n');
    if (last != std::string_view::npos) {
        if (tolerant_) {
            warn(position_, token.at.length, "a quoted text spans several lines: is its closing quote missing?", {});
        }
        line_ += static_cast<std::uint32_t>(std::count(token.spelled.begin(), token.spelled.end(), '\n'));
        line_start_ = position_ + last + 1;
    }
    position_ += length;
    return token;
}

void Lexer::begin_mode(TokenKind kind)
{
    if (tolerant_ && in_string_ && kNumberTags.contains(kind)) {
        in_string_ = false;
        warn(position_, word_of(kind).size(),
             fmt::format("`{}:` after a name on the same line: OpenSM reads digits in such a line as text",
                         word_of(kind)),
             "start a new line");
    }
    in_description_ = in_description_ || kind == TokenKind::Use;
    in_string_ = in_string_ || kStringTags.contains(kind);
    in_node_type_ = in_node_type_ || kind == TokenKind::NodeTypes;
}

Token Lexer::make(const Scanned& scanned)
{
    Token token;
    token.kind = scanned.kind == TokenKind::NodeType && !in_node_type_ ? TokenKind::Text : scanned.kind;
    token.at = position_at(position_, kKeywordsAndTags.contains(token.kind) ? scanned.word_length : scanned.length);
    token.spelled = text_.substr(position_, scanned.length);
    token.text = token.spelled == std::string_view("\0", 1) ? std::string_view{} : token.spelled;
    token.node_type = scanned.node_type;
    token.ulp = scanned.ulp;
    token.criterion = scanned.criterion;
    begin_mode(token.kind);
    position_ += scanned.length;
    return token;
}

Token Lexer::next()
{
    while (skip_blank()) {
    }
    if (position_ == text_.size()) {
        Token token;
        token.at = position_at(position_, 1);
        return token;
    }
    if (const std::size_t length = quoted_length(position_); length > 0) {
        return make_quoted(length);
    }
    if (in_description_ || in_string_) {
        if (text_[position_] == '\0') {
            return make_text(position_ + 1);
        }
        if (const std::size_t end = end_of_text(position_); end > position_) {
            return make_text(end);
        }
    }
    return make(scan(position_));
}

Mark Lexer::mark_behind_first(const Token& token) const
{
    if (token.kind != TokenKind::Text || token.is_quoted) {
        return mark();
    }
    const auto begin = static_cast<std::size_t>(token.spelled.data() - text_.data());
    const std::size_t length = is_blank(text_[begin]) ? behind_blanks(text_, begin) - begin : scan(begin).length;
    return {token.at.line, token.at.column + static_cast<std::uint32_t>(length)};
}

}    // namespace rdmaqos::opensm
