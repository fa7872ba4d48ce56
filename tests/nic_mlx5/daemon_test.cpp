// rdma-qosd on mlx5 devices, with queue pairs that programs make through libibverbs: below the emulator, which plays
// kernel and firmware, and on a real kernel, where it plays the firmware alone (tests/kernel); on firmware that
// isolates user contexts, and that does not. What is expected is read from the emulator, never from the daemon.
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "lib/mlx5/prm.h"
#include "lib/nic_mlx5/uverbs.h"
#include "tests/nic_mlx5/program.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::HasSubstr;

// A queue pair as UCX makes it: no verb knows it. The handle is that of its DEVX object.
struct DevxQueuePair {
    std::uint32_t handle = 0;
    std::uint32_t number = 0;
};

DevxQueuePair make_devx(const world& here)
{
    mlx5::Mailbox command(mlx5::prm::kQpc / 8 + 232);
    set(command, mlx5::prm::kOpcode, mlx5::prm::CreateQp);
    const auto created = mlx5::devx_create(here.context->cmd_fd, command);
    if (!created) {
        throw std::runtime_error(mlx5::to_string(created.error()));
    }
    const DevxQueuePair made{created->handle, created->id & 0xffffff};
    for (const auto opcode : {mlx5::prm::Rst2Init, mlx5::prm::Init2Rtr, mlx5::prm::Rtr2Rts}) {
        mlx5::Mailbox step(mlx5::prm::kQpc / 8 + 232);
        set(step, mlx5::prm::kOpcode, opcode);
        set(step, mlx5::prm::kQpn, made.number);
        if (const auto done = mlx5::devx_modify(here.context->cmd_fd, made.handle, step); !done) {
            throw std::runtime_error(mlx5::to_string(done.error()));
        }
    }
    return made;
}

bus::Dict request_for_devx(const world& here, const DevxQueuePair& queue_pair)
{
    bus::Dict dict;
    dict.set("device", "mlx5_0");
    dict.set("number", queue_pair.number);
    dict.set("handle", queue_pair.handle);
    dict.set("type", "devx");
    dict.set("uverbs", bus::FileDescriptor{std::make_shared<UniqueFd>(dup(here.context->cmd_fd))});
    return dict;
}

TEST(Mlx5Daemon, FourProcessesThreeClassesEveryType)
{
    constexpr std::size_t kOfProgram = 6;
    Daemon daemon(on_emulator());
    Processes processes;
    for (int process = 0; process < 4; ++process) {
        processes.start([&](const Processes::Say& say) {
            for (std::uint32_t of = 0; of < 3; ++of) {
                auto* program = new Program(daemon, kLevels[of]);
                std::vector<std::uint32_t> numbers;
                for (const auto type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET}) {
                    numbers.push_back(program->join(type));
                }
                numbers.push_back(program->join(IBV_QPT_RC, IBV_QPS_INIT));
                const auto devx = make_devx(program->here());
                const auto result = program->attach(request_for_devx(program->here(), devx));
                if (text_of(result, "error") != "absent") {
                    throw std::runtime_error(text_of(result, "reason"));
                }
                numbers.push_back(devx.number);
                for (const std::uint32_t number : numbers) {
                    say(number << 2 | of);
                }
            }
        });
    }
    std::map<std::uint32_t, std::string> expected;
    for (const std::uint32_t said : processes.hear(4 * 3 * kOfProgram)) {
        expected[said >> 2] = kPlaceOf[said & 3];
    }
    EXPECT_EQ(expected.size(), 4 * 3 * kOfProgram);
    EXPECT_EQ(places(emulated_device()), expected);
    // A class that is fair by process has a leaf for each, the others one; where contexts are isolated, each program
    // has leaves of its own.
    std::set<std::uint32_t> leaves;
    const auto device = emulated_device();
    for (const auto& each : device.at("queue-pairs")) {
        leaves.insert(each.at("requester").get<std::uint32_t>());
    }
    EXPECT_EQ(leaves.size(), leaves_are_in_programs() ? 4U * 3 : 4U + 1 + 1);

    processes.kill_all();
    EXPECT_TRUE(eventually([] { return emulated_device().at("files") == 1; }));
    EXPECT_TRUE(emulated_device().at("queue-pairs").empty());
    EXPECT_EQ(emulated_device().at("leaked"), 0);
}

