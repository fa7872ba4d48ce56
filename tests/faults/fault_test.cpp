// One fault at a time, at every step of what the daemon does. A step is a system call by which it takes something or
// changes something that others see. What must be so afterwards is read from the firmware.
//
// RDMAQOS_FAULT_STRIDE: every how many steps a fault is injected (1); RDMAQOS_FAULT_FIRST: at which one first (0).
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "lib/base/signal_process.h"
#include "tests/faults/scene.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// ---- what the daemon does meanwhile ----

// All run in a scene as it was in the beginning, and leave it so.
class Occasion {
public:
    explicit Occasion(Scene& scene) : scene_(scene) {}
    virtual ~Occasion() = default;
    Occasion(const Occasion&) = delete;
    Occasion& operator=(const Occasion&) = delete;

    // While faults happen. May fail, with or without an exception.
    virtual void attempt() = 0;
    // Without faults: does what the attempt has not done. Throws what is not as it should be.
    virtual void finish() {}
    virtual void undo() {}
    // Where programs of level rpc are from the attempt on.
    [[nodiscard]] virtual std::string place() const { return kInRpc; }
    // Where else a program may be that does not register again.
    [[nodiscard]] virtual std::string place_of_silent() const { return place(); }
    // The attempt ends the daemon.
    [[nodiscard]] virtual bool ends_the_daemon() const { return false; }

protected:
    void expect(bool good, const std::string& what) const
    {
        if (!good) {
            throw std::runtime_error(what);
        }
    }

    // A program that does not register, and is adopted into rpc.
    [[nodiscard]] StrangerOptions stranger() const
    {
        StrangerOptions options{"stranger-rpc"};
        options.enter = scene_.daemon.manager.closer();
        return options;
    }

    Scene& scene_;
};

class Attach final : public Occasion {
public:
    using Occasion::Occasion;
    void attempt() override
    {
        newcomer_ = std::make_unique<Program>(scene_.daemon.direct(), "storage");
        number_ = newcomer_->join(IBV_QPT_RC);
    }
    void finish() override
    {
        if (place_of(number_) != kInStorage || newcomer_->state() == "no session") {
            undo();
            attempt();
        }
        expect(place_of(number_) == kInStorage, "the newcomer is in " + place_of(number_));
    }
    void undo() override
    {
        newcomer_.reset();
        number_ = 0;
    }

private:
    std::unique_ptr<Program> newcomer_;
    std::uint32_t number_ = 0;
};

// Of a program that has a leaf of its own.
class Leave final : public Occasion {
public:
    using Occasion::Occasion;
    void attempt() override
    {
        const auto is_gone = [this] { return place_of(number_) == "absent"; };
        {
            Stranger leaver(stranger());
            number_ = leaver.make(IBV_QPT_RC);
            static_cast<void>(comes_to(number_, kInRpc, "mlx5_0", 300ms));
        }
        static_cast<void>(eventually(is_gone, 300ms));
        std::this_thread::sleep_for(50ms);    // for what the daemon does then
    }

private:
    std::uint32_t number_ = 0;
};

class Adopt final : public Occasion {
public:
    using Occasion::Occasion;
    void attempt() override
    {
        stranger_ = std::make_unique<Stranger>(stranger());
        number_ = stranger_->make(IBV_QPT_RC);
        static_cast<void>(comes_to(number_, kInRpc, "mlx5_0", 500ms));
    }
    void finish() override
    {
        const auto is_cut_off = [this] {
            return told(scene_.daemon.direct()).find("until the program is started again") != std::string::npos;
        };
        if (place_of(number_) == "absent" || is_cut_off()) {    // its device was reset; or see expect_elements()
            undo();
            attempt();
        }
        expect(comes_to(number_, kInRpc), "the stranger is in " + place_of(number_));
    }
    void undo() override { stranger_.reset(); }

private:
    std::unique_ptr<Stranger> stranger_;
    std::uint32_t number_ = 0;
};

