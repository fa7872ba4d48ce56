// What the preload library and the emulator say to each other.
//
// A directory (environment RDMA_QOS_EMULATOR) holds the sockets, all AF_UNIX SOCK_SEQPACKET:
//
//     uverbs0.sock     connecting to it opens the device: the connection is the uverbs file, and ends with the last
//                      descriptor of it, wherever that travelled. It leads to uverbs0.7.sock if this is the device's
//                      seventh appearance
//     netlink.sock     takes the place of a NETLINK_RDMA socket, and of a NETLINK_ROUTE socket by which a message of
//                      DCB is sent, or which joins the group RTNLGRP_DCB: setsockopt() sends the header of a message of
//                      type kJoinDcb and waits for kSubscribed bytes of zero; then come its datagrams among the
//                      answers; and answers what an ioctl asks of the counters of a network interface
//     uevent.sock      takes the place of a NETLINK_KOBJECT_UEVENT socket: bind() sends its groups (4 bytes) and waits
//                      for kSubscribed bytes of zero; then come the datagrams of these groups
//     control.sock     rdma-qos-emulator ctl and trace
//
// Processes share a uverbs file, so nobody is answered on it. A call is one message on the file: CallHeader, then the
// bytes of the ioctl (struct ib_uverbs_ioctl_hdr and its attributes), then copies of memory that its pointers name
// (Chunk and bytes, as many as fit), and by SCM_RIGHTS one end of a fresh socket pair, on which the emulator leads the
// rest of the conversation as the kernel would read and write user memory:
//
//     emulator                          caller
//     Read {address, length}       ->
//                                  <-   Data {0 or errno}, then the bytes
//     Write {address, length} data ->   (no answer: the first failure is the call's, if Done says 0)
//     Install {address, length} fd ->   (the same; the number goes to address, in 4 or 8 bytes)
//     Done {value}                 ->   the call returns: 0 or errno
//
// Either end that closes early ends the call: EIO for the caller.
//
// Who closes the last descriptor of a file waits until all that it held is destroyed, as in the kernel. Whether it is
// the last one only the emulator can see, so a close is a conversation as well. It begins with a CallHeader of another
// magic and two descriptors: the conversation's end, and a copy of the file's.
//
//     emulator                          closer
//                                       closes its own descriptor
//                                  <-   a byte
//     closes the copy: if that was the last one, destroys everything
//     closes its end               ->   close() returns
//
// So does mmap(): `address` of the header is its offset.
//
//     emulator                          caller
//     a byte, and the memory       ->   maps it (no descriptor: nobody looks at it, any memory will do)
//                                  <-   its address (8 bytes), and a userfaultfd of it (none: it cannot have one)
#pragma once

#include <cstddef>
#include <cstdint>

namespace rdmaqos::emulator {

constexpr const char* kDirectoryVariable = "RDMA_QOS_EMULATOR";
// The device number of /dev/infiniband/uverbs0; the next ones follow.
constexpr unsigned kMajor = 231;
constexpr unsigned kFirstMinor = 192;

constexpr std::uint32_t kCallMagic = 0x52514531;     // "RQE1"
constexpr std::uint32_t kCloseMagic = 0x52514543;    // "RQEC"
constexpr std::uint32_t kMapMagic = 0x5251454d;      // "RQEM"
// The kernel's limit is a page; it bounds a call's message.
constexpr std::size_t kMaxIoctl = 4096;
// Memory that is sent along, so that most calls need no Read.
constexpr std::size_t kMaxChunks = 16384;
// An attribute's length has 16 bits.
constexpr std::size_t kMaxTransfer = 65536;

// More than a few bytes: filters of the socket look for the magic of a message.
constexpr std::size_t kSubscribed = 64;
// No family of netlink has it: numbers below 16 are netlink's own, and this one is free.
constexpr std::uint16_t kJoinDcb = 15;

struct CallHeader {
    std::uint32_t magic = kCallMagic;
    std::uint32_t thread = 0;     // the caller's, for the trace
    std::uint64_t address = 0;    // of the ioctl's argument in the caller
};

struct Chunk {
    std::uint64_t address = 0;
    std::uint64_t length = 0;
};

enum class StepKind : std::uint32_t { Read = 1, Write, Install, Done };

struct Step {
    StepKind kind = StepKind::Done;
    std::int32_t value = 0;    // Done: errno
    std::uint64_t address = 0;
    std::uint32_t length = 0;
    std::uint32_t reserved = 0;
};

// A message on netlink.sock that no kernel has: the header of a netlink message, and the name of a network interface.
// The answer: the header, and these. It stands for the ioctl by which a driver tells them.
constexpr std::uint16_t kInterfaceCounters = 0x7e01;
struct InterfaceCounter {
    char name[32] = {};
    std::uint64_t value = 0;
};

// The answer to a Read, followed by the bytes.
struct Data {
    std::int32_t error = 0;
    std::uint32_t length = 0;
};

}    // namespace rdmaqos::emulator
