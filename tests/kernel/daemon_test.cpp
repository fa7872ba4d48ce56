// rdma-qosd on the kernel's own mlx5 driver. What is expected is read from the firmware, never from the daemon.
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "tests/kernel/firmware.h"
#include "tests/nic_mlx5/program.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kShared = "isolate=0";
constexpr const char* kIsolated = "isolate=1";
constexpr const char* kPciAddress = "1f00:00:00.0";
constexpr auto kPatience = 60s;    // until a driver has recovered

// Devices are tested one after the other, in threads of their own.
bool has_mode(const Daemon& daemon, const std::string& mode)
{
    return eventually([&] { return device_property(daemon, "AttachMode") == mode; }, kPatience);
}

std::string session_state(Program& program)
{
    const auto properties = program.client().properties(program.session(), bus::names::kSession);
    return properties ? text_of(*properties, "State") : "no session";
}

std::string error_of(const bus::Dict& result)
{
    return text_of(result, "error") + ": " + text_of(result, "reason");
}
constexpr const char* kNoError = "absent: absent";

double now()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Programs are served again, as soon as the daemon has the device; no file is open before.
void expect_to_attach_again(const Daemon& daemon)
{
    auto client = daemon.direct();
    bus::Dict request;
    request.set("device", "mlx5_0");
    std::string reason;
    const auto registers = [&] {
        const auto registered = register_session(client, request);
        reason = registered ? "" : to_string(registered.error());
        return registered.has_value();
    };
    ASSERT_TRUE(wait_for_nic(true));
    ASSERT_TRUE(eventually(registers, kPatience)) << reason;
    Program program(daemon);
    const auto number = program.join(IBV_QPT_RC, IBV_QPS_INIT);
    EXPECT_EQ(firmware_state().place_of(number), kPlaceOf[1]);
}

TEST(KernelModes, FirmwareThatTakesForeignLeavesIsShared)
{
    const LoadedNic nic(kShared);
    const Daemon daemon(on_emulator());
    EXPECT_TRUE(has_mode(daemon, "shared")) << device_property(daemon, "AttachReason");
    EXPECT_TRUE(eventually([] { return firmware_state().elements.size() == 5; }));
    EXPECT_EQ(device_property(daemon, "LinkUp"), "true");
    EXPECT_EQ(device_property(daemon, "LinkSpeed"), "100000000");    // kbit/s
}

TEST(KernelModes, FirmwareThatIsolatesUserContextsGetsATreePerProcess)
{
    const LoadedNic nic(kIsolated);
    const Daemon daemon(on_emulator());
    EXPECT_TRUE(has_mode(daemon, "per-process")) << device_property(daemon, "AttachReason");
    EXPECT_THAT(device_property(daemon, "AttachReason"), HasSubstr("its own process only"));
    EXPECT_THAT(firmware_state().elements, IsEmpty()) << "nothing is made before somebody needs it";
    Processes processes;
    for (int process = 0; process < 2; ++process) {
        processes.start(
            [&](const Processes::Say& say) { say((new Program(daemon, "rpc"))->join(IBV_QPT_RC, IBV_QPS_INIT)); });
    }
    const auto numbers = processes.hear(2);
    ASSERT_EQ(numbers.size(), 2U);
    const auto state = firmware_state();
    std::set<std::uint32_t> owners;
    for (const auto& [id, element] : state.elements) {
        owners.insert(element.owner);
    }
    EXPECT_EQ(owners.size(), 2U);
    for (const auto number : numbers) {
        EXPECT_EQ(state.place_of(number), kPlaceOf[0]);
    }
    processes.kill_all();
    EXPECT_TRUE(eventually([] { return firmware_state().elements.empty(); }));
}

TEST(KernelAttach, EveryTypeInInitAndRts)
{
    for (const char* kind : {kShared, kIsolated}) {
        SCOPED_TRACE(kind);
        const LoadedNic nic(kind);
        const Daemon daemon(on_emulator());
        Program program(daemon, "storage");
        for (const auto type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
            for (const auto state : {IBV_QPS_INIT, IBV_QPS_RTS}) {
                SCOPED_TRACE(std::string(name_of_type(type)) + " in " + name_of_state(state));
                const auto number = program.join(type, state);
                EXPECT_EQ(firmware_state().place_of(number), kPlaceOf[2]);
                EXPECT_TRUE(program.detach(number).has_value());
                EXPECT_EQ(firmware_state().place_of(number), "");
            }
        }
    }
}

