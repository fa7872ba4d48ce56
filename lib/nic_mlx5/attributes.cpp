#include "lib/nic_mlx5/attributes.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <endian.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/net.h"
#include "lib/base/text.h"
#include "lib/base/units.h"

namespace rdmaqos::mlx5 {
namespace {

constexpr std::string_view kUnsupported = "unsupported";
constexpr std::string_view kNotStated = "not stated";

struct Bit {
    std::uint64_t mask;
    std::string_view name;
};

// enum ibv_device_cap_flags, and the two macros that do not fit into it.
constexpr auto kDeviceFlags = std::to_array<Bit>({
    {IBV_DEVICE_RESIZE_MAX_WR, "RESIZE_MAX_WR"},
    {IBV_DEVICE_BAD_PKEY_CNTR, "BAD_PKEY_CNTR"},
    {IBV_DEVICE_BAD_QKEY_CNTR, "BAD_QKEY_CNTR"},
    {IBV_DEVICE_RAW_MULTI, "RAW_MULTI"},
    {IBV_DEVICE_AUTO_PATH_MIG, "AUTO_PATH_MIG"},
    {IBV_DEVICE_CHANGE_PHY_PORT, "CHANGE_PHY_PORT"},
    {IBV_DEVICE_UD_AV_PORT_ENFORCE, "UD_AV_PORT_ENFORCE"},
    {IBV_DEVICE_CURR_QP_STATE_MOD, "CURR_QP_STATE_MOD"},
    {IBV_DEVICE_SHUTDOWN_PORT, "SHUTDOWN_PORT"},
    {IBV_DEVICE_INIT_TYPE, "INIT_TYPE"},
    {IBV_DEVICE_PORT_ACTIVE_EVENT, "PORT_ACTIVE_EVENT"},
    {IBV_DEVICE_SYS_IMAGE_GUID, "SYS_IMAGE_GUID"},
    {IBV_DEVICE_RC_RNR_NAK_GEN, "RC_RNR_NAK_GEN"},
    {IBV_DEVICE_SRQ_RESIZE, "SRQ_RESIZE"},
    {IBV_DEVICE_N_NOTIFY_CQ, "N_NOTIFY_CQ"},
    {IBV_DEVICE_MEM_WINDOW, "MEM_WINDOW"},
    {IBV_DEVICE_UD_IP_CSUM, "UD_IP_CSUM"},
    {IBV_DEVICE_XRC, "XRC"},
    {IBV_DEVICE_MEM_MGT_EXTENSIONS, "MEM_MGT_EXTENSIONS"},
    {IBV_DEVICE_MEM_WINDOW_TYPE_2A, "MEM_WINDOW_TYPE_2A"},
    {IBV_DEVICE_MEM_WINDOW_TYPE_2B, "MEM_WINDOW_TYPE_2B"},
    {IBV_DEVICE_RC_IP_CSUM, "RC_IP_CSUM"},
    {IBV_DEVICE_RAW_IP_CSUM, "RAW_IP_CSUM"},
    {IBV_DEVICE_MANAGED_FLOW_STEERING, "MANAGED_FLOW_STEERING"},
    {IBV_DEVICE_RAW_SCATTER_FCS, "RAW_SCATTER_FCS"},
    {IBV_DEVICE_PCI_WRITE_END_PADDING, "PCI_WRITE_END_PADDING"},
});

constexpr auto kOdpGeneral = std::to_array<Bit>({
    {IBV_ODP_SUPPORT, "on-demand paging"},
    {IBV_ODP_SUPPORT_IMPLICIT, "implicit (whole address space)"},
});

constexpr auto kOdpTransport = std::to_array<Bit>({
    {IBV_ODP_SUPPORT_SEND, "send"},
    {IBV_ODP_SUPPORT_RECV, "receive"},
    {IBV_ODP_SUPPORT_WRITE, "write"},
    {IBV_ODP_SUPPORT_READ, "read"},
    {IBV_ODP_SUPPORT_ATOMIC, "atomic"},
    {IBV_ODP_SUPPORT_SRQ_RECV, "shared receive queue"},
});

// Masks of queue pair types hold 1 << enum ibv_qp_type.
constexpr auto kQueuePairTypes = std::to_array<Bit>({
    {1ULL << IBV_QPT_RC, "rc"},
    {1ULL << IBV_QPT_UC, "uc"},
    {1ULL << IBV_QPT_UD, "ud"},
    {1ULL << IBV_QPT_RAW_PACKET, "raw-packet"},
    {1ULL << IBV_QPT_XRC_SEND, "xrc-send"},
    {1ULL << IBV_QPT_XRC_RECV, "xrc-receive"},
});

constexpr auto kHashFields = std::to_array<Bit>({
    {IBV_RX_HASH_SRC_IPV4, "IPv4 source"},
    {IBV_RX_HASH_DST_IPV4, "IPv4 destination"},
    {IBV_RX_HASH_SRC_IPV6, "IPv6 source"},
    {IBV_RX_HASH_DST_IPV6, "IPv6 destination"},
    {IBV_RX_HASH_SRC_PORT_TCP, "TCP source port"},
    {IBV_RX_HASH_DST_PORT_TCP, "TCP destination port"},
    {IBV_RX_HASH_SRC_PORT_UDP, "UDP source port"},
    {IBV_RX_HASH_DST_PORT_UDP, "UDP destination port"},
    {IBV_RX_HASH_IPSEC_SPI, "IPsec SPI"},
    {IBV_RX_HASH_INNER, "inner headers"},
});

constexpr auto kHashFunctions = std::to_array<Bit>({{IBV_RX_HASH_FUNC_TOEPLITZ, "Toeplitz"}});

constexpr auto kRawPacket = std::to_array<Bit>({
    {IBV_RAW_PACKET_CAP_CVLAN_STRIPPING, "C-VLAN stripping"},
    {IBV_RAW_PACKET_CAP_SCATTER_FCS, "FCS scattering"},
    {IBV_RAW_PACKET_CAP_IP_CSUM, "IP checksum"},
    {IBV_RAW_PACKET_CAP_DELAY_DROP, "delayed drop"},
});

constexpr auto kTagMatching = std::to_array<Bit>({{IBV_TM_CAP_RC, "rc"}});

constexpr auto kAtomicSizes = std::to_array<Bit>({
    {IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP, "4 B"},
    {IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP, "8 B"},
    {IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP, "16 B"},
});

// Vendor ids are IEEE OUIs; device ids from the PCI table of the kernel's mlx5_core.
constexpr std::uint32_t kVendor = 0x02c9;
constexpr auto kCards = std::to_array<std::pair<std::uint32_t, std::string_view>>({
    {0x1011, "Connect-IB"},
    {0x1012, "Connect-IB virtual function"},
    {0x1013, "ConnectX-4"},
    {0x1014, "ConnectX-4 virtual function"},
    {0x1015, "ConnectX-4 Lx"},
    {0x1016, "ConnectX-4 Lx virtual function"},
    {0x1017, "ConnectX-5"},
    {0x1018, "ConnectX-5 virtual function"},
    {0x1019, "ConnectX-5 Ex"},
    {0x101a, "ConnectX-5 Ex virtual function"},
    {0x101b, "ConnectX-6"},
    {0x101c, "ConnectX-6 virtual function"},
    {0x101d, "ConnectX-6 Dx"},
    {0x101e, "virtual function of a ConnectX-6 Dx or later"},
    {0x101f, "ConnectX-6 Lx"},
    {0x1021, "ConnectX-7"},
    {0x1023, "ConnectX-8"},
    {0xa2d2, "BlueField"},
    {0xa2d3, "BlueField virtual function"},
    {0xa2d6, "BlueField-2"},
    {0xa2dc, "BlueField-3"},
});

std::string bits(std::uint64_t value, std::span<const Bit> table, std::string_view none = kUnsupported)
{
    std::vector<std::string> names;
    for (const auto& [mask, name] : table) {
        if ((value & mask) != 0) {
            names.emplace_back(name);
            value &= ~mask;
        }
    }
    if (value != 0) {
        names.push_back(fmt::format("{:#x}", value));    // bits without a name
    }
    return names.empty() ? std::string(none) : fmt::format("{}", fmt::join(names, ", "));
}

template <typename T>
std::string count(T value)
{
    return value == 0 ? std::string(kUnsupported) : std::to_string(value);
}

std::string size(std::uint64_t bytes)
{
    return bytes == 0 ? std::string(kUnsupported) : bytes_to_string(bytes);
}

std::string power_of_two(int bit)
{
    constexpr std::array<std::string_view, 7> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    constexpr int kBitsPerUnit = 10;
    return fmt::format("{} {}", 1U << (bit % kBitsPerUnit), kUnits.at(static_cast<std::size_t>(bit / kBitsPerUnit)));
}

// A set of powers of two, as ranges: "4 KiB to 8 EiB".
std::string page_sizes(std::uint64_t mask)
{
    std::vector<std::string> ranges;
    for (int low = 0; low < std::numeric_limits<std::uint64_t>::digits;) {
        const int length = std::countr_one(mask >> low);
        if (length > 1) {
            ranges.push_back(fmt::format("{} to {}", power_of_two(low), power_of_two(low + length - 1)));
        } else if (length == 1) {
            ranges.push_back(power_of_two(low));
        }
        low += length + 1;    // the bit behind a run is not set
    }
    return ranges.empty() ? std::string(kNotStated) : fmt::format("{}", fmt::join(ranges, ", "));
}

std::string region_size(std::uint64_t bytes)
{
    return bytes == std::numeric_limits<std::uint64_t>::max() ? "no limit (2^64 - 1 B)" : size(bytes);
}

std::string guid(__be64 raw)
{
    return raw == 0 ? std::string(kNotStated) : to_string(Guid{be64toh(raw)});
}

std::string vendor(std::uint32_t id)
{
    return fmt::format("{:#06x}{}", id, id == kVendor ? " (Mellanox, NVIDIA)" : "");
}

std::string card(std::uint32_t vendor_id, std::uint32_t id)
{
    for (const auto& [device_id, name] : kCards) {
        if (vendor_id == kVendor && device_id == id) {
            return fmt::format("{:#06x} ({})", id, name);
        }
    }
    return fmt::format("{:#06x}", id);
}

// As a number: a device's answer may be none that the enumeration has.
std::string atomic(const ibv_device_attr& attr)
{
    std::uint32_t cap = 0;
    static_assert(sizeof(cap) == sizeof(attr.atomic_cap));
    std::memcpy(&cap, &attr.atomic_cap, sizeof(cap));
    switch (cap) {
    case IBV_ATOMIC_NONE:
        return std::string(kUnsupported);
    case IBV_ATOMIC_HCA:
        return "atomic among the queue pairs of this device";
    case IBV_ATOMIC_GLOB:
        return "atomic also against the host's processors";
    default:
        return fmt::format("{:#x}", cap);
    }
}

// Some devices pace, but report both bounds as 0: that is no range of nothing.
std::string pacing_rate(std::uint32_t kbps, const ibv_packet_pacing_caps& caps)
{
    if (kbps == 0 && caps.supported_qpts == 0) {
        return std::string(kUnsupported);
    }
    if (kbps == 0 && caps.qp_rate_limit_max == 0) {
        return std::string(kNotStated);
    }
    return to_string(Bandwidth::from_kbps(kbps));
}

// What the one flag costs that is paid in PCIe bandwidth, before any leaf or rate sees it.
std::string_view padding(std::uint64_t flags)
{
    return (flags & IBV_DEVICE_PCI_WRITE_END_PADDING) == 0
               ? ""
               : "PCI_WRITE_END_PADDING: the end of what is written to the host's memory can be padded to a full cache "
                 "line; that spares the host a read-modify-write, and takes up to twice the PCIe bandwidth for small "
                 "messages; off unless a program asks for it (IBV_QP_CREATE_PCI_WRITE_END_PADDING or "
                 "IBV_WQ_FLAGS_PCI_WRITE_END_PADDING; DPDK: rxq_pkt_pad_en=1), so leave these out to switch it off";
}

class List {
public:
    explicit List(std::string_view prefix = {}) : prefix_(prefix) {}

