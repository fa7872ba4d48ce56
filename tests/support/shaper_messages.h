// What the kernel tells of other shapers of a port, made by hand: the content of messages, without netlink's header.
#pragma once

#include <linux/dcbnl.h>
#include <linux/devlink.h>
#include <linux/genetlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "tests/support/netlink_bytes.h"

namespace rdmaqos::test::netlink {

constexpr int kInterface = 7;
constexpr const char* kFunction = "0000:3b:00.0";

inline Bytes qdisc(const char* kind, const Bytes& more, int interface = kInterface)
{
    tcmsg header{};
    header.tcm_ifindex = interface;
    return bytes_of(header) + text(TCA_KIND, kind) + more;
}

inline Bytes mqprio(std::uint8_t hardware)
{
    tc_mqprio_qopt options{};
    options.hw = hardware;
    return qdisc("mqprio", attribute(TCA_OPTIONS, bytes_of(options)));
}

inline Bytes offloaded_htb()
{
    return qdisc("htb", attribute(TCA_OPTIONS, attribute(TCA_HTB_OFFLOAD, {})));
}

inline Bytes dcb_answer(const Bytes& ieee)
{
    dcbmsg header{};
    header.cmd = DCB_CMD_IEEE_GET;
    return bytes_of(header) + text(DCB_ATTR_IFNAME, "ens1") + attribute(DCB_ATTR_IEEE, ieee);
}

inline Bytes generic(const Bytes& attributes)
{
    return bytes_of(genlmsghdr{1, 1, 0}) + attributes;
}

inline Bytes rate(const Bytes& more)
{
    return generic(text(DEVLINK_ATTR_BUS_NAME, "pci") + text(DEVLINK_ATTR_DEV_NAME, kFunction) + more);
}

}    // namespace rdmaqos::test::netlink
