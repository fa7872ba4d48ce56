// What a test tells failing_new.cpp, in a file that both have mapped.
#pragma once

#include <atomic>
#include <cstdint>

namespace rdmaqos::test {

struct FailingNew {
    std::atomic<std::int32_t> process{0};    // only this one's allocations count
    std::atomic<std::int64_t> left{0};       // so many more succeed, less one; 0 or less: all do
    std::atomic<std::uint64_t> failed{0};    // so far
};

constexpr const char* kFailingNewFile = "RDMAQOS_FAILING_NEW";    // the variable that names the file

}    // namespace rdmaqos::test
