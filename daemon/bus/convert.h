// Between D-Bus dictionaries and the service's types. The keys, their types and ranges are those of docs/dbus.md; each
// mistake is an InvalidArgument with a sentence for the person who wrote the call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/model/types.h"
#include "lib/bus/message.h"
#include "lib/bus/value.h"

namespace rdmaqos {

// Queue pairs in one call. A program with more calls again: one message is worked off without a pause.
constexpr std::size_t kMostQueuePairsInACall = 1024;
// A request's message: room for that many queue pairs with all their keys, and for the ends of a path query.
constexpr bus::ReadLimits kRequestLimits{.depth = 10, .keys = 64, .values = 32'768};

// What a request's words are looked up in.
struct Names {
    const Policy* policy = nullptr;    // for names of QoS classes; null: none is running
    std::function<Result<DeviceNames>(const std::string&)> device;
    ClientFile::Close close_file;    // for descriptors of clients
};

// Queue pairs are taken each on its own: a mistake refuses that one alone. The key is its place in the call.
using RefusedQueuePairs = std::map<std::size_t, QueuePairResult>;
struct QueuePairArguments {
    std::vector<QueuePairRequest> requests;
    RefusedQueuePairs refused;
};
[[nodiscard]] Error too_many_queue_pairs(std::size_t count);
[[nodiscard]] QueuePairArguments to_queue_pairs(const std::vector<bus::Dict>& dicts, const Names& names);
// The answers in the order of the call.
[[nodiscard]] std::vector<QueuePairResult> merge(std::vector<QueuePairResult> results,
                                                 const RefusedQueuePairs& refused);

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
    std::vector<Endpoint> sources_;         // empty: that of `common_`
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

void write(bus::Writer& writer, const Grant& grant);
void write(bus::Writer& writer, const RegisterReply& reply);    // the grant, with `queue-pairs` if there are any
void write(bus::Writer& writer, const std::vector<QueuePairResult>& results);
void write(bus::Writer& writer, const QueuePairResult& result);
void write(bus::Writer& writer, const Identity& owner);
// An answer of QueryPath to one pair of ends: the path, or why there is none.
void write(bus::DictWriter& dict, const Request& request, const Result<PathResult>& result);
void write(bus::Writer& writer, const PlanReport& report);
void write(bus::Writer& writer, const std::vector<DeviceReconcile>& results);
void write(bus::Writer& writer, const std::vector<DeviceDrift>& results);
void write(bus::Writer& writer, const Capabilities& capabilities);
void write(bus::Writer& writer, const CounterReading& reading);
void write(bus::Writer& writer, const std::vector<SelfTestStep>& steps);
void write(bus::Writer& writer, const std::vector<DeviceAttribute>& attributes);
// The tree as the device has it, with the queue pairs in each leaf.
void write_tree(bus::Writer& writer, const DeviceStatus& status);

void write(bus::DictWriter& dict, const Policy& policy, const QosLevel& level, const LevelUse& use);

[[nodiscard]] std::string to_sentence(const ElementFailure& failure);
[[nodiscard]] std::string_view to_string(DriftKind kind);
[[nodiscard]] std::string_view to_string(SessionState state);

}    // namespace rdmaqos
