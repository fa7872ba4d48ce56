#include "tests/faults/call_watch.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/descriptor_message.h"

namespace rdmaqos::test {
namespace {

using Clock = std::chrono::steady_clock;

// Of /proc/PID/status: "Tgid:", "PPid:". 0: it has ended.
pid_t number_in_status(pid_t thread, std::string_view name)
{
    std::ifstream file(fmt::format("/proc/{}/status", thread));
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(name)) {
            return std::stoi(line.substr(name.size()));
        }
    }
    return 0;
}

// A text in the memory of a thread that is stopped.
std::string text_at(pid_t thread, std::uint64_t address)
{
    std::ifstream memory(fmt::format("/proc/{}/mem", thread), std::ios::binary);
    memory.seekg(static_cast<std::streamoff>(address));
    std::string text;
    for (char each = 0; text.size() < 4096 && memory.get(each) && each != '\0';) {
        text += each;
    }
    return text;
}

std::vector<std::uint8_t> bytes_at(pid_t thread, std::uint64_t address, std::size_t size)
{
    std::ifstream memory(fmt::format("/proc/{}/mem", thread), std::ios::binary);
    memory.seekg(static_cast<std::streamoff>(address));
    std::vector<std::uint8_t> bytes(size);
    memory.read(reinterpret_cast<char*>(bytes.data()),    // NOLINT(*-reinterpret-cast)
                static_cast<std::streamsize>(size));
    return memory ? bytes : std::vector<std::uint8_t>();
}

// The index of the argument that is a path; -1.
int path_argument(std::string_view name)
{
    if (name == "openat" || name == "unlinkat" || name == "mkdirat") {
        return 1;
    }
    if (name == "renameat" || name == "renameat2") {
        return 3;
    }
    if (name == "rename") {
        return 1;
    }
    return name == "unlink" || name == "mkdir" || name == "memfd_create" ? 0 : -1;
}

// While its thread waits, what is read by its number is of that thread (seccomp_unotify(2)).
bool still_waits(int listener, const seccomp_notif& notice)
{
    return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &notice.id) == 0;
}

// Nothing: what was started with the launcher has ended meanwhile, or the call is no watched one.
std::optional<StoppedCall> described(int listener, const seccomp_notif& notice)
{
    StoppedCall stopped;
    const auto found = std::ranges::find(kWatchedCalls, notice.data.nr, &WatchedCall::number);
    if (found == kWatchedCalls.end()) {
        return std::nullopt;
    }
    stopped.call = &*found;
    const auto thread = static_cast<pid_t>(notice.pid);
    stopped.process = number_in_status(thread, "Tgid:");
    pid_t parent = number_in_status(thread, "PPid:");
    stopped.by_helper = parent != getpid();
    stopped.by_main_thread = stopped.process == thread && !stopped.by_helper;
    if (stopped.by_helper) {
        stopped.process = parent;
        parent = number_in_status(parent, "PPid:");
    }
    if (parent != getpid()) {
        return std::nullopt;
    }
    stopped.changes = stopped.call->changes &&
                      (stopped.call->name != "openat" || (notice.data.args[2] & (O_WRONLY | O_RDWR | O_CREAT)) != 0);
    if (const int path = path_argument(stopped.call->name); path >= 0) {
        stopped.file = text_at(thread, notice.data.args[path]);
    } else if (stopped.call->file_argument >= 0) {
        std::error_code error;
        const auto fd = static_cast<int>(notice.data.args[stopped.call->file_argument]);
        const std::filesystem::path link = fmt::format("/proc/{}/fd/{}", thread, fd);
        stopped.file = std::filesystem::read_symlink(link, error).string();
        stopped.lengthens = stopped.call->name == "pwrite64" &&
                            notice.data.args[3] + notice.data.args[2] > std::filesystem::file_size(link, error);
    }
    if (stopped.call->name == "sendto") {
        constexpr std::uint64_t kMost = 16;
        stopped.beginning = bytes_at(thread, notice.data.args[1], std::min(kMost, std::uint64_t{notice.data.args[2]}));
    }
    return still_waits(listener, notice) ? std::optional(stopped) : std::nullopt;
}

}    // namespace

