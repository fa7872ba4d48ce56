#include "lib/bus/sender_processes.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lib/base/descriptor_message.h"
#include "lib/base/log.h"
#include "lib/base/signal_process.h"
#include "lib/base/try.h"
#include "lib/bus/peer.h"
#include "lib/bus/process_wire.h"

namespace rdmaqos::bus {
namespace {

// Helpers that are asked for one sender: one may end because of what came to it before.
constexpr int kMostAsked = 3;

Result<std::optional<PeerProcess>> process_of(const ProcessReply& reply, std::vector<UniqueFd> descriptors)
{
    if (reply.answer != ProcessAnswer::Given || descriptors.size() != 1) {
        return fail(ErrorCode::Io, "the process of a client has ended: the bus has no pidfd of it");
    }
    auto number = TRY(number_of(descriptors.front()));
    PeerProcess process;
    process.pid = number;
    process.uid = reply.uid;
    process.gids.assign(reply.gids.begin(), reply.gids.begin() + reply.groups);
    process.pidfd = std::move(descriptors.front());
    return process;
}

}    // namespace

SenderProcesses::SenderProcesses(EventLoop& loop, SenderProcessOptions options)
    : loop_(loop), options_(std::move(options))
{
    forget();
}

SenderProcesses::~SenderProcesses()
{
    for (const auto& [pid, process] : processes_) {
        signal_process(pid, SIGKILL);    // ours and not reaped: the number is its own
    }
}

void SenderProcesses::look_up(const std::string& unique_name, Done done)
{
    queue_.push_back({unique_name, std::move(done)});
    go_on();
}

void SenderProcesses::forget()
{
    queue_.clear();
    asking_ = false;
    leave_helper();
    bus_gives_ = options_.command.empty() ? std::optional(false) : std::nullopt;
}

Result<void> SenderProcesses::start()
{
    if (processes_.size() >= options_.processes) {
        return fail(ErrorCode::LimitReached, fmt::format("{} of its processes have not ended", processes_.size()));
    }
    auto started = TRY(start_helper(options_.command, "the helper for processes"));
    if (auto watched = watch(started); !watched) {
        processes_.erase(started.pid);
        signal_process(started.pid, SIGKILL);    // it has done nothing yet that could hold it up
        waitpid(started.pid, nullptr, 0);
        return watched;
    }
    socket_ = std::move(started.socket);
    pid_ = started.pid;
    return {};
}

Result<void> SenderProcesses::watch(const HelperProcess& started)
{
    auto pidfd = open_pidfd(started.pid);    // of an own child, which is not reaped yet
    if (!pidfd) {
        return fail(std::move(pidfd).error());
    }
    auto end = loop_.on_exit_of(pidfd->get(), [this, pid = started.pid] {
        waitpid(pid, nullptr, WNOHANG);
        processes_.erase(pid);
    });
    if (!end) {
        return fail(std::move(end).error());
    }
    processes_.emplace(started.pid, Process{std::move(*pidfd), std::move(*end)});
    auto io = loop_.on_io(started.socket.get(), EPOLLIN, [this](std::uint32_t) { ready(); });
    if (!io) {
        return fail(std::move(io).error());
    }
    io_ = std::move(*io);
    return {};
}

void SenderProcesses::go_on()
{
    while (!asking_ && !queue_.empty()) {
        ask_first();
    }
    if (queue_.empty() && socket_) {
        timer_ = loop_.after(options_.idle, [this] { leave_helper(); });
    }
}

void SenderProcesses::ask_first()
{
    Waiting& first = queue_.front();
    if (bus_gives_ == false) {
        answer_first(std::nullopt);
        return;
    }
    ProcessRequest request;
    if (first.name.size() >= request.unique_name.size()) {
        answer_first(fail(ErrorCode::Io, "no sender has such a name: " + first.name));
        return;
    }
    std::ranges::copy(first.name, request.unique_name.begin());
    if (!socket_) {
        if (auto started = start(); !started) {
            helper_failed(to_string(started.error()));
            return;
        }
    }
    ++first.asked;
    asking_ = true;
    timer_ = loop_.after(options_.patience, [this] {
        if (processes_.contains(pid_)) {    // else it has ended, and its number may be another's
            signal_process(pid_, SIGKILL);
        }
        helper_failed("it did not answer in time");
        go_on();
    });
    // If it has ended meanwhile, that is read next.
    (void)send(socket_.get(), &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void SenderProcesses::ready()
{
    ProcessReply reply;
    iovec part{&reply, sizeof(reply)};
    DescriptorRoom room;
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    room.offer(message);
    const ssize_t length = recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT | MSG_TRUNC);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    auto descriptors = take_descriptors(message);
    if (length < static_cast<ssize_t>(offsetof(ProcessReply, gids)) || reply.groups > reply.gids.size() ||
        length != static_cast<ssize_t>(reply.size()) || !asking_) {
        leave_helper();
        if (asking_ && queue_.front().asked >= kMostAsked) {
            helper_failed("it ended without an answer");
        }
        asking_ = false;
    } else if (reply.answer == ProcessAnswer::Unknown) {
        bus_gives_ = false;
        leave_helper();
        answer_first(std::nullopt);
    } else {
        bus_gives_ = true;
        answer_first(process_of(reply, std::move(descriptors)));
    }
    go_on();
}

void SenderProcesses::answer_first(Result<std::optional<PeerProcess>> answer)
{
    const Waiting first = std::move(queue_.front());
    queue_.pop_front();
    asking_ = false;
    timer_.reset();
    first.done(std::move(answer));
}

void SenderProcesses::leave_helper()
{
    timer_.reset();
    io_.reset();
    socket_.reset();    // it reads the end
    pid_ = 0;
}

// A bus that is not known to give pidfds is asked as one that does not.
void SenderProcesses::helper_failed(const std::string& why)
{
    leave_helper();
    if (bus_gives_ == true) {
        answer_first(fail(ErrorCode::Io, "the system bus cannot be asked now who a client is: " + why));
        return;
    }
    log_event(LogLevel::Warning, LogEvent::None, {}, {},
              "the system bus cannot be asked for the pidfd of a client ({}): it goes by process number and start time",
              why);
    answer_first(std::nullopt);
}

}    // namespace rdmaqos::bus
