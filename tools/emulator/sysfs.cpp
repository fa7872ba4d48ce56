#include "tools/emulator/sysfs.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/emulator/link.h"
#include "tools/emulator/protocol.h"

namespace rdmaqos::emulator {
namespace {

namespace fs = std::filesystem;

void put(const fs::path& path, const std::string& text)
{
    fs::create_directories(path.parent_path());
    if (const auto written = write_file_atomically(path, text + "\n"); !written) {
        throw std::runtime_error(written.error().message);
    }
}

void link_to(const fs::path& target, const fs::path& link)
{
    fs::create_directories(link.parent_path());
    fs::remove(link);
    fs::create_directory_symlink(fs::relative(target, link.parent_path()), link);
}

// "0010:0000:0000:0001"
std::string guid_text(Guid guid)
{
    const auto part = [&](unsigned shift) { return guid.value >> shift & 0xffffU; };
    return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", part(48), part(32), part(16), part(0));
}

std::string gid_text(const Gid& gid)
{
    std::string text;
    for (std::size_t at = 0; at < gid.bytes.size(); at += 2) {
        text += fmt::format("{}{:02x}{:02x}", at == 0 ? "" : ":", gid.bytes[at], gid.bytes[at + 1]);
    }
    return text;
}

bool is_virtual_function(const Device& device)
{
    return device.ports().front().virtual_function;
}

// A device without a PCI address gets one, so that there is a place for it.
std::string pci_of(const Device& device)
{
    const auto& address = device.ports().front().pci_address;
    return address.empty() ? fmt::format("0000:e0:{:02x}.{}", device.slot(), is_virtual_function(device) ? 1 : 0)
                           : address;
}

// Of a virtual function: the first function of its bus, or the second if that is itself.
std::string physical_pci_of(const std::string& virtual_function)
{
    const std::string bus = virtual_function.substr(0, virtual_function.rfind(':'));
    return bus + (virtual_function == bus + ":00.0" ? ":00.1" : ":00.0");
}

fs::path place_of(const fs::path& sys, const Device& device)
{
    return sys / place_below_sys(device);
}

fs::path ports_of(const fs::path& sys, const Device& device)
{
    return place_of(sys, device) / "infiniband" / device.name() / "ports";
}

std::string uverbs_of(const Device& device)
{
    return fmt::format("uverbs{}", device.index());
}

std::string device_number(const Device& device)
{
    return fmt::format("{}:{}", kMajor, kFirstMinor + device.index());
}

fs::path bond_place(const fs::path& sys, const std::string& bond)
{
    return sys / "devices/virtual/net" / bond;
}

// By those whose `master` it is; without any, it goes.
void write_bond(const fs::path& sys, const std::string& bond)
{
    std::set<std::string> slaves;
    for (const auto& entry : fs::directory_iterator(sys / "class/net")) {
        std::error_code none;
        if (fs::read_symlink(entry.path() / "master", none).filename() == bond) {
            slaves.insert(entry.path().filename());
        }
    }
    const fs::path place = bond_place(sys, bond);
    if (slaves.empty()) {
        fs::remove(sys / "class/net" / bond);
        fs::remove_all(place);
        return;
    }
    put(place / "bonding/slaves", fmt::format("{}", fmt::join(slaves, " ")));
    put(place / "operstate", "up");
    link_to(place, sys / "class/net" / bond);
}

void write_netdev(const fs::path& sys, const Device& device, std::uint32_t number)
{
    const SimulatedDevice& port = device.ports()[number - 1];
    const fs::path net = place_of(sys, device) / "net" / port.netdev;
    put(net / "operstate", "up");
    put(net / "dev_port", std::to_string(number - 1));
    put(net / "ifindex", std::to_string(interface_index(device, number)));
    link_to(place_of(sys, device), net / "device");
    link_to(net, sys / "class/net" / port.netdev);
    if (!port.bond.empty()) {
        fs::create_directories(bond_place(sys, port.bond));
        link_to(bond_place(sys, port.bond), net / "master");
        write_bond(sys, port.bond);
    }
}

// What makes a PCI function, and libmlx5 take it for one of its own.
void write_function(const fs::path& place, bool is_virtual)
{
    const char* device = is_virtual ? "101E" : "101D";    // ConnectX family VF, ConnectX-6 Dx
    put(place / "modalias", fmt::format("pci:v000015B3d0000{}sv000015B3sd00000001bc02sc00i00", device));
    put(place / "vendor", "0x15b3");
    put(place / "device", is_virtual ? "0x101e" : "0x101d");
    put(place / "numa_node", "0");
    // Its registers; for root alone, and the daemon's lock is on it.
    put(place / "resource0", "");
    fs::permissions(place / "resource0", fs::perms::owner_read | fs::perms::owner_write);
}

void write_port(const fs::path& folder, const SimulatedDevice& port, std::uint16_t lid)
{
    put(folder / "link_layer", port.infiniband ? "InfiniBand" : "Ethernet");
    put(folder / "lid", fmt::format("{:#x}", lid));
    put(folder / "sm_lid", port.infiniband ? "0x1" : "0x0");
    put(folder / "cap_mask", "0x04010000");
    put(folder / "lid_mask_count", "0");
    put(folder / "sm_sl", "0");
    for (std::size_t index = 0; index < port.gids.size(); ++index) {
        put(folder / "gids" / std::to_string(index), gid_text(port.gids[index]));
        put(folder / "gid_attrs/types" / std::to_string(index), port.infiniband ? "IB/RoCE v1" : "RoCE v2");
        if (!port.netdev.empty()) {
            put(folder / "gid_attrs/ndevs" / std::to_string(index), port.netdev);
        }
    }
    if (port.port_counters) {
        for (const char* name : {"port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets"}) {
            put(folder / "counters" / name, "0");
        }
    }
}

}    // namespace

fs::path place_below_sys(const Device& device)
{
    return fs::path("devices") / "pci0000:00" / pci_of(device);
}

unsigned interface_index(const Device& device, std::uint32_t port)
{
    constexpr unsigned kFirst = 1000;    // above those of the machine
    constexpr unsigned kMostPorts = 254;
    return kFirst + device.appearance() * kMostPorts + port;
}

void begin_sysfs(const fs::path& sys)
{
    fs::create_directories(sys / "class/infiniband");
    fs::create_directories(sys / "class/net");
    put(sys / "class/infiniband_verbs/abi_version", "6");
}

void write_sysfs(const fs::path& sys, const Device& device)
{
    const fs::path place = place_of(sys, device);
    const auto& first = device.ports().front();
    write_function(place, is_virtual_function(device));
    if (is_virtual_function(device)) {
        const fs::path physical = place.parent_path() / physical_pci_of(pci_of(device));
        if (!fs::exists(physical)) {
            write_function(physical, false);
        }
        link_to(physical, place / "physfn");
    }

    const fs::path verbs = place / "infiniband_verbs" / uverbs_of(device);
    put(verbs / "ibdev", device.name());
    put(verbs / "dev", device_number(device));
    put(verbs / "abi_version", "1");
    link_to(place, verbs / "device");
    link_to(verbs, sys / "class/infiniband_verbs" / uverbs_of(device));

    const fs::path driver = sys / "bus/pci/drivers/mlx5_core";
    fs::create_directories(driver);
    link_to(driver, place / "driver");

    const fs::path ib = place / "infiniband" / device.name();
    put(ib / "node_type", "1: CA");
    put(ib / "node_guid", guid_text(first.node_guid));
    put(ib / "sys_image_guid", guid_text(first.node_guid));
    put(ib / "node_desc", first.node_description);
    put(ib / "fw_ver", "22.35.1012");
    put(ib / "hca_type", "MT4125");
    put(ib / "board_id", "MT_0000000359");
    put(ib / "hw_rev", "0");
    put(ib / "fw_pages", "0");
    link_to(place, ib / "device");
    std::uint32_t number = 0;
    for (const auto& port : device.ports()) {
        ++number;
        write_port(ib / "ports" / std::to_string(number), port, device.lid(number));
        write_pkeys(sys, device, number);
        write_port_state(sys, device, number);
        if (!port.netdev.empty()) {
            write_netdev(sys, device, number);
        }
    }
    link_to(ib, sys / "class/infiniband" / device.name());
}

void write_pkeys(const fs::path& sys, const Device& device, std::uint32_t port)
{
    const fs::path folder = ports_of(sys, device) / std::to_string(port) / "pkeys";
    auto pkeys = device.pkeys(port);
    if (pkeys.empty()) {
        pkeys.push_back(0xffff);
    }
    // The kernel shows all places of the table; those that nothing is in are 0.
    constexpr std::size_t kPlaces = 8;
    if (device.ports()[port - 1].infiniband) {
        pkeys.resize(std::max(pkeys.size(), kPlaces));
    }
    fs::remove_all(folder);
    for (std::size_t index = 0; index < pkeys.size(); ++index) {
        put(folder / std::to_string(index), fmt::format("{:#06x}", pkeys[index]));
    }
}

void write_port_state(const fs::path& sys, const Device& device, std::uint32_t port)
{
    const fs::path folder = ports_of(sys, device) / std::to_string(port);
    const bool up = device.port_is_up(port);
    put(folder / "state", up ? "4: ACTIVE" : "1: DOWN");
    put(folder / "phys_state", up ? "5: LinkUp" : "3: Disabled");
    const Bandwidth speed = device.link_speed(port);
    put(folder / "rate", encode_link(speed).text);
    if (const std::string& netdev = device.ports()[port - 1].netdev; !netdev.empty()) {
        put(place_of(sys, device) / "net" / netdev / "speed", std::to_string(speed.kbps() / 1000));
    }
}

void write_counters(const fs::path& sys, const Device& device, std::span<const PortTraffic> moved)
{
    std::uint32_t number = 0;
    for (const auto& port : device.ports()) {
        ++number;
        if (!port.port_counters || !device.port_is_up(number)) {
            continue;
        }
        const fs::path folder = ports_of(sys, device) / std::to_string(number) / "counters";
        constexpr std::uint64_t kWord = 4;    // bytes
        const PortTraffic traffic = number <= moved.size() ? moved[number - 1] : PortTraffic{};
        put(folder / "port_xmit_data", std::to_string(traffic.sent.bytes / kWord));
        put(folder / "port_rcv_data", std::to_string(traffic.received.bytes / kWord));
        put(folder / "port_xmit_packets", std::to_string(traffic.sent.packets));
        put(folder / "port_rcv_packets", std::to_string(traffic.received.packets));
    }
}

void remove_sysfs(const fs::path& sys, const Device& device)
{
    fs::remove(sys / "class/infiniband" / device.name());
    fs::remove(sys / "class/infiniband_verbs" / uverbs_of(device));
    for (const auto& port : device.ports()) {
        if (!port.netdev.empty()) {
            fs::remove(sys / "class/net" / port.netdev);
        }
        if (!port.bond.empty()) {
            write_bond(sys, port.bond);
        }
    }
    fs::remove_all(place_of(sys, device));
}

}    // namespace rdmaqos::emulator
