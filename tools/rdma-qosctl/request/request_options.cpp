#include "tools/rdma-qosctl/request/request_options.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/base/units.h"
#include "policy/model/cgroup_layouts.h"
#include "policy/model/client_keys.h"
#include "policy/model/name_service.h"
#include "policy/model/service_id.h"
#include "policy/path/path_text.h"

namespace rdmaqos::ctl {
namespace {

struct TextKey {
    std::string_view key;
    std::string RequestOptions::*member;
};

constexpr std::array kTextKeys{
    TextKey{"level", &RequestOptions::level},
    TextKey{"qos-class", &RequestOptions::qos_class},
    TextKey{"tos", &RequestOptions::tos},
    TextKey{"service-id", &RequestOptions::service_id},
    TextKey{"port-space", &RequestOptions::port_space},
    TextKey{"destination-port", &RequestOptions::destination_port},
    TextKey{"pkey", &RequestOptions::pkey},
    TextKey{"device", &RequestOptions::device},
    TextKey{"port", &RequestOptions::port},
    TextKey{"sl", &RequestOptions::sl},
    TextKey{"mtu", &RequestOptions::mtu},
    TextKey{"rate", &RequestOptions::rate},
    TextKey{"packet-life", &RequestOptions::packet_life},
};

tl::unexpected<Error> invalid(std::string_view key, std::string_view value, std::string_view wanted)
{
    return fail(ErrorCode::InvalidArgument, fmt::format("{}: `{}` is not {}", key, printable(value), wanted));
}

// Nothing for an empty text.
Result<std::optional<std::uint64_t>> parse(std::string_view key, const std::string& text, std::uint64_t largest)
{
    if (text.empty()) {
        return std::optional<std::uint64_t>();
    }
    const auto number = parse_number(text);
    if (!number || *number > largest) {
        return invalid(key, text, fmt::format("a number from 0 to {} (decimal or 0x hex)", largest));
    }
    return number;
}

template <typename T>
Result<void> set_number(bus::Dict& dict, std::string_view key, const std::string& text)
{
    const auto number = TRY(parse(key, text, std::numeric_limits<T>::max()));
    if (number) {
        dict.set(key, bus::Value(static_cast<T>(*number)));
    }
    return {};
}

void set_text(bus::Dict& dict, std::string_view key, const std::string& text)
{
    if (!text.empty()) {
        dict.set(key, text);
    }
}

void set_ends(bus::Dict& dict, std::string_view key, const std::vector<std::string>& ends)
{
    if (ends.size() == 1) {
        dict.set(key, ends.front());
    } else if (!ends.empty()) {
        dict.set(key, ends);
    }
}

Result<void> set_selected(Request& request, const RequestOptions& options)
{
    if (!options.mtu.empty() && !(request.mtu = parse_mtu_component(options.mtu))) {
        return invalid("mtu", options.mtu, "256, 512, 1024, 2048 or 4096, optionally after `>` or `<`, or `largest`");
    }
    if (!options.rate.empty() && !(request.rate = parse_rate_component(options.rate))) {
        return invalid("rate", options.rate,
                       "an InfiniBand rate such as `40Gbps`, optionally after `>` or `<`, or `largest`");
    }
    if (!options.packet_life.empty() && !(request.packet_life = parse_packet_life_component(options.packet_life))) {
        return invalid("packet-life", options.packet_life,
                       "a number from 0 to 63, optionally after `>` or `<`, or `largest`");
    }
    return {};
}

// The components of the request, as numbers with selectors. The largest has no value.
void set_components(bus::Dict& dict, const Request& request)
{
    const auto set = [&dict](const std::string& key, const auto& component, auto value_of) {
        if (!component) {
            return;
        }
        if (component->selector != Selector::Largest) {
            dict.set(key, bus::Value(value_of(component->value)));
        }
        if (component->selector != Selector::Exactly) {
            dict.set(key + "-selector", to_string(component->selector));
        }
    };
    set("mtu", request.mtu, [](IbMtu mtu) { return bytes(mtu); });
    set("rate", request.rate, [](IbRate rate) { return nominal(rate).kbps(); });
    set("packet-life", request.packet_life, [](std::uint8_t life) { return life; });
}

Result<void> set_tos(Request& request, const RequestOptions& options)
{
    const auto tos = parse("tos", options.tos, std::numeric_limits<std::uint8_t>::max());
    if (!tos) {
        return fail(tos.error());
    }
    if (*tos && !options.qos_class.empty()) {
        return fail(ErrorCode::InvalidArgument, "give either a qos-class or a tos");
    }
    if (*tos) {
        request.qos_class = qos_class_of_tos(static_cast<std::uint8_t>(**tos));
    }
    return {};
}

Result<void> set_qos_class(Request& request, const std::string& text, const Policy& policy)
{
    if (text.empty()) {
        return {};
    }
    auto number = parse_number(text);
    if (!number) {
        if (const auto named = policy.find_qos_class(text)) {
            number = *named;
        }
    }
    if (!number || *number > kHighestQosClass) {
        return invalid("qos-class", text, "a number from 0 to 4095 or a name of `qos-class-names`");
    }
    request.qos_class = static_cast<std::uint16_t>(*number);
    return {};
}

Result<void> set_service_id(Request& request, const RequestOptions& options)
{
    const auto service_id = TRY(parse("service-id", options.service_id, std::numeric_limits<std::uint64_t>::max()));
    request.service_id = service_id;
    if (options.port_space.empty() && options.destination_port.empty()) {
        return {};
    }
    if (service_id) {
        return fail(ErrorCode::InvalidArgument, "give either a service-id or a port-space with a destination-port");
    }
    const auto port = parse("destination-port", options.destination_port, std::numeric_limits<std::uint16_t>::max());
    if (!port) {
        return fail(port.error());
    }
    if (options.port_space.empty() || !*port) {
        return fail(ErrorCode::InvalidArgument, "port-space and destination-port must be given together");
    }
    request.service_id = TRY(service_id_of(options.port_space, static_cast<std::uint16_t>(**port)));
    return {};
}

Result<std::vector<std::optional<Endpoint>>> parse_ends(std::string_view key, const std::vector<std::string>& texts)
{
    std::vector<std::optional<Endpoint>> ends;
    for (const auto& text : texts) {
        const auto end = parse_endpoint(text);
        if (!end) {
            return invalid(key, text, "a GID (`fd00::1`, `10.1.0.1`), a GUID (`0x...`) or a LID (`lid:17`)");
        }
        ends.emplace_back(*end);
    }
    if (ends.empty()) {
        ends.emplace_back();
    }
    return ends;
}

// Everything but the ends.
Result<Request> to_request(const RequestOptions& options, const Policy& policy)
{
    Request request;
    if (!options.level.empty()) {
        request.level = options.level;
    }
    TRY(set_qos_class(request, options.qos_class, policy));
    TRY(set_tos(request, options));
    TRY(set_service_id(request, options));
    const auto pkey = TRY(parse("pkey", options.pkey, std::numeric_limits<std::uint16_t>::max()));
    if (pkey) {
        request.pkey = static_cast<std::uint16_t>(*pkey);
    }
    const auto sl = TRY(parse("sl", options.sl, kHighestSl));
    if (sl) {
        request.sl = static_cast<std::uint8_t>(*sl);
    }
    TRY(set_selected(request, options));
    return request;
}

constexpr const char* kProc = "/proc";
constexpr std::size_t kPasswdBuffer = 65536;

struct User {
    std::uint32_t uid = 0;
    std::vector<std::uint32_t> gids;    // empty: the host does not know the user
};

Result<User> user_of(const std::string& text)
{
    std::vector<char> buffer(kPasswdBuffer);
    passwd entry{};
    passwd* found = nullptr;
    const auto number = parse_number(text);
    if (number && *number > UINT32_MAX - 1) {
        return fail(ErrorCode::InvalidArgument, fmt::format("`{}` is not a uid", printable(text)));
    }
    if (number) {
        getpwuid_r(static_cast<uid_t>(*number), &entry, buffer.data(), buffer.size(), &found);
    } else {
        getpwnam_r(text.c_str(), &entry, buffer.data(), buffer.size(), &found);
    }
    if (found == nullptr) {
        return number
                   ? Result<User>(User{static_cast<std::uint32_t>(*number), {}})
                   : fail(ErrorCode::InvalidArgument, fmt::format("there is no user {} on this host", printable(text)));
    }
    std::vector<gid_t> gids(64);
    auto count = static_cast<int>(gids.size());
    while (getgrouplist(found->pw_name, found->pw_gid, gids.data(), &count) < 0) {
        gids.resize(std::max(static_cast<std::size_t>(count), gids.size() * 2));
        count = static_cast<int>(gids.size());
    }
    gids.resize(static_cast<std::size_t>(count));
    return User{found->pw_uid, {gids.begin(), gids.end()}};
}

Result<std::uint32_t> group_of(const std::string& text)
{
    if (const auto number = parse_number(text); number && *number < UINT32_MAX) {
        return static_cast<std::uint32_t>(*number);
    }
    const auto gid = NameService::host().gid_of(text);
    if (!gid) {
        return fail(ErrorCode::InvalidArgument, fmt::format("there is no group {} on this host", printable(text)));
    }
    return *gid;
}

Result<Identity> identity_of_process(const std::string& text)
{
    const auto pid = parse_number(text);
    if (!pid || *pid == 0 || *pid > INT32_MAX) {
        return fail(ErrorCode::InvalidArgument, fmt::format("`{}` is not a process id", printable(text)));
    }
    struct stat status {};
    if (stat(fmt::format("{}/{}", kProc, *pid).c_str(), &status) != 0) {
        return fail(error_from_errno(ErrorCode::InvalidArgument, errno, fmt::format("process {}", *pid)));
    }
    return read_identity(kProc, {static_cast<pid_t>(*pid), status.st_uid, {}});
}

// Whom the --as options start from.
Result<Identity> base_identity(const IdentityOptions& options)
{
    if (!options.pid.empty()) {
        return identity_of_process(options.pid);
    }
    auto self = read_identity(kProc, {getpid(), geteuid(), {}});
    if (!self || !options.any()) {
        return self;
    }
    Identity somebody;
    somebody.uid = self->uid;
    somebody.gids = self->gids;
    return somebody;
}

}    // namespace

void add_request_options(CLI::App& command, RequestOptions& request)
{
    command.add_option("--level", request.level, "This level or an error")->type_name("LEVEL");
    command.add_option("--qos-class", request.qos_class, "Number or name")->type_name("CLASS");
    command.add_option("--tos", request.tos, "Type of service that rdma_cm sends as the QoS class of an IPv4 address")
        ->type_name("0-255");
    command.add_option("--service-id", request.service_id, "64-bit number")->type_name("ID");
    command.add_option("--port-space", request.port_space, "With --destination-port: as rdma_cm forms a service id")
        ->type_name("tcp|udp|ib|ipoib");
    command.add_option("--destination-port", request.destination_port, "With --port-space")->type_name("PORT");
    command.add_option("--pkey", request.pkey, "With or without the membership bit")->type_name("PKEY");
    command.add_option("--source", request.source, "GID, GUID or LID (lid:17); query-path takes several")
        ->type_name("END")
        ->allow_extra_args(false);
    command.add_option("--destination", request.destination, "GID, GUID or LID (lid:17); query-path takes several")
        ->type_name("END")
        ->allow_extra_args(false);
    command.add_option("--port", request.port, "Port of the device")->type_name("N");
}

bool set_option(RequestOptions& options, std::string_view key, std::string value)
{
    if (key == "source") {
        options.source = {std::move(value)};
        return true;
    }
    if (key == "destination") {
        options.destination = {std::move(value)};
        return true;
    }
    for (const auto& known : kTextKeys) {
        if (known.key == key) {
            options.*known.member = std::move(value);
            return true;
        }
    }
    return false;
}

Result<bus::Dict> to_dict(const RequestOptions& options)
{
    bus::Dict dict;
    set_text(dict, "level", options.level);
    if (!options.qos_class.empty() && !parse_number(options.qos_class)) {
        dict.set("qos-class", options.qos_class);
    } else if (auto set = set_number<std::uint32_t>(dict, "qos-class", options.qos_class); !set) {
        return fail(set.error());
    }
    set_text(dict, "port-space", options.port_space);
    set_ends(dict, "source", options.source);
    set_ends(dict, "destination", options.destination);
    set_text(dict, "device", options.device);
    Request components;
    TRY(set_selected(components, options));
    set_components(dict, components);
    for (const auto& set :
         {set_number<std::uint64_t>(dict, "service-id", options.service_id),
          set_number<std::uint16_t>(dict, "destination-port", options.destination_port),
          set_number<std::uint16_t>(dict, "pkey", options.pkey), set_number<std::uint32_t>(dict, "port", options.port),
          set_number<std::uint8_t>(dict, "sl", options.sl), set_number<std::uint8_t>(dict, "tos", options.tos)}) {
        if (!set) {
            return fail(set.error());
        }
    }
    return dict;
}

Result<std::vector<Request>> to_requests(const RequestOptions& options, const Policy& policy)
{
    const auto base = to_request(options, policy);
    const auto sources = parse_ends("source", options.source);
    const auto destinations = parse_ends("destination", options.destination);
    if (!base || !sources || !destinations) {
        return fail(!base ? base.error() : !sources ? sources.error() : destinations.error());
    }
    std::vector<Request> requests;
    for (const auto& source : *sources) {
        for (const auto& destination : *destinations) {
            Request request = *base;
            request.source = source;
            request.destination = destination;
            requests.push_back(std::move(request));
        }
    }
    return requests;
}

Result<QueuePairOption> parse_queue_pair_option(std::string_view text)
{
    const std::string_view whole = text;
    const auto colon = text.find(':');
    const std::string_view number = text.substr(0, colon);
    text = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
    QueuePairOption option;
    if (number != "auto") {
        const auto parsed = parse_number(number);
        if (!parsed || *parsed > std::numeric_limits<std::uint32_t>::max()) {
            return invalid("--qp", whole, "NUMBER[:key=value,...] or auto[:key=value,...]");
        }
        option.number = static_cast<std::uint32_t>(*parsed);
    }
    while (!text.empty()) {
        const auto comma = text.find(',');
        const std::string_view pair = text.substr(0, comma);
        const auto equals = pair.find('=');
        if (equals == std::string_view::npos) {
            return invalid("--qp", pair, "key=value");
        }
        const std::string_view key = pair.substr(0, equals);
        std::string value(pair.substr(equals + 1));
        if (key == "type") {
            option.type = std::move(value);
        } else if (!set_option(option.path, key, std::move(value))) {
            return fail(
                ErrorCode::InvalidArgument,
                fmt::format("--qp: unknown key `{}`; known keys: device, type, level, qos-class, tos, service-id, "
                            "port-space, destination-port, pkey, source and destination",
                            printable(key)));
        }
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    }
    return option;
}

void add_identity_options(CLI::App& command, IdentityOptions& identity)
{
    command.add_option("--pid", identity.pid, "As this process; offline, as are all of --as-...")->type_name("PID");
    command.add_option("--as-user", identity.user, "As this user, in the user's groups")->type_name("NAME|UID");
    command.add_option("--as-group", identity.groups, "In this group as well")
        ->type_name("NAME|GID")
        ->allow_extra_args(false);
    for (const ClientKey& key : kClientKeys) {
        if (const auto* kind = std::get_if<NameKind>(&key.kind)) {
            const std::string option = fmt::format("--as-{}", key.name());
            command.add_option(option, identity.named.*kind->name, std::string(kind->as_words))
                ->type_name(std::string(kind->as_value));
        }
    }
}

Result<Identity> identity_of(const IdentityOptions& options)
{
    auto identity = base_identity(options);
    if (!identity) {
        return identity;
    }
    if (!options.user.empty()) {
        auto user = TRY(user_of(options.user));
        identity->uid = user.uid;
        identity->gids = std::move(user.gids);
    }
    for (const auto& group : options.groups) {
        const auto gid = TRY(group_of(group));
        identity->gids.push_back(gid);
    }
    std::sort(identity->gids.begin(), identity->gids.end());
    identity->gids.erase(std::unique(identity->gids.begin(), identity->gids.end()), identity->gids.end());
    if (!options.named.cgroup.empty()) {
        identity->unit = unit_of_cgroup(options.named.cgroup);
        identity->slurm_job = slurm_job_of_cgroup(options.named.cgroup);
        identity->kubernetes_pod = kubernetes_pod_of_cgroup(options.named.cgroup);
    }
    for (const ClientKey& key : kClientKeys) {
        const auto* kind = std::get_if<NameKind>(&key.kind);
        if (kind != nullptr && !(options.named.*kind->name).empty()) {
            (*identity).*kind->name = options.named.*kind->name;
        }
    }
    return identity;
}

std::string describe(const Identity& identity)
{
    std::string text = fmt::format("uid {}", identity.uid);
    const auto add = [&](std::string_view what, std::string_view value) {
        if (!value.empty()) {
            text += fmt::format(", {} {}", what, printable(value));
        }
    };
    if (identity.pid != 0) {
        add("pid", std::to_string(identity.pid));
    }
    add(identity.gids.size() == 1 ? "group" : "groups", fmt::format("{}", fmt::join(identity.gids, " ")));
    add("unit", identity.unit);
    add("executable", identity.executable);
    return text;
}

}    // namespace rdmaqos::ctl
