// The backend and its self-test on an emulated device, without a daemon. This program is its own helper.
#include "lib/nic_mlx5/mlx5_backend.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/model/profile.h"
#include "lib/nic_mlx5/sysfs.h"
#include "lib/nic_mlx5/uverbs.h"
#include "tests/nic_mlx5/client.h"
#include "tests/support/patience.h"

namespace rdmaqos::mlx5 {
namespace {

using test::Client;
using test::emulated_device;
using test::emulator;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

BackendOptions options()
{
    BackendOptions made;
    made.self_test.helper = {"/proc/self/exe", "self-test-client"};
    return made;
}

DeviceInfo first_port()
{
    const auto ports = list_ports(sysfs_root()).value();
    return ports.at(0);
}

class Mlx5 : public ::testing::Test {
protected:
    ~Mlx5() override
    {
        backend_.reset();
        emulator("clear");
        emulator("set default-share 0");
        emulator("set next-element 1");
        emulator("set queue-groups shared");
        emulator("set busy-leaf refused");
        emulator("set mailbox-on-error yes");
    }
    void open(std::optional<AttachMode> mode = AttachMode::Shared)
    {
        BackendOptions with = options();
        with.forced_mode = mode;
        auto made = open_backend(first_port(), with);
        ASSERT_TRUE(made.has_value()) << to_string(made.error());
        backend_ = std::move(*made);
        root_ = backend_->create_element({ElementKind::Node, std::nullopt, {}});
        ASSERT_TRUE(root_.has_value());
        leaf_ = backend_->create_element({ElementKind::Leaf, *root_, {5, std::nullopt}});
        ASSERT_TRUE(leaf_.has_value());
    }

