#include "lib/bus/descriptors.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <deque>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/helper_process.h"
#include "lib/base/log.h"
#include "lib/base/signal_process.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/bus/descriptor_wire.h"
#include "lib/bus/peer.h"

namespace rdmaqos::bus {
namespace {

// Reads of one user that wait for its helper.
constexpr std::size_t kMostWaiting = 1024;

}    // namespace

// A file without content whose size is the index of the descriptor it stands for. sd_bus may close it at any time:
// unlike that of the client's descriptor, its close cannot block.
int stand_in(std::size_t index)
{
    static thread_local std::vector<UniqueFd> stand_ins;    // of the loop's thread
    while (stand_ins.size() <= index) {
        UniqueFd next(memfd_create("stand-in", MFD_CLOEXEC));
        if (!next || ftruncate(next.get(), static_cast<off_t>(stand_ins.size())) != 0) {
            return -1;
        }
        stand_ins.push_back(std::move(next));
    }
    return stand_ins[index].get();
}

std::optional<std::size_t> index_of_stand_in(int fd)
{
    struct stat status {};
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(status.st_size);
}

// One process and what it is asked, one after another.
class DescriptorHelpers::Helper {
public:
    Helper(DescriptorHelpers& owner, User user) : owner_(owner), user_(user) {}
    // Ends it: at once when it waits for work, else by a signal.
    ~Helper()
    {
        io_.reset();
        owner_.close_(user_.account, std::move(socket_));    // what it answered may wait in it
        const Result<Chunk> gone = fail(ErrorCode::Io, "rdma-qosd ends");
        for (auto& waiting : std::exchange(queue_, {})) {
            waiting.done(gone);
        }
    }
    Helper(const Helper&) = delete;
    Helper& operator=(const Helper&) = delete;

    [[nodiscard]] Result<void> start();
    [[nodiscard]] bool idle() const { return queue_.empty(); }
    [[nodiscard]] Result<void> ask(std::shared_ptr<UniqueFd> socket, std::size_t most, Done done);

private:
    struct Waiting {
        std::shared_ptr<UniqueFd> socket;    // the client's
        std::size_t most = 0;
        Done done;
    };

    void send_first();
    void ready();
    void answered(Result<Chunk> chunk);
    [[nodiscard]] Result<Chunk> read_answer() const;
    // Kills it; what it was asked last fails, the rest is asked of another.
    void give_up(ErrorCode code, const std::string& why);
    void arm(std::chrono::milliseconds delay, std::function<void()> function)
    {
        timer_ = owner_.loop_.after(delay, std::move(function));
    }

