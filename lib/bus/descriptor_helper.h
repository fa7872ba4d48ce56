// The process that receives descriptors from clients, so that rdma-qosd never holds one it does not know.
//
// Closing a descriptor calls the file system behind it (a FUSE server that does not answer, a socket that lingers), and
// so does reading from it. Its sender chooses that file system. The helper serves one user and runs as that
// user; it looks at what came, passes on open verbs devices, replaces a regular file by a sealed copy of its text, and
// closes the rest. What hangs there hangs nobody else.
#pragma once

namespace rdmaqos::bus {

// The word on the command line of rdma-qosd by which it starts itself as the helper; the number of a socket follows.
constexpr const char* kDescriptorHelperCommand = "descriptor-helper";

// Serves requests on `socket` until its other end is closed; the exit status.
int run_descriptor_helper(int socket);

}    // namespace rdmaqos::bus