    std::unique_ptr<Backend> backend_;
    Result<ElementHandle> root_ = fail(ErrorCode::Internal, "not made");
    Result<ElementHandle> leaf_ = fail(ErrorCode::Internal, "not made");
};

// ---- the self-test ----

AttachReport self_tested(const SelfTestOptions& options)
{
    return run_self_test(first_port(), default_capabilities(), options);
}

TEST_F(Mlx5, TheSelfTestFindsTheMode)
{
    EXPECT_EQ(self_tested(options().self_test).mode, AttachMode::Shared);
    emulator("set queue-groups isolated");
    EXPECT_EQ(self_tested(options().self_test).mode, AttachMode::PerProcess);
    emulator("set mailbox-on-error no");
    EXPECT_EQ(self_tested(options().self_test).mode, AttachMode::PerProcess);
    emulator("set queue-groups shared");
    emulator("set busy-leaf released");
    EXPECT_EQ(self_tested(options().self_test).mode, AttachMode::Shared);
    EXPECT_EQ(emulated_device().at("leaked"), 0);
    EXPECT_EQ(emulated_device().at("files"), 0);
}

TEST_F(Mlx5, TheSelfTestReadsBackWhatItWrites)
{
    const auto believed = self_tested(options().self_test);
    EXPECT_EQ(believed.unreadable, "");
    for (const char* name : step::kReadBack) {
        const auto found = std::ranges::find(believed.steps, name, &SelfTestStep::name);
        EXPECT_TRUE(found != believed.steps.end() && found->passed) << name;
    }
    emulator("set default-share 1");
    const auto report = self_tested(options().self_test);
    EXPECT_EQ(report.mode, AttachMode::Shared);
    EXPECT_THAT(report.unreadable,
                ::testing::MatchesRegex("read back a node without a share: node below [0-9]+, share 1, no cap instead "
                                        "of node below [0-9]+, share 0, no cap"));
    emulator("set default-share 0");
    emulator("fail query 1 0x5 times 100");
    EXPECT_THAT(self_tested(options().self_test).unreadable, HasSubstr("bad resource"));
    EXPECT_EQ(emulated_device().at("leaked"), 0);
    EXPECT_EQ(emulated_device().at("files"), 0);
}

bool has_passed(const AttachReport& report, const char* name)
{
    const auto found = std::ranges::find(report.steps, name, &SelfTestStep::name);
    return found != report.steps.end() && found->passed;
}

TEST_F(Mlx5, TheSelfTestAttachesAQueuePairMadeByDevx)
{
    for (const char* groups : {"shared", "isolated"}) {
        SCOPED_TRACE(groups);
        emulator(std::string("set queue-groups ") + groups);
        const auto report = self_tested(options().self_test);
        EXPECT_TRUE(has_passed(report, step::kDevxQueuePair));
        EXPECT_TRUE(has_passed(report, step::kAttachDevx));
        EXPECT_TRUE(has_passed(report, step::kDetachDevx));
        EXPECT_EQ(report.devx_refused, "");
        EXPECT_EQ(emulated_device().at("leaked"), 0);
        EXPECT_EQ(emulated_device().at("files"), 0);
    }
}

TEST_F(Mlx5, WhereOneMadeByDevxIsRefusedOthersAreAttached)
{
    emulator(
        "fail attach 26 0x9");    // in and out in INIT and RTS, in RTR only tried, for each of five rows; then this
    const auto report = self_tested(options().self_test);
    EXPECT_EQ(report.mode, AttachMode::Shared);
    EXPECT_THAT(report.devx_refused, HasSubstr("bad resource state"));
    EXPECT_TRUE(is_final(report));
}

// A mode that is forced says nothing about what queries are worth.
TEST_F(Mlx5, AForcedModeReadsBackToo)
{
    for (const auto mode : {AttachMode::Shared, AttachMode::PerProcess}) {
        SCOPED_TRACE(to_string(mode));
        emulator("set default-share 0");
        open(mode);
        EXPECT_EQ(backend_->attach_report().unreadable, "");
        EXPECT_TRUE(has_passed(backend_->attach_report(), step::kReadOddCap));
        EXPECT_EQ(backend_->attach_report().mode, mode);
        emulator("set default-share 1");
        open(mode);
        EXPECT_THAT(backend_->attach_report().unreadable, StartsWith("read back a node without a share"));
        EXPECT_EQ(backend_->query_element(*root_)->attributes.share, 0U) << "what was written is believed";
    }
    open(AttachMode::Shared);
    const auto elements = emulated_device().at("elements");
    EXPECT_EQ(elements, 2) << "nothing is left of what was tried";
}

TEST_F(Mlx5, ALeafThatASendQueueCannotNameIsNotKept)
{
    open();
    const auto before = emulated_device().at("tree").size();
    emulator("set next-element 65536");
    const auto leaf = backend_->create_element({ElementKind::Leaf, *root_, {}});
    ASSERT_FALSE(leaf);
    EXPECT_EQ(leaf.error().code, ErrorCode::DeviceFailed);
    EXPECT_THAT(leaf.error().message, HasSubstr("an id above 65535"));
    EXPECT_EQ(emulated_device().at("tree").size(), before);
    EXPECT_TRUE(backend_->create_element({ElementKind::Node, *root_, {}})) << "no queue pair names a node";
}

// The queue pair stays in our leaf then: it has to go before the leaf does.
TEST_F(Mlx5, WhereDetachingIsRefusedNothingLeaks)
{
    emulator("fail attach 2 0x1 times 100");
    const auto report = self_tested(options().self_test);
    EXPECT_EQ(report.mode, AttachMode::None);
    EXPECT_THAT(report.reason, HasSubstr("detach in INIT"));
    EXPECT_EQ(emulated_device().at("leaked"), 0);
    EXPECT_EQ(emulated_device().at("files"), 0);
}

TEST_F(Mlx5, AHelperThatDoesNotHelp)
{
    for (const auto& [command, error] : {std::pair<const char*, int>("/nonexistent", ENOENT), {"/bin/true", EPIPE}}) {
        SelfTestOptions broken;
        broken.helper = {command};
        const auto report = self_tested(broken);
        EXPECT_EQ(report.mode, AttachMode::None) << command;
        EXPECT_THAT(report.steps.back().sys_errno, AnyOf(error, ECONNRESET)) << command;
        EXPECT_FALSE(is_final(report)) << command;
    }
    EXPECT_EQ(self_tested({}).mode, AttachMode::None);
}

// ---- errors that are less than they seem ----

TEST_F(Mlx5, AnInternalErrorWithoutAStatusIsNotALostDevice)
{
    open();
    emulator("fail create 1 0x1 errno-only");
    const auto refused = backend_->create_element({ElementKind::Leaf, *root_, {}});
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::DeviceFailed) << refused.error().message;
    EXPECT_THAT(refused.error().message, StartsWith("mlx5_0: "));
    EXPECT_TRUE(backend_->create_element({ElementKind::Leaf, *root_, {}}).has_value());
}

TEST_F(Mlx5, AnInternalErrorOfAnAttachKeepsTheQueuePair)
{
    open();
    Client client;
    const auto queue_pair = client.make();
    ASSERT_TRUE(backend_->admit(queue_pair).has_value());
    emulator("fail attach 1 0x1 errno-only times 2");
    EXPECT_EQ(backend_->place(queue_pair, *leaf_, std::nullopt).error().code, ErrorCode::DeviceFailed);
    emulator("clear");
    EXPECT_TRUE(backend_->place(queue_pair, *leaf_, std::nullopt).has_value());
}

// The daemon forgets a queue pair that is none: a refused leaf must not look so.
TEST_F(Mlx5, ARefusedLeafWithoutAStatusIsNotABadQueuePair)
{
    open();
    Client client;
    const auto queue_pair = client.make();
    ASSERT_TRUE(backend_->admit(queue_pair).has_value());
    emulator("fail attach 1 0x3 errno-only times 2");
    const auto refused = backend_->place(queue_pair, *leaf_, std::nullopt);
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument) << refused.error().message;
    EXPECT_THAT(refused.error().message, HasSubstr("attach-mode: per-process"));
}

