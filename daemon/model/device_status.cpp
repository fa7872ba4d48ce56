#include "daemon/model/device_status.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

std::uint32_t left_of(std::uint32_t limit, std::uint32_t used)
{
    return limit > used ? limit - used : 0;
}

}    // namespace

std::string_view to_string(DeviceState state)
{
    switch (state) {
    case DeviceState::Ready:
        return "ready";
    case DeviceState::Degraded:
        return "degraded";
    case DeviceState::Monitor:
        return "monitor";
    case DeviceState::Disabled:
        return "disabled";
    case DeviceState::Gone:
        return "gone";
    }
    return "gone";
}

std::uint32_t elements_used(const DeviceStatus& status)
{
    return status.snapshot ? static_cast<std::uint32_t>(status.snapshot->actual.elements.size()) : 0;
}

std::uint32_t elements_free(const DeviceStatus& status)
{
    return left_of(status.capabilities.max_elements, elements_used(status));
}

std::uint32_t leaves_used(const DeviceStatus& status)
{
    if (!status.snapshot) {
        return 0;
    }
    return static_cast<std::uint32_t>(std::ranges::count_if(
        status.snapshot->actual.elements, [](const auto& entry) { return entry.second.kind == ElementKind::Leaf; }));
}

std::uint32_t leaves_free(const DeviceStatus& status)
{
    return left_of(status.capabilities.max_leaves, leaves_used(status));
}

std::vector<ElementFailure> open_failures(const Snapshot& snapshot)
{
    std::vector<ElementFailure> failures = snapshot.failures;
    for (const auto& [path, why] : snapshot.unreachable) {
        failures.push_back({path, "", {ErrorCode::NoSpace, 0, why}, 0});
    }
    return failures;
}

const ElementFailure* failure_at(const std::vector<ElementFailure>& failures, const ElementPath& path)
{
    const auto concerns = [&path](const ElementFailure& failure) {
        // Where reading or destroying failed, it is as it was written.
        const bool is_of_state = failure.operation != "query" && failure.operation != "destroy";
        return is_of_state &&
               (failure.path.is_root() || failure.path == path || path.text().starts_with(failure.path.text() + '/'));
    };
    const auto found = path.empty() ? failures.end() : std::ranges::find_if(failures, concerns);
    return found == failures.end() ? nullptr : &*found;
}

std::string to_sentence(const ElementFailure& failure)
{
    if (failure.path.empty()) {
        return to_string(failure.error);    // of the device as a whole
    }
    if (failure.operation.empty()) {
        return fmt::format("{}: {}", failure.path.text(), to_string(failure.error));
    }
    return fmt::format("{} {}: {} (tried {})", failure.operation, failure.path.text(), to_string(failure.error),
                       counted(failure.attempts, "time"));
}

}    // namespace rdmaqos
