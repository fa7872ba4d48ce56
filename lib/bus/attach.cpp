#include "lib/bus/attach.h"

#include <algorithm>
#include <cstddef>

#include "lib/base/try.h"
#include "lib/bus/names.h"

namespace rdmaqos::bus {

Result<std::vector<Dict>> attach(Client& client, const std::string& session, const std::vector<Dict>& queue_pairs)
{
    std::vector<Dict> results;
    for (auto first = queue_pairs.begin(); first != queue_pairs.end();) {
        const auto last = first + std::min<std::ptrdiff_t>(queue_pairs.end() - first, names::kMostQueuePairsInACall);
        const auto reply = TRY(
            client.call(session, names::kSession, "Attach", {Value(std::vector<Dict>(first, last))}));
        const auto* some = reply.size() == 1 ? reply.front().as<std::vector<Dict>>() : nullptr;
        if (some == nullptr) {
            return fail(ErrorCode::Internal, "the answer to Attach is not as documented");
        }
        results.insert(results.end(), some->begin(), some->end());
        first = last;
    }
    return results;
}

}    // namespace rdmaqos::bus
