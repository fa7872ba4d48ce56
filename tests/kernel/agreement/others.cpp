// Another process: what can be seen of it, what can be done with a descriptor taken from it, and what it notices.
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/netlink.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_netlink.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emulator/clients/prm.h"
#include "tests/kernel/agreement/handles.h"
#include "tests/kernel/agreement/netlink_words.h"
#include "tests/kernel/agreement/routes.h"

namespace rdmaqos::test::agreement {
namespace {

using namespace std::chrono_literals;
using namespace netlink;

// ---- the other process ----

struct Opened {
    int fd = -1;
    std::uint32_t handles[3] = {};    // of `first`, `second`, `datagram`
    std::uint32_t numbers[3] = {};
};

enum class Order : std::uint8_t { Init, Rtr, Rts, Err, Reset, Query, DestroySecond, End };

// It takes orders, and answers each with an errno.
class Other {
public:
    Other();
    ~Other() { end(); }
    Other(const Other&) = delete;
    Other& operator=(const Other&) = delete;

    [[nodiscard]] int obey(Order order) const;
    void end();

    pid_t pid = -1;
    Opened opened;

private:
    [[noreturn]] void run() const;

    int ends_[2] = {-1, -1};
};

int move_to(ibv_qp* pair, const Place& place, ibv_qp_state state)
{
    ibv_qp_attr attributes = values_at(place, pair);
    attributes.qp_state = state;
    attributes.ah_attr.sl = 4;
    attributes.ah_attr.grh.traffic_class = 0x68;
    return ibv_modify_qp(pair, &attributes, needed_for(pair, state) | IBV_QP_STATE);
}

void Other::run() const
{
    struct world world {};
    Opened made;
    ibv_qp* pairs[3] = {};
    if (!open_world(&world)) {
        _exit(1);
    }
    const Place place(world.context);
    made.fd = world.context->cmd_fd;
    for (std::size_t at = 0; at < 3; ++at) {
        pairs[at] = create_qp(&world, at < 2 ? IBV_QPT_RC : IBV_QPT_UD);
        made.handles[at] = pairs[at]->handle;
        made.numbers[at] = pairs[at]->qp_num;
    }
    (void)connect(pairs[1], values_at(place, pairs[1]));
    (void)connect(pairs[2], values_at(place, pairs[2]));
    (void)!write(ends_[1], &made, sizeof(made));
    for (Order order{}; read(ends_[1], &order, sizeof(order)) == sizeof(order) && order != Order::End;) {
        constexpr ibv_qp_state kStates[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR, IBV_QPS_RESET};
        ibv_qp_attr attributes{};
        ibv_qp_init_attr init{};
        const int error = order == Order::DestroySecond ? ibv_destroy_qp(pairs[1])
                          : order == Order::Query       ? ibv_query_qp(pairs[1], &attributes, IBV_QP_STATE, &init)
                                                        : move_to(pairs[0], place, kStates[static_cast<int>(order)]);
        (void)!write(ends_[1], &error, sizeof(error));
    }
    _exit(0);
}

Other::Other()
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_) != 0) {
        throw std::runtime_error("no socket pair");
    }
    pid = fork();
    if (pid == 0) {
        close(ends_[0]);
        run();
    }
    close(ends_[1]);
    if (read(ends_[0], &opened, sizeof(opened)) != sizeof(opened)) {
        throw std::runtime_error("the other process has no device");
    }
}

int Other::obey(Order order) const
{
    int error = EPIPE;
    (void)!write(ends_[0], &order, sizeof(order));
    (void)!read(ends_[0], &error, sizeof(error));
    return error;
}

void Other::end()
{
    if (pid > 0) {
        close(ends_[0]);
        waitpid(pid, nullptr, 0);
        pid = -1;
    }
}

// ---- counts ----

using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

Counts counts_in(const Bytes& message)
{
    Counts counts;
    for (const auto& [type, table] : parse(message, NLMSG_HDRLEN)) {
        if (type != RDMA_NLDEV_ATTR_RES_SUMMARY) {
            continue;
        }
        for (const auto& [entry, content] : parse(table, 0)) {
            std::string name = entry == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY ? "" : "not an entry";
            std::uint64_t count = 0;
            for (const auto& [field, bytes] : parse(content, 0)) {
                if (field == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME) {
                    name += reinterpret_cast<const char*>(bytes.data());
                } else if (field == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR && bytes.size() == sizeof(count)) {
                    std::memcpy(&count, bytes.data(), sizeof(count));
                } else {
                    name += fmt::format(" #{}[{}]", field, bytes.size());
                }
            }
            counts.emplace_back(name, count);
        }
    }
    return counts;
}

