// Which paths and descriptors are the emulator's. A descriptor is recognised by the name of the socket at its other
// end, so it is ours also in a process that was handed it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/un.h>

namespace rdmaqos::emulator {

constexpr const char* kDeviceFolder = "/dev/infiniband/";
constexpr const char* kDevicePrefix = "/dev/infiniband/uverbs";

// Keeps errno as it was before an attempt whose failure is nobody's business.
class KeptErrno {
public:
    KeptErrno();
    ~KeptErrno();
    KeptErrno(const KeptErrno&) = delete;
    KeptErrno& operator=(const KeptErrno&) = delete;

private:
    int kept_;
};

// Of the emulator's sockets; null: there is no emulator.
const char* directory();

// Up to `most`; -1: not a number.
int parse_number(const char* text, const char* end, int most);

// N of "/dev/infiniband/uverbsN"; -1: another path, or there is no emulator.
int index_of_path(const char* path);

// `index` -1: without a number. False: too long.
bool socket_path(sockaddr_un& address, const char* name, int index);

// "uverbs0.7.sock": uverbs0 is its node, and the device has appeared for the seventh time.
struct Socket {
    int index = -1;    // none
    int appearance = -1;
};

// Of a descriptor that is an open device of the emulator.
Socket socket_of_descriptor(int fd);
inline int index_of_descriptor(int fd)
{
    return socket_of_descriptor(fd).index;
}
bool takes_uevents(int fd);
// A connection that takes the place of a netlink socket; of uevents, too.
bool is_netlink(int fd);

// The one that the node leads to now; none: there is no such node.
Socket socket_of_node(int index);

// The number of the socket behind a descriptor, as other descriptors of the same one have it; 0: not open.
std::uint64_t socket_number(int fd);

}    // namespace rdmaqos::emulator