// Programs that know nothing of us included, as the kernel tells.
TEST(Mlx5Daemon, EveryQueuePairOfTheHostIsListed)
{
    const Daemon daemon(on_emulator());
    Processes strangers;
    strangers.start([](const Processes::Say& say) {
        auto* here = new world();
        if (!open_world_of(here, "mlx5_0")) {
            throw std::runtime_error("no world");
        }
        say(qp_in_state(here, IBV_QPT_RC, IBV_QPS_RTS)->qp_num);
        say(qp_in_state(here, IBV_QPT_UD, IBV_QPS_INIT)->qp_num);
    });
    const auto unregistered = strangers.hear(2);
    Program program(daemon, "rpc");
    const std::uint32_t placed = program.join(IBV_QPT_RC);
    const std::uint32_t kept = program.make(IBV_QPT_UC)->qp_num;
    const auto devx = make_devx(program.here());
    ASSERT_EQ(error_of(program.attach(request_for_devx(program.here(), devx))), "absent");

    auto client = daemon.direct();
    const auto ask = [&](bus::Dict options) {
        const auto reply = client.call(bus::names::kRoot, bus::names::kManager, "ListQueuePairs", {std::move(options)});
        std::map<std::uint32_t, std::string> found;
        for (const auto& each : *reply->front().as<std::vector<bus::Dict>>()) {
            // On a kernel there are its own too.
            if (text_of(each, "outside") != "kernel") {
                found[static_cast<std::uint32_t>(each.find("number")->as_unsigned().value())] = text_of(each, "type") +
                                                                                                " " +
                                                                                                text_of(each, "state") +
                                                                                                " " +
                                                                                                text_of(each, "leaf") +
                                                                                                " " +
                                                                                                text_of(each,
                                                                                                        "outside");
            }
        }
        return found;
    };
    const std::string leaf = "/rpc/pid:" + std::to_string(getpid());
    const std::map<std::uint32_t, std::string> mine{{placed, "rc RTS " + leaf + " absent"},
                                                    {kept, "uc RTS absent not-attached"},
                                                    {devx.number, "devx absent " + leaf + " absent"}};
    std::map<std::uint32_t, std::string> all = mine;
    all[unregistered[0]] = "rc RTS absent unregistered";
    all[unregistered[1]] = "ud INIT absent unregistered";
    bus::Dict of_device;
    of_device.set("device", "mlx5_0/1");
    EXPECT_EQ(ask(of_device), all);
    bus::Dict of_process;
    of_process.set("pid", static_cast<std::uint32_t>(getpid()));
    EXPECT_EQ(ask(of_process), mine);
    strangers.kill_all();
    EXPECT_TRUE(eventually([&] { return ask(of_device) == mine; })) << "a second later at most";
}

TEST(Mlx5Daemon, AReloadWritesWhatChangedAndNothingElse)
{
    Daemon daemon(on_emulator());
    Program program(daemon, "bulk");
    program.join(IBV_QPT_RC);
    Trace trace;
    auto client = daemon.direct();
    const auto reload = [&] { return client.call(bus::names::kRoot, bus::names::kManager, "Reload", {}); };
    ASSERT_TRUE(reload().has_value());
    EXPECT_THAT(trace.writes(), ::testing::IsEmpty());

    trace.clear();
    std::string policy = kThreeClasses;
    policy.replace(policy.find("share: 20"), 9, "share: 30");
    daemon.dir().write("etc/rdma-qos/policy.yaml", policy);
    ASSERT_TRUE(reload().has_value());
    const auto writes = trace.writes();
    ASSERT_EQ(writes.size(), 1U) << nlohmann::json(writes).dump(2);
    EXPECT_EQ(Trace::command_of(writes[0]), "modify-general-object");
    EXPECT_EQ(writes[0].at("fields").at("bw-share"), 30);
    EXPECT_FALSE(writes[0].at("fields").contains("max-average-bw"));
}

