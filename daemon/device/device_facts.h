// What the main loop knows of a device: what it is, who is to be where on it, and what the last report said.
//
// Values only. enforcement.h and device_report.h conclude from them; ManagedDevice changes them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/device/placement.h"
#include "daemon/model/port_status.h"
#include "lib/base/clock.h"
#include "lib/base/histogram.h"
#include "lib/reconcile/reconciler.h"
#include "policy/model/settings.h"

namespace rdmaqos {

// What its device says of the headers of its packets (daemon/device/queue_pair_marks.h).
struct KnownMark {
    std::optional<QueuePairMark> mark{};
    std::optional<TimePoint> asked_at{};    // empty: not since its owner has named it
    bool answered = false;
    bool refused = false;    // the last time
};

// Where a queue pair really is, as the last report said.
struct KnownQueuePair {
    QueuePairOutcome last;
    bool known = false;    // a report has come
    bool owner_verified = true;
    bool admitted = false;    // its attach was answered: the device knew it
    KnownMark mark{};
};

struct DeviceFacts {
    std::string key;
    DeviceInfo info;
    Capabilities capabilities;
    AttachReport attach;
    std::shared_ptr<const std::vector<DeviceAttribute>> attributes;
    Settings settings;
    PlacementBook book;
    std::unordered_map<std::uint32_t, KnownQueuePair> queue_pairs{};    // the book's members
    std::shared_ptr<const Snapshot> snapshot{};                         // null until the first report
    Histogram passes{};
    std::vector<KeptClass> kept_classes{};    // of its port
    bool gone = false;                        // for ever
    bool lost = false;                        // until the next report says otherwise
    bool draining = false;
    bool disabled = false;    // by the administrator

    // Nothing of the book is to be on the device.
    [[nodiscard]] bool held_back() const { return disabled || draining; }
};

}    // namespace rdmaqos
