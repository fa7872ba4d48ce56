// What is known of the marks of a device's queue pairs, and which of them have to be asked for. Functions over values.
//
// Asking costs a command of the firmware, and its owner, destroying the queue pair at that moment, is refused once
// (EBUSY). So only those of levels with a DSCP are asked for, only when somebody wants to know, and what is known stays
// known: a mark changes only when its queue pair is connected again, which takes it out of its leaf and has its owner
// attach it again.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/device/device_facts.h"
#include "daemon/model/level_marks.h"
#include "lib/base/clock.h"

namespace rdmaqos {

// For how long what was read is not asked for again: of a queue pair with a mark, and of one without.
inline constexpr auto kMarkStays = std::chrono::minutes(10);
inline constexpr auto kMissingMarkStays = std::chrono::seconds(2);

// Why the mark of this type is never asked for; empty: it is.
[[nodiscard]] std::string_view why_never_marked(QueuePairType type);

// The next ones to ask for, at most so many; they count as asked.
[[nodiscard]] std::vector<QueuePairRef> take_due_marks(DeviceFacts& facts, const DscpOfLevels& levels, TimePoint now,
                                                       std::size_t most);

struct MarkAnswer {
    std::uint32_t number = 0;
    Result<std::optional<QueuePairMark>> mark;
};
// Of those that have been attached again meanwhile, nothing is taken.
void take_marks(DeviceFacts& facts, const std::vector<MarkAnswer>& answers);

// Of a queue pair of the book.
[[nodiscard]] std::optional<QueuePairMark> mark_of(const DeviceFacts& facts, std::uint32_t number);
// Why it is not known; empty: it is, or the queue pair is none of the book.
[[nodiscard]] std::string_view why_mark_unseen(const DeviceFacts& facts, std::uint32_t number);

[[nodiscard]] DeviceMarks count_marks(const DeviceFacts& facts, const DscpOfLevels& levels);

}    // namespace rdmaqos