TEST(Mlx5Daemon, ALevelThatIsOnlyMonitoredLeavesTheDeviceAlone)
{
    const std::string enforced = kThreeClasses;
    std::string monitored = enforced;
    monitored.replace(monitored.find("name: rpc, "), 11, "name: rpc, mode: monitor, ");
    Daemon daemon(on_emulator(enforced));
    Program program(daemon, "rpc");
    Program other(daemon, "bulk");
    const std::uint32_t number = program.join(IBV_QPT_RC);
    const std::uint32_t bystander = other.join(IBV_QPT_RC);
    auto client = daemon.direct();
    const auto reload = [&](const std::string& policy) {
        daemon.dir().write("etc/rdma-qos/policy.yaml", policy);
        return client.call(bus::names::kRoot, bus::names::kManager, "Reload", {}).has_value();
    };
    const std::map<std::uint32_t, std::string> both{{number, kPlaceOf[0]}, {bystander, kPlaceOf[1]}};
    EXPECT_EQ(places(emulated_device()), both);

    ASSERT_TRUE(reload(monitored));
    const std::map<std::uint32_t, std::string> one{{number, ""}, {bystander, kPlaceOf[1]}};
    EXPECT_TRUE(eventually([&] { return places(emulated_device()) == one; }));
    ibv_qp* made = program.make(IBV_QPT_RC);
    const std::uint32_t late = made->qp_num;
    Trace trace;
    const bus::Dict result = program.attach(made);
    EXPECT_EQ(text_of(result, "cause"), "level-monitor");
    EXPECT_THAT(text_of(result, "reason"), HasSubstr("its class would be /rpc"));
    EXPECT_THAT(trace.writes(), ::testing::IsEmpty());
    EXPECT_EQ(places(emulated_device()).at(late), "");

    ASSERT_TRUE(reload(enforced));
    const std::map<std::uint32_t, std::string> all{
        {number, kPlaceOf[0]}, {bystander, kPlaceOf[1]}, {late, kPlaceOf[0]}};
    EXPECT_TRUE(eventually([&] { return places(emulated_device()) == all; }));
}

TEST(Mlx5Daemon, StatesAreToldApart)
{
    const Daemon daemon(on_emulator());
    Program program(daemon);
    EXPECT_THAT(text_of(program.attach(program.make(IBV_QPT_RC, IBV_QPS_RTR)), "reason"),
                HasSubstr("is in RTR, and only in INIT or RTS"));
    EXPECT_THAT(text_of(program.attach(program.make(IBV_QPT_RC, IBV_QPS_RESET)), "reason"),
                HasSubstr("brought to INIT"));
    ibv_qp* failed = program.make(IBV_QPT_UD);
    ibv_qp_attr error{};
    error.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(failed, &error, IBV_QP_STATE), 0);
    EXPECT_THAT(text_of(program.attach(failed), "reason"), HasSubstr("reset it"));
    EXPECT_TRUE(emulated_device().at("queue-pairs").size() == 3);
    EXPECT_THAT(places(emulated_device()), Each(::testing::Pair(::testing::_, "")));
}

TEST(Mlx5Daemon, TrustsNothingOfARequest)
{
    const Daemon daemon(on_emulator());
    Program program(daemon);
    ibv_qp* own = program.make(IBV_QPT_RC);
    ibv_qp* other = program.make(IBV_QPT_UD);
    const bus::Dict good = request_for(program.here(), own);
    const auto with = [&](const char* key, bus::Value value) {
        bus::Dict dict = request_for(program.here(), own);
        dict.set(key, std::move(value));
        return dict;
    };
    const auto descriptor = [](int fd) { return bus::Value(bus::FileDescriptor{std::make_shared<UniqueFd>(fd)}); };
    EXPECT_EQ(text_of(program.attach(with("handle", bus::Value(other->handle))), "error"),
              "org.rdmaqos1.Error.BadQueuePair");
    EXPECT_EQ(error_of(program.attach(with("handle", bus::Value(std::uint32_t{999})))),
              "org.rdmaqos1.Error.BadQueuePair");
    EXPECT_EQ(error_of(program.attach(with("type", bus::Value("uc")))), "org.rdmaqos1.Error.BadQueuePair");
    EXPECT_EQ(error_of(program.attach(with("uverbs", descriptor(open("/etc/passwd", O_RDONLY))))),
              "org.rdmaqos1.Error.NotUverbs");
    EXPECT_EQ(error_of(program.attach(with("uverbs", descriptor(open("/dev/null", O_RDONLY))))),
              "org.rdmaqos1.Error.NotUverbs");
    EXPECT_EQ(error_of(program.attach(with("device", bus::Value("mlx5_1")))), "org.rdmaqos1.Error.WrongDevice");
    EXPECT_EQ(places(emulated_device()).at(own->qp_num), "");
    EXPECT_EQ(error_of(program.attach(good)), "absent");
    EXPECT_EQ(place_of(own->qp_num), kPlaceOf[1]);
}

