#include "tools/rdma-qosctl/offline/kernel_traffic.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/text.h"
#include "policy/model/service_id.h"
#include "policy/model/traffic_class.h"

namespace rdmaqos::ctl {
namespace {

KernelService service_of(const Matcher& matcher, Request request, std::uint16_t port)
{
    KernelService service{.port = port,
                          .service_id = service_id_of("tcp", port).value_or(0),
                          .level = {},
                          .traffic_class = {},
                          .why = {}};
    request.service_id = service.service_id;
    request.of_kernel = true;
    const Identity root;    // in no unit, cgroup, job
    const auto match = matcher.match(request, root);
    if (!match) {
        service.why = match.error().message;
        return service;
    }
    service.level = match->level->name;
    service.traffic_class = match->level->traffic_class;
    service.why = matcher.why(*match, request, root);
    return service;
}

std::string mark_in_words(const std::optional<std::uint8_t>& traffic_class)
{
    return traffic_class ? fmt::format("DSCP {} (traffic class {})", dscp_of(*traffic_class), *traffic_class)
                         : "no DSCP";
}

// The first that a service of this protocol should have.
std::optional<std::uint8_t> wanted_mark(const KernelTraffic& traffic)
{
    for (const KernelService& service : traffic.services) {
        if (service.traffic_class) {
            return service.traffic_class;
        }
    }
    return std::nullopt;
}

std::string text_of(const KernelTraffic& traffic)
{
    const marks::KernelProtocol& protocol = *traffic.protocol;
    std::string text = fmt::format("{} ({}{})\n", protocol.what, protocol.module,
                                   traffic.is_loaded ? ", loaded" : ", not seen to be loaded");
    for (const KernelService& service : traffic.services) {
        text += service.level.empty()
                    ? fmt::format("  TCP port space, port {}: no level: {}\n", service.port, service.why)
                    : fmt::format("  TCP port space, port {}: level {}, {}: {}\n", service.port,
                                  printable(service.level), mark_in_words(service.traffic_class), service.why);
    }
    if (traffic.services.empty() && protocol.marked_by != marks::MarkedBy::Nothing) {
        text += "  it has no port of its own: ask with --port-space tcp --destination-port\n";
    }
    text += fmt::format("  marked {}\n", how_to_mark(protocol, wanted_mark(traffic)));
    if (protocol.accepts && protocol.marked_by != marks::MarkedBy::Peer &&
        protocol.marked_by != marks::MarkedBy::Nothing) {
        text += "  connections that it accepts have the traffic class of the request, from the other host\n";
    }
    if (!protocol.remark.empty()) {
        text += fmt::format("  {}\n", protocol.remark);
    }
    return text;
}

std::string text_of(const port_lint::FoundPort& port)
{
    const auto& rdma = port.interface.rdma;
    return fmt::format("  {}/{} ({}): {}\n", printable(rdma.device), rdma.port, printable(port.interface.name),
                       rdma.default_tos ? fmt::format("{} (DSCP {})", *rdma.default_tos, dscp_of(*rdma.default_tos))
                                        : "0, unless it was set and configfs no longer shows it");
}

}    // namespace

std::set<std::string> loaded_protocols(const std::filesystem::path& root)
{
    std::set<std::string> loaded;
    for (const marks::KernelProtocol& protocol : marks::kernel_protocols()) {
        std::error_code error;
        if (std::filesystem::is_directory(root / "sys/module" / protocol.module, error)) {
            loaded.emplace(protocol.module);
        }
    }
    return loaded;
}

std::vector<KernelTraffic> kernel_traffic(const Matcher& matcher, const Request& path,
                                          const std::set<std::string>& loaded)
{
    std::vector<KernelTraffic> all;
    for (const marks::KernelProtocol& protocol : marks::kernel_protocols()) {
        KernelTraffic traffic{&protocol, loaded.contains(std::string(protocol.module)), {}};
        for (const std::uint16_t port : protocol.ports) {
            traffic.services.push_back(service_of(matcher, path, port));
        }
        all.push_back(std::move(traffic));
    }
    return all;
}

std::string render_kernel_traffic(const std::vector<KernelTraffic>& traffic,
                                  const std::vector<port_lint::FoundPort>& ports, const std::string& unseen)
{
    std::string text;
    for (const KernelTraffic& each : traffic) {
        text += text_of(each);
    }
    if (ports.empty()) {
        text += fmt::format("default_roce_tos: {}\n", unseen.empty() ? "this host has no RoCE port" : unseen);
    } else {
        text += "default_roce_tos, of connections that rdma_cm makes and nobody marks\n";
    }
    for (const port_lint::FoundPort& port : ports) {
        text += text_of(port);
    }
    return text;
}

std::vector<port_lint::KernelTraffic> by_default_of_port(const std::vector<KernelTraffic>& traffic)
{
    std::vector<port_lint::KernelTraffic> some;
    for (const KernelTraffic& each : traffic) {
        if (!each.is_loaded || each.protocol->marked_by != marks::MarkedBy::Default) {
            continue;
        }
        for (const KernelService& service : each.services) {
            const auto is_told = [&](const port_lint::KernelTraffic& other) {
                return other.module == each.protocol->module && other.level == service.level;
            };
            if (dscp_of(service.traffic_class.value_or(0)) != 0 && std::ranges::none_of(some, is_told)) {
                some.push_back({std::string(each.protocol->what), std::string(each.protocol->module), service.level,
                                *service.traffic_class});
            }
        }
    }
    return some;
}

std::vector<std::string> unseen_marks(const std::vector<KernelTraffic>& traffic)
{
    std::vector<std::string> sentences;
    for (const KernelTraffic& each : traffic) {
        const auto wanted = wanted_mark(each);
        const bool by_other_means = each.protocol->marked_by == marks::MarkedBy::Setting ||
                                    each.protocol->marked_by == marks::MarkedBy::Program;
        if (each.is_loaded && by_other_means && dscp_of(wanted.value_or(0)) != 0) {
            sentences.push_back(fmt::format(
                "{} ({}): whether its connections have DSCP {} cannot be seen here; they are "
                "marked {}",
                each.protocol->what, each.protocol->module, dscp_of(*wanted), how_to_mark(*each.protocol, wanted)));
        }
    }
    return sentences;
}

}    // namespace rdmaqos::ctl
