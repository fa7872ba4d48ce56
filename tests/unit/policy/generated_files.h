// Objects of every kind of file with every key and many good and bad values, made of the rows of policy/keys.
#pragma once

#include <string>
#include <vector>

#include "tests/unit/policy/schema_support.h"

namespace rdmaqos::test {

struct GeneratedFile {
    Format format = Format::Policy;
    std::string body;           // without its version
    bool is_example = false;    // one key with the example of its row, which must be good
};

// What the generated policies refer to.
extern const char* const kGeneratedContext;

[[nodiscard]] const std::vector<GeneratedFile>& generated_files();

}    // namespace rdmaqos::test