TEST_F(Mlx5, ARefusedRateIsNotABadQueuePair)
{
    open();
    Client client;
    const auto paced = client.make(IBV_QPT_RAW_PACKET);
    const auto refused = backend_->set_rate(paced, RateLimit{Bandwidth::from_kbps(1), 1, 1});
    if (!refused) {
        EXPECT_NE(refused.error().code, ErrorCode::BadQueuePair) << refused.error().message;
    }
    const auto unpaced = client.make(IBV_QPT_RC);
    const auto unsupported = backend_->set_rate(unpaced, RateLimit{Bandwidth::from_gbps(1), {}, {}});
    ASSERT_FALSE(unsupported.has_value());
    EXPECT_NE(unsupported.error().code, ErrorCode::BadQueuePair) << unsupported.error().message;
    EXPECT_THAT(unsupported.error().message, HasSubstr("paces queue pairs of type raw-packet only"));
}

TEST_F(Mlx5, ADestroyedQueuePairIsABadOne)
{
    open();
    Client client;
    const auto queue_pair = client.make();
    ASSERT_TRUE(backend_->admit(queue_pair).has_value());
    client.destroy_last();
    EXPECT_EQ(backend_->place(queue_pair, *leaf_, std::nullopt).error().code, ErrorCode::BadQueuePair);
    EXPECT_TRUE(backend_->place(queue_pair, std::nullopt, std::nullopt).has_value());
    EXPECT_EQ(backend_->set_rate(queue_pair, RateLimit{Bandwidth::from_gbps(1), {}, {}}).error().code,
              ErrorCode::BadQueuePair);
    EXPECT_EQ(backend_->query_queue_pair(queue_pair).error().code, ErrorCode::BadQueuePair);
}

TEST_F(Mlx5, TellsWhatPacketsOfAConnectedQueuePairCarry)
{
    open();
    Client client;
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC}) {
        SCOPED_TRACE(type);
        const auto queue_pair = client.make(type, IBV_QPS_INIT);
        const auto before = backend_->query_mark(queue_pair);
        ASSERT_TRUE(before) << to_string(before.error());
        EXPECT_FALSE(*before) << "it has no peer yet";
        ibv_qp_attr attributes = values_for(client.last());
        attributes.qp_state = IBV_QPS_RTR;
        attributes.ah_attr.sl = 3;
        attributes.ah_attr.grh.traffic_class = 26 << 2 | 2;
        const int mask = IBV_QP_STATE | needed_for(client.last(), IBV_QPS_RTR);
        ASSERT_EQ(ibv_modify_qp(client.last(), &attributes, mask), 0);
        EXPECT_EQ(backend_->query_mark(queue_pair).value(), (QueuePairMark{26, 3}));
        ASSERT_EQ(step_qp(client.last(), IBV_QPS_RTS, 0), 0);
        EXPECT_EQ(backend_->query_mark(queue_pair).value(), (QueuePairMark{26, 3}));
        ASSERT_EQ(step_qp(client.last(), IBV_QPS_RESET, 0), 0);
        EXPECT_FALSE(backend_->query_mark(queue_pair).value()) << "the context is as it was, and is not used";
    }
    EXPECT_FALSE(backend_->query_mark(client.make(IBV_QPT_UD)).value()) << "each message has its own";
    EXPECT_FALSE(backend_->query_mark(client.make(IBV_QPT_RAW_PACKET)).value());
    const auto destroyed = client.make();
    client.destroy_last();
    EXPECT_EQ(backend_->query_mark(destroyed).error().code, ErrorCode::BadQueuePair);
}

