// From the service's answers to the records of lib/api, written into the message.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/bus/convert_in.h"
#include "daemon/model/adoption.h"
#include "daemon/model/device_status.h"
#include "daemon/model/path_result.h"
#include "daemon/model/port_status.h"
#include "daemon/model/port_traffic.h"
#include "daemon/model/session.h"
#include "lib/api/device.h"
#include "lib/api/policy.h"
#include "lib/api/port.h"
#include "lib/api/report.h"
#include "lib/api/session.h"
#include "lib/api/traffic.h"
#include "lib/bus/message.h"

namespace rdmaqos {

// The answers in the order of the call.
[[nodiscard]] std::vector<QueuePairResult> merge(std::vector<QueuePairResult> results,
                                                 const RefusedQueuePairs& refused);

[[nodiscard]] api::Grant to_record(const Grant& grant);
[[nodiscard]] api::Grant to_record(const RegisterReply& reply);
[[nodiscard]] api::QueuePair to_record(const QueuePairResult& result);
[[nodiscard]] api::Owner to_record(const Identity& owner);
[[nodiscard]] std::vector<api::SessionCount> to_record(const SessionCounts& counts);
// An answer of QueryPath to one pair of ends: the path, or why there is none.
[[nodiscard]] api::PathAnswer to_record(const Request& request, const Result<PathResult>& result);
[[nodiscard]] api::Level to_record(const Policy& policy, const QosLevel& level, const LevelUse& use);
// Of the monotonic clock, as records have it.
[[nodiscard]] std::uint64_t to_microseconds(TimePoint time);
[[nodiscard]] api::Counters to_record(const CounterReading& reading);
[[nodiscard]] api::SelfTestStep to_record(const SelfTestStep& step);
[[nodiscard]] api::Adoption to_record(const AdoptionStatus& adoption);
[[nodiscard]] std::vector<std::string> sentences(const std::vector<Finding>& findings);
[[nodiscard]] api::Port to_record(const PortStatus& port);
[[nodiscard]] api::PortTraffic to_record(const PortTrafficStatus& traffic);

// A record for each; `with`: further arguments of their to_record().
template <typename T, typename... With>
requires requires(const T& value, const With&... with)
{
    to_record(value, with...);
}
auto to_record(const std::vector<T>& values, const With&... with)
{
    std::vector<decltype(to_record(values.front(), with...))> records;
    records.reserve(values.size());
    for (const auto& value : values) {
        records.push_back(to_record(value, with...));
    }
    return records;
}

// Whatever has a record.
template <typename... What>
requires requires(const What&... what)
{
    to_record(what...);
}
void write(bus::Writer& writer, const What&... what)
{
    api::write(writer, to_record(what...));
}

void write(bus::Writer& writer, const Capabilities& capabilities);
void write(bus::Writer& writer, const std::vector<DeviceAttribute>& attributes);
// The tree as the device has it, with the queue pairs in each leaf.
void write_tree(bus::Writer& writer, const DeviceStatus& status);

[[nodiscard]] std::string_view to_string(SessionState state);

}    // namespace rdmaqos
