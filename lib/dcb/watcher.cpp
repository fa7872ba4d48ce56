#include "lib/dcb/watcher.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include <linux/dcbnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "lib/dcb/messages.h"
#include "lib/netlink/structures.h"

namespace rdmaqos::dcb {
namespace {

// The kernel's buffers for these messages have a page.
constexpr std::size_t kDatagram = 32768;
// With each drain, so that a flood does not keep the caller.
constexpr std::size_t kDatagrams = 256;
// The number of a request of `dcb` is the second at which it was made; it is read a little later.
constexpr std::int64_t kRecentSeconds = 60;

Error cannot(int error, std::string what)
{
    return error_from_errno(ErrorCode::Io, error, "changes of traffic classes cannot be received: " + std::move(what));
}

std::optional<Change> read_change(const nlmsghdr& header, netlink::Bytes content)
{
    const auto message = netlink::header_of<dcbmsg>(content);
    if (!message || (header.nlmsg_type != RTM_SETDCB && header.nlmsg_type != RTM_GETDCB)) {
        return std::nullopt;
    }
    Change change;
    change.interface = netlink::text_in(netlink::attributes_behind<dcbmsg>(content), DCB_ATTR_IFNAME);
    if (change.interface.empty() || change.interface.size() >= IFNAMSIZ) {
        return std::nullopt;
    }
    change.kind = message->cmd == DCB_CMD_IEEE_SET   ? ChangeKind::Set
                  : message->cmd == DCB_CMD_IEEE_DEL ? ChangeKind::Delete
                                                     : ChangeKind::Other;
    change.sequence = header.nlmsg_seq;
    change.port = header.nlmsg_pid;
    if (change.kind != ChangeKind::Other) {
        change.settings = read_settings(content);
    }
    return change;
}

}    // namespace

Author author_of(const Change& change, const Transport& ours, std::int64_t now)
{
    if (change.sequence == 0) {
        return Author::Driver;
    }
    if (ours.has_sent(change.sequence)) {
        return Author::Ourselves;
    }
    return std::llabs(now - static_cast<std::int64_t>(change.sequence)) <= kRecentSeconds ? Author::DcbTool
                                                                                          : Author::Unknown;
}

std::vector<Change> read_changes(netlink::Bytes rest)
{
    std::vector<Change> changes;
    while (rest.size() >= sizeof(nlmsghdr)) {
        const auto header = *netlink::first_bytes_as<nlmsghdr>(rest);
        if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > rest.size()) {
            break;
        }
        if (auto change = read_change(header, rest.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN))) {
            changes.push_back(std::move(*change));
        }
        rest = rest.subspan(std::min<std::size_t>(NLMSG_ALIGN(header.nlmsg_len), rest.size()));
    }
    return changes;
}

Result<Watcher> Watcher::open()
{
    UniqueFd made(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
    if (!made) {
        return fail(cannot(errno, "netlink"));
    }
    // Without a port number of its own the socket is told nothing: the kernel leaves out who has that of the sender,
    // and its own is 0.
    sockaddr_nl any{};
    any.nl_family = AF_NETLINK;
    if (bind(made.get(), reinterpret_cast<const sockaddr*>(&any), sizeof(any)) != 0) {    // NOLINT(*-reinterpret-cast)
        return fail(cannot(errno, "its port number"));
    }
    const int group = RTNLGRP_DCB;
    if (setsockopt(made.get(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) != 0) {
        return fail(cannot(errno, "its group"));
    }
    return Watcher(std::move(made));
}

std::vector<Change> Watcher::drain()
{
    std::vector<Change> changes;
    std::vector<std::uint8_t> buffer(kDatagram);
    for (std::size_t i = 0; i < kDatagrams; ++i) {
        const ssize_t length = receive_(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (length < 0 && errno == EINTR) {
            continue;
        }
        if (length < 0 && errno == ENOBUFS) {
            changes.push_back({.kind = ChangeKind::Lost, .interface = {}, .settings = {}});
            continue;
        }
        if (length <= 0) {
            break;
        }
        for (Change& change : read_changes(netlink::Bytes(buffer).first(static_cast<std::size_t>(length)))) {
            changes.push_back(std::move(change));
        }
    }
    return changes;
}

}    // namespace rdmaqos::dcb
