#include "daemon/bus/convert_in.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>

#include "daemon/bus/query_components.h"
#include "daemon/bus/refusals.h"
#include "daemon/bus/request_keys.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/tree/queue_pair_limit.h"
#include "policy/match/criteria.h"
#include "policy/model/service_id.h"

namespace rdmaqos {
namespace {

using bus::Dict;
using bus::Value;

constexpr std::uint32_t kHighestQueuePairNumber = 0xFFFFFF;

using Use = RequestUse;
using Key = RequestKey;

// What a rule can ask of a request, a client can say in each of them.
constexpr bool is_path_key(std::string_view name)
{
    unsigned uses = 0;
    for (const auto& info : kRequestKeys) {
        uses |= info.name == name ? info.uses : 0U;
    }
    return (uses & kPathKeys) == kPathKeys;
}
static_assert(std::ranges::all_of(kRequestCriteria, [](const Criterion& row) { return is_path_key(row.key); }));

tl::unexpected<Error> unknown_key(std::string_view name, Use use)
{
    std::vector<std::string_view> allowed;
    for (const auto& info : kRequestKeys) {
        if ((info.uses & use) != 0) {
            allowed.push_back(info.name);
        } else if (info.name == name) {
            return invalid("the key `{}` does not belong in {}", name, name_of(use));
        }
    }
    if (const auto meant = did_you_mean(name, allowed)) {
        return invalid("{} has no key `{}`; did you mean `{}`?", name_of(use), printable(name), *meant);
    }
    return invalid("{} has no key `{}`; known keys: {}", name_of(use), printable(name), fmt::join(allowed, ", "));
}

bool is_one_of(std::string_view signature, std::string_view types)
{
    while (!types.empty()) {
        const auto bar = std::min(types.find('|'), types.size());
        if (types.substr(0, bar) == signature) {
            return true;
        }
        types.remove_prefix(std::min(bar + 1, types.size()));
    }
    return false;
}

// Collects the keys of one dictionary; what depends on several of them is checked at the end.
class Collector {
public:
    Collector(Use use, const Names& names) : use_(use), names_(names) {}

    Result<void> collect(const Dict& dict);
    // Checks and joins what belongs together.
    Result<void> finish();

    Request request;
    std::string device;
    std::vector<Endpoint> sources;
    std::vector<Endpoint> destinations;
    const std::vector<Dict>* queue_pairs = nullptr;
    ExplainFormat format = ExplainFormat::Text;
    QueuePairRef ref;
    bool has_number = false;
    bool has_path = false;
    std::optional<Bandwidth> rate;
    std::optional<std::uint64_t> max_burst;
    std::optional<std::uint32_t> typical_packet;

private:
    Result<void> take(Key key, const Value& value);
    Result<void> take_path_key(Key key, const Value& value);
    Result<void> take_component(Key key, const Value& value);
    Result<void> take_queue_pair_key(Key key, const Value& value);
    Result<void> take_file(const bus::FileDescriptor& sent);
    Result<void> take_rate_key(Key key, const Value& value);
    Result<void> take_qos_class(const Value& value);
    static Result<void> take_endpoints(std::string_view key, const Value& value, std::vector<Endpoint>& to);
    Result<void> find_device();

