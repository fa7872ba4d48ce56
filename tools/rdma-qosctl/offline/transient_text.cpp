#include "tools/rdma-qosctl/offline/transient_text.h"

#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/base/units.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::uint64_t kLongestMs = 10ULL * 365 * 24 * 3600 * 1000;

}    // namespace

Result<std::optional<std::chrono::sys_seconds>> end_after(const std::string& time,
                                                          std::chrono::system_clock::time_point now)
{
    if (time.empty()) {
        return std::optional<std::chrono::sys_seconds>();
    }
    const auto lasts = parse_milliseconds(time);
    if (!lasts.value) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("--for: `{}` is not a time: {}", printable(time), kTimeHint));
    }
    if (*lasts.value == 0 || *lasts.value > kLongestMs) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("--for: `{}` is not above 0 and at most ten years", printable(time)));
    }
    return std::optional(std::chrono::ceil<std::chrono::seconds>(now + std::chrono::milliseconds(*lasts.value)));
}

void add_transient(YamlLines& lines, const Transient& transient)
{
    const bool ends = transient.until || !transient.owner.empty() || !transient.cgroup.empty();
    lines.line(0, ends ? "transient:" : "transient: {}");
    if (transient.until) {
        lines.line(2, "until: " + yaml_quoted(utc_text(*transient.until)));
    }
    if (!transient.owner.empty()) {
        lines.line(2, "owner: " + yaml_scalar(transient.owner));
    }
    if (!transient.cgroup.empty()) {
        lines.line(2, "cgroup: " + yaml_scalar(transient.cgroup));
    }
}

bool may_be_in_file_name(char c)
{
    return is_letter(c) || is_digit(c) || std::string_view("_.@:+-").find(c) != std::string_view::npos;
}

}    // namespace rdmaqos::ctl
