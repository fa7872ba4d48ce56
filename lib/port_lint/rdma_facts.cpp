#include "lib/port_lint/rdma_facts.h"

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "lib/base/file.h"
#include "lib/base/text.h"

namespace rdmaqos::port_lint {
namespace {

namespace fs = std::filesystem;

std::string line_of(const fs::path& file)
{
    const auto text = read_kernel_file(file);
    return text ? std::string(without_blanks(*text, " \t\n")) : std::string();
}

std::optional<std::uint64_t> number_of(std::string_view text)
{
    return parse_number(without_blanks(text, " \t\n"));
}

std::optional<std::uint8_t> byte_of(std::string_view text)
{
    const auto number = number_of(text);
    return number && *number <= 255 ? std::optional(static_cast<std::uint8_t>(*number)) : std::nullopt;
}

std::vector<std::string> entries_of(const fs::path& folder)
{
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error)) {
        names.push_back(each->path().filename().string());
    }
    std::ranges::sort(names);
    return names;
}

std::string target_name(const fs::path& link)
{
    std::error_code error;
    const fs::path target = fs::read_symlink(link, error);
    return error ? std::string() : target.filename().string();
}

std::optional<OfPriority<bool>> switches_in(const fs::path& folder)
{
    OfPriority<bool> switches{};
    bool found = false;
    for (std::size_t priority = 0; priority < dcb::kPriorities; ++priority) {
        const auto value = number_of(line_of(folder / fmt::format("{}", priority)));
        found = found || value;
        switches[priority] = value.value_or(0) != 0;
    }
    return found ? std::optional(switches) : std::nullopt;
}

// "Global tclass=106", and whatever else follows.
std::optional<std::uint8_t> forced_class_in(const std::string& text)
{
    constexpr std::string_view kKey = "Global tclass=";
    const std::size_t at = text.find(kKey);
    if (at == std::string::npos) {
        return std::nullopt;
    }
    const std::string_view rest = std::string_view(text).substr(at + kKey.size());
    const auto value = byte_of(rest.substr(0, rest.find_first_not_of("0123456789")));
    return value && *value != 0 ? value : std::nullopt;    // 0: nothing is forced
}

// Below debugfs, which only root may look into.
std::string why_unread(const fs::path& root, const fs::path& parameters, const std::string& pci_address)
{
    if (pci_address.empty()) {
        return "its address on PCI is not to be seen";
    }
    const std::string name = "/" + parameters.lexically_relative(root).string();
    const auto text = read_kernel_file(parameters / "np_cnp_dscp");
    if (text) {
        return fmt::format("{} makes no sense", name);
    }
    const int error = text.error().sys_errno;
    return error == EACCES || error == EPERM ? fmt::format("only root may read {}", name)
                                             : fmt::format("there is no {}", name);
}

Notifications read_notifications(const fs::path& root, const std::string& interface, const std::string& pci_address)
{
    const fs::path ecn = root / "sys/class/net" / interface / "ecn";
    const fs::path parameters = root / "sys/kernel/debug/mlx5" / pci_address / "cc_params";
    Notifications cnp;
    cnp.dscp = byte_of(line_of(ecn / "roce_np/cnp_dscp"));
    cnp.priority = byte_of(line_of(ecn / "roce_np/cnp_802p_prio"));
    if (!cnp.dscp && !pci_address.empty()) {
        cnp.dscp = byte_of(line_of(parameters / "np_cnp_dscp"));
    }
    if (!cnp.priority && !pci_address.empty()) {
        cnp.priority = byte_of(line_of(parameters / "np_cnp_prio"));
    }
    cnp.are_sent = switches_in(ecn / "roce_np/enable");
    cnp.are_obeyed = switches_in(ecn / "roce_rp/enable");
    if (!cnp.dscp || !cnp.priority) {
        cnp.unread = why_unread(root, parameters, pci_address);
    }
    return cnp;
}

struct RdmaPort {
    std::string device;
    std::string port;
    std::string link_layer;    // "Ethernet", "InfiniBand"
};

std::vector<RdmaPort> rdma_ports(const fs::path& root)
{
    std::vector<RdmaPort> found;
    const fs::path devices = root / "sys/class/infiniband";
    for (const std::string& device : entries_of(devices)) {
        const fs::path ports = devices / device / "ports";
        for (const std::string& port : entries_of(ports)) {
            found.push_back({device, port, line_of(ports / port / "link_layer")});
        }
    }
    return found;
}