TEST(KernelAttach, RawPacketByItsSendQueue)
{
    for (const char* kind : {"isolate=0 eth=1", "isolate=1 eth=1"}) {
        SCOPED_TRACE(kind);
        const LoadedNic nic(kind);
        const Daemon daemon(on_emulator());
        Program program(daemon, "storage");
        const auto number = program.join(IBV_QPT_RAW_PACKET);
        const auto state = firmware_state();
        ASSERT_EQ(state.send_queues.size(), 1U);
        EXPECT_EQ(state.way_up(state.send_queues.begin()->second), kPlaceOf[2]);
        EXPECT_TRUE(program.detach(number).has_value());
        EXPECT_EQ(firmware_state().send_queues.begin()->second, 0U);
    }
}

TEST(KernelAttach, AVirtualFunctionServesLikeAPhysicalOne)
{
    const LoadedNic nic("isolate=0 vf=1");
    const Daemon daemon(on_emulator());
    Program program(daemon, "rpc");
    const auto number = program.join(IBV_QPT_UD);
    EXPECT_EQ(firmware_state().place_of(number), kPlaceOf[0]);
}

TEST(KernelAttach, AReloadWritesWhatChangedAndNothingElse)
{
    const LoadedNic nic(kShared);
    const Daemon daemon(on_emulator());
    Program program(daemon, "rpc");
    program.join(IBV_QPT_RC);
    auto client = daemon.direct();
    const auto reload = [&] { return client.call(bus::names::kRoot, bus::names::kManager, "Reload", {}); };
    const FirmwareLog unchanged;
    ASSERT_TRUE(reload().has_value());
    EXPECT_THAT(unchanged.writes(), IsEmpty()) << spelled(unchanged.writes());

    std::string policy = kThreeClasses;
    policy.replace(policy.find("share: 20"), 9, "share: 30");
    daemon.dir().write("etc/rdma-qos/policy.yaml", policy);
    const FirmwareLog changed;
    ASSERT_TRUE(reload().has_value());
    const auto writes = changed.writes();
    ASSERT_EQ(writes.size(), 1U) << spelled(writes);
    EXPECT_EQ(writes[0].name, "MODIFY_GENERAL_OBJECT");
    EXPECT_EQ(writes[0].number("select"), 1) << "the share alone";
    EXPECT_EQ(writes[0].number("share"), 30);
}

TEST(KernelLifetime, AKilledClientIsOutOfItsLeafAtOnce)
{
    for (const char* kind : {kShared, kIsolated}) {
        SCOPED_TRACE(kind);
        const LoadedNic nic(kind);
        const Daemon daemon(on_emulator());
        Processes processes;
        const Child& victim = processes.start(
            [&](const Processes::Say& say) { say((new Program(daemon, "rpc"))->join(IBV_QPT_RC)); });
        const auto number = processes.hear(1).at(0);
        ASSERT_EQ(firmware_state().place_of(number), kPlaceOf[0]);
        const FirmwareLog log;
        const double killed = now();
        victim.signal(SIGKILL);
        std::this_thread::sleep_for(500ms);    // without reading the log, which takes time on an emulated processor
        EXPECT_TRUE(eventually([&] { return firmware_state().place_of(number) == "absent"; }));
        double out = 0;
        for (const auto& command : log.commands()) {
            const bool leaves = command.number("requester") == 0 || command.name == "DESTROY_QP";
            if (out == 0 && command.number("qpn") == number && leaves) {
                out = command.time;
            }
        }
        ASSERT_GT(out, 0) << spelled(log.commands());
        EXPECT_LT(out - killed, 0.1) << spelled(log.commands());
        RecordProperty(std::string("out_of_leaf_us_") + (kind == kShared ? "shared" : "isolated"),
                       std::to_string(static_cast<int>((out - killed) * 1e6)));
    }
}

TEST(KernelLifetime, StopLeavesNothingInTheFirmware)
{
    for (const char* kind : {kShared, kIsolated}) {
        SCOPED_TRACE(kind);
        const LoadedNic nic(kind);
        Daemon daemon(on_emulator());
        Program program(daemon, "rpc");
        const auto number = program.join(IBV_QPT_RC);
        ASSERT_TRUE(daemon.stop().has_value());
        const auto state = firmware_state();
        EXPECT_THAT(state.elements, IsEmpty());
        EXPECT_EQ(state.place_of(number), "") << "the queue pair lives on";
    }
}

TEST(KernelOwner, IsVerified)
{
    const LoadedNic nic(kShared);
    const Daemon daemon(on_emulator());
    Program program(daemon);
    for (const auto state : {IBV_QPS_INIT, IBV_QPS_RTS}) {
        const auto result = program.attach(program.make(IBV_QPT_RC, state));
        EXPECT_EQ(error_of(result), kNoError);
        EXPECT_EQ(text_of(result, "owner"), "absent") << "the kernel knows who made it";
    }
}

