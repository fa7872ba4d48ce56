#include "lib/bus/server.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/log.h"
#include "lib/base/try.h"

namespace rdmaqos::bus {
namespace {

constexpr int kBacklog = 4096;    // at most net.core.somaxconn
constexpr int kAcceptedAtOnce = 128;
constexpr auto kAcceptTurn = std::chrono::microseconds(250);
// Descriptors for everything that is not a client's; a connection costs its socket, a pair within, its pidfd, and the
// poll and the helper of its user.
constexpr std::size_t kReservedDescriptors = 256;
constexpr std::size_t kDescriptorsPerClient = 6;
constexpr auto kTendInterval = std::chrono::seconds(1);
constexpr std::uint32_t kNobody = UINT32_MAX;    // whose uid is not known

tl::unexpected<Error> refused(const std::filesystem::path& path, int err, std::string_view what)
{
    return fail(error_from_errno(ErrorCode::Io, err, fmt::format("{}: {}", path.string(), what)));
}

Result<sockaddr_un> address_of(const std::filesystem::path& path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string& text = path.native();
    if (text.size() >= sizeof(address.sun_path)) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{}: the path of a socket has at most {} bytes", text, sizeof(address.sun_path) - 1));
    }
    std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
    return address;
}

const sockaddr* plain(const sockaddr_un& address)
{
    return reinterpret_cast<const sockaddr*>(&address);    // NOLINT(*-reinterpret-cast): how sockets are named
}

Result<UniqueFd> new_socket(const std::filesystem::path& path)
{
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) {
        return refused(path, errno, "no socket can be made");
    }
    return socket;
}

Result<void> make_sure_nobody_listens(const std::filesystem::path& path)
{
    const auto address = TRY(address_of(path));
    const auto probe = TRY(new_socket(path));
    // EAGAIN: somebody does, and is busy.
    if (connect(probe.get(), plain(address), sizeof(address)) == 0 || errno == EAGAIN) {
        return fail(ErrorCode::Busy, fmt::format("{}: another rdma-qosd listens there", path.string()));
    }
    return {};
}

// Bound beside its place and moved there when it is ready, so that clients never meet half a socket.
Result<UniqueFd> bind_and_listen(const std::filesystem::path& path)
{
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) {
        return refused(path.parent_path(), error.value(), "the folder cannot be made");
    }
    TRY(make_sure_nobody_listens(path));
    auto socket = new_socket(path);
    if (!socket) {
        return socket;
    }
    std::filesystem::path beside = path;
    beside += ".new";
    const auto address = TRY(address_of(beside));
    unlink(beside.c_str());
    if (bind(socket->get(), plain(address), sizeof(address)) < 0) {
        return refused(path, errno, "the socket cannot be made");
    }
    if (chmod(beside.c_str(), 0666) < 0 || ::listen(socket->get(), kBacklog) < 0 ||
        rename(beside.c_str(), path.c_str()) < 0) {
        const int err = errno;
        unlink(beside.c_str());
        return refused(path, err, "the socket cannot be moved into place");
    }
    return socket;
}

// Makes the kernel's table of descriptors as large as it may become, by taking its last place for a moment. Left to
// itself it doubles now and then, and each time holds up a program with threads for tens of milliseconds.
void fill_descriptor_table(int any, std::size_t size)
{
    constexpr std::size_t kMost = std::size_t{1} << 18U;    // two megabytes
    const UniqueFd last(fcntl(any, F_DUPFD_CLOEXEC, static_cast<int>(std::min(size, kMost)) - 1));
}

// Only who claims to be root costs more than the look at the socket.
Account account_of(int socket, std::uint32_t uid)
{
    if (uid != 0) {
        return uid;
    }
    const auto process = peer_of_socket(socket);
    return process && is_administrator(*process) ? Account::root() : Account(uid);
}

std::uint64_t inode_of(const std::filesystem::path& path)
{
    struct stat status {};
    return lstat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

}    // namespace

std::size_t raise_descriptor_limit()
{
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
        return 1024;
    }
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

Server::Server(EventLoop& loop, Turns& turns, ServerOptions options, UniqueFd socket, ServerHandler& handler)
    : loop_(loop), path_(std::move(options.path)), socket_(std::move(socket)), limits_(options.limits),
      handler_(handler), inode_(inode_of(path_)), helpers_(loop, turns, std::move(options.descriptors), options.close),
      around_{loop, helpers_, turns.shares(), turns, limits_.client, std::move(options.close)}
{
    const std::size_t descriptors = raise_descriptor_limit();
    around_.shares.descriptors().set_room(descriptors > 2 * kReservedDescriptors ? descriptors - kReservedDescriptors
                                                                                 : descriptors / 2);
    fill_descriptor_table(socket_.get(), descriptors);
}

