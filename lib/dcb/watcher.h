// Changes of traffic classes by any program, or by the firmware: something to poll.
//
//     auto watcher = Watcher::open();
//     ... when watcher->fd() is readable:
//     for (const Change& change : watcher->drain()) { ... read the interface again ... }
//
// The kernel notifies after each write by DCB netlink, also after one that was refused, and after some of a firmware's
// agent. It does not say who wrote: the message has the sequence number of the request and no port number. A change of
// the mode of DCBX, and what firmware tools do, is not notified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/types.h>

#include "lib/base/file.h"
#include "lib/base/result.h"
#include "lib/dcb/port_settings.h"
#include "lib/dcb/transport.h"
#include "lib/dcb/words.h"
#include "lib/netlink/message.h"

namespace rdmaqos::dcb {

enum class ChangeKind : std::uint8_t {
    Set,       // ETS, maximum rates, PFC, buffers, or entries of the application table
    Delete,    // entries of the application table
    Other,     // of CEE, the older kind of DCBX
    Lost,      // there were more than the socket holds: read every interface again
};

struct Change {
    ChangeKind kind = ChangeKind::Set;
    std::string interface;    // empty: Lost
    std::uint32_t sequence =
        0;                     // of the request: Transport::has_sent() tells whether it was ours. 0: the driver's own
    std::uint32_t port = 0;    // of the socket that wrote; kernels up to now leave it 0
    std::optional<PortSettings> settings;    // as the kernel sent them along; of Set and Delete

    friend bool operator==(const Change&, const Change&) = default;
};

// `ours`: the transport by which this process writes. `now`: seconds since 1970.
[[nodiscard]] Author author_of(const Change& change, const Transport& ours, std::int64_t now);

// Not thread-safe; another thread than that of a Transport may use it.
class Watcher {
public:
    // Changes from now on, in the network namespace of this thread.
    [[nodiscard]] static Result<Watcher> open();
    // Of a socket that gives a datagram with each call of `receive`, which is recv(2). For tests.
    using Receive = ssize_t (*)(int, void*, std::size_t, int);
    explicit Watcher(UniqueFd socket, Receive receive = &::recv) : socket_(std::move(socket)), receive_(receive) {}

    [[nodiscard]] int fd() const { return socket_.get(); }
    // The changes that there are, oldest first; of many only the first, and `fd` stays readable. A Lost stands where
    // some were lost.
    [[nodiscard]] std::vector<Change> drain();

private:
    UniqueFd socket_;
    Receive receive_;
};

// ---- what it reads; any bytes. Pure ----

[[nodiscard]] std::vector<Change> read_changes(netlink::Bytes datagram);

}    // namespace rdmaqos::dcb
