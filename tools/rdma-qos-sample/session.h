// The part that rdma-qosd sees: a session with a grant, and queue pairs that are attached to it (docs/dbus.md).
//
// The session lives as long as the connection, and as the process: nothing has to be undone at the end.
#pragma once

#include <string>
#include <vector>

#include "lib/bus/client.h"
#include "tools/rdma-qos-sample/queue_pairs.h"

namespace rdmaqos::sample {

struct Wish {
    std::string device;                       // "mlx5_0"
    std::string level;                        // empty: the policy's rules decide
    std::vector<std::string> destinations;    // GIDs; the queue pairs are dealt to them in turn. Empty: none is named
};

struct Session {
    std::string path;    // "/org/rdmaqos1/session/7"
    bus::Dict grant;
    std::vector<bus::Dict> results;    // of Attach, in the order of the queue pairs
};

// Registers, then attaches all queue pairs, in as few messages as take them. One that is refused is in the results; an
// error means that there is no session.
[[nodiscard]] Result<Session> join(bus::Client& client, const Wish& wish, const QueuePairs& queue_pairs);
// "session 7: level rpc, 8 queue pairs in /apps/rpc/pid:4711". A queue pair that does not get its place is shown with
// the reason.
[[nodiscard]] std::string describe(const Session& session);
[[nodiscard]] bool all_refused(const Session& session);

}    // namespace rdmaqos::sample
