#include "tools/rdma-qosctl/world/overrides.h"

#include <algorithm>

#include <fmt/format.h>

namespace rdmaqos::ctl {

std::vector<OverrideView> overrides_of(const std::vector<api::Level>& levels)
{
    std::vector<OverrideView> views;
    for (const auto& level : levels) {
        for (const auto& each : level.overrides) {
            views.push_back({level.name, each.property, each.value, each.in_place_of,
                             Transient{each.until, each.owner, each.cgroup}, each.file});
        }
    }
    return views;
}

std::string change_in_words(const OverrideView& view)
{
    return fmt::format("{} {} {}{}", view.level, view.property, view.value,
                       view.in_place_of.empty() ? "" : " in place of " + view.in_place_of);
}

std::string time_in_words(std::chrono::seconds time)
{
    using std::chrono::hours;
    using std::chrono::minutes;
    constexpr auto kInSeconds = minutes(2);    // below this
    const auto whole_hours = std::chrono::floor<hours>(time);
    const auto rest = std::chrono::floor<minutes>(time - whole_hours);
    if (time < kInSeconds) {
        return fmt::format("{} s", std::max<std::int64_t>(time.count(), 0));
    }
    if (whole_hours.count() == 0) {
        return fmt::format("{} min", rest.count());
    }
    return rest.count() == 0 ? fmt::format("{} h", whole_hours.count())
                             : fmt::format("{} h {} min", whole_hours.count(), rest.count());
}

std::string end_in_words(const Transient& transient, std::chrono::system_clock::time_point now)
{
    const std::string with = transient.cgroup.empty() ? "" : "with the cgroup " + transient.cgroup;
    if (!transient.until) {
        return with.empty() ? "ends when the host restarts" : "ends " + with;
    }
    const auto now_in_seconds = std::chrono::floor<std::chrono::seconds>(now);
    return fmt::format("ends in {}{}{}", time_in_words(*transient.until - now_in_seconds), with.empty() ? "" : " or ",
                       with);
}

}    // namespace rdmaqos::ctl