class Reload final : public Occasion {
public:
    using Occasion::Occasion;
    void attempt() override
    {
        scene_.daemon.set_policy(kPolicyAfter);
        static_cast<void>(scene_.daemon.reload());
    }
    void finish() override
    {
        scene_.daemon.set_policy(kPolicyAfter);
        const auto taken = scene_.daemon.reload();
        expect(taken.has_value(), taken ? "" : "the new policy is refused: " + to_string(taken.error()));
    }
    void undo() override
    {
        scene_.daemon.set_policy(kAdoptingPolicy);
        const auto taken = scene_.daemon.reload();
        expect(taken.has_value(), taken ? "" : "the old policy is refused: " + to_string(taken.error()));
    }
    [[nodiscard]] std::string place() const override { return kInRpcAfter; }
};

// What is kept of a device in files: that it was released.
class LetGo final : public Occasion {
public:
    using Occasion::Occasion;
    void attempt() override { static_cast<void>(scene_.daemon.ctl("release mlx5_1")); }
    void finish() override
    {
        const auto done = scene_.daemon.ctl("release mlx5_1");
        expect(done.status == 0, "release: " + done.error);
        expect(emulated_device("mlx5_1").at("files") == 0, "the device is still open");
    }
    void undo() override
    {
        const auto done = scene_.daemon.ctl("enable mlx5_1");
        expect(done.status == 0, "enable: " + done.error);
    }
};

// A daemon takes over what another one has left.
class TakeOver final : public Occasion {
public:
    using Occasion::Occasion;
    void attempt() override
    {
        scene_.daemon.kill();
        scene_.daemon.begin();
        static_cast<void>(eventually([this] { return scene_.daemon.manager.is_ready() || scene_.daemon.has_ended(); }));
    }
    [[nodiscard]] bool ends_the_daemon() const override { return true; }
};

// It is told to end, and empties the devices.
class Stop final : public Occasion {
public:
    using Occasion::Occasion;
    void attempt() override { static_cast<void>(scene_.daemon.stop()); }
    [[nodiscard]] std::string place_of_silent() const override { return ""; }
    [[nodiscard]] bool ends_the_daemon() const override { return true; }
};

// ---- what happens ----

enum class Fault : std::uint8_t {
    Kill,
    DescriptorsOnce,
    DescriptorsFromHere,
    DiskOnce,
    DiskFromHere,
    MemoryOnce,
    MemoryFromHere,
    Delay,
    Reset,
    KillAndDamage,
};

constexpr auto kDelay = 200ms;
// How long a neighbour's call may take while a call of another thread takes as long as kDelay.
constexpr auto kPatience = 150ms;

bool is_of_loader(const StoppedCall& call)
{
    return call.file.starts_with("/lib/") || call.file.starts_with("/usr/") || call.file.starts_with("/etc/ld.so") ||
           call.file.ends_with(".so");
}
bool is_on_disk(const StoppedCall& call, const std::string& root)
{
    return call.changes && call.file.starts_with(root) && !call.file.ends_with("/log");
}
bool changes_something(const StoppedCall& call)
{
    return call.changes && !call.file.ends_with("/log") && !call.file.starts_with("anon_inode:");
}

bool is_step_of(Fault fault, const StoppedCall& call, const std::string& root)
{
    switch (fault) {
    case Fault::Kill:
    case Fault::KillAndDamage:
        return changes_something(call);
    case Fault::DescriptorsOnce:
    case Fault::DescriptorsFromHere:
        return call.call->needs == Resource::Descriptors;
    case Fault::DiskOnce:
    case Fault::DiskFromHere:
        return is_on_disk(call, root);
    case Fault::MemoryOnce:
    case Fault::MemoryFromHere:
        // What is written into a file of memory needs some where there is none yet: MemoryLog takes it beforehand.
        return call.call->needs == Resource::Memory || (call.file.starts_with("/memfd:") && call.lengthens);
    case Fault::Delay:
        return changes_something(call) && !call.by_main_thread;
    case Fault::Reset:
        return changes_something(call);
    }
    return false;
}