TEST(Mlx5Daemon, DetachAndEnd)
{
    const Daemon daemon(on_emulator());
    std::uint32_t number = 0;
    {
        Program program(daemon);
        ibv_qp* made = program.make(IBV_QPT_UC);
        number = made->qp_num;
        program.attach(made);
        EXPECT_EQ(place_of(number), kPlaceOf[1]);
        EXPECT_TRUE(program.detach(number).has_value());
        EXPECT_EQ(place_of(number), "");
        program.attach(made);
        program.destroy(made);
    }
    EXPECT_TRUE(eventually([] { return emulated_device().at("files") == 1; }));
    EXPECT_EQ(place_of(number), "absent");
}

TEST(Mlx5Daemon, TwoDevicesHaveATreeEach)
{
    const Daemon daemon(on_emulator());
    Program first(daemon, "bulk");
    Program second(daemon, "storage", "mlx5_1");
    first.join(IBV_QPT_RC);
    const auto number = second.join(IBV_QPT_RC);
    EXPECT_EQ(place_of(number, "mlx5_1"), kPlaceOf[2]);
    // A queue pair is of the device whose file has it.
    EXPECT_EQ(error_of(first.attach(request_for(second.here(), second.make(IBV_QPT_UD)))),
              "org.rdmaqos1.Error.WrongDevice");
    emulator("reset mlx5_0");
    EXPECT_TRUE(eventually([&] { return first.state() == "detached"; }));
    EXPECT_EQ(place_of(number, "mlx5_1"), kPlaceOf[2]) << "its neighbour notices nothing";
    EXPECT_TRUE(eventually([&] { return device_property(daemon, "State") == "ready"; }));
    EXPECT_EQ(place_of(number, "mlx5_1"), kPlaceOf[2]);
}

TEST(Mlx5Daemon, ResetTellsSessionsAndBuildsAgain)
{
    const Daemon daemon(on_emulator());
    Program program(daemon);
    program.attach(program.make(IBV_QPT_RC));
    emulator("reset mlx5_0");
    EXPECT_TRUE(eventually([&] { return program.state() == "detached"; }));
    // Where contexts are isolated, nothing is made before somebody needs it.
    const std::size_t elements = firmware_isolates() ? 0 : 5;
    EXPECT_TRUE(eventually([&] { return device_property(daemon, "State") == "ready"; }));
    EXPECT_TRUE(eventually([&] { return emulated_device().at("elements") == elements; })) << emulated_device().dump(2);
    Program again(daemon);
    ibv_qp* made = again.make(IBV_QPT_RC);
    EXPECT_EQ(error_of(again.attach(made)), "absent");
    EXPECT_EQ(place_of(made->qp_num), kPlaceOf[1]);
    EXPECT_EQ(emulated_device().at("files"), 2);
}

