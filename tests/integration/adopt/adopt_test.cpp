// Programs that know nothing of rdma-qosd are taken into the level that a rule says, by who they are and by where their
// queue pairs are connected to. Below the emulator, and on a kernel (tests/kernel).
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "lib/rdma_netlink/counters.h"
#include "tests/integration/adopt/adopting.h"
#include "tests/support/namespaces.h"

namespace rdmaqos::test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr uid_t kNobody = 65534;

std::string rule(const std::string& client, const std::string& level)
{
    return fmt::format("  - {{client: {{{}}}, qos-level-name: {}}}\n", client, level);
}
const std::string kTargetsToStorage = "  - {destination: [targets], qos-level-name: storage}\n";

// The GID that programs on mlx5_0 connect to when they connect to each other.
std::string own_gid()
{
    world here{};
    ibv_gid gid{};
    if (!open_world_of(&here, "mlx5_0") || ibv_query_gid(here.context, 1, 0, &gid) != 0) {
        throw std::runtime_error("no GID");
    }
    close_world(&here);
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(AF_INET6, gid.raw, text.data(), text.size());
    return text.data();
}

// ---- packaged programs ----

// They are ended when the test is.
constexpr const char* kForEver = "1000000000";
constexpr const char* kTenMinutes = "600";

struct Packaged {
    const char* name;
    Words options;

    friend void PrintTo(const Packaged& packaged, std::ostream* out) { *out << packaged.name; }
};

class EveryPackaged : public ::testing::TestWithParam<Packaged> {
protected:
    void SetUp() override
    {
        if (packaged(GetParam().name).empty()) {
            GTEST_SKIP() << GetParam().name << " is not installed";
        }
    }
    [[nodiscard]] static Words command()
    {
        Words all{packaged(GetParam().name), "-d", "mlx5_0"};
        all.insert(all.end(), GetParam().options.begin(), GetParam().options.end());
        return all;
    }
};

TEST_P(EveryPackaged, ByItsCommand)
{
    const Daemon daemon(adopting(rule(fmt::format("command: [{}]", GetParam().name), "rpc")));
    const ServerAndClient both(command());
    for (const pid_t process : both.pids()) {
        expect_adopted(daemon, process, 1, kInRpc, "rpc");
    }
}

TEST_P(EveryPackaged, ThatRanBeforeTheDaemon)
{
    const ServerAndClient both(command());
    const auto pids = both.pids();
    static_cast<void>(ready_of(pids[0], 1));
    static_cast<void>(ready_of(pids[1], 1));
    const Daemon daemon(adopting(rule(fmt::format("executable: [{}]", packaged(GetParam().name)), "storage")));
    for (const pid_t process : pids) {
        expect_adopted(daemon, process, 1, kInStorage, "storage");
    }
}

INSTANTIATE_TEST_SUITE_P(Programs, EveryPackaged,
                         ::testing::Values(Packaged{"ibv_rc_pingpong", {"-g", "0", "-n", kForEver}},
                                           Packaged{"ibv_ud_pingpong", {"-g", "0", "-n", kForEver}},
                                           // The other way too, or one may not send.
                                           Packaged{"ib_write_bw", {"-b", "-D", kTenMinutes}},
                                           Packaged{"ib_send_lat", {"-D", kTenMinutes}}),
                         [](const auto& each) { return each.param.name; });

// ---- what they send ----

// The counter that has this queue pair, as the test itself reads it.
std::optional<rdma_netlink::QueuePairCounter> counter_of(std::uint32_t queue_pair)
{
    rdma_netlink::Connection kernel;
    if (kernel.open() != 0) {
        throw std::runtime_error("no RDMA netlink");
    }
    const auto devices = rdma_netlink::list_devices(kernel).value();
    for (const auto& device : devices) {
        const auto counters = rdma_netlink::list_counters(kernel, device).value();
        for (const auto& each : counters) {
            if (device.name == "mlx5_0" && std::ranges::count(each.queue_pairs, queue_pair) > 0) {
                return each;
            }
        }
    }
    return std::nullopt;
}