    DescriptorHelpers& owner_;
    User user_;
    pid_t pid_ = 0;
    UniqueFd pidfd_;
    UniqueFd socket_;
    std::unique_ptr<IoSource> io_;
    std::unique_ptr<EventSource> end_;
    std::unique_ptr<Timer> timer_;    // of its answer, or of being idle
    std::deque<Waiting> queue_;       // the first is being served
};

Result<void> DescriptorHelpers::Helper::start()
{
    auto started = TRY(start_helper(owner_.options_.command, "the helper for descriptors"));
    socket_ = std::move(started.socket);
    fcntl(socket_.get(), F_SETFL, fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
    pid_ = started.pid;
    auto pidfd = open_pidfd(pid_);    // of an own child, which is not reaped yet
    if (!pidfd) {
        return fail(std::move(pidfd).error());
    }
    Process& process = owner_.processes_[pid_];
    process.account = user_.account;
    process.pidfd = std::move(*pidfd);
    auto end = owner_.loop_.on_exit_of(process.pidfd.get(), [&owner = owner_, pid = pid_] {
        waitpid(pid, nullptr, WNOHANG);
        owner.processes_.erase(pid);
    });
    if (!end) {
        return fail(std::move(end).error());
    }
    process.end = std::move(*end);
    auto io = owner_.turns_.on_io(user_.account, socket_.get(), EPOLLIN, [this](std::uint32_t) { ready(); });
    if (!io) {
        return fail(std::move(io).error());
    }
    io_ = std::move(*io);
    return {};
}

Result<void> DescriptorHelpers::Helper::ask(std::shared_ptr<UniqueFd> socket, std::size_t most, Done done)
{
    if (queue_.size() >= kMostWaiting) {
        return fail(ErrorCode::LimitReached,
                    fmt::format("{} messages with descriptors of user {} wait", queue_.size(), user_.account.uid()));
    }
    queue_.push_back({std::move(socket), most, std::move(done)});
    if (queue_.size() == 1) {
        send_first();
    }
    return {};
}

void DescriptorHelpers::Helper::send_first()
{
    const Waiting& first = queue_.front();
    const DescriptorOptions& options = owner_.options_;
    DescriptorRequest request;
    request.bytes = static_cast<std::uint32_t>(std::min(first.most, kMostChunk));
    request.text_bytes = static_cast<std::uint32_t>(user_.account.is_root() ? options.text_bytes_of_root
                                                                            : options.text_bytes);
    request.uid = user_.account.uid();
    request.gid = user_.gid;
    iovec part{&request, sizeof(request)};
    const int fd = first.socket->get();
    DescriptorRoom room;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    room.put(message, std::span(&fd, 1));
    arm(options.patience, [this] { give_up(ErrorCode::Timeout, "did not answer in time"); });
    if (sendmsg(socket_.get(), &message, MSG_NOSIGNAL) < 0) {
        // Answered from the loop: the caller is in the middle of something.
        arm({}, [this] { give_up(ErrorCode::Io, "has ended"); });
    }
}

Result<Chunk> DescriptorHelpers::Helper::read_answer() const
{
    DescriptorReply reply;
    std::string rest(kMostChunk + 4096, '\0');
    std::array<iovec, 2> parts{iovec{&reply, sizeof(reply)}, iovec{rest.data(), rest.size()}};
    DescriptorRoom room;
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    room.offer(message);
    const ssize_t length = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
    std::deque<std::shared_ptr<UniqueFd>> accepted;
    for (auto& fd : take_descriptors(message)) {
        auto held = owner_.turns_.shares().descriptors().take(user_.account, 1);
        if (!held) {
            owner_.close_(user_.account, std::move(fd));
            accepted.emplace_back(nullptr);
            continue;
        }
        accepted.emplace_back(new UniqueFd(std::move(fd)),
                              [close = owner_.close_, account = user_.account, held](UniqueFd* owned) {
                                  close(account, std::move(*owned));
                                  delete owned;    // NOLINT(cppcoreguidelines-owning-memory): of the shared_ptr
                              });
    }
    const auto size = static_cast<std::size_t>(length < 0 ? 0 : length);
    if (size < sizeof(reply) || reply.count > kMostDescriptors ||
        size != sizeof(reply) + reply.name_bytes + reply.bytes || (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0) {
        return fail(ErrorCode::Io, "the helper for descriptors has ended");
    }
    if (reply.error != 0) {
        return fail(error_from_errno(ErrorCode::Io, reply.error, "a message cannot be received"));
    }
    Chunk chunk;
    chunk.bytes = rest.substr(reply.name_bytes, reply.bytes);
    chunk.sender = reply.sender;
    for (std::size_t index = 0; index < reply.count; ++index) {
        SentDescriptor descriptor;
        if (!accepted.empty() && accepted.front() == nullptr && reply.kinds[index] != DescriptorKind::Refused) {
            accepted.pop_front();
            descriptor.over_limit = true;
            descriptor.refusal = "the descriptor cannot be kept: its user has as many as remain for everybody else";
        } else if (reply.kinds[index] == DescriptorKind::Refused || accepted.empty()) {
            const std::size_t why = std::min<std::size_t>(reply.refusals[index], kRefusals.size() - 1);
            descriptor.refusal = fmt::format("the descriptor {}", kRefusals[why]);
        } else {
            descriptor.fd = std::move(accepted.front());
            accepted.pop_front();
            if (reply.kinds[index] == DescriptorKind::Text) {
                descriptor.name = printable(std::string_view(rest).substr(0, reply.name_bytes));
            }
        }
        chunk.descriptors.push_back(std::move(descriptor));
    }
    return chunk;
}

void DescriptorHelpers::Helper::ready()
{
    auto chunk = read_answer();
    if (queue_.empty()) {
        owner_.ended(user_.account);    // it says something unasked: it has ended
        return;
    }
    if (!chunk && chunk.error().sys_errno == 0) {
        give_up(ErrorCode::Io, "has ended");
        return;
    }
    answered(std::move(chunk));
}

void DescriptorHelpers::Helper::answered(Result<Chunk> chunk)
{
    Waiting first = std::move(queue_.front());
    queue_.pop_front();
    first.socket.reset();
    if (queue_.empty()) {
        arm(owner_.options_.idle, [this] { owner_.ended(user_.account); });
    } else {
        send_first();
    }
    first.done(std::move(chunk));
}

void DescriptorHelpers::Helper::give_up(ErrorCode code, const std::string& why)
{
    log_event(LogLevel::Warning, LogEvent::None, LogOrigin::user(user_.account.uid()),
              {{"UID", fmt::format("{}", user_.account.uid())}},
              "the helper for descriptors of user {}, process {}, {}: it is replaced", user_.account.uid(), pid_, why);
    signal_process(pid_, SIGKILL);    // ours and not reaped: the number is its own
    auto left = std::exchange(queue_, {});
    DescriptorHelpers& owner = owner_;
    const User user = user_;
    owner.ended(user.account);    // this object is gone
    left.front().socket.reset();
    left.front().done(
        fail(code, fmt::format("a descriptor cannot be received: the helper of user {} {}", user.account.uid(), why)));
    left.pop_front();
    for (auto& waiting : left) {
        owner.receive(user, std::move(waiting.socket), waiting.most, std::move(waiting.done));
    }
}

DescriptorHelpers::DescriptorHelpers(EventLoop& loop, Turns& turns, DescriptorOptions options, Close close)
    : loop_(loop), turns_(turns), options_(std::move(options)), close_(std::move(close))
{
}

DescriptorHelpers::~DescriptorHelpers()
{
    helpers_.clear();
    for (const auto& [pid, process] : processes_) {
        signal_process(pid, SIGKILL);
    }
}

void DescriptorHelpers::ended(Account account)
{
    helpers_.erase(account);
}

Result<void> DescriptorHelpers::make_room(Account account)
{
    const auto of_user = std::ranges::count(processes_, account,
                                            [](const auto& entry) { return entry.second.account; });
    if (static_cast<std::size_t>(of_user) >= options_.processes_per_user) {
        return fail(ErrorCode::LimitReached,
                    fmt::format("{} helpers of user {} hang in closing descriptors it sent", of_user, account.uid()));
    }
    if (account.is_root() || processes_.size() < options_.helpers) {
        return {};
    }
    const auto idle = std::ranges::find_if(helpers_, [](const auto& entry) { return entry.second->idle(); });
    if (idle == helpers_.end()) {
        return fail(ErrorCode::LimitReached, fmt::format("all {} helpers for descriptors are busy", options_.helpers));
    }
    helpers_.erase(idle);
    return {};
}

Result<DescriptorHelpers::Helper*> DescriptorHelpers::helper_of(User user)
{
    if (const auto present = helpers_.find(user.account); present != helpers_.end()) {
        return present->second.get();
    }
    if (options_.command.empty()) {
        return fail(ErrorCode::Unsupported, "descriptors are not accepted on this connection");
    }
    TRY(make_room(user.account));
    auto helper = std::make_unique<Helper>(*this, user);
    TRY(helper->start());
    return helpers_.emplace(user.account, std::move(helper)).first->second.get();
}

void DescriptorHelpers::receive(User user, std::shared_ptr<UniqueFd> socket, std::size_t most, Done done)
{
    auto helper = helper_of(user);
    Result<void> asked = helper ? (*helper)->ask(std::move(socket), most, done) : Result<void>(fail(helper.error()));
    if (!asked) {
        turns_.queue(user.account, [done = std::move(done), error = asked.error()] { done(fail(error)); });
    }
}

}    // namespace rdmaqos::bus
