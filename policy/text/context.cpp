#include "policy/text/context.h"

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos::reader {

Location Context::locate(const Position& position) const
{
    return Location{files_.at(position.file), position.line, position.column, position.length};
}

Location Context::start_of(std::uint32_t file) const
{
    const auto& source = files_.at(file);
    return source->text.empty() ? Location{source, 0, 0, 1} : Location{source, 1, 1, 1};
}

void Context::error(const Location& location, std::string message, std::string hint)
{
    diagnostics_.error(location, std::move(message)).hint = std::move(hint);
}

void Context::error(const Position& at, std::string message, std::string hint)
{
    error(locate(at), std::move(message), std::move(hint));
}

void Context::error(const Node& node, std::string message, std::string hint)
{
    error(locate(node), std::move(message), std::move(hint));
}

void Context::warning(const Location& location, std::string message, std::string hint)
{
    diagnostics_.warning(location, std::move(message)).hint = std::move(hint);
}

void Context::warning(const Node& node, std::string message, std::string hint)
{
    warning(locate(node), std::move(message), std::move(hint));
}

void Context::note(const Location& location, std::string message)
{
    diagnostics_.note(location, std::move(message));
}

void Context::remark(const Node& node, std::string message)
{
    remarks_.note(locate(node), std::move(message));
}

bool Context::wants_suggestions() const
{
    return diagnostics_.error_count() + diagnostics_.warning_count() < Diagnostics::kMaxKept;
}

std::string Context::suggest(std::string_view word, std::span<const std::string_view> candidates, std::string otherwise)
{
    if (wants_suggestions() && candidates.size() <= comparisons_left_) {
        comparisons_left_ -= candidates.size();
        if (const auto nearest = did_you_mean(word, candidates)) {
            return fmt::format("did you mean `{}`?", *nearest);
        }
    }
    return otherwise;
}

std::string_view kind_in_words(NodeKind kind)
{
    switch (kind) {
    case NodeKind::Missing:
    case NodeKind::Null:
        return "nothing";
    case NodeKind::Scalar:
        return "a single value";
    case NodeKind::Sequence:
        return "a list";
    case NodeKind::Mapping:
        return "a mapping";
    }
    return "nothing";
}

std::string in_backticks(std::span<const std::string_view> words)
{
    std::string text;
    for (const auto word : words) {
        text += fmt::format("{}`{}`", text.empty() ? "" : ", ", word);
    }
    return text;
}

}    // namespace rdmaqos::reader
