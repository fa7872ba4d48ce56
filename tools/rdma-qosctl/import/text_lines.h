// What the readers of other programs' text files share: lines with their places, and numbers as C reads them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lib/base/diagnostic.h"

namespace rdmaqos::reader {

// Goes through a text line by line; views point into the source.
//
//     TextLines lines(source);
//     while (lines.next()) { use(lines.line()); }
class TextLines {
public:
    explicit TextLines(std::shared_ptr<const SourceFile> source) : source_(std::move(source)) {}

    // False: there is no further line. An end of line at the end of the text begins no line.
    bool next();
    // Without its line feed and a carriage return before it.
    [[nodiscard]] std::string_view line() const { return line_; }
    [[nodiscard]] bool has_carriage_return() const { return carriage_return_; }
    // The place of a part of the current line.
    [[nodiscard]] Location locate(std::string_view part) const;
    [[nodiscard]] Location locate() const { return locate(line_); }
    // The start of the text, where something is missing in it.
    [[nodiscard]] Location start() const;

private:
    std::shared_ptr<const SourceFile> source_;
    std::size_t next_ = 0;
    std::uint32_t number_ = 0;
    std::string_view line_;
    bool carriage_return_ = false;
};

// As strtoull(3) with base 0 reads the start of a text: 0x is hexadecimal, a leading 0 octal, what is too large is the
// largest number. No sign, no blanks in front.
struct CNumber {
    std::uint64_t value = 0;
    std::size_t length = 0;    // how much of the text is the number; 0: none
};
[[nodiscard]] CNumber read_c_number(std::string_view text);

// The digits of a hexadecimal number without 0x, as many as there are; length 0 if none or if more than 64 bits.
[[nodiscard]] CNumber read_hex_digits(std::string_view text);

}    // namespace rdmaqos::reader
