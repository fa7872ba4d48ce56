#include "tests/attack/people.h"

#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/signal_process.h"
#include "tests/attack/requests.h"
#include "tests/attack/target.h"
#include "tests/support/contained.h"

namespace rdmaqos::attack {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds kCallPatience = test::kHung;

std::int64_t in_ns(Clock::time_point time)
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

void raise_descriptor_limit()
{
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// An authenticated connection, made again when it was lost.
struct Line {
    std::filesystem::path socket;
    Wire wire;

    bool is_up()
    {
        if (wire.is_open()) {
            return true;
        }
        wire = Wire(socket, kCallPatience);
        return wire.authenticate(kCallPatience);
    }
    // An answer, and not an error.
    std::optional<Reply> ask(const Method& method, const Body& body = {})
    {
        auto reply = wire.ask(method, body, kCallPatience);
        if (!reply) {
            wire.close();
        } else if (reply->is_error()) {
            reply.reset();
        }
        return reply;
    }
};

}    // namespace

bool has_many_users()
{
    return geteuid() == 0;
}

void become(uid_t user)
{
    if (user == users::kContainedRoot && has_many_users()) {
        if (!test::become_contained_root()) {
            _exit(126);
        }
    } else if (has_many_users() && user != users::kRoot &&
               (setgroups(0, nullptr) < 0 || setresgid(user, user, user) < 0 || setresuid(user, user, user) < 0)) {
        _exit(126);
    }
    // A change of user forgets it.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void* map_shared(std::size_t size)
{
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::runtime_error("mmap");
    }
    return memory;
}

void unmap_shared(void* memory, std::size_t size) noexcept
{
    munmap(memory, size);
}

// ---- victims ----

Victim::Victim(uid_t user, milliseconds pace, const Once& once, const Parts& parts, Counts counts)
    : process_(std::make_unique<test::Child>([&] {
          become(user);
          live(*ledger_, pace, once, parts, counts);
      }))
{
}

Victim::~Victim() = default;

void Victim::live(Ledger& ledger, milliseconds pace, const Once& once, const Parts& parts, Counts counts)
{
    test::ReadyButWaiting waiting;
    if (parts) {
        parts(waiting);
    }
    // A clock that stands still for what does not count.
    const auto now = [&waiting] {
        return Clock::now() -
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(waiting.so_far()));
    };
    auto due = now();
    bool late = false;
    while (true) {
        for (auto left = due - now(); left > Clock::duration::zero(); left = due - now()) {
            std::this_thread::sleep_for(left);
        }
        const auto begin = late ? due : now();
        const std::int64_t asked = in_ns(Clock::now());
        ledger.pending = asked;
        const bool ok = once(waiting);
        const auto end = std::max(now(), begin);
        const std::size_t index = ledger.count;
        if (index < std::size(ledger.samples)) {
            ledger.samples[index] = {asked, in_ns(end) - in_ns(begin), !ok};
            ledger.count = index + 1;
        }
        ledger.pending = 0;
        due += pace;
        late = end > due && counts == Counts::WhenDue;
        due = counts == Counts::WhenDue ? due : std::max(due, end);
    }
}

Latency Victim::between(Clock::time_point from, Clock::time_point until) const
{
    const auto is_within = [&](std::int64_t begin) { return begin >= in_ns(from) && begin < in_ns(until); };
    Latency result;
    std::vector<std::int64_t> took;
    const std::int64_t pending = ledger_->pending;
    const std::size_t count = ledger_->count;
    for (std::size_t index = 0; index < count; ++index) {
        const Sample& sample = ledger_->samples[index];
        if (is_within(sample.begin)) {
            took.push_back(sample.took);
            result.failures += sample.failed ? 1U : 0U;
        }
    }
    if (pending != 0 && is_within(pending)) {
        took.push_back(in_ns(Clock::now()) - pending);
    }
    if (took.empty()) {
        return result;
    }
    std::ranges::sort(took);
    const auto at = [&](std::size_t percent) {
        return static_cast<double>(took[std::min(took.size() - 1, took.size() * percent / 100)]) / 1e6;
    };
    result.calls = took.size();
    result.p50 = at(50);
    result.p99 = at(99);
    result.max = at(100);
    return result;
}

