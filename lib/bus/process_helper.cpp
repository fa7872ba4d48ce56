#include "lib/bus/process_helper.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <utility>

#include <grp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/descriptor_message.h"
#include "lib/bus/connection.h"
#include "lib/bus/names.h"
#include "lib/bus/process_wire.h"

namespace rdmaqos::bus {
namespace {

constexpr std::uint64_t kPatience = 4'000'000;    // microseconds: less than that of who asks
// NameAcquired, which the bus sends to everyone at the beginning, stays unread.
constexpr std::uint64_t kExpectedUnread = 1;

// Nothing of root is left: all that this process does now is open to every user.
bool become_nobody()
{
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
                           setresuid(kNobody, kNobody, kNobody) != 0)) {
        return false;
    }
    prctl(PR_SET_DUMPABLE, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return true;
}

// What the bus says of a name; empty: nobody has it. An error: the bus cannot be asked.
Result<MessageRef> credentials_of(sd_bus* bus, const char* name)
{
    sd_bus_message* raw = nullptr;
    int result = sd_bus_message_new_method_call(bus, &raw, names::kBus, names::kBusPath, names::kBus,
                                                "GetConnectionCredentials");
    const auto call = MessageRef::adopt(raw);
    if (result >= 0) {
        result = sd_bus_message_append_basic(raw, 's', name);
    }
    BusError error;
    sd_bus_message* reply = nullptr;
    if (result >= 0) {
        result = sd_bus_call(bus, raw, kPatience, error.get(), &reply);
    }
    auto answer = MessageRef::adopt(reply);
    if (error.name() == SD_BUS_ERROR_NAME_HAS_NO_OWNER) {
        return MessageRef();
    }
    const char* sender = result < 0 ? nullptr : sd_bus_message_get_sender(reply);
    if (sender == nullptr || std::string_view(sender) != names::kBus) {
        return fail(error_from_errno(ErrorCode::Io, -result, "the bus does not answer"));
    }
    return answer;
}

// The ProcessFD of an answer, which stays the message's; -1: there is none.
int process_of(sd_bus_message* answer)
{
    int fd = -1;
    if (answer == nullptr || sd_bus_message_enter_container(answer, 'a', "{sv}") <= 0) {
        return fd;
    }
    while (sd_bus_message_enter_container(answer, 'e', "sv") > 0) {
        const char* key = nullptr;
        if (sd_bus_message_read_basic(answer, 's', &key) <= 0) {
            return -1;
        }
        const bool is_it = std::string_view(key) == "ProcessFD";
        if ((is_it ? sd_bus_message_read(answer, "v", "h", &fd) : sd_bus_message_skip(answer, "v")) < 0 ||
            sd_bus_message_exit_container(answer) < 0) {
            return -1;
        }
    }
    return fd;
}

// False: the other end is gone.
bool receive(int socket, ProcessRequest& request)
{
    ssize_t length = 0;
    do {
        length = recv(socket, &request, sizeof(request), 0);
    } while (length < 0 && errno == EINTR);
    request.unique_name.back() = '\0';
    return length == sizeof(request);
}

bool send_reply(int socket, ProcessAnswer answer, int fd)
{
    ProcessReply reply{answer};
    iovec part{&reply, sizeof(reply)};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    DescriptorRoom room;
    if (fd >= 0) {
        room.put(message, std::span(&fd, 1));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof(reply);
}

}    // namespace

int run_process_helper(int socket)
{
    const UniqueFd owned(socket);
    auto bus = BusConnection::open_system_bus(BusDescriptors::Taken);
    if (!bus) {
        return 1;
    }
    const char* own = nullptr;
    if (sd_bus_get_unique_name(bus->get(), &own) < 0 || !become_nobody()) {
        return 1;
    }
    auto answer = credentials_of(bus->get(), own);
    if (!answer) {
        return 1;
    }
    const bool gives = process_of(answer->get()) >= 0;
    std::uint64_t unread = 0;
    for (ProcessRequest request; unread <= kExpectedUnread && receive(socket, request);) {
        if (gives && !(answer = credentials_of(bus->get(), request.unique_name.data()))) {
            return 1;
        }
        const int fd = process_of(answer->get());
        const auto word = !gives ? ProcessAnswer::Unknown : fd < 0 ? ProcessAnswer::Missing : ProcessAnswer::Given;
        if (!send_reply(socket, word, fd) || sd_bus_get_n_queued_read(bus->get(), &unread) < 0) {
            return 1;
        }
    }
    return 0;
}

}    // namespace rdmaqos::bus
