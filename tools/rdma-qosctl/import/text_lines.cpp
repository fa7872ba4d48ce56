#include "tools/rdma-qosctl/import/text_lines.h"

#include <algorithm>
#include <limits>

#include "lib/base/text.h"

namespace rdmaqos::reader {
namespace {

// The value of a digit of any base up to 16; 16 if it is none.
unsigned digit(char c)
{
    if (is_digit(c)) {
        return static_cast<unsigned>(c - '0');
    }
    const char lower = to_lower(c);
    return lower >= 'a' && lower <= 'f' ? static_cast<unsigned>(lower - 'a') + 10 : 16;
}

// The digits at the start; saturates.
CNumber read_digits(std::string_view text, unsigned base)
{
    constexpr auto kLargest = std::numeric_limits<std::uint64_t>::max();
    CNumber number;
    while (number.length < text.size() && digit(text[number.length]) < base) {
        const unsigned value = digit(text[number.length++]);
        number.value = number.value > (kLargest - value) / base ? kLargest : number.value * base + value;
    }
    return number;
}

}    // namespace

bool TextLines::next()
{
    const std::string& text = source_->text;
    if (next_ >= text.size()) {
        return false;
    }
    const std::size_t end = std::min(text.find('\n', next_), text.size());
    line_ = std::string_view(text).substr(next_, end - next_);
    carriage_return_ = line_.ends_with('\r');
    if (carriage_return_) {
        line_.remove_suffix(1);
    }
    next_ = end + 1;
    ++number_;
    return true;
}

Location TextLines::locate(std::string_view part) const
{
    const auto column = static_cast<std::uint32_t>(part.data() - line_.data()) + 1;
    return {source_, number_, column, static_cast<std::uint32_t>(std::max<std::size_t>(part.size(), 1))};
}

Location TextLines::start() const
{
    return source_->text.empty() ? Location{source_, 0, 0, 1} : Location{source_, 1, 1, 1};
}

CNumber read_c_number(std::string_view text)
{
    if (text.starts_with("0x") || text.starts_with("0X")) {
        if (const CNumber hexadecimal = read_digits(text.substr(2), 16); hexadecimal.length != 0) {
            return {hexadecimal.value, hexadecimal.length + 2};
        }
    }
    return read_digits(text, text.starts_with('0') ? 8 : 10);
}

CNumber read_hex_digits(std::string_view text)
{
    const CNumber number = read_digits(text, 16);
    const auto significant = std::min(text.substr(0, number.length).find_first_not_of('0'), number.length);
    return number.length - significant > 16 ? CNumber{} : number;
}

}    // namespace rdmaqos::reader
