// The buffer into which OpenSM reads partitions.conf (`char line[4096]` of osm_prtn_config.c), and in which it cuts its
// words out by ends of text. What OpenSM does not check is so here too: a line that does not fit comes in several
// parts, and who reads behind the end of a part meets what an earlier, longer one has left there.
//
//     PartitionBuffer buffer(source);
//     while (buffer.next()) { ... buffer.cut(0, '#') ... }
//
// Places in it are indexes. Words are returned as views of the source, which tell where they stand in the file.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"

namespace rdmaqos {

class PartitionBuffer {
public:
    static constexpr std::size_t kLongestPart = 4094;    // what OpenSM reads at once

    explicit PartitionBuffer(std::shared_ptr<const SourceFile> source);

    // Reads the next part: up to an end of line, or as much as fits. False: there is none.
    bool next();
    // The current part in the source, without its end of line.
    [[nodiscard]] std::string_view part() const;
    // What stands before the current part on its line; empty: the part begins a line.
    [[nodiscard]] std::string_view before_part() const;
    // From the current part on to the end of its line, or as far as there is a use for it.
    [[nodiscard]] std::string_view rest_of_line() const;

    [[nodiscard]] std::size_t skip_blanks(std::size_t at) const;
    [[nodiscard]] bool is_end_of_text(std::size_t at) const { return byte(at) == '\0'; }
    // Whether the current part has not brought what is here.
    [[nodiscard]] bool is_left_over(std::size_t at) const { return at > end_; }
    // Ends the text that begins at `at` at the first `c` in it. Returns where that was.
    std::optional<std::size_t> cut(std::size_t at, char c);
    // The text at `at`, up to its end.
    [[nodiscard]] std::string_view text(std::size_t at) const;
    // What the source has there, also where the buffer has an end of text now.
    [[nodiscard]] std::string_view source_at(std::size_t at, std::size_t length) const { return view(at, at + length); }

    // `name = value` from `at` up to the end of text, taken out: the blanks around both are gone from the buffer.
    struct Token {
        std::string_view text;    // as it stands
        std::string_view name;
        std::optional<std::string_view> value;
        std::size_t next = 0;    // behind the end of text that followed it
    };
    Token take_token(std::size_t at);

    // The place of a view of the source.
    [[nodiscard]] Location locate(std::string_view view) const;
    // The start of the file, where something is missing in it.
    [[nodiscard]] Location start() const;

private:
    static constexpr std::size_t kSize = 4096;

    [[nodiscard]] char byte(std::size_t at) const { return at < kSize ? bytes_[at] : '\0'; }
    [[nodiscard]] std::size_t origin(std::size_t at) const { return at < kSize ? origins_[at] : source_->text.size(); }
    [[nodiscard]] std::string_view view(std::size_t begin, std::size_t end) const;
    // Takes the blanks at both ends off [begin, end), at the end by more ends of text.
    std::string_view trim(std::size_t begin, std::size_t end);

    std::shared_ptr<const SourceFile> source_;
    std::vector<std::size_t> lines_;              // where each line begins in the source
    std::array<char, kSize> bytes_{};             // what was never written ends every text
    std::array<std::size_t, kSize> origins_{};    // of each byte, in the source
    std::size_t begin_ = 0;                       // of the current part, in the source
    std::size_t next_ = 0;                        // of the next one
    std::size_t end_ = 0;                         // of the current part, in the buffer
};

}    // namespace rdmaqos
