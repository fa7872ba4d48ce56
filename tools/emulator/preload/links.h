// Links of /proc/PID/fd, of any process below the emulator: what the kernel shows there as a socket is a device.
#pragma once

#include "tools/emulator/preload/recognition.h"

namespace rdmaqos::emulator {

// Which device `path` is an open file of, as openat(folder, path) would find it. None: the path is another one, or this
// process may not take descriptors of that one (pidfd_getfd), which the kernel would not ask of who only looks.
Socket socket_of_link(int folder, const char* path);

// The length of what readlinkat() says, of which `length` bytes of `room` are in `text`: the path of the device if that
// is behind the link.
long finish_readlink(int folder, const char* path, char* text, long length, unsigned long room);

}    // namespace rdmaqos::emulator
