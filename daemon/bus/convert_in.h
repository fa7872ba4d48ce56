// From D-Bus dictionaries to requests. The keys, their types and ranges are those of docs/dbus.md; each mistake is an
// InvalidArgument with a sentence for the person who wrote the call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/model/session.h"
#include "lib/base/result.h"
#include "lib/bus/message.h"
#include "lib/bus/names.h"
#include "lib/bus/value.h"

namespace rdmaqos {

using bus::names::kMostQueuePairsInACall;
// A request's message: room for that many queue pairs with all their keys, and for the ends of a path query.
constexpr bus::ReadLimits kRequestLimits{.depth = 10, .keys = 64, .values = 32'768};

// What a request's words are looked up in.
struct Names {
    const Policy* policy = nullptr;    // for names of QoS classes; null: none is running
    std::function<Result<DeviceNames>(const std::string&)> device;
    // What closes a descriptor that is kept for a client; null: it has too many.
    std::function<ClientFile::Close()> keep_file;
};

// Queue pairs are taken each on its own: a mistake refuses that one alone. The key is its place in the call.
using RefusedQueuePairs = std::map<std::size_t, QueuePairResult>;
struct QueuePairArguments {
    std::vector<QueuePairRequest> requests;
    RefusedQueuePairs refused;
};
[[nodiscard]] Error too_many_queue_pairs(std::size_t count);
[[nodiscard]] QueuePairArguments to_queue_pairs(const std::vector<bus::Dict>& dicts, const Names& names);

struct RegisterArguments {
    RegisterRequest request;
    RefusedQueuePairs refused;
};
[[nodiscard]] Result<RegisterArguments> to_register_arguments(const bus::Dict& dict, const Names& names);
// A query with several sources or destinations: one request for each pair, made when it is asked for.
class PathRequests {
public:
    PathRequests(Request common, std::vector<Endpoint> sources, std::vector<Endpoint> destinations)
        : common_(std::move(common)), sources_(std::move(sources)), destinations_(std::move(destinations))
    {
    }
    [[nodiscard]] std::size_t size() const
    {
        return std::max<std::size_t>(sources_.size(), 1) * std::max<std::size_t>(destinations_.size(), 1);
    }
    // By source first.
    [[nodiscard]] Request operator[](std::size_t pair) const;

private:
    Request common_;
    std::vector<Endpoint> sources_;    // empty: that of `common_`
    std::vector<Endpoint> destinations_;
};
[[nodiscard]] Result<PathRequests> to_path_requests(const bus::Dict& dict, const Names& names);

enum class ExplainFormat : std::uint8_t { Text, Json };
struct ExplainRequest {
    Request request;
    ExplainFormat format = ExplainFormat::Text;
};
[[nodiscard]] Result<ExplainRequest> to_explain_request(const bus::Dict& dict, const Names& names);

// Empty: back to the class's own value.
[[nodiscard]] Result<std::optional<RateLimit>> to_rate_limit(const bus::Dict& dict);

}    // namespace rdmaqos
