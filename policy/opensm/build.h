// File -> Policy: groups, levels and rules under the names and in the order OpenSM keeps them.
#pragma once

#include "policy/model/fabric_directory.h"
#include "policy/model/policy.h"
#include "policy/opensm/file.h"
#include "policy/opensm/reader.h"
#include "policy/text/context.h"

namespace rdmaqos::opensm {

// Reports what OpenSM's validation refuses (a name that is not defined, no default level) and warns of what has another
// meaning than it seems to have. Of a file that is `incomplete`, because a part of it could not be read, no missing
// name is reported. OpensmMode::Strict: at most one error, in OpenSM's words and order.
[[nodiscard]] Policy build_policy(reader::Context& context, const File& file, OpensmMode mode,
                                  const FabricDirectory& directory, bool incomplete);

}    // namespace rdmaqos::opensm
