// What holds for any text a reader is given, for fuzzers of either kind: a sentence that says what does not; empty: all
// of it holds.
#pragma once

#include <string>

#include "policy/model/name_service.h"
#include "policy/model/policy.h"
#include "policy/text/read_result.h"

namespace rdmaqos::test {

// Users and groups with names of even length exist.
[[nodiscard]] NameService fuzz_names();

// Every place is in the file, and nothing unprintable reaches a terminal.
[[nodiscard]] std::string problem_of(const Diagnostics& diagnostics);

// A value or errors, never both or neither, and problem_of() its diagnostics.
template <typename T>
[[nodiscard]] std::string problem_of(const ReadResult<T>& result)
{
    if ((result.value == nullptr) != result.diagnostics.has_errors()) {
        return result.value ? "a value with errors" : "no value and no error";
    }
    return problem_of(result.diagnostics);
}

// What was accepted compiles for a device within its limits, and explains itself.
[[nodiscard]] std::string problem_of_use(const Policy& policy);

}    // namespace rdmaqos::test
