// A program that knows nothing of rdma-qosd: a process with queue pairs, made through libibverbs and nothing else.
#pragma once

#include <csignal>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/signal_process.h"
#include "tests/nic_mlx5/program.h"

namespace rdmaqos::test {

// ---- what the policies of these tests tell apart ----

// Where a connected queue pair goes to. Links away from the host: no kernel has to resolve them.
enum class Towards : std::uint32_t { Nowhere = 0xa, Bulk = 0xb, Storage = 0xc };

constexpr const char* kAdoptingPolicy = R"(version: 1
port-groups:
  - {name: bulk-side, gid: ["fe80::b:0:0:0/80"]}
  - {name: storage-side, gid: ["fe80::c:0:0:0/80"]}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60, max-rate: 40Gbps, fair-by: process}}
  - {name: bulk, schedule: {share: 20}}
  - {name: storage, schedule: {share: 7, max-rate: 25Gbps}}
qos-match-rules:
  - {client: {command: ["stranger*"]}, destination: [bulk-side], qos-level-name: bulk}
  - {client: {command: ["stranger*"]}, destination: [storage-side], qos-level-name: storage}
  - {client: {command: [stranger-rpc]}, qos-level-name: rpc}
)";
constexpr const char* kAdopting = "version: 1\nunregistered: adopt\n";
// Of a stranger's queue pairs.
constexpr const char* kInRpc = kPlaceOf[0];
constexpr const char* kInBulk = kPlaceOf[1];
constexpr const char* kInStorage = kPlaceOf[2];
constexpr const char* kNowhere = "";

class AdoptionTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (geteuid() != 0) {
            GTEST_SKIP() << "only root may take the files of other processes";
        }
    }
    void TearDown() override { make_as_it_was(); }
};

inline DaemonOptions adopting(const std::string& policy = kAdoptingPolicy)
{
    return on_emulator(policy, kAdopting);
}

// Asked again until it is there.
inline bool comes_to(std::uint32_t queue_pair, const std::string& place, const char* device = "mlx5_0",
                     std::chrono::milliseconds patience = kHung)
{
    return eventually([&] { return place_of(queue_pair, device) == place; }, patience);
}

// Which of them are not there, for a message.
inline std::map<std::uint32_t, std::string> elsewhere(const std::vector<std::uint32_t>& queue_pairs,
                                                      const std::string& place, const char* device = "mlx5_0")
{
    const auto all = places(emulated_device(device));
    std::map<std::uint32_t, std::string> others;
    for (const auto number : queue_pairs) {
        const auto found = all.find(number);
        const std::string where = found == all.end() ? "absent" : found->second;
        if (where != place) {
            others[number] = where;
        }
    }
    return others;
}

// What the daemon says of each, for messages: "263 rc RTS adopted ...".
inline std::string told(bus::Client client)
{
    const auto reply = client.call(bus::names::kRoot, bus::names::kManager, "ListQueuePairs", {bus::Dict()});
    std::string text;
    for (const auto& each : *reply->front().as<std::vector<bus::Dict>>()) {
        for (const char* key : {"device", "number", "type", "state", "pid", "leaf", "outside", "reason"}) {
            text += text_of(each, key) + " ";
        }
        text += "\n";
    }
    return text;
}