    Use use_;
    const Names& names_;
    std::optional<std::string> port_space_;
    std::optional<std::uint16_t> destination_port_;
    std::optional<std::uint8_t> tos_;
    std::optional<std::uint32_t> port_;
    QueryComponents components_;
};

Result<void> Collector::collect(const Dict& dict)
{
    for (const auto& [name, value] : dict.entries()) {
        const auto info = std::ranges::find_if(kRequestKeys, [this, &name = name](const RequestKeyInfo& candidate) {
            return (candidate.uses & use_) != 0 && candidate.name == name;
        });
        if (info == kRequestKeys.end()) {
            if (name.starts_with("x-")) {
                continue;
            }
            return unknown_key(name, use_);
        }
        if (!is_one_of(signature(value), info->types)) {
            return invalid("`{}` must have the D-Bus type {}, not {}", name, info->types, signature(value));
        }
        if (auto taken = take(info->key, value); !taken) {
            return taken;
        }
    }
    return {};
}

Result<void> Collector::take(Key key, const Value& value)
{
    switch (key) {
    case Key::Sl:
    case Key::Mtu:
    case Key::MtuSelector:
    case Key::Rate:
    case Key::RateSelector:
    case Key::PacketLife:
    case Key::PacketLifeSelector:
        return take_component(key, value);
    case Key::Number:
    case Key::Type:
    case Key::Handle:
    case Key::Uverbs:
    case Key::SqNumber:
        return take_queue_pair_key(key, value);
    case Key::LimitRate:
    case Key::MaxBurst:
    case Key::TypicalPacket:
        return take_rate_key(key, value);
    case Key::QueuePairs:
        queue_pairs = value.as<std::vector<Dict>>();
        return {};
    case Key::Format: {
        const auto& text = *value.as<std::string>();
        if (text != "text" && text != "json") {
            return invalid("`format` must be `text` or `json`, not `{}`", printable(text));
        }
        format = text == "json" ? ExplainFormat::Json : ExplainFormat::Text;
        return {};
    }
    case Key::Device:
        device = *value.as<std::string>();
        if (device.empty()) {
            return invalid("`device` is empty; leave it out for any device");
        }
        return {};
    case Key::Port:
        port_ = *value.as<std::uint32_t>();
        return {};
    default:
        has_path = true;
        return take_path_key(key, value);
    }
}

Result<void> Collector::take_path_key(Key key, const Value& value)
{
    switch (key) {
    case Key::Level:
        request.level = *value.as<std::string>();
        if (request.level->empty()) {
            return invalid("`level` is empty; leave it out to be matched by the rules");
        }
        return {};
    case Key::QosClass:
        return take_qos_class(value);
    case Key::Tos:
        tos_ = *value.as<std::uint8_t>();
        return {};
    case Key::ServiceId:
        request.service_id = *value.as<std::uint64_t>();
        return {};
    case Key::PortSpace:
        port_space_ = *value.as<std::string>();
        return {};
    case Key::DestinationPort:
        destination_port_ = *value.as<std::uint16_t>();
        return {};
    case Key::PKey:
        request.pkey = *value.as<std::uint16_t>();
        return {};
    case Key::Source:
        return take_endpoints("source", value, sources);
    default:
        return take_endpoints("destination", value, destinations);
    }
}

Result<void> Collector::take_qos_class(const Value& value)
{
    if (const auto* number = value.as<std::uint32_t>()) {
        if (*number > kHighestQosClass) {
            return invalid("`qos-class` {} is above {}: it has 12 bits", *number, kHighestQosClass);
        }
        request.qos_class = static_cast<std::uint16_t>(*number);
        return {};
    }
    const auto& name = *value.as<std::string>();
    if (names_.policy == nullptr) {
        return fail(ErrorCode::InvalidPolicy,
                    fmt::format("the QoS class `{}` cannot be looked up: no policy is running", printable(name)));
    }
    request.qos_class = names_.policy->find_qos_class(name);
    if (!request.qos_class) {
        std::vector<std::string_view> known;
        for (const auto& entry : names_.policy->qos_class_names) {
            known.push_back(entry.name);
        }
        const auto meant = did_you_mean(name, known);
        return invalid("the policy has no QoS class `{}`{}", printable(name),
                       meant ? fmt::format("; did you mean `{}`?", *meant) : std::string());
    }
    return {};
}

Result<void> Collector::take_endpoints(std::string_view key, const Value& value, std::vector<Endpoint>& to)
{
    const auto add = [&](const std::string& text) -> Result<void> {
        const auto endpoint = parse_endpoint(text);
        if (!endpoint) {
            return invalid(
                "`{}` must be a GUID (0x0010000000000001), a GID (fd00::1, 10.1.0.1) or a LID (lid:17), not `{}`", key,
                printable(text));
        }
        to.push_back(*endpoint);
        return {};
    };
    if (const auto* one = value.as<std::string>()) {
        return add(*one);
    }
    const auto& all = *value.as<std::vector<std::string>>();
    if (all.empty()) {
        return invalid("`{}` is an empty list; leave it out for any", key);
    }
    for (const auto& text : all) {
        if (auto added = add(text); !added) {
            return added;
        }
    }
    return {};
}

Result<void> Collector::take_component(Key key, const Value& value)
{
    if (key != Key::Sl) {
        return components_.take(key, value);
    }
    request.sl = *value.as<std::uint8_t>();
    if (*request.sl > kHighestSl) {
        return invalid("`sl` {} is above {}", *request.sl, kHighestSl);
    }
    return {};
}

Result<void> Collector::take_queue_pair_key(Key key, const Value& value)
{
    switch (key) {
    case Key::Number:
        ref.number = *value.as<std::uint32_t>();
        has_number = true;
        if (ref.number > kHighestQueuePairNumber) {
            return invalid("`number` {} is above {}: it has 24 bits", ref.number, kHighestQueuePairNumber);
        }
        return {};
    case Key::Type: {
        const auto& text = *value.as<std::string>();
        const auto type = parse_queue_pair_type(text);
        if (!type) {
            return invalid("`type` must be rc, uc, ud, raw-packet or devx, not `{}`", printable(text));
        }
        ref.type = *type;
        return {};
    }
    case Key::Handle:
        ref.handle = *value.as<std::uint32_t>();
        return {};
    case Key::SqNumber:
        ref.sq_number = *value.as<std::uint32_t>();
        return {};
    default:
        return take_file(*value.as<bus::FileDescriptor>());
    }
}

constexpr const char* kTooManyDescriptors = "`uverbs`: your user has as many descriptors in rdma-qosd as remain for "
                                            "everybody else: use one open device for many "
                                            "queue pairs, or raise LimitNOFILE= of rdma-qosd.service";

Result<void> Collector::take_file(const bus::FileDescriptor& sent)
{
    if (sent.over_limit) {
        return fail(ErrorCode::LimitReached, kTooManyDescriptors);
    }
    if (!sent.fd) {
        return fail(ErrorCode::NotUverbs, fmt::format("`uverbs`: {}: pass the descriptor of the open verbs context "
                                                      "(ibv_context.cmd_fd)",
                                                      sent.refusal));
    }
    if (!sent.name.empty()) {
        return fail(ErrorCode::NotUverbs,
                    "`uverbs` is not a device file: pass the descriptor of the open verbs context "
                    "(ibv_context.cmd_fd)");
    }
    auto close = names_.keep_file ? names_.keep_file() : ClientFile::Close();
    if (names_.keep_file && !close) {
        return fail(ErrorCode::LimitReached, kTooManyDescriptors);
    }
    UniqueFd copy(fcntl(sent.fd->get(), F_DUPFD_CLOEXEC, 3));
    if (!copy) {
        return fail(error_from_errno(ErrorCode::Io, errno, "`uverbs` cannot be kept"));
    }
    ref.file = std::make_shared<ClientFile>(std::move(copy), std::move(close));
    return {};
}

Result<void> Collector::take_rate_key(Key key, const Value& value)
{
    switch (key) {
    case Key::LimitRate:
        rate = Bandwidth::from_kbps(*value.as<std::uint64_t>());
        return {};
    case Key::MaxBurst:
        max_burst = *value.as<std::uint64_t>();
        return {};
    default:
        typical_packet = *value.as<std::uint32_t>();
        return {};
    }
}

Result<void> Collector::finish()
{
    if (port_space_.has_value() != destination_port_.has_value()) {
        return invalid("`port-space` and `destination-port` must be given together");
    }
    if (port_space_) {
        if (request.service_id) {
            return invalid("`service-id` and `port-space` exclude each other; give one of them");
        }
        request.service_id = TRY(service_id_of(*port_space_, *destination_port_));
    }
    if (tos_) {
        if (request.qos_class) {
            return invalid("`qos-class` and `tos` exclude each other; give one of them");
        }
        request.qos_class = qos_class_of_tos(*tos_);
    }
    if (sources.size() == 1) {
        request.source = sources.front();
    }
    if (destinations.size() == 1) {
        request.destination = destinations.front();
    }
    if (port_ && device.empty()) {
        return invalid("`port` needs `device`");
    }
    if (auto taken = components_.give_to(request); !taken) {
        return taken;
    }
    return use_ == kQueuePair || device.empty() ? Result<void>() : find_device();
}

Result<void> Collector::find_device()
{
    std::string name = device;
    if (port_ && name.find('/') == std::string::npos) {
        // A device's name; a netdev or PCI address already says which port.
        auto with_port = names_.device(fmt::format("{}/{}", name, *port_));
        if (with_port) {
            request.device = std::move(*with_port);
            return {};
        }
    }
    auto found = TRY(names_.device(name));
    if (port_ && found.port != *port_) {
        return fail(ErrorCode::UnknownDevice,
                    fmt::format("{} is port {}, not {}", printable(name), found.port, *port_));
    }
    request.device = std::move(found);
    return {};
}

Result<Collector> collect(const Dict& dict, Use use, const Names& names)
{
    Collector collector(use, names);
    TRY(collector.collect(dict));
    TRY(collector.finish());
    return collector;
}

}    // namespace

QueuePairArguments to_queue_pairs(const std::vector<Dict>& dicts, const Names& names)
{
    QueuePairArguments result;
    for (std::size_t place = 0; place < dicts.size(); ++place) {
        Collector collector(kQueuePair, names);
        auto checked = collector.collect(dicts[place]);
        if (checked) {
            checked = collector.finish();
        }
        if (checked && collector.device.empty()) {
            checked = invalid("a queue pair needs `device`");
        }
        if (checked && !collector.has_number) {
            checked = invalid("a queue pair needs `number`");
        }
        if (checked) {
            result.requests.push_back({std::move(collector.device), std::move(collector.ref),
                                       std::move(collector.request), collector.has_path});
        } else {
            QueuePairResult refused;
            refused.device = std::move(collector.device);
            refused.number = collector.ref.number;
            refused.error = std::move(checked).error();
            result.refused.emplace(place, std::move(refused));
        }
    }
    return result;
}

Error too_many_queue_pairs(std::size_t count)
{
    return {ErrorCode::LimitReached, 0,
            fmt::format("{} queue pairs in one call, at most {} are accepted: use several calls", count,
                        kMostQueuePairsInACall)};
}

Result<RegisterArguments> to_register_arguments(const Dict& dict, const Names& names)
{
    RegisterArguments result;
    if (dict.empty()) {
        return result;
    }
    auto collected = TRY(collect(dict, kRegister, names));
    result.request.request = std::move(collected.request);
    if (const auto& device = result.request.request.device) {
        result.request.device = fmt::format("{}/{}", device->device, device->port);
    }
    if (collected.queue_pairs != nullptr) {
        if (collected.queue_pairs->size() > kMostQueuePairsInACall) {
            return fail(too_many_queue_pairs(collected.queue_pairs->size()));
        }
        auto queue_pairs = to_queue_pairs(*collected.queue_pairs, names);
        result.request.queue_pairs = std::move(queue_pairs.requests);
        result.refused = std::move(queue_pairs.refused);
    }
    return result;
}

Result<PathRequests> to_path_requests(const Dict& dict, const Names& names)
{
    // As many as an answer may reasonably hold; a MultiPath query has at most 255 GIDs of each kind.
    constexpr std::size_t kMostPairs = 65'025;
    auto collected = TRY(collect(dict, kQueryPath, names));
    const auto& sources = collected.sources;
    const auto& destinations = collected.destinations;
    if (std::max<std::size_t>(sources.size(), 1) * std::max<std::size_t>(destinations.size(), 1) > kMostPairs) {
        return fail(ErrorCode::LimitReached, fmt::format("{} sources and {} destinations are more than {} pairs",
                                                         sources.size(), destinations.size(), kMostPairs));
    }
    return PathRequests(std::move(collected.request), sources, destinations);
}

Request PathRequests::operator[](std::size_t pair) const
{
    const std::size_t row = std::max<std::size_t>(destinations_.size(), 1);
    Request request = common_;
    if (!sources_.empty()) {
        request.source = sources_[pair / row];
    }
    if (!destinations_.empty()) {
        request.destination = destinations_[pair % row];
    }
    return request;
}

Result<ExplainRequest> to_explain_request(const Dict& dict, const Names& names)
{
    auto collected = TRY(collect(dict, kExplain, names));
    return ExplainRequest{std::move(collected.request), collected.format};
}

Result<std::optional<RateLimit>> to_rate_limit(const Dict& dict)
{
    auto collected = TRY(collect(dict, kRate, Names{}));
    // 0 is the device's default, as if it were left out.
    const bool more = collected.max_burst.value_or(0) != 0 || collected.typical_packet.value_or(0) != 0;
    if (more && (!collected.rate || collected.rate->is_zero())) {
        return invalid("`max-burst` and `typical-packet` refine a `rate`: give a `rate` with them");
    }
    if (!collected.rate) {
        return invalid("SetRate needs `rate` (kbit/s; 0: the class's own value)");
    }
    if (collected.rate->is_zero()) {
        return std::optional<RateLimit>();
    }
    const RateLimit limit{*collected.rate, collected.max_burst, collected.typical_packet};
    TRY(check_range(limit));
    return std::optional(limit);
}

}    // namespace rdmaqos
