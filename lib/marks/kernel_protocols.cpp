#include "lib/marks/kernel_protocols.h"

#include <fmt/format.h>

namespace rdmaqos::marks {
namespace {

constexpr std::uint16_t kNvme[] = {4420};
constexpr std::uint16_t kNfs[] = {20049};
constexpr std::uint16_t kIscsi[] = {3260};
constexpr std::uint16_t kLustre[] = {987};
constexpr std::uint16_t kSmb[] = {445, 5445};
constexpr std::uint16_t kRds[] = {18634, 16385};
constexpr std::uint16_t kRtrs[] = {1234};
constexpr std::uint16_t kNineP[] = {5640};
constexpr std::uint16_t kBeegfs[] = {8003, 8005};

// Read, not tried: of Linux 6.1 where nothing else is said.
constexpr KernelProtocol kProtocols[] = {
    {.what = "NVMe over Fabrics, host",
     .module = "nvme_rdma",
     .ports = kNvme,
     .marked_by = MarkedBy::Setting,
     .accepts = false,
     .setting = "nvme connect --tos=TOS",
     .remark = "controllers that are connected keep what they have until they are connected again",
     .source = "drivers/nvme/host/rdma.c: nvme_rdma_addr_resolved(); fabrics.c: \"tos=%d\""},
    {.what = "NVMe over Fabrics, target",
     .module = "nvmet_rdma",
     .ports = kNvme,
     .marked_by = MarkedBy::Peer,
     .accepts = true,
     .setting = "",
     .remark = "",
     .source = "drivers/nvme/target/rdma.c has no type of service, and neither has its configfs"},
    {.what = "NFS over RDMA",
     .module = "rpcrdma",
     .ports = kNfs,
     .marked_by = MarkedBy::Default,
     .accepts = true,
     .setting = "",
     .remark = "",
     .source = "net/sunrpc/xprtrdma/verbs.c and svc_rdma_transport.c set none"},
    {.what = "iSER, initiator",
     .module = "ib_iser",
     .ports = kIscsi,
     .marked_by = MarkedBy::Default,
     .accepts = false,
     .setting = "",
     .remark = "",
     .source = "drivers/infiniband/ulp/iser/iser_verbs.c sets none; its port is that of iSCSI (RFC 7145)"},
    {.what = "iSER, target",
     .module = "ib_isert",
     .ports = kIscsi,
     .marked_by = MarkedBy::Peer,
     .accepts = true,
     .setting = "",
     .remark = "",
     .source = "drivers/infiniband/ulp/isert/ib_isert.c sets none"},
    {.what = "SRP, initiator",
     .module = "ib_srp",
     .ports = {},
     .marked_by = MarkedBy::Default,
     .accepts = false,
     .setting = "",
     .remark = "its port is the one that the target is given (`rdma_cm_port`)",
     .source = "drivers/infiniband/ulp/srp/ib_srp.c sets none; rdma_cm with `dest=ADDRESS:PORT` alone"},
    {.what = "SRP, target",
     .module = "ib_srpt",
     .ports = {},
     .marked_by = MarkedBy::Peer,
     .accepts = true,
     .setting = "",
     .remark = "",
     .source = "drivers/infiniband/ulp/srpt/ib_srpt.c sets none"},
    {.what = "Lustre",
     .module = "ko2iblnd",
     .ports = kLustre,
     .marked_by = MarkedBy::Default,
     .accepts = true,
     .setting = "",
     .remark = "newer versions of Lustre have a `tos` of each network among the \"lnd tunables\" of lnetctl; if it is "
               "set there, that counts",
     .source = "lnet/klnds/o2iblnd/o2iblnd_modparams.c sets none up to 2.15; o2iblnd.h of later ones: "
               "LNET_NET_O2IBLND_TUNABLES_ATTR_LND_TOS"},
    {.what = "SMB Direct, client",
     .module = "cifs",
     .ports = kSmb,
     .marked_by = MarkedBy::Default,
     .accepts = false,
     .setting = "",
     .remark = "only what is mounted with `-o rdma`",
     .source = "fs/smb/client/smbdirect.c sets none; SMB_PORT and SMBD_PORT"},
    {.what = "SMB Direct, server",
     .module = "ksmbd",
     .ports = kSmb,
     .marked_by = MarkedBy::Peer,
     .accepts = true,
     .setting = "",
     .remark = "",
     .source = "fs/smb/server/transport_rdma.c sets none"},
    {.what = "RDS",
     .module = "rds_rdma",
     .ports = kRds,
     .marked_by = MarkedBy::Program,
     .accepts = true,
     .setting = "ioctl(SIOCRDSSETTOS) with TOS, before its first message",
     .remark = "on InfiniBand its lower four bits are the SL",
     .source = "net/rds/rdma_transport.c: rdma_set_service_type(cm_id, conn->c_tos) for each connection"},
    {.what = "RTRS and RNBD, client",
     .module = "rtrs_client",
     .ports = kRtrs,
     .marked_by = MarkedBy::Default,
     .accepts = false,
     .setting = "",
     .remark = "",
     .source = "drivers/infiniband/ulp/rtrs/rtrs-clt.c sets none; drivers/block/rnbd/rnbd-proto.h: RTRS_PORT"},
    {.what = "RTRS and RNBD, server",
     .module = "rtrs_server",
     .ports = kRtrs,
     .marked_by = MarkedBy::Peer,
     .accepts = true,
     .setting = "",
     .remark = "",
     .source = "drivers/infiniband/ulp/rtrs/rtrs-srv.c sets none"},
    {.what = "9P over RDMA",
     .module = "9pnet_rdma",
     .ports = kNineP,
     .marked_by = MarkedBy::Default,
     .accepts = false,
     .setting = "",
     .remark = "",
     .source = "net/9p/trans_rdma.c sets none; P9_PORT"},
    {.what = "BeeGFS, client",
     .module = "beegfs",
     .ports = kBeegfs,
     .marked_by = MarkedBy::Setting,
     .accepts = false,
     .setting = "connRDMATypeOfService = TOS in beegfs-client.conf",
     .remark = "",
     .source = "BeeGFS 7: net/sock/ibv/IBVSocket.c of its client module, unless it is 0"},
    {.what = "SMC-R",
     .module = "smc",
     .ports = {},
     .marked_by = MarkedBy::Nothing,
     .accepts = true,
     .setting = "",
     .remark = "it does without rdma_cm, so that no rule can name it",
     .source = "net/smc/smc_ib.c: smc_ib_modify_qp_rtr() has traffic class 0"},
};

constexpr std::string_view kPlace = "TOS";

}    // namespace

std::string_view to_string(MarkedBy by)
{
    switch (by) {
    case MarkedBy::Default:
        return "default";
    case MarkedBy::Setting:
        return "setting";
    case MarkedBy::Program:
        return "program";
    case MarkedBy::Nothing:
        return "nothing";
    case MarkedBy::Peer:
        return "peer";
    }
    return {};
}

std::span<const KernelProtocol> kernel_protocols()
{
    return kProtocols;
}

std::string setting_for(const KernelProtocol& protocol, std::uint8_t traffic_class)
{
    std::string text(protocol.setting);
    if (const std::size_t at = text.rfind(kPlace); at != std::string::npos) {
        text.replace(at, kPlace.size(), fmt::format("{}", traffic_class));
    }
    return text;
}

std::string how_to_mark(const KernelProtocol& protocol, std::optional<std::uint8_t> traffic_class)
{
    const std::string setting = traffic_class ? setting_for(protocol, *traffic_class) : "its own setting";
    switch (protocol.marked_by) {
    case MarkedBy::Default:
        return fmt::format("by default_roce_tos{} of the port, which all share that have no setting of their own",
                           traffic_class ? fmt::format(" {}", *traffic_class) : "");
    case MarkedBy::Setting:
        return fmt::format("by {}; without it, by default_roce_tos of the port", setting);
    case MarkedBy::Program:
        return fmt::format("by the programs that use it{}; without it 0, whatever default_roce_tos is",
                           traffic_class ? fmt::format(": {}", setting) : "");
    case MarkedBy::Nothing:
        return "by nothing: its packets have traffic class 0";
    case MarkedBy::Peer:
        return "by the host that connects: this side has the traffic class of its request";
    }
    return {};
}

}    // namespace rdmaqos::marks
