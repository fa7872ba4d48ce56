// The process that takes pidfds from the system bus, so that rdma-qosd need not take descriptors from it.
//
// Since 1.16 dbus-daemon (and dbus-broker) gives the pidfd of the very process that connected, `ProcessFD` of
// GetConnectionCredentials, to connections that take descriptors. To such a connection anybody on the bus may send a
// signal with descriptors, unasked, and closing one may hang (descriptor_helper.h). So this process has a connection of
// its own: it reads from the bus only while it asks, keeps what else comes until it ends, and ends as soon as something
// has come. What hangs then hangs a process that has answered.
#pragma once

namespace rdmaqos::bus {

// The word on the command line of rdma-qosd by which it starts itself as the helper; the number of a socket follows.
constexpr const char* kProcessHelperCommand = "process-helper";

// Serves requests on `socket` until its other end is closed, or something came from the bus unasked; the exit status.
int run_process_helper(int socket);

}    // namespace rdmaqos::bus
