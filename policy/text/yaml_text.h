// Texts as scalars of a YAML file that this project writes, such that its own reader, or any other, gives the same
// text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmaqos {

// In double quotes; control characters and the line ends of Unicode as escapes. The text must be UTF-8 without NUL.
[[nodiscard]] std::string yaml_quoted(std::string_view text);
// Bare where nobody could read it as anything but this text, else quoted.
[[nodiscard]] std::string yaml_scalar(std::string_view text);

// A text that grows line by line.
class YamlLines {
public:
    void line(std::size_t indent, std::string_view text);
    // On one line, made printable.
    void comment(std::size_t indent, std::string_view text);
    // The next line that is no comment begins an entry of a list; its indentation holds the `- `.
    void begin_entry() { begins_entry_ = true; }
    void blank() { text_ += '\n'; }
    // `key: [a, b]`, or below the key if that is long. The items are scalars already.
    void list(std::size_t indent, std::string_view key, const std::vector<std::string>& items);

    [[nodiscard]] std::size_t size() const { return text_.size(); }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    std::string text_;
    bool begins_entry_ = false;
};

}    // namespace rdmaqos
