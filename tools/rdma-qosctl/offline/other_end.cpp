#include "tools/rdma-qosctl/offline/other_end.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/api/port.h"
#include "lib/base/text.h"

namespace rdmaqos::ctl {
namespace {

using Json = nlohmann::json;

// A member of an object; null: it is none, or has none.
const Json& member(const Json& object, const char* key)
{
    static const Json kNone;
    if (!object.is_object()) {
        return kNone;
    }
    const auto found = object.find(key);
    return found == object.end() ? kNone : *found;
}

std::optional<std::uint32_t> number(const Json& object, const char* key)
{
    const Json& value = member(object, key);
    const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() <= UINT32_MAX;
    return fits ? std::optional(value.get<std::uint32_t>()) : std::nullopt;
}

std::string text(const Json& object, const char* key)
{
    const Json& value = member(object, key);
    return value.is_string() ? value.get<std::string>() : std::string();
}

// What decides on the service of packets: their priorities, and which of those are lossless.
api::Port port_of(const Json& object)
{
    api::Port port;
    port.state = text(object, "state");
    port.netdev = text(object, "netdev");
    port.lossless_capacity = number(object, "lossless-capacity");
    for (const Json& each : member(object, "applications")) {
        const auto protocol = number(each, "protocol");
        const auto priority = number(each, "priority");
        if (protocol && priority && *priority < dcb::kPriorities) {
            port.applications.push_back({text(each, "selector"), *protocol, *priority});
        }
    }
    for (const Json& each : member(object, "priorities")) {
        const Json& lossless = member(each, "lossless");
        if (const auto priority = number(each, "priority"); priority && lossless.is_boolean()) {
            port.priorities.push_back({*priority});
            port.priorities.back().lossless = lossless.get<bool>();
        }
    }
    return port;
}

struct Alike {
    dcb::PortSettings settings;
    std::vector<std::string> names;
};

}    // namespace

Result<std::vector<port_lint::OtherEnd>> other_ends_of(std::string_view text, std::string_view file)
{
    const Json json = Json::parse(text, nullptr, false);
    std::vector<Alike> alike;
    for (const Json& device : member(json, "devices")) {
        const api::Port port = port_of(member(device, "port-classes"));
        const auto settings = api::settings_of(port);
        if (!settings) {
            continue;
        }
        auto found = std::ranges::find(alike, *settings, &Alike::settings);
        if (found == alike.end()) {
            found = alike.insert(found, Alike{*settings, {}});
        }
        found->names.push_back(printable(shortened(port.netdev)));
    }
    if (alike.empty()) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{}: there is no port with traffic classes in it; write it on the other host by "
                                "`rdma-qosctl devices --json`, with a daemon that reads them (`port-classes: report`)",
                                printable(file)));
    }
    std::vector<port_lint::OtherEnd> ends;
    for (Alike& each : alike) {
        const std::size_t more = each.names.size() - 1;
        ends.push_back({fmt::format("{}{} in {}", each.names.front(),
                                    more == 0 ? "" : fmt::format(" and {} more", more), printable(file)),
                        std::move(each.settings)});
    }
    return ends;
}

}    // namespace rdmaqos::ctl