// What the emulator itself has counted for it.
std::uint64_t bytes_of(std::uint32_t queue_pair)
{
    const auto state = nlohmann::json::parse(emulator("state --json"));
    for (const auto& device : state.at("devices")) {
        for (const auto& each : device.at("queue-pairs")) {
            if (device.at("name") == "mlx5_0" && each.at("qpn") == queue_pair) {
                return each.at("bytes").get<std::uint64_t>();
            }
        }
    }
    return 0;
}

TEST(WhatProgramsSend, IsCountedBySessionAndLevel)
{
    if (packaged("ib_write_bw").empty()) {
        GTEST_SKIP() << "perftest is not installed";
    }
    DaemonOptions options = adopting(rule("command: [ib_write_bw]", "rpc"));
    options.settings += "queue-pair-counters: bind\n";
    const Daemon daemon(options);
    const ServerAndClient both({packaged("ib_write_bw"), "-d", "mlx5_0", "-b", "-D", kTenMinutes, "-s", "4096"});
    std::vector<std::uint32_t> numbers;
    for (const pid_t process : both.pids()) {
        numbers.push_back(ready_of(process, 1).at(0));
        EXPECT_FALSE(counter_of(numbers.back())) << "nothing is bound before anybody asks";
    }
    for (const pid_t process : both.pids()) {
        expect_adopted(daemon, process, 1, kInRpc, "rpc");
    }
    const auto ports = nlohmann::json::parse(said(daemon, "top --json --device mlx5_0 --interval 300")).at("ports");
    ASSERT_EQ(ports.size(), 1U) << ports;
    EXPECT_EQ(ports[0].at("counted"), 2) << ports;
    EXPECT_FALSE(ports[0].contains("reason")) << ports;
    ASSERT_EQ(ports[0].at("programs").size(), 2U) << ports;
    std::set<pid_t> pids;
    for (const auto& row : ports[0].at("programs")) {
        pids.insert(row.at("pid").get<pid_t>());
        EXPECT_EQ(row.at("level"), "rpc");
        EXPECT_EQ(row.at("command"), "ib_write_bw");
        EXPECT_GT(row.at("sent"), 0);
        EXPECT_GT(row.at("received"), 0);
    }
    EXPECT_EQ(pids, (std::set<pid_t>{both.pids()[0], both.pids()[1]}));
    const auto by_level = nlohmann::json::parse(said(daemon, "top --by level --json --interval 300")).at("ports");
    EXPECT_EQ(by_level[0].at("programs").size(), 1U) << by_level;
    EXPECT_EQ(by_level[0].at("programs")[0].at("queue-pairs"), 2);

    // Each counter grows by what its queue pair has sent, whenever the two are read.
    for (const std::uint32_t number : numbers) {
        const std::uint64_t before = bytes_of(number);
        const auto first = counter_of(number).value();
        const std::uint64_t between = bytes_of(number);
        ASSERT_TRUE(eventually([&] { return bytes_of(number) > between + (1U << 20); }));
        const std::uint64_t later = bytes_of(number);
        const auto second = counter_of(number).value();
        const std::uint64_t after = bytes_of(number);
        EXPECT_EQ(second.number, first.number);
        EXPECT_GE(*second.sent_bytes - *first.sent_bytes, later - between);
        EXPECT_LE(*second.sent_bytes - *first.sent_bytes, after - before);
    }

    EXPECT_THAT(said(daemon, fmt::format("why {} --interval 500", both.pids()[0])),
                HasSubstr("1 queue pair counted: sends "));

    const auto total = [&] {
        const std::string text = said(daemon, "metrics");
        const std::string sample = R"(rdmaqos_level_transmit_bytes_total{device="mlx5_0/1",level="rpc"} )";
        const auto at = text.find(sample);
        return at == std::string::npos ? 0 : std::stoull(text.substr(at + sample.size()));
    };
    const auto total_before = total();
    EXPECT_TRUE(eventually([&] { return total() > total_before + (1U << 20); }));
    const auto counted = total();
    EXPECT_LE(counted, bytes_of(numbers[0]) + bytes_of(numbers[1]));
}

