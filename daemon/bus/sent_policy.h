// A policy that a caller passes as a descriptor.
#pragma once

#include <memory>

#include "lib/base/diagnostic.h"
#include "lib/base/result.h"
#include "lib/bus/value.h"

namespace rdmaqos {

// The text behind a descriptor, which the helper of the caller's user has read.
[[nodiscard]] Result<std::shared_ptr<const SourceFile>> sent_policy(const bus::Value& value);

}    // namespace rdmaqos
