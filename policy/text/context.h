// What every reader needs: the files being read and the diagnostics, with short ways to say where and what.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"
#include "policy/text/ast.h"

namespace rdmaqos::reader {

class Context {
public:
    Context(std::vector<std::shared_ptr<const SourceFile>> files, Diagnostics& diagnostics)
        : files_(std::move(files)), diagnostics_(diagnostics)
    {
    }

    [[nodiscard]] const std::vector<std::shared_ptr<const SourceFile>>& files() const { return files_; }
    [[nodiscard]] Location locate(const Position& position) const;
    [[nodiscard]] Location locate(const Node& node) const { return locate(node.at); }
    // The start of a file, where something is missing in it.
    [[nodiscard]] Location start_of(std::uint32_t file) const;

    void error(const Position& at, std::string message, std::string hint = {});
    void error(const Node& node, std::string message, std::string hint = {});
    void warning(const Node& node, std::string message, std::string hint = {});
    void warning(const Location& location, std::string message, std::string hint = {});
    void error(const Location& location, std::string message, std::string hint = {});
    // Belongs to the diagnostic before it.
    void note(const Location& location, std::string message);
    // A remark on its own: shown after all errors and warnings.
    void remark(const Node& node, std::string message);

    // "did you mean `x`?" or `otherwise`. What a hostile file with many wrong names can cost is bounded: nothing is
    // looked for once more is wrong than is shown, or when many comparisons have been made.
    [[nodiscard]] std::string suggest(std::string_view word, std::span<const std::string_view> candidates,
                                      std::string otherwise = {});

    // The same over the `name` of objects.
    template <typename Objects>
    [[nodiscard]] std::string suggest_name(std::string_view word, const Objects& objects, std::string otherwise = {})
    {
        std::vector<std::string_view> names;
        if (wants_suggestions()) {
            for (const auto& object : objects) {
                names.push_back(object.name);
            }
        }
        return suggest(word, names, std::move(otherwise));
    }

    [[nodiscard]] bool has_errors() const { return diagnostics_.has_errors(); }
    [[nodiscard]] Diagnostics& diagnostics() { return diagnostics_; }
    [[nodiscard]] Diagnostics take_remarks() { return std::move(remarks_); }

private:
    [[nodiscard]] bool wants_suggestions() const;

    std::vector<std::shared_ptr<const SourceFile>> files_;
    Diagnostics& diagnostics_;
    Diagnostics remarks_;
    std::size_t comparisons_left_ = 50'000;
};

// "a mapping", "a list", "a single value", "nothing"
[[nodiscard]] std::string_view kind_in_words(NodeKind kind);
// "`a`, `b`, `c`"
[[nodiscard]] std::string in_backticks(std::span<const std::string_view> words);

}    // namespace rdmaqos::reader
