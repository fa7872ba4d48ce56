// The tokens of a native OpenSM policy file, as OpenSM's own lexer finds them.
//
// At every place the longest pattern wins, on raw bytes: keywords are found in the middle of a word, a colon belongs to
// its tag, blanks separate nothing, a newline is no token but ends the mode that a tag began:
//
//     string mode         behind name:, source:, ...   digits, `-`, `:` and `*` are text; `,` separates
//     description mode    behind use:                  everything up to the end of the line is text
//     node-type mode      behind node-type:            CA, SWITCH, ROUTER, ALL and SELF are words
//
// What OpenSM's lexer makes unreadable for reasons of form (CR LF, a comment that the file ends in, a keyword inside of
// a name) is read in OpensmMode::Default, with a warning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "policy/opensm/file.h"
#include "policy/opensm/reader.h"
#include "policy/text/context.h"

namespace rdmaqos::opensm {

enum class TokenKind : std::uint8_t {
    End,
    Text,
    Number,
    Dash,
    Colon,
    Comma,
    Asterisk,
    NodeType,    // a word of node-type mode
    Ulp,         // "sdp :", "sdp, port-num"
    // Keywords.
    QosUlps,
    EndQosUlps,
    PortGroups,
    EndPortGroups,
    PortGroup,
    EndPortGroup,
    QosSetup,
    EndQosSetup,
    VlarbTables,
    EndVlarbTables,
    VlarbScope,
    EndVlarbScope,
    Sl2vlTables,
    EndSl2vlTables,
    Sl2vlScope,
    EndSl2vlScope,
    QosLevels,
    EndQosLevels,
    QosLevel,
    EndQosLevel,
    QosMatchRules,
    EndQosMatchRules,
    QosMatchRule,
    EndQosMatchRule,
    // Tags, with their colon.
    Name,
    Use,
    PortGuid,
    PortName,
    PKey,
    Partition,
    NodeTypes,
    Sl,
    MtuLimit,
    RateLimit,
    PacketLife,
    PathBits,
    QosClass,
    QosLevelName,
    Source,
    Destination,
    ServiceId,
    Group,
    Across,
    AcrossFrom,
    AcrossTo,
    From,
    To,
    VlarbHigh,
    VlarbLow,
    VlHighLimit,
    Sl2vlTable,
};

class TokenSet {
public:
    template <typename... Kinds>
    constexpr explicit TokenSet(Kinds... kinds) : bits_((bit(kinds) | ... | 0U))
    {
    }

    [[nodiscard]] constexpr bool contains(TokenKind kind) const { return (bits_ & bit(kind)) != 0; }
    [[nodiscard]] constexpr TokenSet operator|(TokenSet other) const { return of(bits_ | other.bits_); }

    // All kinds from `first` to `last`.
    [[nodiscard]] static constexpr TokenSet range(TokenKind first, TokenKind last)
    {
        return of((bit(last) | (bit(last) - 1)) & ~(bit(first) - 1));
    }

private:
    static_assert(static_cast<unsigned>(TokenKind::Sl2vlTable) < 64);
    [[nodiscard]] static constexpr std::uint64_t bit(TokenKind kind)
    {
        return std::uint64_t{1} << static_cast<unsigned>(kind);
    }
    [[nodiscard]] static constexpr TokenSet of(std::uint64_t bits)
    {
        TokenSet set;
        set.bits_ = bits;
        return set;
    }

    std::uint64_t bits_;
};

inline constexpr TokenSet kKeywordsAndTags = TokenSet::range(TokenKind::QosUlps, TokenKind::Sl2vlTable);
inline constexpr TokenSet kAllWords = TokenSet::range(TokenKind::Ulp, TokenKind::Sl2vlTable);

// The word of a keyword or tag: "port-group", "name". Empty for other kinds.
[[nodiscard]] std::string_view word_of(TokenKind kind);

struct Token {
    TokenKind kind = TokenKind::End;
    Position at;                 // its first byte; the length is that of the spelling
    std::string_view spelled;    // as it stands in the file
    std::string_view text;       // of Text: without quotes. Of everything else: as spelled
    bool is_quoted = false;
    NodeTypeWord node_type = NodeTypeWord::Ca;
    Ulp ulp = Ulp::Default;
    std::optional<UlpCriterion> criterion;
};

class Lexer {
public:
    // `context` gets the warnings and must outlive the lexer, as the text of its file 0 must the tokens.
    Lexer(reader::Context& context, OpensmMode mode);

    // What OpenSM sees as a sequence of texts may come as one.
    [[nodiscard]] Token next();

    // Where OpenSM's lexer stands.
    [[nodiscard]] Mark mark() const { return {line_, column_of(position_)}; }
    // The same behind the first of the tokens that OpenSM sees in this one.
    [[nodiscard]] Mark mark_behind_first(const Token& token) const;

    // Of the values read from now on, in OpensmMode::Default: these words end one, others are a part of it.
    void set_ends_of_value(TokenSet kinds) { ends_of_value_ = kinds; }

    // Goes to the end of the line, whatever stands there.
    void skip_line();

private:
    struct Scanned {
        TokenKind kind = TokenKind::Text;
        std::size_t length = 1;
        std::size_t word_length = 1;    // without the colon of a tag and what surrounds it
        NodeTypeWord node_type = NodeTypeWord::Ca;
        Ulp ulp = Ulp::Default;
        std::optional<UlpCriterion> criterion = std::nullopt;
    };

    [[nodiscard]] bool skip_blank();    // and line ends and comments
    [[nodiscard]] bool skip_comment();
    [[nodiscard]] bool skip_oddity();
    void end_line(std::size_t newline);
    void advance(std::size_t end);

    // One token as OpenSM sees it, in no mode.
    [[nodiscard]] Scanned scan(std::size_t at) const;
    [[nodiscard]] Scanned scan_word(std::size_t at) const;
    [[nodiscard]] std::size_t quoted_length(std::size_t at) const;    // 0: no closing quote
    [[nodiscard]] bool is_comment(std::size_t at) const;
    // Where the text that starts here ends, in the mode.
    [[nodiscard]] std::size_t end_of_text(std::size_t at);
    [[nodiscard]] bool is_part_of_value(const Scanned& scanned, std::size_t at);
    [[nodiscard]] Token make_text(std::size_t end);
    [[nodiscard]] Token make_quoted(std::size_t length);
    [[nodiscard]] Token make(const Scanned& scanned);
    void begin_mode(TokenKind kind);

    [[nodiscard]] std::uint32_t column_of(std::size_t offset) const
    {
        return static_cast<std::uint32_t>(offset - line_start_ + 1);
    }
    [[nodiscard]] Position position_at(std::size_t offset, std::size_t length) const;
    void warn(std::size_t offset, std::size_t length, std::string_view message, std::string_view hint);

    reader::Context& context_;
    std::string_view text_;
    bool tolerant_;
    std::size_t position_ = 0;
    std::uint32_t line_ = 1;
    std::size_t line_start_ = 0;
    std::size_t last_newline_;    // npos: none
    std::size_t last_quote_;
    bool in_description_ = false;
    bool in_string_ = false;
    bool in_node_type_ = false;
    bool warned_of_line_ends_ = false;
    TokenSet ends_of_value_ = kAllWords;
};

}    // namespace rdmaqos::opensm
