// The fabric file made from what a fabric's own tools say: ibnetdiscover's output, OpenSM's partitions.conf and a
// node-name-map.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lib/base/diagnostic.h"
#include "lib/base/net.h"
#include "policy/text/read_result.h"

namespace rdmaqos {

// Null: not given. Without a discovery the ports are those that the partitions name; without partitions they are as
// OpenSM makes them without a file. One of the two must be there.
struct FabricImport {
    std::shared_ptr<const SourceFile> discovery;
    std::shared_ptr<const SourceFile> partitions;
    std::shared_ptr<const SourceFile> node_names;
    std::optional<Guid> subnet_manager;    // port GUID: SELF of the partitions
};

// A YAML text that read_fabric reads, with comments on what it cannot say.
[[nodiscard]] ReadResult<std::string> import_fabric(const FabricImport& input);

}    // namespace rdmaqos
