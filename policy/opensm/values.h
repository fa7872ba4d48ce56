// Tokens and the values they make: what the parser of a native OpenSM policy file is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/opensm/file.h"
#include "policy/opensm/lexer.h"
#include "policy/opensm/parser.h"
#include "policy/opensm/reader.h"
#include "policy/text/context.h"

namespace rdmaqos::opensm {

class Values {
public:
    // File 0 of the context, which must outlive this.
    Values(reader::Context& context, OpensmMode mode) : context_(context), mode_(mode), lexer_(context, mode) {}

    // OpenSM acts on some things before it has read the token behind them, hence `peek` only where it looks too.
    [[nodiscard]] const Token& peek();
    [[nodiscard]] Token take();
    bool take_if(TokenKind kind);
    // Where OpenSM's lexer stands.
    [[nodiscard]] Mark mark() const { return lexer_.mark(); }
    void set_ends_of_value(TokenSet kinds) { lexer_.set_ends_of_value(kinds); }

    // Reports the next token, which cannot stand here, and says what could: keywords, or something in words.
    void refuse(std::string_view place, TokenSet wanted, std::string_view wanted_in_words);
    // Reports that this is another kind of file.
    void refuse_file(std::string_view message, std::string_view advice);
    // To the next line that starts with one of these words.
    void recover(TokenSet kinds);
    // OpensmMode::Strict: nothing more is read, every further token is End.
    [[nodiscard]] bool is_refused() const { return refusal_.has_value(); }
    [[nodiscard]] std::optional<Refusal> take_refusal();

    // Nothing or false: reported.
    [[nodiscard]] std::optional<Text> read_text();
    bool read_texts(std::vector<Text>& texts);
    bool read_text_of(const Token& tag, std::optional<Text>& text, std::vector<Repeated>& repeated);
    [[nodiscard]] std::optional<Number> read_number();
    bool read_number_of(const Token& tag, std::optional<Number>& number, std::vector<Repeated>& repeated);
    bool read_ranges(std::vector<Range>& ranges);
    bool read_node_types(std::vector<NodeTypeWord>& types);
    bool read_pairs(std::vector<VlarbPair>& pairs);
    bool read_ports(const Token& tag, std::vector<PortList>& lists);
    bool read_table(const Token& tag, std::vector<Sl2vlTable>& tables);

private:
    // The word in which a token stands, for messages.
    [[nodiscard]] std::string_view whole_word(const Token& token) const;
    [[nodiscard]] std::string hint(std::string_view word, TokenSet wanted, std::string_view wanted_in_words);
    void refuse_too_long(const Token& first);
    void append(const Token& part, Text& text);
    void finish(Text& text) const;
    void warn_about(const Number& number);
    [[nodiscard]] std::size_t offset_of(std::string_view part) const;

    reader::Context& context_;
    OpensmMode mode_;
    Lexer lexer_;
    std::optional<Token> next_;
    std::optional<Refusal> refusal_;
    std::uint32_t last_refused_ = 0;    // the line
};

}    // namespace rdmaqos::opensm
