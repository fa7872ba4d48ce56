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
#include "lib/base/try.h"
#include "lib/bus/connection.h"
#include "lib/bus/credentials.h"
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

struct Answer {
    MessageRef message;    // keeps the descriptor
    Credentials credentials;
};

// What the bus says of a name; nothing: nobody has it. An error: the bus cannot be asked.
Result<Answer> credentials_of(sd_bus* bus, const char* name)
{
    auto raw = TRY(new_credentials_call(bus, name));
    const auto call = MessageRef::adopt(raw);
    BusError error;
    sd_bus_message* reply = nullptr;
    const int result = sd_bus_call(bus, raw, kPatience, error.get(), &reply);
    Answer answer{MessageRef::adopt(reply), {}};
    if (error.name() == SD_BUS_ERROR_NAME_HAS_NO_OWNER) {
        return answer;
    }
    const char* sender = result < 0 ? nullptr : sd_bus_message_get_sender(reply);
    if (sender == nullptr || std::string_view(sender) != names::kBus) {
        return fail(error_from_errno(ErrorCode::Io, -result, "the bus does not answer"));
    }
    answer.credentials = TRY(read_credentials(reply));
    return answer;
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

bool send_reply(int socket, const ProcessReply& reply, int fd)
{
    iovec part{const_cast<ProcessReply*>(&reply), reply.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    DescriptorRoom room;
    if (fd >= 0) {
        room.put(message, std::span(&fd, 1));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(reply.size());
}

bool answer_with(int socket, const Credentials& credentials)
{
    ProcessReply reply;
    if (credentials.pidfd < 0 || !credentials.uid || credentials.gids.size() > reply.gids.size()) {
        return send_reply(socket, reply, -1);
    }
    reply.answer = ProcessAnswer::Given;
    reply.uid = *credentials.uid;
    reply.groups = static_cast<std::uint32_t>(credentials.gids.size());
    std::ranges::copy(credentials.gids, reply.gids.begin());
    return send_reply(socket, reply, credentials.pidfd);
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
    const auto self = credentials_of(bus->get(), own);
    if (!self) {
        return 1;
    }
    const bool gives = self->credentials.pidfd >= 0;
    std::uint64_t unread = 0;
    for (ProcessRequest request; unread <= kExpectedUnread && receive(socket, request);) {
        if (!gives) {
            ProcessReply reply;
            reply.answer = ProcessAnswer::Unknown;
            return send_reply(socket, reply, -1) ? 0 : 1;
        }
        const auto answer = credentials_of(bus->get(), request.unique_name.data());
        if (!answer || !answer_with(socket, answer->credentials) || sd_bus_get_n_queued_read(bus->get(), &unread) < 0) {
            return 1;
        }
    }
    // Without closing anything first: a socket that lingers holds up who closes it, but not who ends.
    _exit(0);
}

}    // namespace rdmaqos::bus
