#include "tools/emulator/address_path.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include <infiniband/verbs.h>

namespace rdmaqos::emulator {
namespace {

using namespace mlx5;
using namespace mlx5::prm;

// The hop limit of a route without one of its own: on Ethernet the kernel takes the route's.
constexpr std::uint8_t kRouteHops = 64;

// Rates of enum ibv_rate at their places in the hardware's count; others are farther up by the offset.
constexpr std::uint8_t kRateOffset = 5;
constexpr std::uint8_t kHardwareRates[] = {IBV_RATE_MAX,      IBV_RATE_56_GBPS, IBV_RATE_25_GBPS, IBV_RATE_100_GBPS,
                                           IBV_RATE_200_GBPS, IBV_RATE_50_GBPS, IBV_RATE_400_GBPS};

// Of enum ibv_rate.
std::uint8_t hardware_rate(std::uint8_t rate)
{
    const auto* found = std::find(std::begin(kHardwareRates), std::end(kHardwareRates), rate);
    return static_cast<std::uint8_t>(found == std::end(kHardwareRates) ? rate + kRateOffset
                                                                       : found - std::begin(kHardwareRates));
}

std::uint8_t verbs_rate(std::uint64_t hardware)
{
    return static_cast<std::uint8_t>(hardware < std::size(kHardwareRates) ? kHardwareRates[hardware]
                                                                          : hardware - kRateOffset);
}

struct Path {
    std::size_t place;    // in the context
    const ib_uverbs_qp_dest& address;
    std::uint64_t port;
    std::uint64_t pkey_index;
    std::uint64_t timeout;
};

void put_path(Mailbox& answer, const Path& from, bool infiniband)
{
    const auto put = [&](Field field, std::uint64_t value) { set(answer, at(kQpc + from.place, field), value); };
    const ib_uverbs_qp_dest& address = from.address;
    put(path::kPort, from.port);
    put(path::kPkeyIndex, from.pkey_index);
    put(path::kAckTimeout, from.timeout);
    put(path::kStaticRate, hardware_rate(address.static_rate));
    if (infiniband) {
        put(path::kGlobal, address.is_global);
        put(path::kPathBits, address.src_path_bits);
        put(path::kLid, address.dlid);
        put(path::kSl, address.sl);
    } else {
        put(path::kEthPriority, address.sl);
        put(path::kDscp, address.traffic_class >> 2U);
    }
    if (address.is_global == 0) {
        return;
    }
    put(path::kGidIndex, address.sgid_index);
    put(path::kHopLimit, address.hop_limit);
    put(path::kTrafficClass, address.traffic_class);
    put(path::kFlowLabel, address.flow_label);
    for (std::size_t byte = 0; byte < std::size(address.dgid); ++byte) {
        put({path::kGid + 8 * byte, 8}, address.dgid[byte]);
    }
}

}    // namespace

int fit_address(ib_uverbs_qp_dest& address, bool infiniband)
{
    if (address.static_rate != IBV_RATE_MAX &&
        (address.static_rate < IBV_RATE_2_5_GBPS || address.static_rate > IBV_RATE_600_GBPS)) {
        return EINVAL;
    }
    address.sl &= infiniband ? 0xf : 0x7;
    address.src_path_bits &= 0x7f;
    address.flow_label &= 0xfffff;
    address.is_global = address.is_global != 0 ? 1 : 0;
    if (!infiniband) {
        address.hop_limit = kRouteHops;
    }
    return 0;
}

std::optional<Bandwidth> static_rate(std::uint8_t rate)
{
    struct Row {
        ibv_rate rate;
        std::uint64_t mbps;
    };
    // What the links of InfiniBand carry of data.
    static constexpr Row kRates[] = {
        {IBV_RATE_2_5_GBPS, 2500},   {IBV_RATE_5_GBPS, 5000},     {IBV_RATE_10_GBPS, 10000},
        {IBV_RATE_14_GBPS, 14062},   {IBV_RATE_20_GBPS, 20000},   {IBV_RATE_25_GBPS, 25781},
        {IBV_RATE_28_GBPS, 28125},   {IBV_RATE_30_GBPS, 30000},   {IBV_RATE_40_GBPS, 40000},
        {IBV_RATE_50_GBPS, 53125},   {IBV_RATE_56_GBPS, 56250},   {IBV_RATE_60_GBPS, 60000},
        {IBV_RATE_80_GBPS, 80000},   {IBV_RATE_100_GBPS, 103125}, {IBV_RATE_112_GBPS, 112500},
        {IBV_RATE_120_GBPS, 120000}, {IBV_RATE_168_GBPS, 168750}, {IBV_RATE_200_GBPS, 206250},
        {IBV_RATE_300_GBPS, 309375}, {IBV_RATE_400_GBPS, 425000}, {IBV_RATE_600_GBPS, 637500},
    };
    const auto* found = std::find_if(std::begin(kRates), std::end(kRates),
                                     [&](const Row& row) { return row.rate == rate; });
    return found == std::end(kRates) ? std::nullopt : std::optional(Bandwidth::from_mbps(found->mbps));
}

ib_uverbs_qp_dest reported_address(const ib_uverbs_qp_dest& fitted, std::uint32_t port, bool infiniband)
{
    ib_uverbs_qp_dest reported{};
    if (port == 0) {
        return reported;
    }
    reported.port_num = static_cast<std::uint8_t>(port);
    reported.static_rate = fitted.static_rate;
    reported.is_global = infiniband ? fitted.is_global : 1;
    if (infiniband) {
        reported.dlid = fitted.dlid;
        reported.sl = fitted.sl;
        reported.src_path_bits = fitted.src_path_bits;
    }
    if (fitted.is_global != 0) {
        std::copy(std::begin(fitted.dgid), std::end(fitted.dgid), std::begin(reported.dgid));
        reported.flow_label = fitted.flow_label;
        reported.sgid_index = fitted.sgid_index;
        reported.hop_limit = fitted.hop_limit;
        reported.traffic_class = fitted.traffic_class;
    }
    return reported;
}

ib_uverbs_qp_dest address_in(const Mailbox& context, bool infiniband)
{
    const auto field = [&](Field of_path) { return get(context, at(qpc::kPath, of_path)); };
    ib_uverbs_qp_dest address{};
    address.port_num = static_cast<std::uint8_t>(field(path::kPort));
    address.static_rate = verbs_rate(field(path::kStaticRate));
    address.is_global = infiniband ? static_cast<std::uint8_t>(field(path::kGlobal)) : 1;
    if (infiniband) {
        address.src_path_bits = static_cast<std::uint8_t>(field(path::kPathBits));
        address.dlid = static_cast<std::uint16_t>(field(path::kLid));
        address.sl = static_cast<std::uint8_t>(field(path::kSl));
        address.traffic_class = static_cast<std::uint8_t>(field(path::kTrafficClass));
    } else {
        address.sl = static_cast<std::uint8_t>(field(path::kEthPriority));
        address.traffic_class = static_cast<std::uint8_t>(field(path::kDscp) << 2U);
    }
    address.sgid_index = static_cast<std::uint8_t>(field(path::kGidIndex));
    address.hop_limit = static_cast<std::uint8_t>(field(path::kHopLimit));
    address.flow_label = static_cast<std::uint32_t>(field(path::kFlowLabel));
    for (std::size_t byte = 0; byte < std::size(address.dgid); ++byte) {
        address.dgid[byte] = static_cast<std::uint8_t>(field({path::kGid + 8 * byte, 8}));
    }
    return address;
}

void put_attributes(Mailbox& answer, const QueuePairData& data, bool infiniband)
{
    const auto& kept = data.attributes;
    const auto put = [&](Field field, std::uint64_t value) { set(answer, at(kQpc, field), value); };
    put(qpc::kQkey, kept.qkey);
    put(qpc::kMtu, path_mtu_of(data));
    put(qpc::kRemoteQpn, kept.dest_qp_num);
    put(qpc::kNextReceivePsn, kept.rq_psn);
    put(qpc::kNextSendPsn, kept.sq_psn);
    put_path(answer, {qpc::kPath, kept.dest, kept.port_num, kept.pkey_index, kept.timeout}, infiniband);
    put_path(answer, {qpc::kSecondPath, kept.alt_dest, kept.alt_port_num, kept.alt_pkey_index, kept.alt_timeout},
             infiniband);
}

}    // namespace rdmaqos::emulator
