// Who a client is against what a policy asks of clients: whether `allow:` of a level lets it in, and, for explanations,
// what of `client:` of a rule holds. Which rule matches is decided by indexes (match_index.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/model/client_keys.h"
#include "policy/model/identity.h"
#include "policy/model/policy.h"

namespace rdmaqos {

// What the answer is for: a rule may go by anything, `allow` only by what the client could not choose.
enum class ClientUse : std::uint8_t { Classify, Permit };

// Precondition: asks(criteria, key).
[[nodiscard]] bool holds(const ClientCriteria& criteria, const ClientKey& key, const Identity& identity, ClientUse use);

// The units a rule's `client: {unit}` may go by: the system's ("" in a container), then the one of a user's own manager
// if that is another. Never empty.
[[nodiscard]] std::vector<std::string> unit_names(const Identity& identity);

// "uid 1000", "job-7.scope"; "" for none
[[nodiscard]] std::string has(const Identity& identity, const ClientKey& key);
// "uid 1000", "unit job-7.scope", "no unit"
[[nodiscard]] std::string has_in_words(const Identity& identity, const ClientKey& key);

// The yes or no of may_use(), without its words.
[[nodiscard]] bool is_allowed(const QosLevel& level, const Identity& identity);

// May this client be in this level? `why` is set when not: "level rpc allows user alice; you are uid 1001".
struct Permission {
    bool allowed = true;
    std::string why;
};
[[nodiscard]] Permission may_use(const QosLevel& level, const Identity& identity);

}    // namespace rdmaqos
