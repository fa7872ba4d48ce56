#include "lib/nic_mlx5/attributes.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <endian.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace rdmaqos::mlx5 {
namespace {

using rdmaqos::test::expect_golden;
using Attr = ibv_device_attr_ex;

void fill_general(ibv_device_attr& attr)
{
    std::strcpy(attr.fw_ver, "22.31.1014");
    attr.node_guid = htobe64(0x1070fd0300aa0000);
    attr.sys_image_guid = htobe64(0x1070fd0300aa0000);
    attr.max_mr_size = std::numeric_limits<std::uint64_t>::max();
    attr.page_size_cap = 0xfffffffffffff000;
    attr.vendor_id = 0x2c9;
    attr.vendor_part_id = 0x101d;
    attr.max_qp = 131072;
    attr.max_qp_wr = 32768;
    attr.device_cap_flags = 0x21361c36;
    attr.max_sge = 30;
    attr.max_sge_rd = 30;
    attr.max_cq = 16777216;
    attr.max_cqe = 4194303;
    attr.max_mr = 16777216;
    attr.max_pd = 8388608;
    attr.max_qp_rd_atom = 16;
    attr.max_res_rd_atom = 2097152;
    attr.max_qp_init_rd_atom = 16;
    attr.atomic_cap = IBV_ATOMIC_HCA;
    attr.max_mw = 16777216;
    attr.max_mcast_grp = 2097152;
    attr.max_mcast_qp_attach = 240;
    attr.max_total_mcast_qp_attach = 503316480;
    attr.max_ah = std::numeric_limits<int>::max();
    attr.max_srq = 8388608;
    attr.max_srq_wr = 32767;
    attr.max_srq_sge = 31;
    attr.max_pkeys = 128;
    attr.local_ca_ack_delay = 16;
    attr.phys_port_cnt = 1;
}

// What `ibv_devinfo -v` shows of a ConnectX-6 Dx. Of pacing it states types but no range.
Attr connectx6_dx()
{
    Attr attr{};
    fill_general(attr.orig_attr);
    attr.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
    attr.odp_caps.per_transport_caps.rc_odp_caps = 0x3f;
    attr.odp_caps.per_transport_caps.ud_odp_caps = 0x1;
    attr.completion_timestamp_mask = 0x7fffffffffffffff;
    attr.hca_core_clock = 1'000'000;
    attr.device_cap_flags_ex = 0x1021361c36;
    attr.tso_caps.max_tso = 262144;
    attr.tso_caps.supported_qpts = 1U << IBV_QPT_RAW_PACKET;
    attr.rss_caps.supported_qpts = 1U << IBV_QPT_RAW_PACKET;
    attr.rss_caps.max_rwq_indirection_tables = 1048576;
    attr.rss_caps.max_rwq_indirection_table_size = 2048;
    attr.rss_caps.rx_hash_fields_mask = 0x800001ff;
    attr.rss_caps.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
    attr.max_wq_type_rq = 8388608;
    attr.packet_pacing_caps.supported_qpts = 1U << IBV_QPT_RAW_PACKET;
    attr.raw_packet_caps = 0x7;
    attr.tm_caps = {64, 127, IBV_TM_CAP_RC, 32768, 30};
    attr.cq_mod_caps = {65535, 4095};
    attr.max_dm_size = 131072;
    attr.pci_atomic_caps = {0x2, 0, 0x6};
    attr.xrc_odp_caps = 0x1f;
    attr.phys_port_cnt_ex = 1;
    return attr;
}

std::string text_of(const std::vector<DeviceAttribute>& attributes)
{
    std::string text;
    for (const auto& [name, value, meaning] : attributes) {
        text += fmt::format("{} = {}{}\n", name, value, meaning.empty() ? "" : "    # " + meaning);
    }
    return text;
}

std::string value_of(const Attr& attr, const std::string& name)
{
    const auto attributes = describe(attr);
    const auto found = std::ranges::find(attributes, name, &DeviceAttribute::name);
    return found == attributes.end() ? "no such attribute" : found->value;
}

TEST(Attributes, OfAConnectX6Dx)
{
    expect_golden("nic_mlx5/attributes-connectx6-dx.txt", text_of(describe(connectx6_dx())));
}

TEST(Attributes, OfADeviceThatSaysNothing)
{
    expect_golden("nic_mlx5/attributes-empty.txt", text_of(describe(Attr{})));
}

TEST(Attributes, NamesAreUnique)
{
    std::set<std::string> names;
    for (const auto& attribute : describe(connectx6_dx())) {
        EXPECT_TRUE(names.insert(attribute.name).second) << attribute.name;
        EXPECT_FALSE(attribute.value.empty()) << attribute.name;
    }
}

// Where the compiler leaves room between two fields, from behind one to the beginning of the next.
struct Gap {
    std::size_t begin;
    std::size_t end;
};

// NOLINTNEXTLINE(*-macro-usage): offsetof wants the name
#define RDMAQOS_BEHIND(type, field) (offsetof(type, field) + sizeof(type::field))

std::vector<Gap> padding()
{
    using Orig = ibv_device_attr;
    using Odp = ibv_odp_caps;
    using Rss = ibv_rss_caps;
    const std::size_t odp = offsetof(Attr, odp_caps);
    const std::size_t rss = offsetof(Attr, rss_caps);
    return {
        // the tail of orig_attr, which holds 64-bit fields
        {RDMAQOS_BEHIND(Orig, phys_port_cnt), sizeof(Orig)},
        // 64-bit fields stand behind these
        {RDMAQOS_BEHIND(Attr, comp_mask), odp},
        {odp + RDMAQOS_BEHIND(Odp, per_transport_caps), odp + sizeof(Odp)},
        {rss + RDMAQOS_BEHIND(Rss, max_rwq_indirection_table_size), rss + offsetof(Rss, rx_hash_fields_mask)},
        {RDMAQOS_BEHIND(Attr, cq_mod_caps), offsetof(Attr, max_dm_size)},
        // a byte at the end of a structure with 64-bit fields
        {rss + RDMAQOS_BEHIND(Rss, rx_hash_function), rss + sizeof(Rss)},
        // a 32-bit field behind three of 16
        {RDMAQOS_BEHIND(Attr, pci_atomic_caps), offsetof(Attr, xrc_odp_caps)},
        // the tail
        {RDMAQOS_BEHIND(Attr, phys_port_cnt_ex), sizeof(Attr)},
    };
}

bool is_padding(std::size_t offset)
{
    const auto gaps = padding();
    return std::ranges::any_of(gaps, [&](const Gap& gap) { return gap.begin <= offset && offset < gap.end; });
}

TEST(Attributes, PaddingIsNoMoreThanAlignmentNeeds)
{
    std::size_t total = 0;
    for (const auto& [begin, end] : padding()) {
        EXPECT_LE(begin, end);
        EXPECT_LT(end - begin, alignof(std::uint64_t));
        total += end - begin;
    }
    EXPECT_LT(total, sizeof(Attr) / 8);
}

// Every bit of every field is in the output: a field that is not printed, or that is printed in part, fails.
void expect_every_bit_shows(const Attr& attr)
{
    const auto before = describe(attr);
    for (std::size_t offset = 0; offset < sizeof(Attr); ++offset) {
        if (is_padding(offset)) {
            continue;
        }
        for (unsigned bit = 0; bit < 8; ++bit) {
            std::array<unsigned char, sizeof(Attr)> bytes{};
            std::memcpy(bytes.data(), &attr, sizeof(Attr));
            bytes.at(offset) = static_cast<unsigned char>(bytes.at(offset) ^ (1U << bit));
            Attr changed{};
            std::memcpy(&changed, bytes.data(), sizeof(Attr));
            ASSERT_FALSE(before == describe(changed))
                << "byte " << offset << ", bit " << bit << " of struct ibv_device_attr_ex";
        }
    }
}

// A version that fills its field, so that no byte stands behind its end.
Attr with_long_version(Attr attr)
{
    std::memset(attr.orig_attr.fw_ver, '7', sizeof(attr.orig_attr.fw_ver));
    return attr;
}

TEST(Attributes, ShowEveryBit)
{
    expect_every_bit_shows(with_long_version(connectx6_dx()));
}

TEST(Attributes, ShowEveryBitOfADeviceThatHasNothing)
{
    expect_every_bit_shows(with_long_version(Attr{}));
}

TEST(Attributes, ShowEveryBitOfADeviceThatHasEverything)
{
    Attr attr{};
    std::memset(&attr, 0xff, sizeof(attr));
    attr.orig_attr.atomic_cap = IBV_ATOMIC_GLOB;
    expect_every_bit_shows(with_long_version(attr));
}

TEST(Attributes, APacingRangeOfZerosIsNotStated)
{
    Attr attr{};
    EXPECT_EQ(value_of(attr, "packet_pacing_caps.qp_rate_limit_max"), "unsupported");
    attr.packet_pacing_caps.supported_qpts = 1U << IBV_QPT_UD;
    EXPECT_EQ(value_of(attr, "packet_pacing_caps.qp_rate_limit_min"), "not stated");
    EXPECT_EQ(value_of(attr, "packet_pacing_caps.qp_rate_limit_max"), "not stated");
    attr.packet_pacing_caps.qp_rate_limit_max = 100'000'000;
    EXPECT_EQ(value_of(attr, "packet_pacing_caps.qp_rate_limit_min"), "0 kbit/s");
    EXPECT_EQ(value_of(attr, "packet_pacing_caps.qp_rate_limit_max"), "100 Gbit/s");
    EXPECT_EQ(value_of(attr, "packet_pacing_caps.supported_qpts"), "ud");
}

TEST(Attributes, KeepBitsWithoutAName)
{
    Attr attr{};
    attr.device_cap_flags_ex = IBV_DEVICE_XRC | IBV_DEVICE_PCI_WRITE_END_PADDING | (1ULL << 60);
    EXPECT_EQ(value_of(attr, "device_cap_flags_ex"), "XRC, PCI_WRITE_END_PADDING, 0x1000000000000000");
    const auto padding = [&attr] {
        const auto all = describe(attr);
        const auto found = std::ranges::find(all, "device_cap_flags_ex", &DeviceAttribute::name);
        return found == all.end() ? std::string("absent") : found->meaning;
    };
    EXPECT_THAT(padding(), testing::HasSubstr("up to twice the PCIe bandwidth for small messages"));
    EXPECT_THAT(padding(), testing::HasSubstr("to switch it off"));
    attr.device_cap_flags_ex = IBV_DEVICE_XRC;
    EXPECT_EQ(padding(), "");
}

TEST(Attributes, PageSizesAreRanges)
{
    Attr attr{};
    attr.orig_attr.page_size_cap = 0x8000000040201000 | 0x6000;
    EXPECT_EQ(value_of(attr, "orig_attr.page_size_cap"), "4 KiB to 16 KiB, 2 MiB, 1 GiB, 8 EiB");
    attr.orig_attr.page_size_cap = std::numeric_limits<std::uint64_t>::max();
    EXPECT_EQ(value_of(attr, "orig_attr.page_size_cap"), "1 B to 8 EiB");
}

TEST(Attributes, AVersionIsMadePrintable)
{
    Attr attr{};
    std::strcpy(attr.orig_attr.fw_ver, "1\x1b[31m");
    EXPECT_EQ(value_of(attr, "orig_attr.fw_ver"), "1\\x1b[31m");
}

}    // namespace
}    // namespace rdmaqos::mlx5
