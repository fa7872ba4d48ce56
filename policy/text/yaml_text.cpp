#include "policy/text/yaml_text.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

bool is_plain_character(char c)
{
    return is_letter(c) || is_digit(c) || std::string_view("_./@%+-").find(c) != std::string_view::npos;
}

// Conservative: what nobody could read as anything but this text.
bool is_plain(std::string_view text)
{
    constexpr std::size_t kLongest = 120;
    if (text.empty() || text.size() > kLongest || !is_plain_character(text[0]) ||
        std::string_view(".@%+-").find(text[0]) != std::string_view::npos || text.back() == ' ') {
        return false;
    }
    const auto lower = to_lower(text);
    return lower != "null" &&
           std::all_of(text.begin(), text.end(), [](char c) { return c == ' ' || is_plain_character(c); });
}

}    // namespace

std::string yaml_quoted(std::string_view text)
{
    std::string out = "\"";
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const auto byte = static_cast<unsigned char>(c);
        const bool c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
        const std::string_view rest = text.substr(i);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (byte < 0x20 || byte == 0x7F) {
            out += fmt::format("\\x{:02x}", byte);
        } else if (c1) {
            out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
        } else if (rest.starts_with("\u2028") || rest.starts_with("\u2029")) {
            out += rest.starts_with("\u2028") ? "\\u2028" : "\\u2029";
            i += 2;
        } else if (rest.starts_with("\uFEFF")) {
            out += "\\ufeff";
            i += 2;
        } else {
            out += c;
        }
    }
    return out + '"';
}

std::string yaml_scalar(std::string_view text)
{
    return is_plain(text) ? std::string(text) : yaml_quoted(text);
}

void YamlLines::line(std::size_t indent, std::string_view text)
{
    const std::size_t dash = begins_entry_ ? 2 : 0;
    text_.append(indent - dash, ' ');
    text_ += begins_entry_ ? "- " : "";
    text_ += text;
    text_ += '\n';
    begins_entry_ = false;
}

void YamlLines::comment(std::size_t indent, std::string_view text)
{
    text_.append(indent, ' ');
    text_ += "# " + printable(text) + '\n';
}

void YamlLines::list(std::size_t indent, std::string_view key, const std::vector<std::string>& items)
{
    constexpr std::size_t kWidest = 100;
    std::size_t width = 0;
    for (const auto& item : items) {
        width += item.size() + 2;
    }
    if (width <= kWidest) {
        line(indent, fmt::format("{}: [{}]", key, fmt::join(items, ", ")));
        return;
    }
    line(indent, fmt::format("{}:", key));
    for (const auto& item : items) {
        line(indent + 2, "- " + item);
    }
}

}    // namespace rdmaqos
