#include "lib/client/connection.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace rdmaqos::client {
namespace {

using namespace std::string_view_literals;

constexpr const char* kService = "org.rdmaqos1";
// Beyond a deadline, µs: so that it is we who notice that it is over, and not sd-bus, which says the same of a lost
// peer.
constexpr std::uint64_t kLonger = 1'000'000;

// Nobody has descriptors to send to a program: the kernel refuses to carry them, since Linux 6.16. Otherwise sd-bus
// takes them, since it negotiates both ways at once; it closes them, which may wait, or forgets them with a message
// that it finds malformed.
void take_no_descriptors(int fd)
{
    constexpr int kPassRights = 83;    // SO_PASSRIGHTS, which older headers do not have
    const int off = 0;
    setsockopt(fd, SOL_SOCKET, kPassRights, &off, sizeof(off));
}

// A connected socket, or -1 with errno. A blocking one for as long as it connects: a daemon that is busy leaves it
// waiting among those that it has not accepted yet.
int connect_to(const std::string& path, Deadline deadline)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    std::memcpy(address.sun_path, path.c_str(), path.size());
    const int fd = above_stdio(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd < 0) {
        return -1;
    }
    take_no_descriptors(fd);
    int result = 0;
    do {
        const std::uint64_t left = deadline.microseconds_left();
        timeval limit{static_cast<time_t>(left / 1'000'000), static_cast<suseconds_t>(left % 1'000'000)};
        result = setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        if (result == 0) {
            result = connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
        }
    } while (result != 0 && errno == EINTR && !deadline.is_over());
    if (result != 0) {
        const int error = errno == EAGAIN || errno == EINTR ? ETIMEDOUT : errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

// Of the program, or of the host; it says nothing of the daemon.
bool is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

struct Abandoned {
    sd_bus* bus = nullptr;
    Abandoned* next = nullptr;
};

Failure failure_of_call(int result, const sd_bus_error& error)
{
    return failure_of_reply(error.name == nullptr ? ""sv : error.name, error.message == nullptr ? ""sv : error.message,
                            -result);
}

}    // namespace

Connection::Connection(Bus bus, rdmaqos_transport transport, int fd)
    : bus_(std::move(bus)), transport_(transport), fd_(fd), identity_(identity_of(fd))
{
}

Connection::~Connection()
{
    if (sd_bus_get_fd(bus_.get()) < 0) {
        return;    // sd-bus has closed it, and the number may be another's
    }
    if (!is_same_file(fd_, identity_)) {
        // sd-bus would write its last words to what has the number now, and close it. Reachable, so that a leak checker
        // does not count it.
        static std::atomic<Abandoned*> all = nullptr;
        auto* const abandoned = new (std::nothrow) Abandoned{bus_.release(), all};    // NOLINT: never deleted
        while (abandoned != nullptr && !all.compare_exchange_weak(abandoned->next, abandoned)) {
        }
        return;
    }
    // Also for copies of the socket that children have inherited: the daemon shall see the end now. The bus daemon is
    // reported by sd-bus; its socket has copies, too.
    shutdown(fd_, SHUT_RDWR);
}

Failure Connection::open_direct(const std::string& socket, Deadline deadline, Made& made)
{
    const int fd = connect_to(socket, deadline);
    if (fd < 0) {
        return is_shortage(errno) ? failure_of(errno, "no connection to rdma-qosd can be made")
                                  : no_daemon(socket, errno);
    }
    sd_bus* raw = nullptr;
    int result = sd_bus_new(&raw);
    Bus bus(raw);
    if (result >= 0) {
        result = sd_bus_set_fd(raw, fd, fd);
    }
    if (result < 0) {
        close(fd);
        return failure_of(-result, "the connection to rdma-qosd cannot be set up");
    }
    if ((result = sd_bus_negotiate_fds(raw, 1)) < 0 || (result = sd_bus_start(raw)) < 0) {
        return is_end_of_connection(-result) ? closed_at_once(socket) : no_daemon(socket, -result);
    }
    made.reset(new Connection(std::move(bus), RDMAQOS_TRANSPORT_DIRECT, fd));    // NOLINT: the constructor is private
    Failure failure = made->begin(deadline);
    if (failure) {
        made.reset();
        return is_end_of_connection(failure.error) ? closed_at_once(socket) : no_daemon(socket, failure.error);
    }
    return {};
}

Failure Connection::open_system_bus(Deadline deadline, Made& made)
{
    sd_bus* raw = nullptr;
    int result = sd_bus_new(&raw);
    Bus bus(raw);
    if (result >= 0) {
        const char* address = secure_getenv("DBUS_SYSTEM_BUS_ADDRESS");
        result = sd_bus_set_address(raw, address == nullptr ? "unix:path=/run/dbus/system_bus_socket" : address);
    }
    if (result >= 0) {
        result = sd_bus_set_bus_client(raw, 1);
    }
    // Everybody on the bus could send us some, and closing them may wait. Ours go over the direct socket.
    if (result >= 0) {
        result = sd_bus_negotiate_fds(raw, 0);
    }
    if (result >= 0) {
        result = sd_bus_start(raw);
    }
    if (result < 0) {
        return is_shortage(-result) ? failure_of(-result, "no connection to the system bus can be made")
                                    : no_daemon("the system bus", -result);
    }
    const int fd = sd_bus_get_fd(raw);
    made.reset(new Connection(std::move(bus), RDMAQOS_TRANSPORT_SYSTEM_BUS, fd));    // NOLINT: likewise
    Failure failure = made->begin(deadline);
    if (failure) {
        made.reset();
        return no_daemon("the system bus", failure.error);
    }
    return {};
}

// Until the daemon has answered: a socket that nobody serves any more still accepts.
Failure Connection::begin(Deadline deadline)
{
    while (sd_bus_is_ready(bus_.get()) <= 0) {
        const int result = step();
        if (result < 0) {
            return failure_of(-result, "rdma-qosd");
        }
        if (result == 0 && !wait(deadline)) {
            return {ETIMEDOUT, "rdma-qosd does not answer"};
        }
    }
    if (Failure failure = watch()) {
        return failure;
    }
    Message answer;
    return call(new_call(kRootPath, "org.freedesktop.DBus.Peer", "Ping"), deadline, answer);
}

Failure Connection::watch()
{
    int result = sd_bus_add_filter(bus_.get(), nullptr, &Connection::on_message, this);
    if (result >= 0 && transport_ == RDMAQOS_TRANSPORT_SYSTEM_BUS) {
        result = sd_bus_add_match_async(bus_.get(), nullptr,
                                        "type='signal',sender='org.rdmaqos1',interface='org.rdmaqos1.Session',"
                                        "member='GrantChanged'",
                                        nullptr, nullptr, nullptr);
    }
    if (result >= 0 && transport_ == RDMAQOS_TRANSPORT_SYSTEM_BUS) {
        result = sd_bus_add_match_async(bus_.get(), nullptr,
                                        "type='signal',sender='org.freedesktop.DBus',"
                                        "interface='org.freedesktop.DBus',member='NameOwnerChanged',"
                                        "arg0='org.rdmaqos1'",
                                        &Connection::on_owner, nullptr, this);
    }
    return result < 0 ? failure_of(-result, "rdma-qosd cannot be listened to") : Failure{};
}

int Connection::on_owner(sd_bus_message* message, void* data, sd_bus_error* /*error*/) noexcept
{
    const char* name = nullptr;
    const char* before = nullptr;
    const char* after = nullptr;
    if (sd_bus_message_read(message, "sss", &name, &before, &after) >= 0 && *before != '\0') {
        static_cast<Connection*>(data)->is_there_ = false;    // the session was that one's
    }
    return 0;
}

int Connection::on_message(sd_bus_message* message, void* data, sd_bus_error* /*error*/) noexcept
{
    auto& self = *static_cast<Connection*>(data);
    if (sd_bus_message_is_signal(message, "org.freedesktop.DBus.Local", "Disconnected") > 0) {
        self.is_there_ = false;
        return 0;
    }
    if (sd_bus_message_is_signal(message, kSessionInterface, "GrantChanged") <= 0 || !self.on_grant_) {
        return 0;
    }
    try {
        AnswerRef grant;
        const char* path = sd_bus_message_get_path(message);
        if (path != nullptr && read_answer(message, grant) >= 0) {
            self.on_grant_(path, grant);
        }
    } catch (...) {    // no memory: the grant can still be asked for
        return 0;
    }
    return 0;
}

Message Connection::new_call(const std::string& path, const char* interface, const char* method) const
{
    sd_bus_message* message = nullptr;
    const char* const destination = transport_ == RDMAQOS_TRANSPORT_SYSTEM_BUS ? kService : nullptr;
    if (sd_bus_message_new_method_call(bus_.get(), &message, destination, path.c_str(), interface, method) < 0) {
        return nullptr;
    }
    sd_bus_message_set_auto_start(message, 0);
    return Message(message);
}

Failure Connection::call(const Message& message, Deadline deadline, Message& answer)
{
    std::vector<Reply> replies = call_all(std::span(&message, 1), deadline);
    answer = std::move(replies.front().message);
    return std::move(replies.front().failure);
}

// Not by sd_bus_call(), which a signal of the program interrupts.
std::vector<Connection::Reply> Connection::call_all(std::span<const Message> messages, Deadline deadline)
{
    struct Waiting {
        Reply reply{{ETIMEDOUT, "rdma-qosd did not answer in time"}, nullptr};
        std::size_t* left = nullptr;
        sd_bus_slot* slot = nullptr;

        static int on_answer(sd_bus_message* answer, void* data, sd_bus_error* /*error*/) noexcept
        {
            auto& self = *static_cast<Waiting*>(data);
            --*self.left;
            try {
                const sd_bus_error* error = sd_bus_message_get_error(answer);
                self.reply.failure = error == nullptr ? Failure{} : failure_of_call(0, *error);
                self.reply.message.reset(sd_bus_message_ref(answer));
            } catch (...) {
                self.reply.failure.error = ENOMEM;
            }
            return 1;
        }
    };
    std::size_t left = 0;
    std::vector<Waiting> all(messages.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i].left = &left;
        const int result = !messages[i] || !has_socket()
                               ? -ENOTCONN
                               : sd_bus_call_async(bus_.get(), &all[i].slot, messages[i].get(), &Waiting::on_answer,
                                                   &all[i], deadline.microseconds_left() + kLonger);
        if (result < 0) {
            all[i].reply.failure = failure_of_reply("", "", -result);
            is_there_ = is_there_ && !is_loss(all[i].reply.failure);
        } else {
            ++left;
        }
    }
    while (left > 0 && is_there_ && !deadline.is_over()) {
        const int result = step();
        if (result < 0) {
            is_there_ = false;
        } else if (result == 0 && !wait(deadline)) {
            break;
        }
    }
    std::vector<Reply> replies;
    replies.reserve(all.size());
    for (auto& each : all) {
        sd_bus_slot_unref(each.slot);
        if (each.reply.failure.error == ETIMEDOUT && !each.reply.message && !is_there_) {
            each.reply.failure = failure_of_reply("", "", ENOTCONN);
        }
        is_there_ = is_there_ && !is_loss(each.reply.failure);
        replies.push_back(std::move(each.reply));
    }
    return replies;
}

void Connection::tell(const Message& message)
{
    if (message && has_socket()) {
        sd_bus_message_set_expect_reply(message.get(), 0);
        sd_bus_send(bus_.get(), message.get(), nullptr);
    }
}

bool Connection::has_socket()
{
    is_there_ = is_there_ && is_same_file(fd_, identity_);
    return is_there_;
}

int Connection::step()
{
    return is_same_file(fd_, identity_) ? sd_bus_process(bus_.get(), nullptr) : -ENOTCONN;
}

bool Connection::wait(Deadline deadline)
{
    if (deadline.is_over()) {
        return false;
    }
    const int result = sd_bus_wait(bus_.get(), deadline.microseconds_left());
    return result >= 0 || result == -EINTR;
}

void Connection::process()
{
    int result = 1;
    while (is_there_ && (result = step()) > 0) {
    }
    if (result < 0) {
        is_there_ = false;
    }
}

short Connection::wanted_events() const
{
    const int events = sd_bus_get_events(bus_.get());
    return static_cast<short>(events < 0 ? POLLIN : events);
}

}    // namespace rdmaqos::client