bool Victim::has_answers_until(Clock::time_point then) const
{
    const std::int64_t pending = ledger_->pending;
    return pending == 0 || pending >= in_ns(then);
}

Victim::Once pinging(const std::filesystem::path& socket)
{
    return [line = std::make_shared<Line>(socket, Wire())](test::ReadyButWaiting& /*waiting*/) {
        return line->is_up() && line->ask(methods::kPing).has_value();
    };
}

Victim::Once registering(const std::filesystem::path& socket)
{
    return [line = std::make_shared<Line>(socket, Wire()),
            request = request_for("rpc")](test::ReadyButWaiting& /*waiting*/) {
        if (!line->is_up()) {
            return false;
        }
        const auto session = line->ask(methods::kRegister, request);
        return session && line->ask(methods::of_session(session->text(), "Release")).has_value();
    };
}

Victim::Once visiting(const std::filesystem::path& socket)
{
    return [socket](test::ReadyButWaiting& /*waiting*/) {
        Line line{socket, Wire()};
        return line.is_up() && line.ask(methods::kPing).has_value();
    };
}

Victim::Once asking_for_status(const std::filesystem::path& root)
{
    return [program = ctl_program(), root = root.string()](test::ReadyButWaiting& waiting) {
        std::string words[] = {program, "--root", root, "status"};
        char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
        posix_spawn_file_actions_t quietly{};
        posix_spawn_file_actions_init(&quietly);
        posix_spawn_file_actions_addopen(&quietly, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&quietly, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        pid_t pid = -1;
        const int started = posix_spawn(&pid, program.c_str(), &quietly, nullptr, arguments, environ);
        posix_spawn_file_actions_destroy(&quietly);
        if (started != 0) {
            return false;
        }
        const bool ended = test::eventually(
            [pid] {
                siginfo_t end{};
                return waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                       end.si_pid == pid;
            },
            kCallPatience);
        waiting.add_ended(pid);
        if (!ended) {
            signal_process(pid, SIGKILL);
        }
        int status = -1;
        waitpid(pid, &status, 0);
        return ended && status == 0;
    };
}

Victim::Once echoing()
{
    struct Pair {
        int near = -1;
        std::unique_ptr<test::Child> far;
    };
    return [pair = std::make_shared<Pair>()](test::ReadyButWaiting& /*waiting*/) {
        if (pair->near < 0) {
            int ends[2];
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
                return false;
            }
            pair->near = ends[0];
            pair->far = std::make_unique<test::Child>([&] {
                for (char byte = 0; read(ends[1], &byte, 1) == 1 && write(ends[1], &byte, 1) == 1;) {
                }
            });
        }
        char byte = 0;
        return write(pair->near, &byte, 1) == 1 && read(pair->near, &byte, 1) == 1;
    };
}

// ---- attackers ----

Mob::Mob(const std::vector<Squad>& squads, const std::filesystem::path& socket, const std::filesystem::path& bus)
{
    for (const Squad& squad : squads) {
        for (unsigned number = 0; number < squad.processes; ++number) {
            const uid_t user = squad.user + (squad.each_its_own_user ? number : 0);
            processes_.push_back(std::make_unique<test::Child>([&] {
                raise_descriptor_limit();
                setpriority(PRIO_PROCESS, 0, squad.nice);
                auto descriptors = squad.bring ? squad.bring() : std::vector<int>();
                become(user);
                Attacker attacker(socket, bus, std::move(descriptors), *start_);
                squad.deed(attacker);
                while (true) {
                    pause();
                }
            }));
        }
    }
}

Mob::~Mob()
{
    // All at once: with one of them gone the others would go on.
    for (const auto& process : processes_) {
        process->signal(SIGKILL);
    }
}

bool Mob::is_complete(milliseconds patience) const
{
    return test::eventually([this] { return start_->ready >= processes_.size(); }, patience);
}

}    // namespace rdmaqos::attack
