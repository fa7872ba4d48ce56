#include "lib/nic_mlx5/sysfs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include "lib/base/file.h"
#include "lib/base/text.h"

namespace fs = std::filesystem;

namespace rdmaqos::mlx5 {
namespace {

constexpr std::size_t kMostGids = 4096;    // of a port; tables have at most some hundred

// Reads files and folders, and remembers if that failed only for want of something.
class Reader {
public:
    // The first line; empty if it cannot be read.
    std::string line_of(const fs::path& path)
    {
        auto text = read_kernel_file(path, 4096);
        if (!text) {
            note(text.error().sys_errno, path);
            return {};
        }
        const auto end = text->find('\n');
        return end == std::string::npos ? *text : text->substr(0, end);
    }
    // Sorted.
    std::vector<std::string> names_in(const fs::path& folder)
    {
        std::vector<std::string> names;
        std::error_code error;
        for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
            names.push_back(entry->path().filename());
        }
        note(error.value(), folder);
        std::sort(names.begin(), names.end());
        return names;
    }
    // `value`, which was made from what was read, or the failure if any of it could not be read.
    template <typename T>
    [[nodiscard]] Result<T> checked(T value) const
    {
        return shortage_ ? Result<T>(fail(*shortage_)) : Result<T>(std::move(value));
    }

private:
    void note(int error, const fs::path& path)
    {
        if (is_shortage(error) && !shortage_) {
            shortage_ = error_from_errno(ErrorCode::Busy, error, path.string() + " cannot be read at this time");
        }
    }

    std::optional<Error> shortage_;
};

std::optional<std::uint64_t> number_of(std::string_view text, int base)
{
    if (base == 16 && text.starts_with("0x")) {
        text.remove_prefix(2);
    }
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

fs::path port_folder(const fs::path& sys, const std::string& device, std::uint32_t port)
{
    return sys / "class/infiniband" / device / "ports" / std::to_string(port);
}

// "0c42:a103:0065:1234"
Guid guid_of(std::string text)
{
    std::erase(text, ':');
    return Guid{number_of(text, 16).value_or(0)};
}

// Numbered files 0, 1, 2 ... of a folder.
template <typename Take>
void for_each_entry(Reader& reader, const fs::path& folder, Take take)
{
    for (std::size_t index = 0; index < kMostGids; ++index) {
        std::error_code error;
        const fs::path path = folder / std::to_string(index);
        if (!fs::exists(path, error)) {
            return;
        }
        take(index, reader.line_of(path));
    }
}

// By the GID table; devices without one that names it: by their functions' ports, which count from 0.
std::string netdev_of(Reader& reader, const fs::path& device, const fs::path& folder, std::uint32_t port)
{
    std::string name;
    for_each_entry(reader, folder / "gid_attrs/ndevs", [&](std::size_t, const std::string& text) {
        if (name.empty()) {
            name = text;
        }
    });
    if (!name.empty()) {
        return name;
    }
    const auto names = reader.names_in(device / "device/net");
    for (const auto& each : names) {
        if (number_of(reader.line_of(device / "device/net" / each / "dev_port"), 10) == port - 1) {
            return each;
        }
    }
    return {};
}

std::string bond_of(const fs::path& sys, const std::string& netdev)
{
    std::error_code error;
    const fs::path net = sys / "class/net" / netdev;
    if (netdev.empty() || fs::exists(net / "bonding", error)) {
        return netdev;
    }
    const fs::path master = fs::canonical(net / "master", error);
    return !error && fs::exists(master / "bonding", error) ? master.filename().string() : std::string();
}

std::uint32_t mtu_of(Reader& reader, const fs::path& sys, const std::string& netdev, LinkLayer layer)
{
    // The largest path MTU that fits a frame with all RoCE headers that a packet can have: GRH 40, UDP 8, BTH 12, XRC
    // 4, atomic 28, ICRC 4 (the kernel's iboe_get_mtu()). InfiniBand ports of this family all carry 4096.
    constexpr std::uint32_t kHeaders = 96;
    constexpr std::uint32_t kSizes[] = {4096, 2048, 1024, 512, 256};
    const auto frame = number_of(reader.line_of(sys / "class/net" / netdev / "mtu"), 10);
    if (layer == LinkLayer::InfiniBand || netdev.empty() || !frame) {
        return kSizes[0];
    }
    const auto* size = std::ranges::find_if(kSizes, [&](std::uint32_t bytes) { return bytes + kHeaders <= *frame; });
    return size == std::end(kSizes) ? kSizes[4] : *size;
}

void read_addresses(Reader& reader, const fs::path& folder, DeviceInfo& info)
{
    for_each_entry(reader, folder / "gids", [&](std::size_t, const std::string& text) {
        const auto gid = parse_gid(text);
        if (gid && *gid != Gid{}) {
            info.gids.push_back(*gid);
        }
    });
    for_each_entry(reader, folder / "pkeys", [&](std::size_t, const std::string& text) {
        const auto pkey = number_of(text, 16);
        if (pkey && *pkey != 0 && *pkey <= 0xffff) {
            info.pkeys.push_back(static_cast<std::uint16_t>(*pkey));
        }
    });
    if (!info.gids.empty()) {
        const auto& bytes = info.gids.front().bytes;
        for (std::size_t i = 8; i < 16; ++i) {
            info.port_guid.value = info.port_guid.value << 8 | bytes[i];
        }
    }
}

std::optional<DeviceInfo> read_port(Reader& reader, const fs::path& sys, const std::string& name, std::uint32_t port)
{
    const fs::path device = sys / "class/infiniband" / name;
    const fs::path folder = device / "ports" / std::to_string(port);
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
        return std::nullopt;
    }
    DeviceInfo info;
    info.name = name;
    info.port = port;
    info.node_guid = guid_of(reader.line_of(device / "node_guid"));
    info.firmware = reader.line_of(device / "fw_ver");
    info.board_id = reader.line_of(device / "board_id");
    info.node_description = reader.line_of(device / "node_desc");
    info.pci_address = fs::canonical(device / "device", error).filename();
    info.virtual_function = fs::exists(device / "device/physfn", error);
    info.driver = name.substr(0, name.find('_'));
    if (const auto driver = fs::canonical(device / "device/driver", error); !error) {
        info.driver = driver.filename().string().substr(0, driver.filename().string().find('_'));
    }
    info.link_layer = reader.line_of(folder / "link_layer") == "InfiniBand" ? LinkLayer::InfiniBand
                                                                            : LinkLayer::Ethernet;
    info.link_up = reader.line_of(folder / "state").starts_with("4:");
    info.link_speed = parse_link_rate(reader.line_of(folder / "rate"));
    info.netdev = netdev_of(reader, device, folder, port);
    info.bond = bond_of(sys, info.netdev);
    info.mtu = mtu_of(reader, sys, info.netdev, info.link_layer);
    read_addresses(reader, folder, info);
    return info;
}

}    // namespace

