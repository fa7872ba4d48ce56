// Looks for tests that judge by the wall clock, which fail on a machine that others keep busy (docs/testing.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rdmaqos::layering {

// In a source of the tests: a wait that gives up after a number of seconds of its own instead of those of
// tests/support/patience.h, and an expectation that something takes no longer than a time. In a script: a command that
// is given a number of seconds. "tests/a_test.cpp:3: ..." each.
[[nodiscard]] std::vector<std::string> check_wall_clock(std::string_view path, std::string_view text);

}    // namespace rdmaqos::layering
