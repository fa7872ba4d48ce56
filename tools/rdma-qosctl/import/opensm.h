// OpenSM's native policy file as the YAML policy that answers alike, with comments on what is not as it looks.
//
// Every group, level, rule and ulp of the native file is an entry of the YAML, in the same order; ulps stay ulps. What
// OpenSM never finds (the second of two names) is a comment. Lines that start with `#~ ` are YAML to be filled in:
// a `schedule:` for each level, and levels for the SLs of the ulps. A policy is valid with and without them.
//
// Not in the YAML, each with a comment: names that are no UTF-8 or hold control characters are escaped; `node-type:
// SELF`, the port of the subnet manager, is its GUID if the fabric tells it; `qos-setup`, which has no effect.
#pragma once

#include <memory>
#include <string>

#include "lib/base/diagnostic.h"
#include "policy/model/fabric.h"
#include "policy/opensm/file.h"
#include "policy/text/read_result.h"

namespace rdmaqos {

// The file must have been read without errors, so that its names are defined. An error is what no YAML policy can say:
// a service level above 15, a packet life above 63.
[[nodiscard]] ReadResult<std::string> import_opensm(const opensm::File& file, const Fabric& fabric);
// Reads it first: what OpenSM takes as it is, what it would reject as the daemon reads it.
[[nodiscard]] ReadResult<std::string> import_opensm(const std::shared_ptr<const SourceFile>& source,
                                                    const Fabric& fabric);

}    // namespace rdmaqos
