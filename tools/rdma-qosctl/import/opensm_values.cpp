#include "tools/rdma-qosctl/import/opensm_values.h"

#include <algorithm>

#include "lib/base/interval_set.h"
#include "lib/base/net.h"
#include "lib/base/text.h"
#include "policy/model/ib.h"
#include "policy/yaml/fields.h"
#include "tools/rdma-qosctl/import/text_lines.h"

namespace rdmaqos::opensm {
namespace {

bool is_name(std::string_view text)
{
    return is_printable_utf8(text) && !text.empty() && text.front() != ' ' && text.back() != ' ' &&
           text.size() <= reader::kLongestName;
}

// As in the file, which a YAML policy reads alike.
std::string spelling(const Number& number)
{
    std::string text(number.spelled);
    if (text.starts_with("0X")) {
        text[1] = 'x';
    }
    return text;
}

}    // namespace

bool is_printable_utf8(std::string_view text)
{
    return is_valid_utf8(text) && std::none_of(text.begin(), text.end(), [](char c) {
               const auto byte = static_cast<unsigned char>(c);
               return byte < 0x20 || byte == 0x7F;
           });
}

void Names::reserve(std::string_view name)
{
    taken_.insert(to_lower(name));
}

std::string Names::of(const std::string& name)
{
    if (is_name(name)) {
        return name;
    }
    const auto [entry, is_new] = made_.emplace(to_lower(name), printable(name));
    if (is_new) {
        while (!is_name(entry->second) || !taken_.insert(to_lower(entry->second)).second) {
            entry->second = fmt::format("{}-{}", kind_, ++last_number_);
        }
    }
    return entry->second;
}

std::string Names::unused(std::string name)
{
    while (!taken_.insert(to_lower(name)).second) {
        name += '-';
    }
    return name;
}

std::string ScalarWriter::number(const Number& number, std::uint64_t value)
{
    if (number.is_too_large) {
        remark("{} is more than 64 bits hold: it is {:#x}", shortened(number.spelled), number.value);
    } else if (number.is_octal) {
        remark("{} is octal to OpenSM: {}", shortened(number.spelled), number.value);
    } else if (value == number.value) {
        return spelling(number);
    }
    return fmt::format("{}", value);
}

std::string ScalarWriter::range(const Range& range)
{
    const Number& first = range.first;
    if (!range.last) {
        return number(first);
    }
    const Number& last = *range.last;
    if (first.value > last.value) {
        remark("{}-{} is reversed: OpenSM swaps the bounds", shortened(first.spelled), shortened(last.spelled));
        return number(last) + "-" + number(first);
    }
    return number(first) + "-" + number(last);
}

std::string ScalarWriter::pkeys(const Range& range)
{
    const auto [interval, masking] = mask_pkeys(range.interval());
    if (masking == PKeyMasking::InsideOut) {
        remark("{}-{} crosses a multiple of 0x8000: without the membership bit it is turned inside out",
               shortened(range.first.spelled), range.last ? shortened(range.last->spelled) : "");
    } else if (masking == PKeyMasking::TooWide) {
        remark("{}{}{} has more than the 16 bits of a P_Key, of which OpenSM takes the lower 15",
               shortened(range.first.spelled), range.last ? "-" : "", range.last ? shortened(range.last->spelled) : "");
    }
    const std::uint64_t highest = range.last ? std::uint64_t{kPKeyMask} : 0xFFFF;
    if (range.first.value <= highest && (!range.last || range.last->value <= highest)) {
        return this->range(range);
    }
    return interval.first == interval.last ? fmt::format("{:#06x}", interval.first)
                                           : fmt::format("{:#06x}-{:#06x}", interval.first, interval.last);
}

void ScalarWriter::name(const Text& text, std::string_view what)
{
    if (text.lost_blanks) {
        remark("`{}` has no quotes: OpenSM takes its blanks out, the {} is `{}`", shortened(text.spelled), what,
               shortened(text.value));
    }
}

}    // namespace rdmaqos::opensm