// What the backend believed of its state is out of date.
TEST_F(Mlx5, AStateThatChangedSinceIsLookedAtAgain)
{
    open();
    Client client;
    const auto queue_pair = client.make(IBV_QPT_RC, IBV_QPS_INIT);
    ASSERT_TRUE(backend_->place(queue_pair, *leaf_, std::nullopt).has_value());
    ibv_qp* real = client.last();
    ASSERT_EQ(drive_qp(real, IBV_QPS_RTS), 0);
    EXPECT_TRUE(backend_->place(queue_pair, std::nullopt, std::nullopt).has_value());
    ASSERT_EQ(step_qp(real, IBV_QPS_ERR, 0), 0);
    const auto refused = backend_->place(queue_pair, *leaf_, std::nullopt);
    EXPECT_EQ(refused.error().code, ErrorCode::BadState);
    EXPECT_THAT(refused.error().message, HasSubstr("is in ERR"));
    ASSERT_EQ(step_qp(real, IBV_QPS_RESET, 0), 0);
    EXPECT_TRUE(backend_->place(queue_pair, std::nullopt, std::nullopt).has_value());
}

// The mirror of a refused attach is not left in the client's context.
TEST_F(Mlx5, ARefusedAttachLeavesNoMirror)
{
    open(AttachMode::PerProcess);
    Client client;
    const auto queue_pair = client.make(IBV_QPT_RC, IBV_QPS_RTR);
    EXPECT_EQ(backend_->place(queue_pair, *leaf_, std::nullopt).error().code, ErrorCode::BadState);
    EXPECT_EQ(emulated_device().at("elements"), 0);
    EXPECT_TRUE(backend_->destroy_element(*leaf_).has_value());
}

// ---- whose a queue pair is ----

QueuePairRef as_mine(QueuePairRef queue_pair)
{
    queue_pair.owner_pid = getpid();
    return queue_pair;
}

// Of a thread that sets up connections and ends. The protection domain is another thread's.
TEST_F(Mlx5, AnOwnerWhoseThreadEndedIsVerifiedByItsDomain)
{
    open();
    Client client;
    QueuePairRef queue_pair;
    std::thread([&] { queue_pair = as_mine(client.make()); }).join();
    const auto admitted = backend_->admit(queue_pair);
    ASSERT_TRUE(admitted.has_value()) << to_string(admitted.error());
    EXPECT_TRUE(admitted->owner_verified);
}

TEST_F(Mlx5, AnOwnerWhoseThreadsEndedIsVerifiedByItsFile)
{
    open();
    std::unique_ptr<Client> client;
    QueuePairRef queue_pair;
    std::thread([&] {
        client = std::make_unique<Client>();
        queue_pair = as_mine(client->make());
    }).join();
    const auto admitted = backend_->admit(queue_pair);
    ASSERT_TRUE(admitted.has_value()) << to_string(admitted.error());
    EXPECT_TRUE(admitted->owner_verified);
}

// A file that was inherited: the kernel names its opener, which says nothing about who made the queue pair.
TEST_F(Mlx5, WhoDidNotOpenTheFileStaysUnverified)
{
    open();
    Client client;
    QueuePairRef queue_pair;
    std::thread([&] { queue_pair = client.make(); }).join();
    queue_pair.owner_pid = getppid();
    const auto admitted = backend_->admit(queue_pair);
    ASSERT_TRUE(admitted.has_value()) << to_string(admitted.error());
    EXPECT_FALSE(admitted->owner_verified);
}

