#include "tools/rdma-qosctl/simulate/words.h"

#include <cmath>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos::ctl {

std::string rate_in_words(double kbps)
{
    const auto rate = Bandwidth::from_computed(kbps);
    return to_string(rate < Bandwidth::from_gbps(1) ? rate : Bandwidth::from_mbps(rate.mbps()));
}

std::string asked_in_words(double kbps)
{
    return kbps <= 0 ? "" : std::isinf(kbps) ? "unlimited" : rate_in_words(kbps);
}

std::string time_in_words(std::chrono::milliseconds time)
{
    const auto ms = time.count();
    if (ms % 1000 != 0) {
        return fmt::format("{} ms", ms);
    }
    const auto seconds = ms / 1000;
    if (seconds == 0 || seconds % 60 != 0) {
        return fmt::format("{} s", seconds);
    }
    return seconds % 3600 != 0 ? fmt::format("{} min", seconds / 60) : fmt::format("{} h", seconds / 3600);
}

std::string limit_in_words(const Limit& limit, const ElementPath& path, Bandwidth link_speed)
{
    switch (limit.kind) {
    case Limit::Kind::Idle:
        return {};
    case Limit::Kind::Demand:
        return "its demand";
    case Limit::Kind::Cap:
        return limit.at == path
                   ? "its max-rate"
                   : fmt::format("max-rate {}of {}", limit.rate ? to_string(*limit.rate) + " " : "", limit.at.text());
    case Limit::Kind::Below:
        return "max-rates below";
    case Limit::Kind::Link:
        return fmt::format("link {}", to_string(link_speed));
    }
    return {};
}

std::string senders_in_words(std::size_t senders, FairBy fair_by)
{
    if (senders == 0) {
        return {};
    }
    switch (fair_by) {
    case FairBy::Process:
        return senders == 1 ? "1 process" : fmt::format("{} processes", senders);
    case FairBy::User:
        return counted(senders, "user");
    case FairBy::Unit:
        return counted(senders, "unit");
    case FairBy::Cgroup:
        return counted(senders, "cgroup");
    case FairBy::SlurmJob:
        return counted(senders, "job");
    case FairBy::KubernetesPod:
        return counted(senders, "pod");
    case FairBy::None:
    case FairBy::QueuePair:
        break;
    }
    return counted(senders, "queue pair");
}

std::string outside_in_words(const OutsideLevel& outside)
{
    return fmt::format("{} is not in the tree: {}. What it sends competes with the tree, which then gets less than "
                       "shown here",
                       outside.level, outside.why);
}

std::string deviation_in_words(const Deviation& deviation)
{
    if (deviation.compared == 0) {
        return "nothing sends enough packets for a comparison with the packet-level simulation";
    }
    std::string text = fmt::format(
        "simulated packet by packet, the largest deviation is {:.2f} %, at {}: {} instead of {}", deviation.percent,
        deviation.path.text(), rate_in_words(deviation.packets), rate_in_words(deviation.solver));
    if (deviation.too_slow > 0) {
        text += fmt::format(" ({} too slow to be compared)", counted(deviation.too_slow, "element"));
    }
    return text;
}

std::string step_in_words(const SimulatedStep& step, bool over_time)
{
    if (!over_time) {
        return step.use;
    }
    return fmt::format("from {} to {}{}{}", time_in_words(step.at), time_in_words(step.until),
                       step.use.empty() ? "" : ": ", step.use);
}

std::string used_in_words(const SimulatedStep& step, Bandwidth link_speed)
{
    const double link = static_cast<double>(link_speed.kbps());
    return fmt::format("{} of the link's {} in use ({:.0f} %)", rate_in_words(step.used), to_string(link_speed),
                       link > 0 ? 100 * step.used / link : 0);
}

}    // namespace rdmaqos::ctl
