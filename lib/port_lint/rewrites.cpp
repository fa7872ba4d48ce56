#include "lib/port_lint/rewrites.h"

namespace rdmaqos::port_lint {

Rewrites count_rewrites(std::span<const SeenWrite> writes, std::chrono::seconds watched)
{
    constexpr std::chrono::seconds kTogether{1};
    Rewrites rewrites{.seconds = static_cast<std::uint32_t>(watched.count())};
    const SeenWrite* before = nullptr;
    for (const SeenWrite& write : writes) {
        rewrites.count += before != nullptr && write.at - before->at <= kTogether ? 0U : 1U;
        rewrites.author = write.author;
        before = &write;
    }
    return rewrites;
}

}    // namespace rdmaqos::port_lint
