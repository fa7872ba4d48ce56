// What the reader refuses and a JSON schema cannot: every exception with its reason. A test fails when one is no longer
// needed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "policy/text/ast.h"
#include "tests/unit/policy/schema_support.h"

namespace rdmaqos::test {

struct SchemaException {
    std::string reason;
    // `at` is what stands at the diagnostic's place; null if nothing does.
    std::function<bool(const Diagnostic&, const reader::Node* at, const Unit&)> covers;
};

[[nodiscard]] const std::vector<SchemaException>& schema_exceptions();

}    // namespace rdmaqos::test