    void add(std::string_view name, std::string value, std::string_view meaning = {})
    {
        attributes_.push_back({fmt::format("{}{}", prefix_, name), std::move(value), std::string(meaning)});
    }
    void append_to(std::vector<DeviceAttribute>& all) &&
    {
        std::move(attributes_.begin(), attributes_.end(), std::back_inserter(all));
    }

private:
    std::string_view prefix_;
    std::vector<DeviceAttribute> attributes_;
};

List identity(const ibv_device_attr& attr)
{
    List list("orig_attr.");
    const std::string version(attr.fw_ver, strnlen(attr.fw_ver, sizeof(attr.fw_ver)));
    list.add("fw_ver", version.empty() ? std::string(kNotStated) : printable(version),
             "what the self-test found holds for this firmware");
    list.add("node_guid", guid(attr.node_guid),
             "by this and the port a device is recognised after a reset or a change of its name");
    list.add("sys_image_guid", guid(attr.sys_image_guid), "devices with the same one are functions of one card");
    list.add("max_mr_size", region_size(attr.max_mr_size));
    list.add("page_size_cap", page_sizes(attr.page_size_cap));
    list.add("vendor_id", vendor(attr.vendor_id));
    list.add("vendor_part_id", card(attr.vendor_id, attr.vendor_part_id));
    list.add("hw_ver", fmt::format("{:#x}", attr.hw_ver));
    return list;
}

List resources(const ibv_device_attr& attr)
{
    List list("orig_attr.");
    list.add("max_qp", count(attr.max_qp), "leaves are far fewer: queue pairs of a class share them");
    list.add("max_qp_wr", count(attr.max_qp_wr));
    list.add("device_cap_flags", bits(attr.device_cap_flags, kDeviceFlags, "none"), padding(attr.device_cap_flags));
    list.add("max_sge", count(attr.max_sge));
    list.add("max_sge_rd", count(attr.max_sge_rd));
    list.add("max_cq", count(attr.max_cq));
    list.add("max_cqe", count(attr.max_cqe));
    list.add("max_mr", count(attr.max_mr));
    list.add("max_pd", count(attr.max_pd));
    list.add("max_qp_rd_atom", count(attr.max_qp_rd_atom),
             "RDMA READs of a peer that one queue pair answers at a time; a level's `responder` shapes the answers");
    list.add("max_ee_rd_atom", count(attr.max_ee_rd_atom));
    list.add("max_res_rd_atom", count(attr.max_res_rd_atom));
    list.add("max_qp_init_rd_atom", count(attr.max_qp_init_rd_atom),
             "RDMA READs that one queue pair asks for at a time; the peer's tree shapes what comes back");
    list.add("max_ee_init_rd_atom", count(attr.max_ee_init_rd_atom));
    list.add("atomic_cap", atomic(attr));
    list.add("max_ee", count(attr.max_ee));
    list.add("max_rdd", count(attr.max_rdd));
    list.add("max_mw", count(attr.max_mw));
    list.add("max_raw_ipv6_qp", count(attr.max_raw_ipv6_qp));
    list.add("max_raw_ethy_qp", count(attr.max_raw_ethy_qp));
    list.add("max_mcast_grp", count(attr.max_mcast_grp));
    list.add("max_mcast_qp_attach", count(attr.max_mcast_qp_attach));
    list.add("max_total_mcast_qp_attach", count(attr.max_total_mcast_qp_attach));
    list.add("max_ah", count(attr.max_ah));
    list.add("max_fmr", count(attr.max_fmr));
    list.add("max_map_per_fmr", count(attr.max_map_per_fmr));
    list.add("max_srq", count(attr.max_srq));
    list.add("max_srq_wr", count(attr.max_srq_wr));
    list.add("max_srq_sge", count(attr.max_srq_sge));
    list.add("max_pkeys", count(attr.max_pkeys), "partitions by which a policy can choose a level");
    // InfiniBand Architecture Specification, "Local CA Ack Delay".
    list.add("local_ca_ack_delay", fmt::format("4.096 us * 2^{}", attr.local_ca_ack_delay));
    list.add("phys_port_cnt", count(attr.phys_port_cnt), "each port has a tree of its own");
    return list;
}

List paging(const ibv_odp_caps& caps)
{
    List list("odp_caps.");
    list.add("general_caps", bits(caps.general_caps, kOdpGeneral),
             "a page fault stalls its queue pair, whatever its class is due");
    list.add("per_transport_caps.rc_odp_caps", bits(caps.per_transport_caps.rc_odp_caps, kOdpTransport));
    list.add("per_transport_caps.uc_odp_caps", bits(caps.per_transport_caps.uc_odp_caps, kOdpTransport));
    list.add("per_transport_caps.ud_odp_caps", bits(caps.per_transport_caps.ud_odp_caps, kOdpTransport));
    return list;
}

List clocks_and_flags(const ibv_device_attr_ex& attr)
{
    List list;
    list.add("completion_timestamp_mask", attr.completion_timestamp_mask == 0
                                              ? std::string(kUnsupported)
                                              : fmt::format("{:#x}", attr.completion_timestamp_mask));
    list.add("hca_core_clock",
             attr.hca_core_clock == 0 ? std::string(kUnsupported) : fmt::format("{} kHz", attr.hca_core_clock));
    list.add("device_cap_flags_ex", bits(attr.device_cap_flags_ex, kDeviceFlags, "none"),
             padding(attr.device_cap_flags_ex));
    return list;
}

List ethernet_offloads(const ibv_device_attr_ex& attr)
{
    List list;
    list.add("tso_caps.max_tso", size(attr.tso_caps.max_tso), "so much may leave in one burst for a single send");
    list.add("tso_caps.supported_qpts", bits(attr.tso_caps.supported_qpts, kQueuePairTypes));
    list.add("rss_caps.supported_qpts", bits(attr.rss_caps.supported_qpts, kQueuePairTypes));
    list.add("rss_caps.max_rwq_indirection_tables", count(attr.rss_caps.max_rwq_indirection_tables));
    list.add("rss_caps.max_rwq_indirection_table_size", count(attr.rss_caps.max_rwq_indirection_table_size));
    list.add("rss_caps.rx_hash_fields_mask", bits(attr.rss_caps.rx_hash_fields_mask, kHashFields));
    list.add("rss_caps.rx_hash_function", bits(attr.rss_caps.rx_hash_function, kHashFunctions));
    list.add("max_wq_type_rq", count(attr.max_wq_type_rq));
    return list;
}

List pacing(const ibv_packet_pacing_caps& caps)
{
    List list("packet_pacing_caps.");
    list.add("qp_rate_limit_min", pacing_rate(caps.qp_rate_limit_min, caps),
             "lowest `max-rate` of a queue pair that pacing can hold");
    list.add("qp_rate_limit_max", pacing_rate(caps.qp_rate_limit_max, caps), "the highest");
    list.add("supported_qpts", bits(caps.supported_qpts, kQueuePairTypes),
             "types that are paced; a `max-rate` of others takes a leaf for each queue pair");
    return list;
}

List the_rest(const ibv_device_attr_ex& attr)
{
    List list;
    list.add("raw_packet_caps", bits(attr.raw_packet_caps, kRawPacket));
    list.add("tm_caps.max_rndv_hdr_size", size(attr.tm_caps.max_rndv_hdr_size));
    list.add("tm_caps.max_num_tags", count(attr.tm_caps.max_num_tags));
    list.add("tm_caps.flags", bits(attr.tm_caps.flags, kTagMatching));
    list.add("tm_caps.max_ops", count(attr.tm_caps.max_ops));
    list.add("tm_caps.max_sge", count(attr.tm_caps.max_sge));
    list.add("cq_mod_caps.max_cq_count", count(attr.cq_mod_caps.max_cq_count));
    list.add("cq_mod_caps.max_cq_period", attr.cq_mod_caps.max_cq_period == 0
                                              ? std::string(kUnsupported)
                                              : fmt::format("{} us", attr.cq_mod_caps.max_cq_period));
    list.add("max_dm_size", size(attr.max_dm_size));
    list.add("pci_atomic_caps.fetch_add", bits(attr.pci_atomic_caps.fetch_add, kAtomicSizes));
    list.add("pci_atomic_caps.swap", bits(attr.pci_atomic_caps.swap, kAtomicSizes));
    list.add("pci_atomic_caps.compare_swap", bits(attr.pci_atomic_caps.compare_swap, kAtomicSizes));
    list.add("xrc_odp_caps", bits(attr.xrc_odp_caps, kOdpTransport));
    list.add("phys_port_cnt_ex",
             attr.phys_port_cnt_ex == 0 ? std::string(kNotStated) : std::to_string(attr.phys_port_cnt_ex));
    return list;
}

}    // namespace

std::vector<DeviceAttribute> describe(const ibv_device_attr_ex& attr)
{
    std::vector<DeviceAttribute> all;
    identity(attr.orig_attr).append_to(all);
    resources(attr.orig_attr).append_to(all);
    List mask;
    mask.add("comp_mask", attr.comp_mask == 0 ? "none" : fmt::format("{:#x}", attr.comp_mask));
    std::move(mask).append_to(all);
    paging(attr.odp_caps).append_to(all);
    clocks_and_flags(attr).append_to(all);
    ethernet_offloads(attr).append_to(all);
    pacing(attr.packet_pacing_caps).append_to(all);
    the_rest(attr).append_to(all);
    return all;
}

}    // namespace rdmaqos::mlx5
