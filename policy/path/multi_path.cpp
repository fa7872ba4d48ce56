#include "policy/path/multi_path.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
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

Error no_path_at_all(const std::vector<MissingPair>& pairs)
{
    const Error& first = *pairs.front().error;
    const bool same = std::all_of(pairs.begin(), pairs.end(),
                                  [&](const MissingPair& pair) { return pair.error->message == first.message; });
    if (same) {
        return first;
    }
    std::string message = fmt::format("none of the {} pairs has a path", pairs.size());
    for (std::size_t i = 0; i < std::min(kMostShown, pairs.size()); ++i) {
        const auto& [request, error] = pairs[i];
        message += fmt::format("{} {} to {}: {}", i == 0 ? ":" : ";", name_of(request->source),
                               name_of(request->destination), error->message);
    }
    if (pairs.size() > kMostShown) {
        message += fmt::format("; and {} more", pairs.size() - kMostShown);
    }
    return Error{first.code, first.sys_errno, std::move(message)};
}

}    // namespace rdmaqos