int errno_of(Fault fault)
{
    switch (fault) {
    case Fault::DescriptorsOnce:
    case Fault::DescriptorsFromHere:
        return EMFILE;
    case Fault::DiskOnce:
    case Fault::DiskFromHere:
        return ENOSPC;
    case Fault::MemoryOnce:
    case Fault::MemoryFromHere:
        return ENOMEM;
    default:
        return 0;
    }
}

// How long nothing is to be had, of what does not come to an end with one call.
constexpr auto kShortage = 400ms;

bool lasts(Fault fault)
{
    return fault == Fault::DescriptorsFromHere || fault == Fault::DiskFromHere || fault == Fault::MemoryFromHere;
}

// Lets the fault happen at one step of the daemon.
class Injection {
public:
    Injection(Scene& scene, Fault fault, std::size_t at) : scene_(scene), fault_(fault), at_(at)
    {
        scene.watch.set_judge([this](const StoppedCall& call) { return judge(call); });
    }
    ~Injection() { end(); }
    Injection(const Injection&) = delete;
    Injection& operator=(const Injection&) = delete;

    void end() { scene_.watch.set_judge(nullptr); }
    // Where it happened; empty: the attempt has fewer steps.
    [[nodiscard]] const std::string& where() const { return where_; }

private:
    Verdict judge(const StoppedCall& call)
    {
        if (is_of_loader(call) || !is_step_of(fault_, call, scene_.daemon.root().string())) {
            return {};
        }
        const std::size_t step = steps_++;
        if (step < at_ || (step > at_ && (!lasts(fault_) || Clock::now() > begun_ + kShortage))) {
            return {};
        }
        if (step == at_) {
            begun_ = Clock::now();
            where_ = call.text();
        }
        switch (fault_) {
        case Fault::Kill:
        case Fault::KillAndDamage:
            signal_process(call.process, SIGKILL);
            return {};
        case Fault::Reset:
            Scene::reset_device();
            return {};
        case Fault::Delay:
            return {0, kDelay};
        default:
            return {errno_of(fault_), 0ms};
        }
    }

    Scene& scene_;
    const Fault fault_;
    const std::size_t at_;
    std::size_t steps_ = 0;
    Clock::time_point begun_;
    std::string where_;
};

// Calls the daemon again and again.
class Neighbour {
public:
    explicit Neighbour(const Scene& scene)
        : thread_([this, client = scene.daemon.direct()]() mutable {
              while (!ended_) {
                  const auto begun = Clock::now();
                  const auto reply = client.call(bus::names::kRoot, "org.freedesktop.DBus.Peer", "Ping", {});
                  if (!reply) {
                      return;
                  }
                  longest_ = std::max(longest_.load(), Clock::now() - begun);
                  std::this_thread::sleep_for(2ms);
              }
          })
    {
    }
    ~Neighbour() { end(); }
    Neighbour(const Neighbour&) = delete;
    Neighbour& operator=(const Neighbour&) = delete;

    // The longest time that a call has taken.
    Clock::duration end()
    {
        ended_ = true;
        if (thread_.joinable()) {
            thread_.join();
        }
        return longest_;
    }

private:
    std::atomic<bool> ended_ = false;
    std::atomic<Clock::duration> longest_{};
    std::thread thread_;
};

struct Case {
    std::string name;
    std::function<std::unique_ptr<Occasion>(Scene&)> occasion;
    Fault fault = Fault::Kill;

    friend void PrintTo(const Case& each, std::ostream* out) { *out << each.name; }
};

