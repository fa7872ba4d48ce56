// From the service's answers to dictionaries, written straight into the message. answer_keys.h says which keys there
// are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/bus/convert_in.h"
#include "daemon/model/adoption.h"
#include "daemon/model/device_status.h"
#include "daemon/model/path_result.h"
#include "daemon/model/session.h"
#include "lib/bus/message.h"

namespace rdmaqos {

// The answers in the order of the call.
[[nodiscard]] std::vector<QueuePairResult> merge(std::vector<QueuePairResult> results,
                                                 const RefusedQueuePairs& refused);

void write(bus::Writer& writer, const Grant& grant);
void write(bus::Writer& writer, const RegisterReply& reply);    // the grant, with `queue-pairs` if there are any
void write(bus::Writer& writer, const std::vector<QueuePairResult>& results);
void write(bus::Writer& writer, const QueuePairResult& result);
void write(bus::Writer& writer, const Identity& owner);
void write(bus::Writer& writer, const SessionCounts& counts);
// An answer of QueryPath to one pair of ends: the path, or why there is none.
void write(bus::Writer& writer, const Request& request, const Result<PathResult>& result);
void write(bus::Writer& writer, const Capabilities& capabilities);
void write(bus::Writer& writer, const CounterReading& reading);
void write(bus::Writer& writer, const std::vector<SelfTestStep>& steps);
void write(bus::Writer& writer, const std::vector<DeviceAttribute>& attributes);
// The tree as the device has it, with the queue pairs in each leaf.
void write_tree(bus::Writer& writer, const DeviceStatus& status);

void write(bus::Writer& writer, const Policy& policy, const QosLevel& level, const LevelUse& use);
void write(bus::Writer& writer, const AdoptionStatus& adoption);

[[nodiscard]] std::string_view to_string(SessionState state);

}    // namespace rdmaqos
