// What reaches the terminal: colours, tables, errors. Everything that came from outside goes through printable().
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

#include "lib/base/diagnostic.h"
#include "lib/base/error.h"
#include "lib/base/result.h"

namespace rdmaqos::ctl {

enum class ColourChoice : std::uint8_t { Auto, Always, Never };

// Auto: only on a terminal that is not "dumb", and not when NO_COLOR is set to something (no-color.org).
[[nodiscard]] Colour choose_colour(ColourChoice choice, int fd);

enum class Style : std::uint8_t { Plain, Heading, Good, Warning, Bad, Faint };

[[nodiscard]] std::string styled(std::string_view text, Style style, Colour colour);

constexpr std::size_t kAnyWidth = ~std::size_t{0};

// Where text is drawn: with colours or not, and how wide lines may be. As wide as it takes unless somebody says so.
struct Screen {
    Screen(Colour colours, std::size_t wide = kAnyWidth) : colour(colours), columns(wide) {}    // NOLINT
    operator Colour() const { return colour; }                                                  // NOLINT

    // For what is drawn `by` columns further to the right.
    [[nodiscard]] Screen indented(std::size_t by) const;

    Colour colour;
    std::size_t columns;
};

// COLUMNS if it is set, else the width of the terminal; kAnyWidth if `fd` is none.
[[nodiscard]] std::size_t screen_columns(int fd);

struct Cell {
    Cell(std::string text_, Style style_ = Style::Plain) : text(std::move(text_)), style(style_) {}    // NOLINT
    Cell(const char* text_) : text(text_) {}                                                           // NOLINT

    std::string text;    // empty: shown as "-"
    Style style = Style::Plain;
};

// Columns are at least two blanks apart, and no cell is empty, so that `awk -F'  +'` can split a line. On a screen that
// is too narrow, columns that may be left out go, the least important first; then those that may be shortened end in
// "…".
class Table {
public:
    enum class Align : std::uint8_t { Left, Right };
    enum class Fit : std::uint8_t {
        Keep,
        Shorten,        // at the end
        ShortenPath,    // in the middle: the last part tells most
        Drop,           // if need be
        DropSoon,       // before those
    };
    struct Column {
        std::string title;
        Align align = Align::Left;
        Fit fit = Fit::Keep;
    };

    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    // Cells are made printable; missing ones at the end count as empty.
    void add(std::vector<Cell> row);
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    [[nodiscard]] std::size_t size() const { return rows_.size(); }
    [[nodiscard]] std::string render(const Screen& screen) const;

private:
    // Of the columns that are shown; 0 for one that is not.
    [[nodiscard]] std::vector<std::size_t> widths_on(const Screen& screen) const;

    std::vector<Column> columns_;
    std::vector<std::vector<Cell>> rows_;
};

// "label:   value" lines with aligned values, which go on below where they are too long; an empty value is left out.
class Fields {
public:
    void add(std::string label, std::string_view value, Style style = Style::Plain);
    [[nodiscard]] std::string render(const Screen& screen) const;

private:
    struct Field {
        std::string label;
        std::string value;
        Style style;
    };
    std::vector<Field> fields_;
};

// A block of text for each device; those whose text is the same are one block.
class AlikeBlocks {
public:
    void add(std::string name, std::string body);
    // The first name and the body, and under it "the same: mlx5_1/1, mlx5_2/1"; in the order of the first of each.
    [[nodiscard]] std::vector<std::string> all(const Screen& screen) const;

private:
    struct Block {
        std::string body;
        std::vector<std::string> names;
    };
    std::vector<Block> blocks_;
};

// Lines of at most `columns`, broken at blanks; a longer word has a line of its own. At least one line.
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, std::size_t columns);

// A sentence that begins `first` columns from the left, on as many lines as it takes; those after the first are
// indented.
[[nodiscard]] std::string sentence_on(const Screen& screen, std::size_t first, std::size_t indent,
                                      std::string_view text);

// The line "label: sentence", made printable, `indent` columns from the left.
[[nodiscard]] std::string labelled(std::string_view label, Style style, std::string_view sentence, const Screen& screen,
                                   std::size_t indent = 0);

// Lines drawn for any screen, made printable. In one that is too wide the last column goes on below where it began; if
// that is too far to the right, the columns move together.
[[nodiscard]] std::string lines_on(const Screen& screen, std::string_view text);
// The same for a tree: if one line is too wide, the columns of all lines move together.
[[nodiscard]] std::string tree_on(const Screen& screen, std::string_view text);

// printable() for text of several lines: line feeds stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

// "rdma-qosctl: error: ..." and what to do about it.
[[nodiscard]] std::string render_error(const Error& error, Colour colour);
// The advice alone; empty if there is nothing to add to the message.
[[nodiscard]] std::string advice(const Error& error, uid_t caller = geteuid());

// To stdout / stderr, at once.
void print(std::string_view text);
void print_error(std::string_view text);

}    // namespace rdmaqos::ctl
