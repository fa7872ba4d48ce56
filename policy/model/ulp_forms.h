// What the simplified rules of `qos-ulps` stand for: one table for the YAML and for OpenSM's own format.
//
//     sdp                       service-id 0x10000-0x1ffff
//     sdp, port-num R           service-id 0x10000 + R
//     rds / iser                service-id 0x10648ca / 0x1060cbc
//     rds / iser, port-num R    service-id 0x1060000 + R
//     ipoib                     pkey 0x7fff
//     ipoib|any, pkey R         pkey R
//     any, service-id R         service-id R
//     srp|any, *-port-guid R    source, destination or both: a group of those ports
//
// [host] Not of OpenSM; rdma_cm's TCP port space, in which all of these connect:
//
//     lustre                    service-id 0x1060000 + 987: `service` of ko2iblnd (o2iblnd_modparams.c of Lustre)
//     nvme-of                   0x1060000 + 4420: NVME_RDMA_IP_PORT of Linux (include/linux/nvme.h), `nvme` of IANA;
//                               the discovery service is there too: 8009 is that of NVMe/TCP (NVME_TCP_DISC_PORT)
//     nfs-rdma                  0x1060000 + 20049: NFS_RDMA_PORT of Linux (include/linux/nfs.h), RFC 8267, IANA
//     ceph                      0x1060000 + 3300, 6789 (monitors: IANA, Ceph's manual), 6800-7568 (ms_bind_port_min and
//                               ms_bind_port_max of Ceph); only with `ms_async_rdma_cm = true`
//     any of these, port-num R  service-id 0x1060000 + R
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/interval_set.h"

namespace rdmaqos {

enum class Ulp : std::uint8_t { Default, Sdp, Rds, Iser, Srp, Ipoib, Any, Lustre, NvmeOf, NfsRdma, Ceph };

enum class UlpCriterion : std::uint8_t {
    PortNum,
    ServiceId,
    PKey,
    TargetPortGuid,
    SourcePortGuid,
    SourceTargetPortGuid,
};

constexpr std::uint64_t kHighestUlpPort = 0xFFFF;

struct UlpForm {
    Ulp ulp = Ulp::Default;
    std::string_view name;
    std::vector<UlpCriterion> criteria;    // one of these may stand
    bool needs_one = false;
    bool host_only = false;    // OpenSM's own format does not know it
};

// In the order of Ulp.
[[nodiscard]] const std::array<UlpForm, 11>& ulp_forms();
[[nodiscard]] const UlpForm& form_of(Ulp ulp);
// "port-num"
[[nodiscard]] std::string_view to_string(UlpCriterion criterion);

// What one entry asks for; `group_name` is empty unless `port_guids` are to become a port group of that name, which is
// then the source, the destination or both of the rule.
struct UlpMeaning {
    IntervalSet service_id;
    IntervalSet pkey;
    std::string_view group_name;
    IntervalSet port_guids;
    bool group_is_source = false;
    bool group_is_destination = false;
};

// `ranges` are those of the criterion: ports up to kHighestUlpPort, P_Keys masked to 15 bits. Ulp::Default means
// nothing.
[[nodiscard]] UlpMeaning meaning_of(Ulp ulp, std::optional<UlpCriterion> criterion, const IntervalSet& ranges);

}    // namespace rdmaqos