Server::~Server()
{
    if (inode_ != 0 && inode_of(path_) == inode_) {
        unlink(path_.c_str());
    }
    for (auto& [id, client] : connections_) {
        client.connection->close();
    }
    for (auto& [id, coming] : coming_) {
        ClientConnection::end(around_, coming.account, std::move(coming.socket));
    }
}

Result<std::unique_ptr<Server>> Server::listen(EventLoop& loop, Turns& turns, ServerOptions options,
                                               ServerHandler& handler)
{
    auto socket = TRY(bind_and_listen(options.path));
    std::unique_ptr<Server> server(new Server(loop, turns, std::move(options), std::move(socket), handler));
    TRY(server->start());
    return server;
}

Result<void> Server::start()
{
    auto io = loop_.on_io(socket_.get(), EPOLLIN, [this](std::uint32_t) { accept_all(); });
    if (!io) {
        return fail(std::move(io).error());
    }
    io_ = std::move(*io);
    return {};
}

void Server::accept_all()
{
    const auto end = SteadyClock().now() + kAcceptTurn;
    for (int count = 0; count < kAcceptedAtOnce && SteadyClock().now() < end; ++count) {
        UniqueFd socket(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
                // Clients that wait stay in the backlog; without a pause the loop would spin.
                log(LogLevel::Warning, "{}: no client can be accepted: {}", path_.string(), std::strerror(errno));
                io_->set_events(0);
                pause_timer_ = loop_.after(std::chrono::milliseconds(100), [this] { io_->set_events(EPOLLIN); });
            }
            return;
        }
        take(std::move(socket));
    }
    around_.turns.give_way();
}

Result<DescriptorBudget::Held> Server::make_room(Account account)
{
    const std::uint32_t own = around_.shares.of(account).connections;
    if (own >= limits_.connections_per_uid) {
        return fail(ErrorCode::LimitReached, fmt::format("uid {} has {} connections, the most `connections-per-uid` "
                                                         "of rdma-qosd.yaml allows",
                                                         account.uid(), own));
    }
    DescriptorBudget& descriptors = around_.shares.descriptors();
    auto held = descriptors.take(account, kDescriptorsPerClient);
    if (!held) {
        return fail(ErrorCode::LimitReached,
                    fmt::format("uid {} has {} of the {} descriptors in use, of {} for connections and device files, "
                                "and nobody gets more than remain for all others; raise LimitNOFILE= of "
                                "rdma-qosd.service",
                                account.uid(), descriptors.of(account), descriptors.in_all(),
                                descriptors.most_for(account)));
    }
    return held;
}

void Server::take(UniqueFd socket)
{
    const auto begin = Shares::working_time();
    ucred peer{};
    socklen_t size = sizeof(peer);
    if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
        refuse(kNobody, error_from_errno(ErrorCode::Io, errno, "the credentials of a client cannot be read"));
        ClientConnection::end(around_, kNobody, std::move(socket));
        return;
    }
    const Account account = account_of(socket.get(), peer.uid);
    if (auto room = make_room(account); !room) {
        refuse(account, room.error());
        ClientConnection::end(around_, account, std::move(socket));
    } else {
        ++around_.shares.of(account).connections;
        const std::uint64_t id = next_id_++;
        coming_.emplace(id, Coming{std::move(socket), account, std::move(*room)});
        around_.turns.queue(account, [this, id, alive = std::weak_ptr<int>(alive_)] {
            if (alive.expired()) {
                return;
            }
            auto coming = coming_.extract(id);
            const Account whose = coming.mapped().account;
            if (const auto done = set_up(id, std::move(coming.mapped())); !done) {
                refuse(whose, done.error());
                release(whose);
            }
        });
    }
    around_.shares.spent(account, Shares::working_time() - begin, SteadyClock().now());
}

// Who is refused may come again at once.
void Server::refuse(Account account, const Error& why)
{
    log_event(LogLevel::Warning, LogEvent::ClientRefused, LogOrigin::user(account.uid()),
              {{"UID", fmt::format("{}", account.uid())}, {"ERROR", std::string(dbus_name(why.code))}},
              "{}: a connection of user {} was refused: {}", path_.string(), account.uid(), to_string(why));
}