TEST(WhatProgramsSend, IsNotCountedWithoutASaidReason)
{
    if (packaged("ib_write_bw").empty()) {
        GTEST_SKIP() << "perftest is not installed";
    }
    const auto reason_with = [&](const std::string& setting) {
        DaemonOptions options = adopting(rule("command: [ib_write_bw]", "rpc"));
        options.settings += setting;
        const Daemon daemon(options);
        const ServerAndClient both({packaged("ib_write_bw"), "-d", "mlx5_0", "-b", "-D", kTenMinutes});
        for (const pid_t process : both.pids()) {
            expect_adopted(daemon, process, 1, kInRpc, "rpc");
        }
        const auto ports = nlohmann::json::parse(said(daemon, "top --json --device mlx5_0 --interval 300")).at("ports");
        EXPECT_EQ(ports[0].at("counted"), 0) << ports;
        return ports[0].at("reason").get<std::string>();
    };
    EXPECT_THAT(reason_with(""), HasSubstr("`queue-pair-counters: bind`"));
    emulator("set counters requests");
    EXPECT_THAT(reason_with("queue-pair-counters: bind\n"), HasSubstr("Linux 6.16"));
    emulator("set counters bytes");
}

// By where it is connected to, as the kernel says; a datagram queue pair is connected to nothing.
TEST(AdoptPackaged, ByItsDestination)
{
    if (packaged("ib_write_bw").empty() || packaged("ibv_ud_pingpong").empty()) {
        GTEST_SKIP() << "perftest or ibverbs-utils is not installed";
    }
    DaemonOptions options = adopting(kTargetsToStorage);
    const std::string placeholder = kTarget;
    options.policy.replace(options.policy.find(placeholder), placeholder.size(), own_gid());
    const Daemon daemon(options);
    const ServerAndClient connected({packaged("ib_write_bw"), "-d", "mlx5_0", "-b", "-x", "0", "-D", kTenMinutes});
    for (const pid_t process : connected.pids()) {
        expect_adopted(daemon, process, 1, kInStorage, "storage");
    }
    const ServerAndClient datagrams({packaged("ibv_ud_pingpong"), "-d", "mlx5_0", "-g", "0", "-n", kForEver});
    for (const pid_t process : datagrams.pids()) {
        const auto number = ready_of(process, 1).at(0);
        EXPECT_EQ(standing(daemon, number, "no-rule"), "no-rule");
        EXPECT_EQ(place_of(number), kNowhere);
    }
}

// ---- how a program is made, and where it runs ----

class Adopt : public ::testing::Test {
protected:
    // Two queue pairs to the GIDs of `-g`, each, in this order.
    static void expect_by_destination(const Daemon& daemon, const Running& program)
    {
        ASSERT_TRUE(program.ready()) << program.output();
        std::vector<std::string> where;
        for (const auto& each : program.queue_pairs()) {
            const bool is_target = where.size() % 2 != 0;
            EXPECT_TRUE(eventually([&] { return place_of(each.number) == (is_target ? kInStorage : kInRpc); }));
            where.push_back(standing(daemon, each.number, is_target ? "storage" : "rpc"));
        }
        EXPECT_THAT(where, ::testing::ElementsAre("rpc", "storage", "rpc", "storage"));
        const auto why = said(daemon, fmt::format("why {}", program.child().pid()));
        EXPECT_THAT(why, HasSubstr("rpc"));
        EXPECT_THAT(why, HasSubstr("storage"));
    }
    // Held, with one queue pair.
    [[nodiscard]] Words one(const char* name, const char* way) const { return held(folder, {program(name), way}); }

    TempDir folder;
};

class EveryWayToVerbs : public Adopt, public ::testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(EveryWayToVerbs, EachQueuePairByItsDestination)
{
    const auto& [name, way] = GetParam();
    if (access(program(name).c_str(), X_OK) != 0) {
        GTEST_SKIP() << name << " was not built: it needs the static libraries of rdma-core and libnl";
    }
    if (!on_kernel() && std::string(name) == "static_verbs") {
        GTEST_SKIP() << "no preload library gets into a static program: the emulator cannot play its devices";
    }
    const Daemon daemon(adopting(kTargetsToStorage + rule(fmt::format("command: [{}]", name), "rpc")));
    const Running running(held(folder, {program(name), way, "-n", "4", "-g", std::string(kElsewhere) + "," + kTarget}));
    expect_by_destination(daemon, running);
}