fs::path sysfs_root()
{
    const char* given = secure_getenv("SYSFS_PATH");
    return given != nullptr && *given == '/' ? given : "/sys";
}

Bandwidth parse_link_rate(std::string_view text)
{
    double gbps = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gbps);
    const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (error != std::errc() || !rest.starts_with(" Gb/sec") || !(gbps > 0) || gbps > 1e6) {
        return {};
    }
    return Bandwidth::from_kbps(static_cast<std::uint64_t>(std::llround(gbps * 1e6)));
}

Result<std::optional<DeviceInfo>> read_port(const fs::path& sys, const std::string& name, std::uint32_t port)
{
    Reader reader;
    auto info = read_port(reader, sys, name, port);
    return reader.checked(std::move(info));
}

Result<std::vector<DeviceInfo>> list_ports(const fs::path& sys)
{
    Reader reader;
    std::vector<DeviceInfo> found;
    for (const auto& name : reader.names_in(sys / "class/infiniband")) {
        for (const auto& port : reader.names_in(sys / "class/infiniband" / name / "ports")) {
            const auto number = number_of(port, 10);
            // "01" is no folder of the kernel, and would be port 1 a second time.
            if (!number || *number == 0 || *number > 255 || port != std::to_string(*number)) {
                continue;
            }
            if (auto info = read_port(reader, sys, name, static_cast<std::uint32_t>(*number))) {
                found.push_back(std::move(*info));
            }
        }
    }
    return reader.checked(std::move(found));
}

Result<std::string> device_of_number(const fs::path& sys, dev_t number)
{
    Reader reader;
    const std::string wanted = fmt::format("{}:{}", major(number), minor(number));
    const fs::path verbs = sys / "class/infiniband_verbs";
    for (const auto& name : reader.names_in(verbs)) {
        if (reader.line_of(verbs / name / "dev") == wanted) {
            return reader.checked(reader.line_of(verbs / name / "ibdev"));
        }
    }
    return reader.checked(std::string());
}

Result<std::optional<Gid>> read_gid(const fs::path& sys, const std::string& device, std::uint32_t port,
                                    std::uint32_t index)
{
    Reader reader;
    const auto gid = parse_gid(reader.line_of(port_folder(sys, device, port) / "gids" / std::to_string(index)));
    return reader.checked(gid && *gid != Gid{} ? std::optional(*gid) : std::nullopt);
}

Result<std::optional<std::uint16_t>> read_pkey(const fs::path& sys, const std::string& device, std::uint32_t port,
                                               std::uint32_t index)
{
    Reader reader;
    const auto pkey = number_of(reader.line_of(port_folder(sys, device, port) / "pkeys" / std::to_string(index)), 16);
    return reader.checked(pkey && *pkey != 0 && *pkey <= 0xffff ? std::optional(static_cast<std::uint16_t>(*pkey))
                                                                : std::nullopt);
}

Result<PortCounters> read_counters(const fs::path& sys, const std::string& device, std::uint32_t port)
{
    Reader reader;
    const fs::path folder = port_folder(sys, device, port) / "counters";
    const auto sent = number_of(reader.line_of(folder / "port_xmit_data"), 10);
    const auto received = number_of(reader.line_of(folder / "port_rcv_data"), 10);
    if (!sent || !received) {
        return fail(ErrorCode::Unsupported, fmt::format("{}/{} has no port counters", device, port));
    }
    return PortCounters{*sent * 4, *received * 4};    // counted in words of 4 bytes
}

}    // namespace rdmaqos::mlx5
