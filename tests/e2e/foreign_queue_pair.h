// A client of the direct socket that attaches a queue pair which it did not make.
#pragma once

#include <cstdint>
#include <string>

namespace rdmaqos::test {

// With a file and a handle of its own, to the session of this number, or, with "-", to one that it registers. Prints
// the daemon's answer; 0: the queue pair is attached, 4: it is refused, 1: something else failed.
int attach_foreign(const std::string& device, const std::string& session, std::uint32_t number);

}    // namespace rdmaqos::test