Counts counts_of(std::uint32_t device)
{
    const Reply reply = ask(RDMA_NLDEV_CMD_RES_GET, 0, {{RDMA_NLDEV_ATTR_DEV_INDEX, device}});
    return reply.messages.empty() ? Counts{{spelled(reply.error), 0}} : counts_in(reply.messages.front());
}

std::string difference(const Counts& before, const Counts& after)
{
    std::string text;
    for (std::size_t at = 0; at < after.size(); ++at) {
        const auto was = at < before.size() ? before[at].second : 0;
        text += fmt::format("{}{} {:+}", text.empty() ? "" : ", ", after[at].first,
                            static_cast<std::int64_t>(after[at].second - was));
    }
    return text;
}

void say_system(std::uint32_t device)
{
    const auto get = [](const std::string& name, std::uint16_t command, std::uint16_t flags,
                        const std::vector<std::pair<std::uint16_t, std::uint32_t>>& given) {
        const Reply reply = ask(command, flags, given);
        say(name, fmt::format("{}, {} messages", spelled(reply.error), reply.messages.size()));
    };
    const Reply system = ask(RDMA_NLDEV_CMD_SYS_GET, 0, {});
    std::string text = spelled(system.error);
    if (!system.messages.empty()) {
        for (const auto& [type, bytes] : parse(system.messages.front(), NLMSG_HDRLEN)) {
            text += fmt::format(" #{}[{}]={}", type, bytes.size(), bytes.empty() ? 0 : bytes.front());
        }
    }
    say("SYS_GET", text);
    get("SYS_GET as a dump", RDMA_NLDEV_CMD_SYS_GET, NLM_F_DUMP, {});
    get("counts", RDMA_NLDEV_CMD_RES_GET, 0, {{RDMA_NLDEV_ATTR_DEV_INDEX, device}});
    get("counts of all devices", RDMA_NLDEV_CMD_RES_GET, NLM_F_DUMP, {});
    get("counts without a device", RDMA_NLDEV_CMD_RES_GET, 0, {});
    get("counts of no device", RDMA_NLDEV_CMD_RES_GET, 0, {{RDMA_NLDEV_ATTR_DEV_INDEX, 0xffff}});
    const Reply all = ask(RDMA_NLDEV_CMD_RES_GET, NLM_F_DUMP, {});
    say("counts of all devices: those of the first",
        all.messages.empty() ? "none" : difference(counts_of(device), counts_in(all.messages.front())));
}

// ---- looking ----

std::string kind_of(int error, mode_t mode, unsigned of_major, unsigned of_minor)
{
    if (error != 0) {
        return spelled(errno);
    }
    return S_ISCHR(mode) ? fmt::format("device {}:{}", of_major, of_minor) : fmt::format("mode {:o}", mode & S_IFMT);
}

std::string link_text(int folder, const std::string& path)
{
    char text[128] = {};
    return readlinkat(folder, path.c_str(), text, sizeof(text) - 1) > 0 ? text : spelled(errno);
}

std::string status_text(int folder, const std::string& path, int flags)
{
    struct stat status {};
    const int error = fstatat(folder, path.c_str(), &status, flags);
    return kind_of(error, status.st_mode, major(status.st_rdev), minor(status.st_rdev));
}

std::string statx_text(int folder, const std::string& path)
{
    struct statx status {};
    const int error = statx(folder, path.c_str(), 0, STATX_TYPE | STATX_MODE, &status);
    return kind_of(error, status.stx_mode, status.stx_rdev_major, status.stx_rdev_minor);
}

void say_look(const Other& other)
{
    const std::string folder = fmt::format("/proc/{}/fd", other.pid);
    const std::string name = std::to_string(other.opened.fd);
    const std::string path = folder + "/" + name;
    say("its descriptor: readlink", link_text(AT_FDCWD, path));
    say("its descriptor: stat", status_text(AT_FDCWD, path, 0));
    say("its descriptor: lstat", status_text(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW));
    say("its descriptor: statx", statx_text(AT_FDCWD, path));
    DIR* listed = opendir(folder.c_str());
    std::size_t devices = 0;
    for (dirent* each = nullptr; (each = readdir(listed)) != nullptr;) {
        devices += each->d_name == name && each->d_type == DT_LNK &&
                           statx_text(dirfd(listed), each->d_name).starts_with("device")
                       ? 1
                       : 0;
    }
    say("its descriptor: in a scan", std::to_string(devices));
    say("its descriptor: readlinkat", link_text(dirfd(listed), name));
    say("its descriptor: fstatat", status_text(dirfd(listed), name, 0));
    closedir(listed);
}

