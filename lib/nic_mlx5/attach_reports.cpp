#include "lib/nic_mlx5/attach_reports.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "lib/nic_mlx5/self_test.h"

namespace rdmaqos::mlx5 {
namespace {

AttachReport forced_report(AttachMode mode)
{
    return {mode, fmt::format("forced by `attach-mode: {}`", to_string(mode)), {}};
}

}    // namespace

Result<std::optional<AttachReport>> known_report(const DeviceInfo& port, const Capabilities& can,
                                                 const BackendOptions& options)
{
    if (options.forced_mode) {
        const bool nothing_to_test = *options.forced_mode == AttachMode::None || !can.scheduling;
        return nothing_to_test ? std::optional(forced_report(*options.forced_mode)) : std::nullopt;
    }
    if (!can.scheduling || can.attachable.empty()) {
        return AttachReport{AttachMode::None, "the device has no scheduling elements for queue pairs", {}};
    }
    return kept_self_test(port, options.self_test);
}

AttachReport tested_report(const DeviceInfo& port, const Capabilities& can, const BackendOptions& options)
{
    if (!options.forced_mode) {
        return self_test(port, can, options.self_test);
    }
    AttachReport forced = forced_report(*options.forced_mode);
    forced.steps = run_read_back(port, can, *options.forced_mode);
    forced.unreadable = why_unreadable(forced.steps);
    return forced;
}

AttachReport postponed_report(const BackendOptions& options)
{
    AttachReport report{options.forced_mode.value_or(AttachMode::Shared),
                        "expected, not tested yet: the device is left alone until it gets a first class of traffic",
                        {}};
    report.postponed = true;
    return report;
}

bool was_short(const AttachReport& report)
{
    return std::ranges::any_of(report.steps, [](const SelfTestStep& each) {
        // A helper that does not answer in time is EAGAIN, too.
        const bool is_ours = each.sys_errno != EAGAIN || each.name == step::kElements;
        return !each.passed && each.status == 0 && is_shortage(each.sys_errno) && is_ours;
    });
}

}    // namespace rdmaqos::mlx5
