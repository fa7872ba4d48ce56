// ioctl(SIOCETHTOOL) about an emulated network interface, as far as `ethtool -S` needs it.
#pragma once

namespace rdmaqos::emulator {

// What the interface of `request` (struct ifreq) is asked for, answered by the emulator behind `connection`. -1: it is
// none of the emulator's, or the question is another; else 0 or an errno.
int answer_statistics(int connection, void* request);

}    // namespace rdmaqos::emulator
