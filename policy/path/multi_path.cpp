#include "policy/path/multi_path.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

constexpr std::size_t kMostShown = 8;

std::string name_of(const std::optional<Endpoint>& end)
{
    return end ? to_string(*end) : "anywhere";
}

}    // namespace

void MissingPairs::add(const Request& request, const Error& error)
{
    if (count_ == 0) {
        first_ = error;
    }
    same_ = same_ && error.message == first_.message;
    if (count_ < kMostShown) {
        shown_ += fmt::format("{} {} to {}: {}", count_ == 0 ? ":" : ";", name_of(request.source),
                              name_of(request.destination), error.message);
    }
    ++count_;
}

Error MissingPairs::none_at_all() const
{
    if (same_) {
        return first_;
    }
    std::string message = fmt::format("none of the {} pairs has a path{}", count_, shown_);
    if (count_ > kMostShown) {
        message += fmt::format("; and {} more", count_ - kMostShown);
    }
    return Error{first_.code, first_.sys_errno, std::move(message)};
}

}    // namespace rdmaqos
