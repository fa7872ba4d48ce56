// Connections to the emulator.
#pragma once

namespace rdmaqos::emulator {

// To the socket of this name (recognition.h: socket_path()). -1: errno says why; ENXIO: there is no emulator any more.
int connect_to(const char* name, int index, bool close_on_exec, bool nonblocking);

}    // namespace rdmaqos::emulator