// On the clock of traces.
inline double seconds_now()
{
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

inline std::string told(const Daemon& daemon)
{
    return told(daemon.direct());
}

// ---- what a program does ----

// A context of a device, and queue pairs. Nothing is destroyed with it: its process ends.
class Verbs {
public:
    explicit Verbs(const std::string& device = "mlx5_0")
    {
        if (!open_world_of(&world_, device.c_str())) {
            throw std::runtime_error("no world");
        }
    }

    // Null: it cannot be made, or driven there; errno says why.
    ibv_qp* try_make(ibv_qp_type type, Towards towards = Towards::Nowhere, ibv_qp_state state = IBV_QPS_RTS)
    {
        ibv_qp* made = create_qp(&world_, type);
        if (made == nullptr) {
            return nullptr;
        }
        if (!values_) {
            values_ = values_for(made);
        }
        ibv_qp_attr values = *values_;
        values.dest_qp_num = ++peers_ & 0xffffff;    // each has one of its own
        const std::string destination = fmt::format("fe80::{:x}:0:0:1", static_cast<std::uint32_t>(towards));
        inet_pton(AF_INET6, destination.c_str(), values.ah_attr.grh.dgid.raw);
        for (int next = IBV_QPS_INIT; next <= state; ++next) {
            values.qp_state = static_cast<ibv_qp_state>(next);
            const int error = ibv_modify_qp(made, &values, needed_for(made, values.qp_state) | IBV_QP_STATE);
            if (error != 0) {
                ibv_destroy_qp(made);
                errno = error;
                return nullptr;
            }
        }
        return made;
    }
    ibv_qp* make(ibv_qp_type type, Towards towards = Towards::Nowhere, ibv_qp_state state = IBV_QPS_RTS)
    {
        ibv_qp* made = try_make(type, towards, state);
        if (made == nullptr) {
            throw std::runtime_error(std::string("no queue pair: ") + strerrordesc_np(errno));
        }
        queue_pairs_.push_back(made);
        return made;
    }
    // Of those that make() made; the errno.
    int destroy(std::uint32_t number)
    {
        const auto found = std::ranges::find(queue_pairs_, number, &ibv_qp::qp_num);
        if (found == queue_pairs_.end()) {
            return ENOENT;
        }
        const int error = ibv_destroy_qp(*found);
        if (error == 0) {
            queue_pairs_.erase(found);
        }
        return error;
    }

    [[nodiscard]] world& here() { return world_; }
    [[nodiscard]] ibv_context& context() { return *world_.context; }
    [[nodiscard]] const std::vector<ibv_qp*>& all() const { return queue_pairs_; }

private:
    world world_{};
    std::optional<ibv_qp_attr> values_;
    std::uint32_t peers_ = static_cast<std::uint32_t>(getpid()) << 8;
    std::vector<ibv_qp*> queue_pairs_;
};

// ---- a process of its own ----

// One end of a line between two processes, on which numbers go.
class Line {
public:
    explicit Line(int socket) : socket_(socket) {}

    template <typename T>
    void say(const T& what) const
    {
        if (send(socket_, &what, sizeof(what), MSG_NOSIGNAL) != sizeof(what)) {
            throw std::runtime_error("nobody listens");
        }
    }
    // Throws if nothing comes for long.
    template <typename T = std::uint32_t>
    T hear(int milliseconds = kHungMs) const
    {
        T heard{};
        pollfd ready{socket_, POLLIN, 0};
        if (poll(&ready, 1, milliseconds) != 1 || recv(socket_, &heard, sizeof(heard), 0) != sizeof(heard)) {
            throw std::runtime_error("the other process says nothing");
        }
        return heard;
    }

    [[nodiscard]] bool has_something() const
    {
        pollfd ready{socket_, POLLIN, 0};
        return poll(&ready, 1, 0) != 0;
    }

private:
    int socket_;
};

// ---- what it may be: StrangerOptions::enter ----

inline void must(bool good, const char* what)
{
    if (!good) {
        throw std::runtime_error(std::string(what) + ": " + strerrordesc_np(errno));
    }
}

constexpr uid_t kNobody = 65534;

// Another user, without capabilities.
inline void become_nobody()
{
    must(setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
             setresuid(kNobody, kNobody, kNobody) == 0,
         "to become nobody");
    prctl(PR_SET_PDEATHSIG, SIGKILL);    // it was lost
}

// After a fork: only the child goes on. It ends with its parent.
inline void go_on_as(pid_t child)
{
    must(child >= 0, "fork");
    while (child > 0) {
        pause();
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

// A container: the first process of new namespaces.
inline void enter_container(int namespaces)
{
    must(unshare(namespaces) == 0, "unshare");
    go_on_as(fork());
}

// With this pid, which nobody has.
inline void become_process(pid_t pid)
{
    clone_args arguments{};
    arguments.exit_signal = SIGCHLD;
    arguments.set_tid = reinterpret_cast<std::uint64_t>(&pid);
    arguments.set_tid_size = 1;
    go_on_as(static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof(arguments))));
}

struct StrangerOptions {
    std::string command = "stranger";
    std::string device = "mlx5_0";
    // Before it opens the device: what becomes another user, or enters a container. Throws.
    std::function<void()> enter = {};
    bool dumpable = true;
};

class Stranger {
public:
    using Body = std::function<void(Verbs&, const Line&)>;

    // Its device is open when this returns. `body`: what it does instead of what the functions below ask for.
    explicit Stranger(StrangerOptions options = {}, const Body& body = serve)
    {
        int ends[2] = {-1, -1};
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
            throw std::runtime_error("socketpair");
        }
        ours_ = UniqueFd(ends[0]);
        const UniqueFd theirs(ends[1]);
        process_ = std::make_unique<Child>([&] {
            ours_.reset();
            live(options, body, Line(theirs.get()));
        });
        pid_ = static_cast<pid_t>(line().hear());
    }

    // Numbers of queue pairs of its own. Throw if it cannot make them.
    std::vector<std::uint32_t> make(ibv_qp_type type, Towards towards, std::uint32_t count)
    {
        line().say(Order{Order::Make, type, towards, IBV_QPS_RTS, count});
        std::vector<std::uint32_t> numbers(count);
        for (auto& number : numbers) {
            number = made().number;
        }
        return numbers;
    }
    struct Made {
        std::uint32_t number = 0;    // 0: it could not be made
        double ready_at = 0;         // when it was in its state, by seconds_now()
    };
    Made make_one(ibv_qp_type type, Towards towards, ibv_qp_state state = IBV_QPS_RTS)
    {
        line().say(Order{Order::Make, type, towards, state, 1});
        return made();
    }
    std::uint32_t make(ibv_qp_type type, Towards towards = Towards::Nowhere) { return make_one(type, towards).number; }
    // The errno.
    int destroy(std::uint32_t number)
    {
        line().say(Order{Order::Destroy, IBV_QPT_RC, Towards::Nowhere, IBV_QPS_RTS, number});
        return static_cast<int>(line().hear());
    }

    [[nodiscard]] Line line() const { return Line(ours_.get()); }
    // Of the one that has the device open, in this process's namespace; what was started may be its parent.
    [[nodiscard]] pid_t pid() const { return pid_; }
    void signal(int number) const { signal_process(pid_, number); }
    // And waits for its end.
    void kill()
    {
        signal(SIGKILL);
        process_.reset();
    }

private:
    struct Order {
        enum Kind : std::uint32_t { Make, Destroy } kind = Make;
        ibv_qp_type type = IBV_QPT_RC;
        Towards towards = Towards::Nowhere;
        ibv_qp_state state = IBV_QPS_RTS;
        std::uint32_t count = 0;    // of Destroy: the number
    };

    [[nodiscard]] Made made() const
    {
        const Made made = line().hear<Made>();
        return made.number != 0 ? made : throw std::runtime_error("a stranger cannot make a queue pair");
    }

    static void live(const StrangerOptions& options, const Body& body, const Line& line)
    {
        try {
            if (options.enter) {
                options.enter();
            }
            prctl(PR_SET_NAME, options.command.c_str());
            prctl(PR_SET_DUMPABLE, options.dumpable ? 1 : 0);
            Verbs verbs(options.device);
            // In a pid namespace of its own it has another pid; /proc is still that of outside.
            char self[16] = {};
            const ssize_t length = readlink("/proc/self", self, sizeof(self) - 1);
            line.say(length > 0 ? static_cast<std::uint32_t>(std::strtoul(self, nullptr, 10)) : 0U);
            body(verbs, line);
        } catch (const std::exception& error) {
            fprintf(stderr, "a stranger fails: %s\n", error.what());
            _exit(1);
        }
        while (true) {
            pause();
        }
    }

    static void serve(Verbs& verbs, const Line& line)
    {
        while (true) {
            const auto order = line.hear<Order>(-1);
            if (order.kind == Order::Destroy) {
                line.say(static_cast<std::uint32_t>(verbs.destroy(order.count)));
                continue;
            }
            for (std::uint32_t i = 0; i < order.count; ++i) {
                const ibv_qp* const made = verbs.make(order.type, order.towards, order.state);
                line.say(Made{made->qp_num, seconds_now()});
            }
        }
    }

    UniqueFd ours_;
    std::unique_ptr<Child> process_;
    pid_t pid_ = 0;
};

}    // namespace rdmaqos::test