// A copy that was made in a program's file, and not noted before the daemon was killed, is there until the program ends
// (docs/adr/0024-handover.md). Throws if there is something else.
void expect_elements(Scene& scene, bool is_killed, std::size_t at, const std::string& where)
{
    try {
        scene.expect_elements();
    } catch (const std::exception& error) {
        // In a command, or before its note. A command to the emulator is some messages on a socket.
        const bool is_between = where.find("/memfd:") != std::string::npos || where.starts_with("sendmsg socket:") ||
                                where.starts_with("sendto socket:") || where.starts_with("ioctl ");
        if (!is_killed || !firmware_isolates() || !is_between) {
            throw;
        }
        ++scene.copies_left;
        scene.replace_programs();
        scene.expect_elements();
        printf("left until the program ends: at step %zu (%s): %s\n", at, where.c_str(), error.what());
        fflush(stdout);    // programs are forked
    }
}

// The attempt with a fault at one step, and everything as before. Where it happened; empty: there are fewer steps.
// Throws what is wrong.
std::string inject(Scene& scene, Occasion& occasion, Fault fault, std::size_t at)
{
    std::optional<Neighbour> neighbour;
    if (fault == Fault::Delay && !occasion.ends_the_daemon()) {
        neighbour.emplace(scene);
    }
    const pid_t before = scene.daemon.pid();
    Injection injection(scene, fault, at);
    try {
        occasion.attempt();
    } catch (const std::exception&) {
        // Of a program whose device or daemon has gone.
    }
    injection.end();
    const std::string where = injection.where();
    try {
        if (neighbour) {
            if (const auto longest = neighbour->end(); longest > kPatience) {
                throw std::runtime_error(
                    fmt::format("a neighbour waited {} ms",
                                std::chrono::duration_cast<std::chrono::milliseconds>(longest).count()));
            }
        }
        const bool is_killed = fault == Fault::Kill || fault == Fault::KillAndDamage;
        if (is_killed && !where.empty()) {
            static_cast<void>(eventually([&] { return scene.daemon.has_ended(); }));
            if (fault == Fault::KillAndDamage) {
                scene.damage_what_is_left(at);
            }
        } else if (scene.daemon.has_ended() && !occasion.ends_the_daemon()) {
            throw std::runtime_error("the daemon has ended");
        }
        scene.recover();
        const bool is_another = scene.daemon.pid() != before;
        if (is_another) {
            scene.wait_for_device();
        }
        const bool starts_anew = fault == Fault::Reset || fault == Fault::KillAndDamage;
        if (starts_anew) {
            occasion.undo();
            scene.let_bystander_register();
            scene.replace_programs();
            if (fault == Fault::KillAndDamage) {
                // What nobody knows any longer goes with the daemon that keeps its file open.
                scene.daemon.restart();
                scene.replace_programs();
            }
        } else if (is_another) {
            scene.expect_silent({kInRpc, occasion.place(), occasion.place_of_silent()});
            scene.end_silent();
        }
        occasion.finish();
        if (!starts_anew) {
            scene.expect_bystander(occasion.place(), is_another);
        }
        if (!is_another || starts_anew) {
            scene.expect_silent({occasion.place()});
        }
        occasion.undo();
        if (is_another && !starts_anew) {
            scene.replace_silent();    // a copy of this process: of what the occasion has open, too
        }
        scene.expect_bystander(kInRpc, false);
        scene.expect_silent({kInRpc});
        expect_elements(scene, is_killed, at, where);
        scene.expect_descriptors();
    } catch (const std::exception& error) {
        throw std::runtime_error(fmt::format("at step {} ({}): {}", at, where, error.what()));
    }
    return where;
}

std::size_t option(const char* name, std::size_t otherwise)
{
    const char* text = std::getenv(name);    // NOLINT(concurrency-mt-unsafe): nobody sets it
    return text == nullptr ? otherwise : std::stoul(text);
}

class Faults : public ::testing::TestWithParam<Case> {
protected:
    void TearDown() override { make_as_it_was(); }
};