INSTANTIATE_TEST_SUITE_P(Ways, EveryWayToVerbs,
                         ::testing::Values(std::pair("linked", "linked"), std::pair("loaded", "dlvsym"),
                                           std::pair("static_verbs", "static")),
                         [](const auto& each) { return each.param.first; });

// Inside librdmacm, which makes and connects the queue pairs.
TEST_F(Adopt, AnRdmaCmProgramByItsDestination)
{
    const Daemon daemon(adopting(kTargetsToStorage));
    for (const char* way : {"call", "answer"}) {
        const Running running(one("rdma_cm", way));
        ASSERT_TRUE(running.ready()) << running.output();
        expect_adopted(daemon, running.child().pid(), 1, kInStorage, "storage");
    }
}

TEST_F(Adopt, APythonScript)
{
    const std::string python = "/usr/bin/python3";    // Debian's, which has Debian's packages
    if (system((python + " -c 'import pyverbs.device' 2>/dev/null").c_str()) != 0) {
        GTEST_SKIP() << "python3-pyverbs is not installed";
    }
    const Daemon daemon(adopting(rule("command: [\"python3*\"]", "rpc")));
    const Running running({python, "-B", RDMAQOS_SOURCE_DIR "/tests/integration/adopt/queue_pairs.py", "3"});
    ASSERT_TRUE(running.ready()) << running.output();
    expect_adopted(daemon, running.child().pid(), 3, kInRpc, "rpc");
}

TEST_F(Adopt, OfAUser)
{
    const auto become_nobody = [] {
        return setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
               setresuid(kNobody, kNobody, kNobody) == 0;
    };
    const bool can = start({program("linked"), "linked"}, become_nobody)->wait() == 0;
    if (!can) {
        GTEST_SKIP() << "not root, or nobody cannot reach " << program("linked");
    }
    const Daemon daemon(adopting(rule("user: [nobody]", "rpc")));
    const auto nobodys = start(one("linked", "linked"), become_nobody);
    expect_adopted(daemon, nobodys->pid(), 1, kInRpc, "rpc");
    const Running mine(one("linked", "linked"));
    const auto number = ready_of(mine.child().pid(), 1).at(0);
    EXPECT_EQ(standing(daemon, number, "no-rule"), "no-rule");
    EXPECT_EQ(place_of(number), kNowhere);
}

// A cgroup of the name that systemd gives to that of a unit.
class UnitOfTest {
public:
    UnitOfTest()
    {
        if (on_kernel() && mount("none", mounted_.path().c_str(), "cgroup2", 0, nullptr) == 0) {
            is_mounted_ = true;
        }
        for (const fs::path& root : {mounted_.path(), fs::path("/sys/fs/cgroup/systemd"), fs::path("/sys/fs/cgroup")}) {
            const auto folder = root / fmt::format("adopt-{}.service", getpid());
            if (folder_.empty() && access((root / "cgroup.procs").c_str(), W_OK) == 0 &&
                mkdir(folder.c_str(), 0755) == 0) {
                folder_ = folder;
            }
        }
    }
    // Nobody is in it any longer.
    ~UnitOfTest()
    {
        if (exists()) {
            static_cast<void>(eventually([this] { return rmdir(folder_.c_str()) == 0; }));
        }
        if (is_mounted_) {
            umount(mounted_.path().c_str());
        }
    }
    UnitOfTest(const UnitOfTest&) = delete;
    UnitOfTest& operator=(const UnitOfTest&) = delete;

    [[nodiscard]] bool exists() const { return !folder_.empty(); }
    [[nodiscard]] std::string name() const { return folder_.filename(); }
    // The process that calls it.
    [[nodiscard]] bool enter() const
    {
        std::ofstream procs(folder_ / "cgroup.procs");
        procs << "0" << std::flush;
        return procs.good();
    }

private:
    TempDir mounted_;
    bool is_mounted_ = false;
    fs::path folder_;
};

TEST_F(Adopt, OfAUnit)
{
    const UnitOfTest unit;
    if (!unit.exists()) {
        GTEST_SKIP() << "no cgroup can be made here";
    }
    const Daemon daemon(adopting(rule(fmt::format("unit: [{}]", unit.name()), "storage")));
    const auto running = start(one("linked", "linked"), [&] { return unit.enter(); });
    expect_adopted(daemon, running->pid(), 1, kInStorage, "storage");
}

