// watched SOCKET COMMAND...: runs the command with every call of watched_calls.h answered by whoever listens at the
// socket (seccomp_unotify(2)), who gets the descriptor for that from here.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/descriptor_message.h"
#include "tests/faults/watched_calls.h"

namespace {

using namespace rdmaqos::test;

// The listener's descriptor, or -1. Only for the calling thread.
int watch_this_thread()
{
    std::vector<sock_filter> steps{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + sizeof(seccomp_data::args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_DUPFD_CLOEXEC, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    };
    for (const auto& call : kWatchedCalls) {
        steps.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call.number), 0, 1));
        steps.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
    }
    steps.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return -1;
    }
    return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

bool send_listener(int socket, int listener)
{
    char byte = 0;
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    rdmaqos::DescriptorRoom room;
    room.put(message, {&listener, 1});
    return sendmsg(socket, &message, 0) == 1;
}

}    // namespace

int main(int argc, char** argv)
{
    if (argc < 3) {
        std::fprintf(stderr, "usage: watched SOCKET COMMAND...\n");
        return 2;
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, argv[1], sizeof(address.sun_path) - 1);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        std::perror("watched: connect");
        return 1;
    }
    // A watched thread cannot send: nobody answers yet. It becomes the command.
    std::atomic<int> listener = -2;
    std::atomic<bool> is_sent = false;
    std::thread watched([&] {
        listener = watch_this_thread();
        while (!is_sent) {
            sched_yield();
        }
        execv(argv[2], argv + 2);
        _exit(127);
    });
    while (listener == -2) {
        sched_yield();
    }
    if (listener < 0 || !send_listener(socket, listener)) {
        std::perror("watched");
        _exit(1);
    }
    close(socket);
    is_sent = true;
    watched.join();
    return 1;
}
