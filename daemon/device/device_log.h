// What the log says of a device: what drifted, what its link does to the policy, what cannot be written.
#pragma once

#include <string>
#include <vector>

#include "daemon/device/device_facts.h"

namespace rdmaqos {

// A line for those that were repaired, and one for those that were not; none if nothing drifted.
void log_drift(const std::string& device, const std::vector<Drift>& drifts);

// The link is not as it was, and `facts` have it as it is now. A warning if it breaks what the policy says: if the link
// is down while queue pairs are on it, or if the book has findings that were not `known` before.
void log_link(const DeviceFacts& facts, const std::vector<Finding>& known);

// If something cannot be written to the device; once it can be; and when it answers again after a reset. `facts` are
// those before the report.
void log_outcome(const DeviceFacts& facts, const Report& report);

}    // namespace rdmaqos