TEST_P(Faults, AtEveryStep)
{
    constexpr int kMostFailures = 5;
    auto scene = std::make_unique<Scene>();
    auto occasion = GetParam().occasion(*scene);
    std::map<std::string, std::size_t> injected;
    int failures = 0;
    const std::size_t stride = option("RDMAQOS_FAULT_STRIDE", 1);
    for (std::size_t at = option("RDMAQOS_FAULT_FIRST", 0); failures < kMostFailures; at += stride) {
        try {
            const std::string where = inject(*scene, *occasion, GetParam().fault, at);
            if (where.empty()) {
                break;
            }
            ++injected[where.substr(0, where.find(' '))];
        } catch (const std::exception& error) {
            const std::string said = scene->daemon.said();
            ADD_FAILURE() << error.what() << "\n"
                          << said.substr(said.size() - std::min<std::size_t>(said.size(), 3000));
            ++failures;
            occasion.reset();
            scene.reset();
            scene = std::make_unique<Scene>();
            occasion = GetParam().occasion(*scene);
        }
    }
    // What the daemon has recorded all the time is true.
    scene->daemon.restart();
    scene->expect_silent({kInRpc});
    scene->expect_bystander(kInRpc, true);
    scene->expect_elements();
    std::size_t count = 0;
    std::string text;
    for (const auto& [call, times] : injected) {
        count += times;
        text += fmt::format(" {} {}", times, call);
    }
    printf("%zu faults:%s\n", count, text.c_str());
    RecordProperty("faults", static_cast<int>(count));
    EXPECT_GT(count, 0U) << "it has no such step";
    EXPECT_LE(scene->copies_left, 24U) << "a reload makes six copies, each in up to four steps";
}

constexpr bool kSanitized =
#ifdef __SANITIZE_ADDRESS__
    true;
#else
    false;
#endif

std::vector<Case> cases()
{
    struct NamedOccasion {
        const char* name;
        std::function<std::unique_ptr<Occasion>(Scene&)> make;
        bool writes_to_disk;
        bool takes_memory;    // a system call of it does
    };
    const std::vector<NamedOccasion> occasions{
        {"Attach", [](Scene& scene) { return std::make_unique<Attach>(scene); }, false, false},
        {"Adopt", [](Scene& scene) { return std::make_unique<Adopt>(scene); }, false, true},
        {"Leave", [](Scene& scene) { return std::make_unique<Leave>(scene); }, false, true},
        {"Reload", [](Scene& scene) { return std::make_unique<Reload>(scene); }, true, false},
        {"Release", [](Scene& scene) { return std::make_unique<LetGo>(scene); }, true, false},
        {"TakeOver", [](Scene& scene) { return std::make_unique<TakeOver>(scene); }, true, true},
        {"Stop", [](Scene& scene) { return std::make_unique<Stop>(scene); }, false, true},
    };
    const std::vector<std::pair<const char*, Fault>> faults{
        {"Kill", Fault::Kill},
        {"NoDescriptor", Fault::DescriptorsOnce},
        {"NoMoreDescriptors", Fault::DescriptorsFromHere},
        {"DiskError", Fault::DiskOnce},
        {"DiskFull", Fault::DiskFromHere},
        {"NoMemory", Fault::MemoryOnce},
        {"NoMoreMemory", Fault::MemoryFromHere},
        {"Delay", Fault::Delay},
        {"Reset", Fault::Reset},
        {"DamagedState", Fault::KillAndDamage},
    };
    std::vector<Case> all;
    for (const auto& occasion : occasions) {
        for (const auto& [name, fault] : faults) {
            const bool of_disk = fault == Fault::DiskOnce || fault == Fault::DiskFromHere;
            const bool of_memory = fault == Fault::MemoryOnce || fault == Fault::MemoryFromHere;
            // A sanitizer ends a process that gets no memory.
            if ((!of_disk || occasion.writes_to_disk) && (!of_memory || (occasion.takes_memory && !kSanitized))) {
                all.push_back({std::string(occasion.name) + name, occasion.make, fault});
            }
        }
    }
    return all;
}

INSTANTIATE_TEST_SUITE_P(Each, Faults, ::testing::ValuesIn(cases()), [](const auto& each) { return each.param.name; });

}    // namespace
}    // namespace rdmaqos::test
