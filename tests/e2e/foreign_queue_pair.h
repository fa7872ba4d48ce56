// Clients of the direct socket that do what no library does: attach a queue pair of somebody else, or queue pairs of
// very many device files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rdmaqos::test {

// With a file and a handle of its own, to the session of this number, or, with "-", to one that it registers. Prints
// the daemon's answer; 0: the queue pair is attached, 4: it is refused, 1: something else failed.
int attach_foreign(const std::string& device, const std::string& session, std::uint32_t number);

// On one connection, for each of `count` queue pairs a device file of its own, and a session. Prints how many were
// attached, and how often each refusal came; then waits for a signal.
int attach_many_files(const std::string& device, std::size_t count);

}    // namespace rdmaqos::test
