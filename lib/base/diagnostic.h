// Diagnostics: everything a reader has to say about text that people wrote, each with its place.
//
//     policy.yaml:12:7: error: unknown key `max-rat` in `schedule`
//        12 |       max-rat: 40Gbps
//           |       ^~~~~~~
//           = hint: did you mean `max-rate`?
//
// Readers add to a Diagnostics and go on, so that one run shows every mistake of every file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rdmaqos {

// A file that was read: its name as the user knows it (without a --root prefix) and its text, for source lines. Or an
// excerpt of it, with the place where the text begins.
struct SourceFile {
    std::string name;
    std::string text;
    std::uint32_t first_line = 1;    // 0: nothing of the text is known
    std::uint32_t skipped = 0;       // bytes of the first line
};

// A place in a source file. Line and column are 1-based, columns count bytes; line 0 is "the file as a whole".
struct Location {
    std::shared_ptr<const SourceFile> file;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    std::uint32_t length = 1;    // bytes to underline

    // "policy.yaml:12:7", or the name alone for the whole file, or "" for no file
    [[nodiscard]] std::string to_string() const;
};

enum class Severity : std::uint8_t { Error, Warning, Note };
[[nodiscard]] std::string_view to_string(Severity severity);    // "error"

struct Diagnostic {
    Severity severity = Severity::Error;
    Location location;
    std::string message;
    std::string hint;    // empty: none
};

class Diagnostics {
public:
    Diagnostics() = default;
    // Those that were kept elsewhere, and how many there were.
    Diagnostics(std::vector<Diagnostic> kept, std::size_t errors, std::size_t warnings, std::size_t dropped)
        : kept_(std::move(kept)), errors_(errors), warnings_(warnings), dropped_(dropped)
    {
    }

    // At most this many are kept, errors before others; the rest are counted. Bounds memory for a hostile file.
    static constexpr std::size_t kMaxKept = 200;

    // The reference is for adding a hint at once; the next call ends its validity.
    Diagnostic& error(Location location, std::string message);
    Diagnostic& warning(Location location, std::string message);
    Diagnostic& note(Location location, std::string message);
    void append(Diagnostics other);

    [[nodiscard]] bool has_errors() const { return errors_ != 0; }
    [[nodiscard]] std::size_t error_count() const { return errors_; }
    [[nodiscard]] std::size_t warning_count() const { return warnings_; }
    [[nodiscard]] bool empty() const { return kept_.empty(); }
    [[nodiscard]] const std::vector<Diagnostic>& all() const { return kept_; }
    // How many were counted but not kept.
    [[nodiscard]] std::size_t dropped() const { return dropped_; }

    // By file (in the order the files first appear), line and column; a note stays behind what it belongs to.
    void sort_by_location();

private:
    Diagnostic& add(Severity severity, Location location, std::string message);

    std::vector<Diagnostic> kept_;
    Diagnostic overflow_;    // where hints of dropped diagnostics go
    std::size_t errors_ = 0;
    std::size_t warnings_ = 0;
    std::size_t dropped_ = 0;
};

// The part of its line that is shown with a diagnostic; nothing if there is none.
[[nodiscard]] std::shared_ptr<const SourceFile> excerpt_of(const Location& location);
// The same with excerpts instead of whole files: to be kept for long, or sent.
[[nodiscard]] Diagnostics with_excerpts(const Diagnostics& diagnostics);

enum class Colour : bool { Off, On };
// Lines of the source, or nothing of it: for readers who may not be able to open the file. Places and sentences stay.
enum class Quote : bool { Nothing, Lines };

// As in the head of this file, one blank-free block per diagnostic, with a last line "2 errors, 1 warning".
// Source text and names are made printable.
[[nodiscard]] std::string render(const Diagnostics& diagnostics, Colour colour, Quote quote = Quote::Lines);
[[nodiscard]] std::string render(const Diagnostic& diagnostic, Colour colour, Quote quote = Quote::Lines);

}    // namespace rdmaqos
