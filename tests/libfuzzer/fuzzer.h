// The end of a fuzzer's run that found something: libFuzzer keeps the input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace rdmaqos::test {

inline void require_none(const std::string& problem)
{
    if (!problem.empty()) {
        std::fprintf(stderr, "%s\n", problem.c_str());
        std::abort();
    }
}

}    // namespace rdmaqos::test