// The first process of new namespaces, which ends with the one that was started. It has another pid there, and is root
// of nothing.
TEST_F(Adopt, InAContainer)
{
    constexpr int kNamespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET;
    const auto enter = [] {
        if (unshare(kNamespaces) != 0) {
            return false;
        }
        const pid_t first = fork();
        if (first > 0) {
            while (true) {
                pause();
            }
        }
        return first == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
    };
    if (const auto why = why_no_namespaces(kNamespaces); !why.empty()) {
        GTEST_SKIP() << "no namespaces can be made here: " << why;
    }
    const Daemon daemon(adopting(rule("command: [linked]", "rpc")));
    const auto running = start(one("linked", "linked"), enter);
    const pid_t inside = only_process();
    EXPECT_NE(inside, running->pid());
    expect_adopted(daemon, inside, 1, kInRpc, "rpc");
}

// The kernel's counts are what they were.
TEST_F(Adopt, OneInThePlaceOfAnother)
{
    const Daemon daemon(adopting("  - {qos-level-name: rpc}\n"));
    Processes processes;
    const TempDir adopted;
    processes.start([&](const Processes::Say& say) {
        world here{};
        ibv_qp* made = open_world_of(&here, "mlx5_0") ? qp_in_state(&here, IBV_QPT_RC, IBV_QPS_RTS) : nullptr;
        for (int round = 0; made != nullptr && round < 2; ++round) {
            say(made->qp_num);
            static_cast<void>(eventually([&] { return fs::exists(adopted.path() / std::to_string(round)); }));
            sleep(4);    // longer than the daemon looks often
            made = ibv_destroy_qp(made) == 0 ? qp_in_state(&here, IBV_QPT_RC, IBV_QPS_RTS) : nullptr;
        }
        if (made == nullptr) {
            throw std::runtime_error("no queue pair");
        }
        say(made->qp_num);
    });
    for (int round = 0; round < 3; ++round) {
        const auto numbers = processes.hear(1);
        ASSERT_EQ(numbers.size(), 1U);
        EXPECT_TRUE(eventually([&] { return place_of(numbers[0]) == kInRpc; }));
        adopted.write(std::to_string(round), "");
    }
}

TEST_F(Adopt, ByOneDaemonAfterTheOther)
{
    const Running running(one("linked", "linked"));
    const pid_t pid = running.child().pid();
    for (const char* level : {"rpc", "storage"}) {
        const Daemon daemon(adopting(rule("command: [linked]", level)));
        expect_adopted(daemon, pid, 1, level == std::string("rpc") ? kInRpc : kInStorage, level);
    }
    EXPECT_EQ(place_of(ready_of(pid, 1).at(0)), kNowhere) << "no daemon is there";
}

// ---- who is not adopted, and what is said of it ----

TEST_F(Adopt, AProgramThatEndsLeavesNothing)
{
    const Daemon daemon(adopting(rule("command: [linked]", "rpc")));
    Running running(one("linked", "linked"));
    expect_adopted(daemon, running.child().pid(), 1, kInRpc, "rpc");
    let_go(folder);
    EXPECT_EQ(running.ended(), 0) << running.output();
    EXPECT_TRUE(eventually([] { return emulated_device().at("queue-pairs").empty(); }));
    EXPECT_TRUE(eventually([] { return emulated_device().at("files") == 1; })) << emulated_device().at("files");
    EXPECT_TRUE(eventually([&] { return daemon.sessions() == 0; }));
}

// The kernel does not tell the number of its send queue.
TEST_F(Adopt, NotARawPacketQueuePair)
{
    const Daemon daemon(adopting("  - {qos-level-name: rpc}\n"));
    Processes processes;
    const Child& child = processes.start([](const Processes::Say& say) {
        world here{};
        ibv_qp* made = open_world_of(&here, "mlx5_0") ? qp_in_state(&here, IBV_QPT_RAW_PACKET, IBV_QPS_RTS) : nullptr;
        if (made == nullptr) {
            throw std::runtime_error("no raw packet queue pair");
        }
        say(made->qp_num);
    });
    const auto numbers = processes.hear(1);
    ASSERT_EQ(numbers.size(), 1U);
    EXPECT_EQ(standing(daemon, numbers[0], "not-adoptable"), "not-adoptable");
    EXPECT_THAT(said(daemon, fmt::format("why {}", child.pid())), HasSubstr("not-adoptable"));
    EXPECT_EQ(place_of(numbers[0]), kNowhere);
    EXPECT_THAT(said(daemon, "status"), HasSubstr("not-adoptable"));
}

