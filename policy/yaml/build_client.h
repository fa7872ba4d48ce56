// `client:` of a rule and `allow:` of a level.
#pragma once

#include <optional>

#include "policy/yaml/build.h"

namespace rdmaqos::reader {

// `client:` of a rule or `allow:` of a level.
enum class ClientFor : bool { Rule, Allow };
[[nodiscard]] std::optional<ClientCriteria> read_client(Build& build, const Field& field, ClientFor use);

}    // namespace rdmaqos::reader
