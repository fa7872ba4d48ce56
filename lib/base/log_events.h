// The events of the log that administrators look for: by their ids (`journalctl MESSAGE_ID=...`), and explained by
// systemd/rdma-qosd.catalog (`journalctl -x`). An id keeps its meaning for ever.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/base/repeat_limit.h"

namespace rdmaqos {

enum class LogEvent : std::uint8_t {
    None,    // any other line
    PolicyApplied,
    PolicyRejected,
    DriftFound,
    DriftRepaired,
    ClientAttached,
    ClientRefused,
    ClientGone,
    RequestRefused,
    DevicePresent,
    DeviceLost,
    DeviceRefused,
    DeviceDegraded,
    DeviceRecovered,
    SelfTest,
    LinkChanged,
    LinkGuarantees,
    LevelLost,
    TrialBegun,
    TrialConfirmed,
    TrialReverted,
    DaemonReady,
    DaemonStopping,
    ManagementCall,
    PortClassesSet,
    PortClassesRefused,
    PortClassesStopped,
};

struct LogEventRow {
    LogEvent event;
    std::string_view name;    // in documents
    std::string_view id;      // MESSAGE_ID: 128 bits, lower case
    // Of lines with one origin. Nothing about a policy, or about the daemon's own life, is ever left out: `unlimited`.
    RepeatLimit::Rule rule;
};

namespace log_rules {

inline constexpr RepeatLimit::Rule kUnlimited{0, {}};
inline constexpr RepeatLimit::Rule kFailure{1, std::chrono::seconds(10)};
// What failed is tried again and again until somebody repairs it.
inline constexpr RepeatLimit::Rule kLasting{1, std::chrono::minutes(10)};
// What is tried a few times and then given up, or repaired: each of these, and then seldom.
inline constexpr RepeatLimit::Rule kTries{8, std::chrono::minutes(10)};
// News, which may come in quick succession: a job starts on all cores, a link trains.
inline constexpr RepeatLimit::Rule kNews{10, std::chrono::seconds(10)};
// Lines without an event.
inline constexpr RepeatLimit::Rule kSameText{5, std::chrono::seconds(10)};

}    // namespace log_rules

inline constexpr std::array kLogEvents{
    LogEventRow{LogEvent::PolicyApplied, "policy-applied", "59cedd0c884443fdaa37a339dfb4f667", log_rules::kUnlimited},
    LogEventRow{LogEvent::PolicyRejected, "policy-rejected", "09bf8c9f317649b99c31511b87f312be", log_rules::kUnlimited},
    LogEventRow{LogEvent::DriftFound, "drift-found", "e260e94dcd844209abb21ae91ad8c223", log_rules::kTries},
    LogEventRow{LogEvent::DriftRepaired, "drift-repaired", "f92f3180698f409194b5fdfedbcaedec", log_rules::kTries},
    LogEventRow{LogEvent::ClientAttached, "client-attached", "8bd3cea0394b4880a0f8b04320a7e34e", log_rules::kNews},
    LogEventRow{LogEvent::ClientRefused, "client-refused", "9fee717a19e54887a718e7acc197569d", log_rules::kFailure},
    LogEventRow{LogEvent::ClientGone, "client-gone", "7c8b48bdc3ce43489448b99a9f294112", log_rules::kNews},
    LogEventRow{LogEvent::RequestRefused, "request-refused", "87d63da6a7e94c588b510ff1f7c4ecdc", log_rules::kFailure},
    LogEventRow{LogEvent::DevicePresent, "device-present", "a6576f822bc1474e8198da4377d6acc3", log_rules::kNews},
    LogEventRow{LogEvent::DeviceLost, "device-lost", "a2640e7b81dd4354a1df52a910f964c1", log_rules::kNews},
    LogEventRow{LogEvent::DeviceRefused, "device-refused", "bca53b6e89d64b5badc92196f7b8b2af", log_rules::kNews},
    LogEventRow{LogEvent::DeviceDegraded, "device-degraded", "642e8010f52c4b428daf0c2390b6de8a", log_rules::kLasting},
    LogEventRow{LogEvent::DeviceRecovered, "device-recovered", "26d1280492d24c559bab5385c4aa90f5", log_rules::kLasting},
    LogEventRow{LogEvent::SelfTest, "self-test", "7a4a0cf0b20047a9a6ab50c086ca9d82", log_rules::kNews},
    LogEventRow{LogEvent::LinkChanged, "link-changed", "1e6a4009df644b43a309e7da4625d6a4", log_rules::kNews},
    LogEventRow{LogEvent::LinkGuarantees, "link-guarantees", "ed4a0b9908764455a261e566535616ea", log_rules::kNews},
    LogEventRow{LogEvent::LevelLost, "level-lost", "286c0fef59604476b47757db5b5135a7", log_rules::kUnlimited},
    LogEventRow{LogEvent::TrialBegun, "trial-begun", "67ec4c812cb74f62ab018ebe300f16f4", log_rules::kUnlimited},
    LogEventRow{LogEvent::TrialConfirmed, "trial-confirmed", "bb2cc3c24a00443f8800db448c584b99", log_rules::kUnlimited},
    LogEventRow{LogEvent::TrialReverted, "trial-reverted", "a8ea7ceeb8404f508dccce58135c8a2b", log_rules::kUnlimited},
    LogEventRow{LogEvent::DaemonReady, "daemon-ready", "cc1f46b66c4f4e66b6403cd493f3baff", log_rules::kUnlimited},
    LogEventRow{LogEvent::DaemonStopping, "daemon-stopping", "513fd8f9ccfb4b3e892339f1c25287fb", log_rules::kUnlimited},
    LogEventRow{LogEvent::ManagementCall, "management-call", "5c0f2b7e9a1d4f63b8e7d20c94a6f1e3", log_rules::kUnlimited},
    LogEventRow{LogEvent::PortClassesSet, "port-classes-set", "b552bb63cd8049a2808ec69de9d0c951", log_rules::kNews},
    LogEventRow{LogEvent::PortClassesRefused, "port-classes-refused", "a2bcfecf6b4d4782a8c0541fc9e655bf",
                log_rules::kTries},
    LogEventRow{LogEvent::PortClassesStopped, "port-classes-stopped", "88a30651978f46f9aec63afac8cf179d",
                log_rules::kFailure},
};

// Null: None.
[[nodiscard]] constexpr const LogEventRow* row_of(LogEvent event)
{
    return event == LogEvent::None ? nullptr : &kLogEvents[static_cast<std::size_t>(event) - 1];
}

}    // namespace rdmaqos
