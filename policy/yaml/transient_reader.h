// The key `transient` of a policy file.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "lib/base/diagnostic.h"
#include "policy/model/transient.h"
#include "policy/text/context.h"

namespace rdmaqos::reader {

// Reports what is wrong with the mapping, and an end that is past `now`.
[[nodiscard]] Transient read_transient(Context& context, const Node& node, std::chrono::sys_seconds now);
// Of a file that may have any mistake, which is for others to report: nothing if it has no such key, or one that cannot
// be used.
[[nodiscard]] std::optional<Transient> transient_of(const std::shared_ptr<const SourceFile>& source);

}    // namespace rdmaqos::reader
