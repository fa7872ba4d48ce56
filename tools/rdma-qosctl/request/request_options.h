// Who asks for what: options of a command line, as a D-Bus request for the daemon, as values for the offline functions,
// and as an identity.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/result.h"
#include "lib/bus/value.h"
#include "policy/model/identity.h"
#include "policy/model/policy.h"
#include "policy/model/request.h"

namespace CLI {
class App;
}

namespace rdmaqos::ctl {

// Texts as typed; empty: not given.
struct RequestOptions {
    std::string level;
    std::string qos_class;    // number or name
    std::string tos;
    std::string service_id;
    std::string port_space;
    std::string destination_port;
    std::string pkey;
    std::vector<std::string> source;
    std::vector<std::string> destination;
    std::string device;
    std::string port;
    std::string sl;
    std::string mtu;            // "2048", ">1024"
    std::string rate;           // "40Gbps", "<100Gbps"
    std::string packet_life;    // "16", "<18"
};

void add_request_options(CLI::App& command, RequestOptions& request);

// Sets the option of a request key ("service-id") from its text; false: there is no such key.
[[nodiscard]] bool set_option(RequestOptions& options, std::string_view key, std::string value);

// One end: `s`; several: `as`.
[[nodiscard]] Result<bus::Dict> to_dict(const RequestOptions& options);

// One request for each pair of ends. `device` is left for the caller. Errors: InvalidArgument.
[[nodiscard]] Result<std::vector<Request>> to_requests(const RequestOptions& options, const Policy& policy);

// "--qp NUMBER[:key=value,...]"; NUMBER may be "auto".
struct QueuePairOption {
    std::optional<std::uint32_t> number;
    std::string type;    // empty: the daemon's default
    RequestOptions path;
};
[[nodiscard]] Result<QueuePairOption> parse_queue_pair_option(std::string_view text);

// Who asks: an identity from /proc or from the options of a command line.
struct IdentityOptions {
    std::string pid;     // of a running process; else this one, or nobody in particular
    std::string user;    // name or uid
    std::vector<std::string> groups;
    Identity named;    // the names that kClientKeys have an option for, as given

    [[nodiscard]] bool any() const { return !(pid.empty() && user.empty() && groups.empty() && named == Identity{}); }
};
// --pid, --as-user and the like.
void add_identity_options(CLI::App& command, IdentityOptions& identity);
[[nodiscard]] Result<Identity> identity_of(const IdentityOptions& options);
// "uid 1000, groups 1000 4, unit job-7.scope, /usr/bin/ib_send_bw"
[[nodiscard]] std::string describe(const Identity& identity);

}    // namespace rdmaqos::ctl
