// What OpenSM's parser checks beyond the grammar, while it reads: tags stated twice, values out of range, objects
// without what they must have, and what depends on the fabric.
#pragma once

#include <optional>

#include "policy/model/fabric_directory.h"
#include "policy/opensm/file.h"
#include "policy/opensm/parser.h"
#include "policy/opensm/reader.h"
#include "policy/text/context.h"

namespace rdmaqos::opensm {

// OpensmMode::Strict: the mistake at which OpenSM stops, if there is one. OpensmMode::Default: nothing; all mistakes
// are reported in the context, those that depend on the fabric as warnings.
[[nodiscard]] std::optional<Refusal> check_file(reader::Context& context, const File& file, OpensmMode mode,
                                                const FabricDirectory& directory);

}    // namespace rdmaqos::opensm
