#include "policy/model/request.h"

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

// On RoCE an IPv4 address is mapped to ::ffff:a.b.c.d, whose lower half is no GUID.
bool is_ipv4_mapped(const Gid& gid)
{
    return gid.subnet_prefix() == 0 && gid.interface_id().value >> 32U == 0xFFFF;
}

}    // namespace

std::optional<Endpoint> parse_endpoint(std::string_view text)
{
    if (text.starts_with("0x") || text.starts_with("0X")) {
        const auto number = parse_number(text);
        return number && *number != 0 ? std::optional<Endpoint>(Guid{*number}) : std::nullopt;
    }
    if (const auto lid = parse_lid(text)) {
        return *lid;
    }
    const auto gid = parse_gid(text);
    return gid && *gid != Gid{} ? std::optional<Endpoint>(*gid) : std::nullopt;
}

std::string_view to_string(Selector selector)
{
    switch (selector) {
    case Selector::GreaterThan:
        return "greater-than";
    case Selector::LessThan:
        return "less-than";
    case Selector::Exactly:
        return "exactly";
    case Selector::Largest:
        return "largest";
    }
    return "";
}

std::optional<Selector> parse_selector(std::string_view text)
{
    for (const auto selector : {Selector::GreaterThan, Selector::LessThan, Selector::Exactly, Selector::Largest}) {
        if (to_string(selector) == text) {
            return selector;
        }
    }
    return std::nullopt;
}

std::string to_string(const Endpoint& endpoint)
{
    return std::visit([](const auto& end) { return to_string(end); }, endpoint);
}

std::optional<Guid> port_guid_of(const Endpoint& endpoint)
{
    if (const auto* guid = std::get_if<Guid>(&endpoint)) {
        return *guid;
    }
    const auto* gid = std::get_if<Gid>(&endpoint);
    return gid == nullptr || is_ipv4_mapped(*gid) ? std::nullopt : std::optional(gid->interface_id());
}

}    // namespace rdmaqos
