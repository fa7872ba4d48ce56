// What holds the queue pairs of a leaf most, in a sentence, and what to do about it.
#pragma once

#include <string>

#include "tools/rdma-qosctl/world/views.h"
#include "tools/rdma-qosctl/world/why.h"

namespace rdmaqos::ctl {

// nullptr: the device is gone.
[[nodiscard]] const DeviceView* device_of(const World& world, const std::string& key);

// Of the steps, which must be known.
void mark_narrowest_cap(WhyLeaf& leaf);
// In a leaf: by its steps and rates.
void judge(const World& world, WhyLeaf& leaf);
// In no leaf, for this cause.
void judge_outside(const World& world, const SessionView& session, const std::string& cause, WhyLeaf& leaf);
// After judge(): what is in no leaf takes from the whole tree as much as it can; nothing that the tree says holds
// against it.
void judge_with_outside(WhyLeaf& leaf);
// After all others: what to do about a class that its packets are in by mistake is to mark them.
void advise_to_mark(WhyLeaf& leaf);

}    // namespace rdmaqos::ctl
