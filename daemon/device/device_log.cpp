#include "daemon/device/device_log.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string>

#include <fmt/format.h>

#include "lib/base/log.h"
#include "lib/base/text.h"

namespace rdmaqos {
namespace {

// The others are counted: somebody may have changed all of a tree.
constexpr std::size_t kNamed = 5;

// An element can differ in several ways.
std::size_t elements_of(const std::vector<Drift>& drifts)
{
    std::set<std::string> paths;
    for (const auto& drift : drifts) {
        paths.insert(drift.path.text());
    }
    return paths.size();
}

std::string in_words(const Drift& drift)
{
    return fmt::format("{}: expected {}, found {}{}", drift.path.text(), drift.expected, drift.found,
                       drift.error ? fmt::format(" ({})", to_string(*drift.error)) : std::string());
}

std::string in_words(const Finding& finding)
{
    return to_string(finding);
}

template <typename T>
std::string first_of(const std::vector<T>& all)
{
    std::string words;
    for (std::size_t i = 0; i < std::min(all.size(), kNamed); ++i) {
        words += (i == 0 ? "" : "; ") + in_words(all[i]);
    }
    return all.size() <= kNamed ? words : fmt::format("{}; and {} more", words, all.size() - kNamed);
}

}    // namespace

void log_drift(const std::string& device, const std::vector<Drift>& drifts)
{
    std::vector<Drift> repaired;
    std::vector<Drift> left;
    std::ranges::partition_copy(drifts, std::back_inserter(repaired), std::back_inserter(left), &Drift::repaired);
    const LogOrigin origin = LogOrigin::device(device);
    if (!repaired.empty()) {
        log_event(LogLevel::Warning, LogEvent::DriftRepaired, origin,
                  {{"DEVICE", device},
                   {"PATH", repaired.front().path.text()},
                   {"COUNT", fmt::format("{}", elements_of(repaired))}},
                  "{}: {} drifted and repaired: {}", device, counted(elements_of(repaired), "element"),
                  first_of(repaired));
    }
    if (!left.empty()) {
        log_event(
            LogLevel::Warning, LogEvent::DriftFound, origin,
            {{"DEVICE", device}, {"PATH", left.front().path.text()}, {"COUNT", fmt::format("{}", elements_of(left))}},
            "{}: {} drifted, and not repaired: {}", device, counted(elements_of(left), "element"), first_of(left));
    }
}

void log_link(const DeviceFacts& facts, const std::vector<Finding>& known)
{
    const DeviceInfo& info = facts.info;
    const LogOrigin origin = LogOrigin::device(facts.key);
    const std::string speed = to_string(info.link_speed);
    if (!info.link_up && !facts.queue_pairs.empty()) {
        log_event(LogLevel::Warning, LogEvent::LinkGuarantees, origin, {{"DEVICE", facts.key}, {"LINK", "down"}},
                  "{}: link down; {} of sessions cannot send", facts.key,
                  counted(facts.queue_pairs.size(), "queue pair"));
        return;
    }
    std::vector<Finding> broken;
    std::ranges::copy_if(facts.book.compiled().findings, std::back_inserter(broken), [&](const Finding& finding) {
        // A cap above the link's speed breaks nothing.
        return finding.kind != FindingKind::CapAboveLink && std::ranges::find(known, finding) == known.end();
    });
    if (!info.link_up || broken.empty()) {
        log_event(LogLevel::Notice, LogEvent::LinkChanged, origin,
                  {{"DEVICE", facts.key}, {"LINK", info.link_up ? speed : "down"}}, "{}: link {}, {}", facts.key,
                  info.link_up ? "up" : "down", speed);
        return;
    }
    log_event(LogLevel::Warning, LogEvent::LinkGuarantees, origin, {{"DEVICE", facts.key}, {"LINK", speed}},
              "{}: link up, {}, with which the policy cannot be kept: {}", facts.key, speed, first_of(broken));
}

void log_outcome(const DeviceFacts& facts, const Report& report)
{
    const LogOrigin origin = LogOrigin::device(facts.key);
    if (facts.lost && !report.device_gone) {
        log_event(LogLevel::Notice, LogEvent::DevicePresent, origin,
                  {{"DEVICE", facts.key}, {"ATTACH_MODE", std::string(to_string(facts.attach.mode))}},
                  "{} answers again, and has its tree", facts.key);
    }
    const bool failed_before = facts.snapshot && !facts.snapshot->failures.empty();
    const auto& failures = report.snapshot->failures;
    if (!failures.empty() && !report.device_gone) {
        const ElementFailure& first = failures.front();
        log_event(LogLevel::Error, LogEvent::DeviceDegraded, origin,
                  {{"DEVICE", facts.key}, {"PATH", first.path.text()}, {"COUNT", fmt::format("{}", failures.size())}},
                  "{}: {} could not be written ({} {}: {}); this will be retried", facts.key,
                  counted(failures.size(), "element"), first.operation, first.path.text(), to_string(first.error));
    } else if (failed_before && failures.empty()) {
        log_event(LogLevel::Notice, LogEvent::DeviceRecovered, origin, {{"DEVICE", facts.key}},
                  "{}: every element could be written again", facts.key);
    }
}

}    // namespace rdmaqos
