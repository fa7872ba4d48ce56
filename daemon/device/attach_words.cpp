#include "daemon/device/attach_words.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rdmaqos {
namespace {

// The port keeps what the tree does not, for packets in the class. Is it known that these are?
bool is_by_port(const ClassPromise& promise)
{
    return promise.mark && std::ranges::find(promise.kept->dscps, *promise.mark) != promise.kept->dscps.end();
}

std::string by_port(const ClassPromise& promise)
{
    const KeptClass& kept = *promise.kept;
    std::string text = fmt::format("by traffic class {} of the port, for packets with DSCP {}", kept.traffic_class,
                                   fmt::join(kept.dscps, " or "));
    if (promise.mark && !is_by_port(promise)) {
        text += fmt::format("; these have {}", *promise.mark);
    }
    return text;
}

bool port_caps(const ClassPromise& promise, const PromisedCap& cap)
{
    return promise.kept && promise.kept->path == cap.path && promise.kept->max_rate &&
           *promise.kept->max_rate <= cap.rate;
}

constexpr const char* kByMeasuring = "by caps that follow what is measured";

void judge_cap(const ClassPromise& promise, const PromisedCap& cap, CapMode caps, AttachVerdict& verdict,
               std::vector<std::string>& parts)
{
    const std::string name = cap.of_class ? std::string("class cap") : fmt::format("cap of {}", cap.path.text());
    const std::string rate = to_string(cap.rate);
    if (cap.processes <= 1) {
        parts.push_back(fmt::format("{} {}, for its only process", name, rate));
    } else if (caps == CapMode::Adaptive) {
        parts.push_back(fmt::format("{} {} for all processes together {}", name, rate, kByMeasuring));
    } else if (caps == CapMode::Divide) {
        parts.push_back(fmt::format("{} {} split {} ways: {} each; unused parts go to nobody", name, rate,
                                    cap.processes, to_string(part_of_cap(cap.rate, cap.processes))));
    } else if (port_caps(promise, cap)) {
        verdict.held = verdict.held && is_by_port(promise);
        parts.push_back(fmt::format("{} {} for all processes together {}", name, rate, by_port(promise)));
    } else {
        verdict.held = false;
        parts.push_back(fmt::format("each of {} processes may use the whole {} of {}", cap.processes, name, rate));
    }
}

AttachVerdict judge_per_process(CapMode caps, const ClassPromise& promise)
{
    const bool is_adaptive = caps == CapMode::Adaptive;
    AttachVerdict verdict;
    std::vector<std::string> parts;
    const bool is_of_port = promise.kept && promise.kept->path == promise.path;
    if (promise.competes && promise.device_processes > 1) {
        verdict.held = is_adaptive || (is_of_port && is_by_port(promise));
        const std::string what = promise.rate.min_rate ? fmt::format("min-rate {}", to_string(*promise.rate.min_rate))
                                                       : fmt::format("share {}", promise.rate.share.value_or(0));
        const std::size_t others = promise.device_processes - 1;
        parts.push_back(is_adaptive ? fmt::format("its {} against other levels {}", what, kByMeasuring)
                        : is_of_port
                            ? fmt::format("its {} against other levels {}", what, by_port(promise))
                            : fmt::format("its {} is not enforced by the tree against the {} other {} on the device",
                                          what, others, others == 1 ? "process" : "processes"));
    }
    if (promise.fair_by != FairBy::None && promise.processes > 1 && is_adaptive) {
        parts.push_back(fmt::format("equal parts for its {} processes {}", promise.processes, kByMeasuring));
    } else if (promise.fair_by != FairBy::None && promise.processes > 1) {
        verdict.held = false;
        parts.push_back(fmt::format("its {} processes do not get equal parts (`fair-by: {}`)", promise.processes,
                                    to_string(promise.fair_by)));
    }
    for (const auto& cap : promise.caps) {
        judge_cap(promise, cap, caps, verdict, parts);
    }
    if (parts.empty()) {
        parts.emplace_back("nothing promised depends on another process");
    }
    verdict.words = fmt::format("attach mode per-process: {}", fmt::join(parts, "; "));
    return verdict;
}

}    // namespace

AttachVerdict attach_verdict(const AttachReport& attach, const ClassPromise& promise)
{
    switch (attach.mode) {
    case AttachMode::Shared:
    case AttachMode::SharedLegacy:
    case AttachMode::SharedNodes:
        return {};
    case AttachMode::PerProcess:
        return judge_per_process(attach.caps_now(), promise);
    case AttachMode::None:
        return {false, fmt::format("attach mode none{}{}: queue pairs cannot be attached",
                                   attach.reason.empty() ? "" : ", ", attach.reason)};
    }
    return {};
}

}    // namespace rdmaqos