std::string StoppedCall::text() const
{
    return fmt::format("{}{}{} by {}", call->name, file.empty() ? "" : " ", file,
                       by_helper        ? "a helper"
                       : by_main_thread ? "the main thread"
                                        : "a thread");
}

CallWatch::CallWatch()
{
    const std::string path = (dir_.path() / "watch").string();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    socket_ = UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
            0 ||    // NOLINT(*-reinterpret-cast)
        listen(socket_.get(), 4) != 0) {
        throw std::runtime_error("no socket for the watch");
    }
    end_ = UniqueFd(eventfd(0, EFD_CLOEXEC));
    thread_ = std::thread([this] { serve(); });
}

CallWatch::~CallWatch()
{
    const std::uint64_t one = 1;
    (void)!write(end_.get(), &one, sizeof(one));
    thread_.join();
}

std::vector<std::string> CallWatch::launcher() const
{
    return {RDMAQOS_WATCHED, (dir_.path() / "watch").string()};
}

void CallWatch::set_judge(Judge judge)
{
    const std::lock_guard lock(mutex_);
    judge_ = std::move(judge);
}

void CallWatch::serve()
{
    while (true) {
        std::vector<pollfd> wanted{{socket_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}};
        for (const auto& listener : listeners_) {
            wanted.push_back({listener.get(), POLLIN, 0});
        }
        if (poll(wanted.data(), wanted.size(), answer_held()) < 0 && errno != EINTR) {
            return;
        }
        if (wanted[1].revents != 0) {
            return;
        }
        for (std::size_t i = 2; i < wanted.size(); ++i) {
            if ((wanted[i].revents & POLLIN) != 0) {
                take_call(wanted[i].fd);
            } else if (wanted[i].revents != 0) {    // all who were watched by it have ended
                std::erase_if(held_, [&](const Held& each) { return each.listener == wanted[i].fd; });
                std::erase_if(listeners_, [&](const UniqueFd& each) { return each.get() == wanted[i].fd; });
            }
        }
        if (wanted[0].revents != 0) {
            take_listener();
        }
    }
}

void CallWatch::take_listener()
{
    const UniqueFd connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    char byte = 0;
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    DescriptorRoom room;
    room.offer(message);
    if (recvmsg(connection.get(), &message, MSG_CMSG_CLOEXEC) != 1) {
        return;
    }
    for (auto& listener : take_descriptors(message)) {
        listeners_.push_back(std::move(listener));
    }
}

void CallWatch::take_call(int listener)
{
    seccomp_notif notice{};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notice) != 0) {
        return;    // its thread was killed meanwhile
    }
    Verdict verdict;
    const std::lock_guard lock(mutex_);
    if (judge_ != nullptr) {
        if (const auto stopped = described(listener, notice)) {
            verdict = judge_(*stopped);
        }
    }
    const Held call{listener, notice.id, verdict.error, Clock::now() + verdict.after};
    if (verdict.after.count() > 0) {
        held_.push_back(call);
    } else {
        answer(call);
    }
}

void CallWatch::answer(const Held& call) const
{
    seccomp_notif_resp answer{};
    answer.id = call.id;
    answer.error = -call.error;
    answer.flags = call.error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
    (void)ioctl(call.listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);    // fails if the thread was killed
}

// Those whose time has come; how many milliseconds until the next one, for poll().
int CallWatch::answer_held()
{
    const auto now = Clock::now();
    std::erase_if(held_, [&](const Held& each) {
        if (each.until <= now) {
            answer(each);
        }
        return each.until <= now;
    });
    const auto next = std::ranges::min_element(held_, {}, &Held::until);
    return next == held_.end()
               ? -1
               : static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(next->until - now).count());
}

}    // namespace rdmaqos::test
