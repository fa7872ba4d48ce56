// Bodies of requests that attacks send.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/attack/wire.h"

namespace rdmaqos::attack {

// Register in a level of the policy; {} is valid too.
[[nodiscard]] Body request_for(const std::string& level);
[[nodiscard]] Body empty_dict();
// Attach of `count` queue pairs from `first` on; with `descriptors`, each brings one of the message as its `uverbs`.
[[nodiscard]] Body queue_pairs(std::uint32_t first, std::uint32_t count, bool descriptors = false);
// Check: the message's first descriptor.
[[nodiscard]] Body policy_descriptor();
// org.freedesktop.DBus.Properties.GetAll
[[nodiscard]] Body interface_name(const std::string& name);

// A file of memory with this text.
[[nodiscard]] int memory_file(const std::string& text);

}    // namespace rdmaqos::attack