// ---- taking ----

int take(const Other& other)
{
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, other.pid, 0));
    const int fd = static_cast<int>(syscall(SYS_pidfd_getfd, pidfd, other.opened.fd, 0));
    const int error = errno;
    close(pidfd);
    errno = error;
    return fd;
}

void say_taken(const Other& other, int fd, const Place& place)
{
    const auto& [its_fd, handles, numbers] = other.opened;
    struct stat status {};
    const int error = fstat(fd, &status);
    say("taken: fstat", kind_of(error, status.st_mode, major(status.st_rdev), minor(status.st_rdev)));
    say("taken: kcmp", std::to_string(syscall(SYS_kcmp, getpid(), other.pid, 0, fd, its_fd)));
    say("taken: a second time, kcmp", [&] {
        const int second = take(other);
        const long same = syscall(SYS_kcmp, getpid(), getpid(), 0, fd, second);
        close(second);
        return std::to_string(same);
    }());
    say("taken: queue pairs", list_handles(fd, UVERBS_OBJECT_QP, 64)
                                  .text({{handles[0], "first"}, {handles[1], "second"}, {handles[2], "datagram"}}));
    const char* names[] = {"first", "second", "datagram"};
    for (std::size_t at = 0; at < 3; ++at) {
        say(fmt::format("taken: {}", names[at]), verbs_answer(fd, handles[at], place, numbers[at]));
        say(fmt::format("taken: {}, for DEVX", names[at]), devx_answer(fd, handles[at], place, numbers[at]));
    }
}

// Which handle is which queue pair. A failure that is ordered for the next command of this kind is still there
// afterwards if the firmware saw none.
void say_pairing(const Room& room, const Other& other, int fd)
{
    const auto& [its_fd, handles, numbers] = other.opened;
    const QueuePair own(room, IBV_QPT_RC, IBV_QPS_RTS);
    const auto query = [&](std::uint32_t handle, std::uint32_t number) {
        return devx_query(fd, handle, queue_command(kQueryQp, number), kQueryQueuePairOut);
    };
    const auto move = [&](std::uint32_t handle, std::uint32_t number) {
        return devx_modify(fd, handle, attach(OP_RTS2RTS_QP, number, 0, 0)).text();
    };
    const std::pair<const char*, std::uint32_t> wrong[] = {
        {"another's number", numbers[1]},          {"a datagram's number", numbers[2]},
        {"another file's number", own.qp->qp_num}, {"no number", 0},
        {"a number of nothing", 0xfffffe},
    };
    control("fail query-queue-pair 1 0x3");
    control("fail attach 1 0x3");
    for (const auto& [name, number] : wrong) {
        say(fmt::format("pairing: queried by {}", name), query(handles[0], number).text());
        say(fmt::format("pairing: moved by {}", name), move(handles[0], number));
    }
    say("pairing: a handle of nothing", query(0xfffff, numbers[0]).text());
    say("pairing: queried by its number, the first command", spelled(query(handles[0], numbers[0]).error));
    say("pairing: moved by its number, the first command", move(handles[0], numbers[0]));
    control("clear");
    say("pairing: queried by its number", spelled(query(handles[0], numbers[0]).error));
    say("pairing: moved by its number", move(handles[0], numbers[0]));
}

// Elements that are made in its file.
void say_elements_in(const Other& other, int fd)
{
    const auto& [its_fd, handles, numbers] = other.opened;
    const Answer root = devx_create(fd, create_element(kTsar, 0));
    const Answer leaf = devx_create(fd, create_element(kQueueGroup, root.id()));
    say("elements in its file", joined({spelled(root.error), spelled(leaf.error)}));
    say("elements in its file: listed",
        list_handles(fd, MLX5_IB_OBJECT_DEVX_OBJ, 64).text({{root.handle, "root"}, {leaf.handle, "leaf"}}));
    const auto move = [&](std::uint32_t to) {
        return devx_modify(fd, handles[0], attach(OP_RTS2RTS_QP, numbers[0], to, to)).text();
    };
    say("elements in its file: moved into the leaf", move(leaf.id()));
    say("elements in its file: which is destroyed", spelled(devx_destroy(fd, leaf.handle)));
    say("elements in its file: moved out", move(0));
    say("elements in its file: destroyed",
        joined({spelled(devx_destroy(fd, leaf.handle)), spelled(devx_destroy(fd, root.handle))}));
}