// By what its GIDs belong to, or else as the only interface of the device.
std::string interface_of(const fs::path& device, const std::string& port)
{
    const fs::path by_gid = device / "ports" / port / "gid_attrs/ndevs";
    for (const std::string& entry : entries_of(by_gid)) {
        if (std::string name = line_of(by_gid / entry); !name.empty()) {
            return name;
        }
    }
    const auto all = entries_of(device / "device/net");
    return all.size() == 1 ? all.front() : std::string();
}

std::optional<Bandwidth> speed_of(const fs::path& interface)
{
    const auto mbps = number_of(line_of(interface / "speed"));    // -1: no link
    constexpr std::uint64_t kUnknown = 0xffffffff;
    return mbps && *mbps != 0 && *mbps < kUnknown ? std::optional(Bandwidth::from_mbps(*mbps)) : std::nullopt;
}

}    // namespace

RdmaFacts read_rdma_facts(const fs::path& root, const std::string& device, std::uint32_t port,
                          const std::string& interface, const std::string& pci_address)
{
    const fs::path cm = root / "sys/kernel/config/rdma_cm" / device / "ports" / fmt::format("{}", port);
    RdmaFacts facts;
    facts.device = device;
    facts.port = port;
    facts.default_tos = byte_of(line_of(cm / "default_roce_tos"));
    facts.default_mode = line_of(cm / "default_roce_mode");
    facts.forced_traffic_class = forced_class_in(
        line_of(root / "sys/class/infiniband" / device / "tc" / fmt::format("{}", port) / "traffic_class"));
    facts.notifications = read_notifications(root, interface, pci_address);
    return facts;
}

std::vector<FoundPort> find_ports(const fs::path& root)
{
    std::vector<FoundPort> found;
    for (const RdmaPort& rdma : rdma_ports(root)) {
        const fs::path device = root / "sys/class/infiniband" / rdma.device;
        const auto number = number_of(rdma.port);
        const std::string name = interface_of(device, rdma.port);
        if (!number || name.empty() || rdma.link_layer != "Ethernet") {
            continue;
        }
        const fs::path net = root / "sys/class/net" / name;
        FoundPort each;
        // The class's entry is a folder of the function's.
        const std::string function = target_name(device / "device");
        each.pci_address = function.find(':') == std::string::npos ? std::string() : function;
        each.interface.name = name;
        each.interface.driver = target_name(net / "device/driver");
        each.interface.link_speed = speed_of(net);
        each.interface.rdma = read_rdma_facts(root, rdma.device, static_cast<std::uint32_t>(*number), name,
                                              each.pci_address);
        found.push_back(std::move(each));
    }
    return found;
}

std::vector<std::string> find_ports_without_interface(const fs::path& root)
{
    std::vector<std::string> found;
    for (const RdmaPort& rdma : rdma_ports(root)) {
        if (rdma.link_layer == "Ethernet" &&
            interface_of(root / "sys/class/infiniband" / rdma.device, rdma.port).empty()) {
            found.push_back(fmt::format("{}/{}", rdma.device, rdma.port));
        }
    }
    return found;
}

std::vector<FoundPort> find_infiniband_ports(const fs::path& root)
{
    const auto all = rdma_ports(root);
    const bool has_ethernet = std::ranges::count(all, "Ethernet", &RdmaPort::link_layer) > 0;
    std::vector<FoundPort> found;
    for (const RdmaPort& rdma : all) {
        const auto number = number_of(rdma.port);
        if (number && rdma.link_layer == "InfiniBand") {
            FoundPort each;
            each.interface.name = fmt::format("{}/{}", rdma.device, *number);
            each.interface.is_infiniband = true;
            each.interface.is_beside_ethernet = has_ethernet;
            each.interface.rdma.device = rdma.device;
            each.interface.rdma.port = static_cast<std::uint32_t>(*number);
            found.push_back(std::move(each));
        }
    }
    return found;
}

std::optional<SentBytes> sent_bytes(std::span<const port_bytes::Counter> counters)
{
    const auto bytes = port_bytes::bytes_in(counters);
    return bytes && bytes->rdma_sent ? std::optional(SentBytes{bytes->sent, *bytes->rdma_sent}) : std::nullopt;
}

}    // namespace rdmaqos::port_lint