// What a program does that lives on: when its device is gone it opens the new one and registers again.
std::uint32_t attach_until(const Daemon& daemon, const std::function<bool(std::uint32_t)>& enough)
{
    std::uint32_t lives = 0;
    while (true) {
        try {
            auto program = std::make_unique<Program>(daemon, "rpc");
            ++lives;
            while (true) {
                const std::uint32_t number = program->join(IBV_QPT_RC);
                if (enough(lives)) {
                    static_cast<void>(program.release());    // until this process is killed
                    return number;
                }
                if (!program->detach(number)) {
                    throw std::runtime_error("detach");
                }
            }
        } catch (const std::exception&) {
            usleep(20'000);
        }
    }
}

std::size_t descriptors_of(pid_t pid)
{
    const std::filesystem::directory_iterator all(fmt::format("/proc/{}/fd", pid));
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(Mlx5Daemon, ResetUnderLoad)
{
    Daemon daemon(on_emulator());
    const pid_t pid = daemon.process().pid();
    Program(daemon).join(IBV_QPT_RC);    // what is opened with the first queue pair is open
    ASSERT_TRUE(eventually([] { return emulated_device().at("files") == 1; }));
    const std::size_t before = descriptors_of(pid);
    std::size_t of_one = 0;
    {
        Program one(daemon);
        one.join(IBV_QPT_RC);
        of_one = descriptors_of(pid) - before;
    }
    ASSERT_TRUE(eventually([&] { return descriptors_of(pid) <= before; }));
    Processes processes;
    for (int process = 0; process < 4; ++process) {
        processes.start([&](const Processes::Say& say) {
            say(attach_until(daemon, [](std::uint32_t lives) { return lives > 1; }));
        });
    }
    std::this_thread::sleep_for(300ms);
    emulator("reset mlx5_0");
    const auto numbers = processes.hear(4);
    ASSERT_EQ(numbers.size(), 4U);
    const auto where = places(emulated_device());
    for (const std::uint32_t number : numbers) {
        EXPECT_EQ(where.at(number), kPlaceOf[0]);
    }
    // Nothing of the dead device is held.
    EXPECT_TRUE(eventually([&] { return descriptors_of(pid) <= before + 4 * of_one; })) << descriptors_of(pid) - before;
    processes.kill_all();
    EXPECT_TRUE(eventually([&] { return descriptors_of(pid) <= before; })) << descriptors_of(pid) - before;
    EXPECT_TRUE(eventually([] { return emulated_device().at("queue-pairs").empty(); })) << emulated_device().dump(2);
}

TEST(Mlx5Daemon, TheLinkIsFollowed)
{
    Daemon daemon(on_emulator());
    auto client = daemon.direct();
    const auto link_is = [&](const char* up) {
        return eventually([&] {
            const auto objects = client.managed_objects();
            for (const auto& [path, interfaces] : *objects) {
                const auto device = interfaces.find(bus::names::kDevice);
                if (device != interfaces.end() && text_of(device->second, "Name") == "mlx5_0") {
                    return text_of(device->second, "LinkUp") == up;
                }
            }
            return false;
        });
    };
    EXPECT_TRUE(link_is("true"));
    emulator("event mlx5_0 port-error");
    EXPECT_TRUE(link_is("false"));
    emulator("event mlx5_0 port-active");
    EXPECT_TRUE(link_is("true"));
}

// Shares in ascending order, of the elements that have one.
std::vector<std::uint64_t> shares()
{
    std::vector<std::uint64_t> all;
    const auto device = emulated_device();
    for (const auto& each : device.at("tree")) {
        if (each.at("bw-share") != 0) {
            all.push_back(each.at("bw-share"));
        }
    }
    std::ranges::sort(all);
    return all;
}

// Guarantees are weights, and so depend on the link: of 100 Gbit/s a guarantee of 10 is a tenth, of 40 a quarter.
TEST(Mlx5Daemon, GuaranteesAreComputedAgainForAnotherLinkSpeed)
{
    constexpr const char* kGuarantees = R"(version: 1
qos-levels:
  - {name: DEFAULT}
  - {name: small, schedule: {min-rate: 10Gbps}, allow: {user: [root]}}
  - {name: rest, schedule: {share: 1}}
)";
    Daemon daemon(on_emulator(kGuarantees));
    Program small(daemon, "small");
    Program rest(daemon, "rest");
    small.join(IBV_QPT_RC);
    rest.join(IBV_QPT_RC);
    const auto holds = [&](std::uint64_t gbps) {
        const auto now = shares();
        return now.size() == 2 && now[0] * gbps >= 10 * (now[0] + now[1]);
    };
    EXPECT_TRUE(eventually([&] { return holds(100); })) << ::testing::PrintToString(shares());
    EXPECT_FALSE(holds(40));
    struct AsItWas {
        ~AsItWas() { emulator("link-speed mlx5_0 100Gbps"); }
    } const afterwards;
    emulator("link-speed mlx5_0 40Gbps");
    EXPECT_TRUE(eventually([&] { return holds(40); })) << ::testing::PrintToString(shares());
    auto client = daemon.direct();
    const auto objects = client.managed_objects();
    std::string speed;
    for (const auto& [path, interfaces] : *objects) {
        const auto device = interfaces.find(bus::names::kDevice);
        if (device != interfaces.end() && text_of(device->second, "Name") == "mlx5_0") {
            speed = text_of(device->second, "LinkSpeed");
        }
    }
    EXPECT_EQ(speed, "40000000");    // kbit/s
}

}    // namespace
}    // namespace rdmaqos::test