// ---- what it notices ----

void say_meeting(const Other& other, int fd, const Place& place)
{
    const auto& [its_fd, handles, numbers] = other.opened;
    const std::uint32_t handle = handles[1];
    const std::uint32_t number = numbers[1];
    const auto meet = [&](const std::string& name, Order order, const auto& first) {
        std::string of_first;
        std::thread thread([&] { of_first = first(); });
        std::this_thread::sleep_for(300ms);
        const std::string of_second = spelled(other.obey(order));
        thread.join();
        say("meanwhile: " + name, fmt::format("{}, the first {}", of_second, of_first));
    };
    const auto query = [&] {
        return spelled(devx_query(fd, handle, queue_command(kQueryQp, number), kQueryQueuePairOut).error);
    };
    const auto move = [&] { return spelled(devx_modify(fd, handle, attach(OP_RTS2RTS_QP, number, 0, 0)).error); };
    const auto ask_verbs = [&] { return verbs_answer(fd, handle, place, number).substr(0, 2); };
    control("delay query-queue-pair 1000");
    meet("its query while it is queried by DEVX", Order::Query, query);
    meet("its destroy while it is queried by DEVX", Order::DestroySecond, query);
    control("clear");
    control("delay attach 1000");
    meet("its query while it is moved", Order::Query, move);
    meet("its destroy while it is moved", Order::DestroySecond, move);
    control("clear");
    control("set call-us 1000000");
    meet("its destroy while it is queried", Order::DestroySecond, ask_verbs);
    control("set call-us 0");
    say("afterwards: its destroy", spelled(other.obey(Order::DestroySecond)));
    say("afterwards: queue pairs",
        list_handles(fd, UVERBS_OBJECT_QP, 64).text({{handles[0], "first"}, {handles[2], "datagram"}}));
    say("afterwards: queried", verbs_answer(fd, handle, place, number));
    say("afterwards: queried by DEVX", devx_answer(fd, handle, place, number));
}

void say_states_of(const Other& other, std::uint32_t device)
{
    const Names names{{other.opened.numbers[0], "first"}, {other.opened.numbers[1], "second"}};
    const std::pair<const char*, Order> orders[] = {
        {"INIT", Order::Init},     {"RTR", Order::Rtr},           {"RTS", Order::Rts},
        {"ERR", Order::Err},       {"RESET again", Order::Reset}, {"INIT again", Order::Init},
        {"RTR again", Order::Rtr}, {"RTS again", Order::Rts},
    };
    say("netlink in RESET", one(ask_queue_pair(device, other.opened.numbers[0]), names));
    for (const auto& [name, order] : orders) {
        const int error = other.obey(order);
        say(fmt::format("netlink in {}", name), error != 0
                                                    ? "not reached, " + spelled(error)
                                                    : one(ask_queue_pair(device, other.opened.numbers[0]), names));
    }
    const Reply contexts = ask(RDMA_NLDEV_CMD_RES_CTX_GET, NLM_F_DUMP, {{RDMA_NLDEV_ATTR_DEV_INDEX, device}});
    say("contexts", std::to_string(entries_of(contexts, RDMA_NLDEV_ATTR_RES_CTX).size()));
}

}    // namespace

void say_other_process()
{
    const std::uint32_t device = device_index();
    say_system(device);
    const Room room;
    const Place place(room.world.context);
    const Counts before = counts_of(device);
    Other other;
    say("counts, of another process", difference(before, counts_of(device)));
    say_states_of(other, device);
    say_look(other);
    const int fd = take(other);
    say("taken", spelled(fd >= 0 ? 0 : errno));
    say_taken(other, fd, place);
    say_pairing(room, other, fd);
    say_elements_in(other, fd);
    say_meeting(other, fd, place);
    say("counts, with a queue pair less", difference(before, counts_of(device)));
    other.end();
    say("counts, when it has ended and its file is held", difference(before, counts_of(device)));
    say("first, when it has ended",
        joined({one(ask_queue_pair(device, other.opened.numbers[0]), {{other.opened.numbers[0], "first"}}),
                verbs_answer(fd, other.opened.handles[0], place, other.opened.numbers[0])}));
    close(fd);
    say("counts, when its file is closed", difference(before, counts_of(device)));
}

}    // namespace rdmaqos::test::agreement