Result<void> Server::set_up(std::uint64_t id, Coming coming)
{
    auto process = peer_of_socket(coming.socket.get());
    if (!process) {
        ClientConnection::end(around_, coming.account, std::move(coming.socket));
        return fail(std::move(process).error());
    }
    auto connection = ClientConnection::create(around_, std::move(coming.socket),
                                               {coming.account, process->gids.front()}, [this, id] {
                                                   forget(id);
                                                   handler_.closed(id);
                                               });
    if (!connection) {
        return fail(std::move(connection).error());
    }
    auto exit = around_.turns.on_io(coming.account, process->pidfd.get(), EPOLLIN,
                                    [this, id](std::uint32_t) { close(id); });
    if (!exit) {
        return fail(std::move(exit).error());
    }
    if (process->unproven_bytes) {
        (*connection)->expect({process->pid, *process->unproven_bytes, [this, id] {
                                   const auto found = connections_.find(id);
                                   return found != connections_.end() && is_running(found->second.process);
                               }});
    }
    if (auto welcome = handler_.connected(id, *process, *connection); !welcome) {
        (*connection)->close();
        return welcome;
    }
    connections_.emplace(
        id, Client{std::move(*connection), std::move(coming.held), std::move(process->pidfd), std::move(*exit)});
    unauthenticated_.push_back({SteadyClock().now() + limits_.authentication_time, id});
    if (!authentication_timer_) {
        authentication_timer_ = loop_.after(limits_.authentication_time, [this] { drop_unauthenticated(); });
    }
    if (!tend_timer_) {
        tend_timer_ = loop_.after(kTendInterval, [this] { tend(); });
    }
    return {};
}

void Server::close(std::uint64_t id)
{
    if (const auto found = connections_.find(id); found != connections_.end()) {
        found->second.connection->close();
        forget(id);
        handler_.closed(id);
    }
}

void Server::forget(std::uint64_t id)
{
    const auto node = connections_.extract(id);
    if (!node.empty()) {
        release(node.mapped().connection->account());
    }
}

// A connection of this user is no longer there.
void Server::release(Account account)
{
    --around_.shares.of(account).connections;
    around_.shares.settle(account, SteadyClock().now());
}

void Server::tend()
{
    tend_timer_.reset();
    const auto now = SteadyClock().now();
    for (const auto& [id, client] : connections_) {
        const auto since = client.connection->unfinished_since();
        if (since && now - *since > limits_.client.message_time) {
            client.connection->drop("a message did not arrive in time");
        }
    }
    give_back_memory(now);
    if (!connections_.empty() || kept_since_) {
        tend_timer_ = loop_.after(kTendInterval, [this] { tend(); });
    }
}

// What was kept in many pieces the allocator does not give back by itself. Behind a crowd that takes 100 ms, in which
// nobody is served: it waits for a quiet second, or a minute.
void Server::give_back_memory(TimePoint now)
{
    constexpr std::size_t kMuch = std::size_t{16} << 20U;
    constexpr int kQuietPart = 10;    // of the time, if the loop works less
    constexpr auto kLongestKept = std::chrono::minutes(1);
    const Duration worked = Shares::working_time();
    const bool is_quiet = kQuietPart * (worked - worked_) < now - tended_;
    worked_ = worked;
    tended_ = now;
    if (mallinfo2().fordblks <= kMuch) {
        kept_since_.reset();
        return;
    }
    kept_since_ = kept_since_.value_or(now);
    if (is_quiet || now - *kept_since_ > kLongestKept) {
        malloc_trim(0);
        kept_since_ = now;
    }
}

void Server::drop_unauthenticated()
{
    authentication_timer_.reset();
    const auto now = SteadyClock().now();
    while (!unauthenticated_.empty()) {
        const Waiting first = unauthenticated_.front();
        const auto found = connections_.find(first.id);
        const bool done = found == connections_.end() || found->second.connection->is_ready();
        if (!done && first.until > now) {
            authentication_timer_ = loop_.after(first.until - now, [this] { drop_unauthenticated(); });
            return;
        }
        unauthenticated_.pop_front();
        if (!done) {
            const std::uint32_t uid = found->second.connection->account().uid();
            log_event(LogLevel::Info, LogEvent::None, LogOrigin::user(uid), {{"UID", fmt::format("{}", uid)}},
                      "{}: a connection of user {} did not authenticate in time", path_.string(), uid);
            close(first.id);
        }
    }
}

}    // namespace rdmaqos::bus
