// `client:` of a rule and `allow:` of a level.
#pragma once

#include <optional>
#include <string_view>

#include "policy/model/client_keys.h"
#include "policy/yaml/build.h"

namespace rdmaqos::reader {

// `client:` of a rule or `allow:` of a level.
enum class ClientFor : bool { Rule, Allow };
// Warns of a pattern that can be seen to match no name of this form.
void warn_of_never(Context& context, const Node& at, std::string_view pattern, NameForm form);
[[nodiscard]] std::optional<ClientCriteria> read_client(Build& build, const Field& field, ClientFor use);

}    // namespace rdmaqos::reader