// Whoever can get at a process's descriptor is not its owner.
TEST(KernelOwner, AQueuePairOfAnotherProcessIsRefused)
{
    const LoadedNic nic(kShared);
    const Daemon daemon(on_emulator());
    Processes processes;
    const Child& owner = processes.start([](const Processes::Say& say) {
        world here{};
        if (!open_world(&here)) {
            throw std::runtime_error("no world");
        }
        const ibv_qp* made = qp_in_state(&here, IBV_QPT_RC, IBV_QPS_INIT);
        say(static_cast<std::uint32_t>(here.context->cmd_fd));
        say(made->qp_num);
        say(made->handle);
    });
    const auto said = processes.hear(3);
    ASSERT_EQ(said.size(), 3U);
    const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, owner.pid(), 0)));
    const int taken = static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), said[0], 0));
    ASSERT_GE(taken, 0);
    bus::Dict request;
    request.set("device", "mlx5_0");
    request.set("type", "rc");
    request.set("number", said[1]);
    request.set("handle", said[2]);
    request.set("uverbs", bus::FileDescriptor{std::make_shared<UniqueFd>(taken)});
    Program thief(daemon);
    EXPECT_EQ(text_of(thief.attach(request), "error"), "org.rdmaqos1.Error.NotOwner");
    EXPECT_EQ(firmware_state().place_of(said[1]), "");
}

// What all ways of losing a device have in common: its sessions are told, and programs come back with it.
void expect_loss_and_return(const char* kind, const std::function<void()>& lose,
                            const std::function<void()>& bring_back)
{
    const LoadedNic nic(kind);
    const Daemon daemon(on_emulator());
    auto program = std::make_unique<Program>(daemon);
    program->join(IBV_QPT_RC);
    lose();
    EXPECT_TRUE(eventually([&] { return session_state(*program) == "detached"; }, kPatience));
    bring_back();
    expect_to_attach_again(daemon);
}

// When the driver goes, the kernel destroys what is in each file, one file after the other. A leaf of the daemon's
// file is then still in use by the queue pairs of the others: the kernel warns and leaves it and its ancestors to the
// firmware.
constexpr const char* kLeafInUse = "the driver goes while queue pairs are in leaves of another file";

void write_driver(const char* file)
{
    std::ofstream(std::string("/sys/bus/pci/drivers/mlx5_core/") + file) << kPciAddress << std::flush;
}
const auto kUnbind = [] { write_driver("unbind"); };
const auto kBind = [] { write_driver("bind"); };
const auto kUnplug = [] { tell_firmware("unplug"); };
const auto kPlug = [] { tell_firmware("plug"); };
const auto kFatal = [] { tell_firmware("fatal"); };
const auto kNothing = [] {};

TEST(KernelLoss, AFatalErrorAndRecovery)
{
    expect_loss_and_return(kShared, kFatal, kNothing);
    expect_loss_and_return(kIsolated, kFatal, kNothing);
}

TEST(KernelLoss, TheDriverIsUnboundAndBound)
{
    expect_loss_and_return(kIsolated, kUnbind, kBind);
    const KnownComplaints known(kLeafInUse);
    expect_loss_and_return(kShared, kUnbind, kBind);
}

TEST(KernelLoss, TheFunctionIsUnpluggedAndPlugged)
{
    expect_loss_and_return(kIsolated, kUnplug, kPlug);
    const KnownComplaints known(kLeafInUse);
    expect_loss_and_return(kShared, kUnplug, kPlug);
}

TEST(KernelLoss, AFunctionThatIsPluggedLaterIsServed)
{
    const LoadedNic nic("isolate=0 plugged=0");
    const Daemon daemon(on_emulator());
    EXPECT_EQ(device_property(daemon, "Name"), "no device");
    tell_firmware("plug");
    expect_to_attach_again(daemon);
}

TEST(KernelLink, IsFollowed)
{
    const LoadedNic nic(kShared);
    const Daemon daemon(on_emulator());
    const auto becomes = [&](const char* property, const char* value) {
        return eventually([&] { return device_property(daemon, property) == value; });
    };
    EXPECT_TRUE(becomes("LinkUp", "true"));
    tell_firmware("link down");
    EXPECT_TRUE(becomes("LinkUp", "false"));
    tell_firmware("link up");
    EXPECT_TRUE(becomes("LinkUp", "true"));
    tell_firmware("speed 40");
    EXPECT_TRUE(becomes("LinkSpeed", "40000000")) << device_property(daemon, "LinkSpeed");
    tell_firmware("speed 100");
    EXPECT_TRUE(becomes("LinkSpeed", "100000000"));
}

}    // namespace
}    // namespace rdmaqos::test
