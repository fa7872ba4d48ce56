#include "tools/rdma-qosctl/import/text_lines.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos::reader {
namespace {

// The value of a digit of any base up to 16; 16 if it is none.
unsigned digit(char c)
{
    if (c >= '0' && c <= '9') {
        return static_cast<unsigned>(c - '0');
    }
    if (c >= 'a' && c <= 'f') {
        return static_cast<unsigned>(c - 'a') + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return static_cast<unsigned>(c - 'A') + 10;
    }
    return 16;
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

std::string_view without_leading_blanks(std::string_view text)
{
    const auto first = std::find_if_not(text.begin(), text.end(), is_blank);
    return text.substr(static_cast<std::size_t>(first - text.begin()));
}

std::string_view without_blanks(std::string_view text)
{
    text = without_leading_blanks(text);
    while (!text.empty() && is_blank(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

std::string shortened(std::string_view text)
{
    constexpr std::size_t kLongestShown = 60;
    return rdmaqos::shortened(text, kLongestShown);
}

}    // namespace rdmaqos::reader