// ---- a reset ----

TEST_F(Mlx5, AfterAResetEverythingIsGone)
{
    open();
    std::atomic<int> removed = 0;
    backend_->set_event_handler([&](DeviceEvent event) { removed += event.kind == DeviceEventKind::Removed ? 1 : 0; });
    auto client = std::make_unique<Client>();
    const auto queue_pair = client->make();
    ASSERT_TRUE(backend_->place(queue_pair, *leaf_, std::nullopt).has_value());
    emulator("reset mlx5_0");
    EXPECT_TRUE(test::eventually([&] { return removed > 0; }));
    EXPECT_EQ(removed, 1);
    EXPECT_EQ(backend_->query_element(*leaf_).error().code, ErrorCode::DeviceGone);
    EXPECT_EQ(backend_->create_element({ElementKind::Leaf, *root_, {}}).error().code, ErrorCode::DeviceGone);
    EXPECT_EQ(backend_->place(queue_pair, std::nullopt, std::nullopt).error().code, ErrorCode::DeviceGone);
}

// Of two backends in turn: the second is alive, whatever files of the first device clients still hold.
TEST_F(Mlx5, AFileFromBeforeAResetDoesNotLoseTheNewDevice)
{
    auto old = std::make_unique<Client>();
    const auto queue_pair = old->make();
    emulator("reset mlx5_0");
    open();
    const auto refused = backend_->place(queue_pair, *leaf_, std::nullopt);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::BadQueuePair) << refused.error().message;
    EXPECT_TRUE(backend_->query_element(*leaf_).has_value());
    // The number of the new device may be the old one's or another: on a real kernel it is mostly the old one's.
    const auto admitted = backend_->admit(queue_pair);
    ASSERT_FALSE(admitted.has_value());
    EXPECT_EQ(admitted.error().code, ErrorCode::WrongDevice) << admitted.error().message;
    EXPECT_THAT(admitted.error().message, HasSubstr("open the device again and register again"));
}

// The other way round: the program is faster than the daemon.
TEST_F(Mlx5, AFileFromBeforeAResetIsNotTakenOver)
{
    BackendOptions with = options();
    with.forced_mode = AttachMode::Shared;
    with.elements_file = std::make_shared<const UniqueFd>(::open("/dev/infiniband/uverbs0", O_RDWR | O_CLOEXEC));
    const DeviceInfo port = first_port();
    ASSERT_EQ(can_take_over(with.elements_file->get(), port), true);
    ASSERT_TRUE(open_backend(port, with));
    emulator("reset mlx5_0");
    const auto refused = open_backend(port, with);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Busy);
}

TEST_F(Mlx5, AFileOfTheNewDeviceMeetsTheOldBackend)
{
    open();
    emulator("reset mlx5_0");
    Client client;
    const auto queue_pair = client.make();
    const auto refused = backend_->admit(queue_pair);
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().code, AnyOf(ErrorCode::Busy, ErrorCode::DeviceGone)) << refused.error().message;
    // The leaf's id may be that of somebody else's on the new device.
    const auto context = devx_create(client.context().cmd_fd, create_element(ElementKind::Node, kNoObject, {}));
    ASSERT_TRUE(context.has_value());
    for (int count = 0; count < 4; ++count) {
        static_cast<void>(
            devx_create(client.context().cmd_fd, create_element(ElementKind::Leaf, ObjectId{context->id}, {})));
    }
    EXPECT_EQ(backend_->place(queue_pair, *leaf_, std::nullopt).error().code, ErrorCode::DeviceGone);
    EXPECT_EQ(test::places(emulated_device()).at(queue_pair.number), "");
}

}    // namespace
}    // namespace rdmaqos::mlx5

int main(int argc, char** argv)
{
    if (argc == 5 && std::strcmp(argv[1], "self-test-client") == 0) {
        return rdmaqos::mlx5::self_test_client(argv[2], static_cast<std::uint32_t>(std::atoi(argv[3])),
                                               std::atoi(argv[4]));
    }
    ::testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