struct Untouched {
    const char* name;
    const char* rules;
    const char* setting;
    const char* standing;

    friend void PrintTo(const Untouched& untouched, std::ostream* out) { *out << untouched.name; }
};

class EveryUntouched : public Adopt, public ::testing::WithParamInterface<Untouched> {
protected:
    // The device files that were used since the trace began, and by whom.
    [[nodiscard]] static std::map<std::uint64_t, std::set<pid_t>> users(Trace& trace)
    {
        std::map<std::uint64_t, std::set<pid_t>> found;
        for (const auto& call : trace.calls()) {
            if (call.at("device") == "mlx5_0" && call.at("method") != "last-close") {
                found[call.at("file")].insert(call.at("pid").get<pid_t>());
            }
        }
        return found;
    }
};

// The emulator's trace shows every call on every device file.
TEST_P(EveryUntouched, NoCallReachesItsFile)
{
    const auto& [name, rules, setting, expected] = GetParam();
    const Daemon daemon(adopting(rules, setting));
    std::optional<Trace> trace;
    if (!on_kernel()) {
        trace.emplace();
    }
    const Running running(one("linked", "linked"));
    const pid_t pid = running.child().pid();
    const auto number = ready_of(pid, 1).at(0);
    const bool is_listed = std::string(setting) != "ignore";
    if (is_listed) {
        EXPECT_EQ(standing(daemon, number, expected), expected);
    } else {
        std::this_thread::sleep_for(kMoment);    // an adoption takes a tenth of that
    }
    EXPECT_EQ(place_of(number), kNowhere);
    EXPECT_THAT(said(daemon, fmt::format("why {}", pid)), HasSubstr(std::to_string(pid)));
    EXPECT_EQ(daemon.sessions(), 0U);
    EXPECT_THAT(said(daemon, "status"), HasSubstr(is_listed ? expected : "sessions"));
    if (trace) {
        std::size_t files = 0;
        for (const auto& [file, pids] : users(*trace)) {
            if (pids.contains(pid)) {
                ++files;
                EXPECT_THAT(pids, ::testing::ElementsAre(pid)) << "somebody else used its device file";
            }
        }
        EXPECT_EQ(files, 1U);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, EveryUntouched,
    ::testing::Values(
        Untouched{"NoRule", "  - {client: {command: [other]}, qos-level-name: rpc}\n", "adopt", "no-rule"},
        Untouched{"NoSchedule", "  - {client: {command: [linked]}, qos-level-name: marked}\n", "adopt", "no-schedule"},
        Untouched{"LevelExcludes", "  - {client: {command: [linked]}, qos-level-name: apart}\n", "adopt", "excluded"},
        Untouched{"RuleExcludes", "  - {client: {command: [linked]}, adopt: no, qos-level-name: rpc}\n", "adopt",
                  "excluded"},
        Untouched{"Count", "  - {qos-level-name: rpc}\n", "count", "unregistered"},
        Untouched{"Ignore", "  - {qos-level-name: rpc}\n", "ignore", ""}),
    [](const auto& each) { return each.param.name; });

// That such a trace shows what adoption does.
TEST_F(EveryUntouched, WhatIsAdoptedIsSeen)
{
    if (on_kernel()) {
        GTEST_SKIP() << "what is traced there are commands of the firmware";
    }
    const Daemon daemon(adopting("  - {qos-level-name: rpc}\n"));
    Trace trace;
    const Running running(one("linked", "linked"));
    const pid_t pid = running.child().pid();
    expect_adopted(daemon, pid, 1, kInRpc, "rpc");
    bool seen = false;
    for (const auto& [file, pids] : users(trace)) {
        seen = seen || (pids.contains(pid) && pids.size() == 2);
    }
    EXPECT_TRUE(seen);
}

}    // namespace
}    // namespace rdmaqos::test
