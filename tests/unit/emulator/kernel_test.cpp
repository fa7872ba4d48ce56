// The rules of the kernel between program and device: attributes, handles, locks, errors, events.
#include <thread>

#include <gtest/gtest.h>
#include <rdma/mlx5_user_ioctl_verbs.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/gate.h"
#include "tests/support/patience.h"
#include "tests/support/qemu_user.h"
#include "tests/support/uverbs_client.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using namespace emulator;
using namespace mlx5;

struct EmulatorKernel : testing::Test {
    UverbsClient::QueuePair queue_pair_in_rts()
    {
        const auto made = client.make_qp();
        emulator.firmware().set_queue_pair_state(made.number, QueuePairState::Rts);
        return made;
    }
    // Runs `during` while an attach of the other thread is on its object.
    void while_busy(const std::function<void()>& attach, const std::function<void()>& during)
    {
        Gate gate;
        emulator.firmware().faults().set_sleeper([wait = gate.waiter()](std::chrono::milliseconds) { wait(); });
        emulator.firmware().faults().delay(CommandKind::Attach, std::chrono::milliseconds(1));
        std::thread other(attach);
        gate.wait_until_it_holds();
        during();
        gate.open();
        other.join();
    }

    EmulatorInProcess emulator;
    UverbsClient client{emulator.path()};
};

TEST_F(EmulatorKernel, ACallMustBeWellFormed)
{
    Ioctl unknown(UVERBS_OBJECT_DEVICE, 99);
    EXPECT_EQ(unknown.run(client.fd()), EPROTONOSUPPORT);
    Ioctl object(0x4000, 0);
    EXPECT_EQ(object.run(client.fd()), EPROTONOSUPPORT);
    Ioctl driver(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
    driver.head().driver_id = RDMA_DRIVER_MLX4;
    EXPECT_EQ(driver.run(client.fd()), EINVAL);
    Ioctl reserved(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT);
    reserved.head().reserved2 = 1;
    EXPECT_EQ(reserved.run(client.fd()), EPROTONOSUPPORT);

    ib_uverbs_query_port_resp_ex port{};
    const auto query = [&] {
        return Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT)
            .in(UVERBS_ATTR_QUERY_PORT_PORT_NUM, std::uint8_t{1})
            .out(UVERBS_ATTR_QUERY_PORT_RESP, port);
    };
    EXPECT_EQ(query().run(client.fd()), 0);
    EXPECT_EQ(port.legacy_resp.state, 4);
    EXPECT_EQ(query().in(0x77, std::uint8_t{1}).run(client.fd()), EPROTONOSUPPORT) << "a mandatory attribute";
    EXPECT_EQ(query().in(UVERBS_ATTR_QUERY_PORT_PORT_NUM, std::uint8_t{1}).run(client.fd()), EINVAL) << "twice";
    EXPECT_EQ(Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT).run(client.fd()), EINVAL) << "none";
    EXPECT_EQ(Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_QUERY_PORT)
                  .in(UVERBS_ATTR_QUERY_PORT_PORT_NUM, std::uint8_t{3})
                  .run(client.fd()),
              EINVAL);
}

TEST_F(EmulatorKernel, NothingWithoutAContextAndNoSecondOne)
{
    UverbsClient fresh(emulator.path(), 0, false);
    EXPECT_THROW(fresh.make_pd(), std::runtime_error);
    EXPECT_EQ(fresh.get_context(0), 0);
    EXPECT_EQ(fresh.get_context(0), EINVAL);
    EXPECT_EQ(fresh.make_element(false, 0).error, EINVAL) << "opened without DEVX";
}

TEST_F(EmulatorKernel, TheProbeForWritesIsAnsweredAsLibibverbsExpects)
{
    EXPECT_EQ(Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE)
                  .in(UVERBS_ATTR_WRITE_CMD, std::uint32_t{IB_USER_VERBS_CMD_QUERY_DEVICE})
                  .run(client.fd()),
              ENOSPC);
    EXPECT_EQ(Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE)
                  .in(UVERBS_ATTR_WRITE_CMD, std::uint32_t{IB_USER_VERBS_CMD_OPEN_XRCD})
                  .run(client.fd()),
              EOPNOTSUPP);
}

TEST_F(EmulatorKernel, BadPointersAreFaultsOfTheCaller)
{
    RDMAQOS_NOT_BELOW_QEMU_USER(kNoProcessMemory);
    auto* forbidden = static_cast<std::uint8_t*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    const std::uint64_t request = 0;
    EXPECT_EQ(Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE)
                  .in(UVERBS_ATTR_WRITE_CMD, std::uint32_t{IB_USER_VERBS_CMD_ALLOC_PD})
                  .in(UVERBS_ATTR_CORE_IN, request)
                  .out(UVERBS_ATTR_CORE_OUT, forbidden, sizeof(ib_uverbs_alloc_pd_resp))
                  .run(client.fd()),
              EFAULT);
    EXPECT_EQ(Ioctl(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE)
                  .handle(MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE)
                  .in(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN, forbidden, 144)
                  .out(MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT, forbidden, 16)
                  .run(client.fd()),
              EFAULT);
    ib_uverbs_reg_mr mr{};
    mr.start = reinterpret_cast<std::uint64_t>(forbidden);
    mr.hca_va = mr.start;
    mr.length = 4096;
    mr.pd_handle = client.make_pd();
    ib_uverbs_reg_mr_resp answer{};
    EXPECT_EQ(client.write(IB_USER_VERBS_CMD_REG_MR, mr, answer), EFAULT);
    munmap(forbidden, 4096);
}

// As mlx5_ib does: what a program maps for doorbells is a page of its machine, which may have 64 KiB.
TEST_F(EmulatorKernel, DoorbellPagesAreAsLargeAsThoseOfTheMachine)
{
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    for (int i = 0; i < 2; ++i) {
        std::uint64_t offset = 0;
        std::uint32_t length = 0;
        std::uint32_t id = 0;
        ASSERT_EQ(Ioctl(MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC)
                      .handle(MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE)
                      .in(MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, std::uint64_t{MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC})
                      .out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, offset)
                      .out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, length)
                      .out(MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, id)
                      .run(client.fd()),
                  0);
        EXPECT_EQ(length, page);
        EXPECT_EQ(offset, id * page);
    }
}

TEST_F(EmulatorKernel, HandlesAreOfTheirTypeAndInUseWhileUsed)
{
    const std::uint32_t cq = client.make_cq();
    const auto destroy_pd = [&](std::uint32_t handle) {
        return Ioctl(UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY)
            .handle(UVERBS_ATTR_DESTROY_PD_HANDLE, handle)
            .run(client.fd());
    };
    EXPECT_EQ(destroy_pd(cq), EINVAL);
    EXPECT_EQ(destroy_pd(1000), ENOENT);
    const auto queue_pair = client.make_qp();    // its domain is the handle after `cq`
    EXPECT_EQ(destroy_pd(cq + 1), EBUSY);
    EXPECT_EQ(client.destroy_qp(queue_pair.handle), 0);
    EXPECT_EQ(client.destroy_qp(queue_pair.handle), ENOENT);
    EXPECT_EQ(destroy_pd(cq + 1), 0);
}

TEST_F(EmulatorKernel, NobodyDestroysWhatACallIsOn)
{
    const auto root = client.make_element(false, 0);
    const auto leaf = client.make_element(true, root.id());
    const auto queue_pair = queue_pair_in_rts();
    while_busy([&] { EXPECT_EQ(client.attach(queue_pair, leaf.id()).error, 0); },
               [&] { EXPECT_EQ(client.destroy_qp(queue_pair.handle), EBUSY); });
    EXPECT_EQ(client.destroy_qp(queue_pair.handle), 0);
}

TEST_F(EmulatorKernel, OlderKernelsLockADevxModifyForItself)
{
    const auto root = client.make_element(false, 0);
    const auto leaf = client.make_element(true, root.id());
    const auto queue_pair = queue_pair_in_rts();
    ib_uverbs_query_qp request{};
    request.qp_handle = queue_pair.handle;
    const auto query = [&] {
        ib_uverbs_query_qp_resp answer{};
        return client.write(IB_USER_VERBS_CMD_QUERY_QP, request, answer);
    };
    while_busy([&] { EXPECT_EQ(client.attach(queue_pair, leaf.id()).error, 0); }, [&] { EXPECT_EQ(query(), 0); });
    emulator.server().behaviour().exclusive_modify = true;
    while_busy([&] { EXPECT_EQ(client.attach(queue_pair, leaf.id()).error, 0); }, [&] { EXPECT_EQ(query(), EBUSY); });
}

TEST_F(EmulatorKernel, NobodyJoinsAGroupToWhichNothingIsSent)
{
    ib_uverbs_attach_mcast request{};
    request.gid[0] = 0xff;
    const auto join = [&](std::uint32_t command, const UverbsClient::QueuePair& queue_pair) {
        request.qp_handle = queue_pair.handle;
        return Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE)
            .in(UVERBS_ATTR_WRITE_CMD, command)
            .in(UVERBS_ATTR_CORE_IN, request)
            .run(client.fd());
    };
    const auto datagrams = client.make_qp(IB_UVERBS_QPT_UD);
    EXPECT_EQ(join(IB_USER_VERBS_CMD_ATTACH_MCAST, datagrams), EOPNOTSUPP);
    EXPECT_EQ(join(IB_USER_VERBS_CMD_DETACH_MCAST, datagrams), EOPNOTSUPP);
    EXPECT_EQ(join(IB_USER_VERBS_CMD_ATTACH_MCAST, client.make_qp()), EINVAL) << "a connected one";
}

TEST_F(EmulatorKernel, ARefusalHasAMailboxUnlessTheKernelIsOld)
{
    const auto refused = client.make_element(true, 0);
    EXPECT_EQ(refused.error, EREMOTEIO);
    EXPECT_EQ(refused.status(), static_cast<std::uint64_t>(FirmwareStatus::BadParameter));
    EXPECT_NE(get(refused.mailbox, prm::kSyndrome), 0U);
    emulator.server().behaviour().mailbox_on_error = false;
    const auto bare = client.make_element(true, 0);
    EXPECT_EQ(bare.error, EINVAL);
    EXPECT_EQ(bare.status(), 0U);
    emulator.firmware().faults().fail(CommandKind::Create, 1, {FirmwareStatus::ResourceBusy, 0, 0, false});
    EXPECT_EQ(client.make_element(false, 0).error, EBUSY);
}

TEST_F(EmulatorKernel, ACommandReachesOnlyTheObjectOfItsHandle)
{
    const auto root = client.make_element(false, 0);
    const auto leaf = client.make_element(true, root.id());
    auto command = UverbsClient::element_command(prm::ModifyGeneralObject, {kSchedulingShare, 2, 0});
    set(command, prm::kObjectId, leaf.id());
    EXPECT_EQ(client.devx_modify(root.handle, command).error, EINVAL);
    EXPECT_EQ(client.devx_modify(leaf.handle, command).error, 0);
    auto queue_pair = queue_pair_in_rts();
    ++queue_pair.number;
    EXPECT_EQ(client.attach(queue_pair, leaf.id()).error, EINVAL);
    UverbsClient other(emulator.path());
    EXPECT_EQ(other.devx_modify(leaf.handle, command).error, ENOENT);
}

TEST_F(EmulatorKernel, VerbsOnAQueuePairRefuseOtherHandles)
{
    const auto queue_pair = queue_pair_in_rts();
    const std::uint32_t cq = client.make_cq();
    const auto element = client.make_element(false, 0);
    UverbsClient other(emulator.path());
    const auto query = [](UverbsClient& by, std::uint32_t handle) {
        ib_uverbs_query_qp request{};
        request.qp_handle = handle;
        ib_uverbs_query_qp_resp answer{};
        return by.write(IB_USER_VERBS_CMD_QUERY_QP, request, answer);
    };
    const auto modify = [](UverbsClient& by, std::uint32_t handle) {
        mlx5::Mailbox request(sizeof(ib_uverbs_modify_qp));    // to ERR, which needs nothing else
        const std::uint32_t mask = 1;                          // the state
        std::memcpy(&request[offsetof(ib_uverbs_modify_qp, qp_handle)], &handle, sizeof(handle));
        std::memcpy(&request[offsetof(ib_uverbs_modify_qp, attr_mask)], &mask, sizeof(mask));
        request[offsetof(ib_uverbs_modify_qp, qp_state)] = 6;
        return Ioctl(UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE)
            .in(UVERBS_ATTR_WRITE_CMD, std::uint32_t{IB_USER_VERBS_CMD_MODIFY_QP})
            .in(UVERBS_ATTR_CORE_IN, request.data(), request.size())
            .run(by.fd());
    };
    for (const std::uint32_t wrong : {cq, element.handle}) {
        EXPECT_EQ(query(client, wrong), EINVAL);
        EXPECT_EQ(modify(client, wrong), EINVAL);
    }
    EXPECT_EQ(query(client, 1000), ENOENT);
    EXPECT_EQ(modify(client, 1000), ENOENT);
    EXPECT_EQ(query(other, queue_pair.handle), ENOENT) << "handles are of their file";
    EXPECT_EQ(modify(other, queue_pair.handle), ENOENT);
    EXPECT_EQ(emulator.firmware().queue_pair(queue_pair.number)->state, QueuePairState::Rts);
    EXPECT_EQ(query(client, queue_pair.handle), 0);
    EXPECT_EQ(modify(client, queue_pair.handle), 0);
    EXPECT_EQ(emulator.firmware().queue_pair(queue_pair.number)->state, QueuePairState::Error);
}

TEST_F(EmulatorKernel, DevxOnAQueuePairRefusesOtherHandlesAndNumbers)
{
    const auto root = client.make_element(false, 0);
    const auto leaf = client.make_element(true, root.id());
    const auto queue_pair = queue_pair_in_rts();
    const auto other = queue_pair_in_rts();
    const std::uint32_t cq = client.make_cq();
    const auto query = [&](std::uint32_t handle, std::uint32_t number) {
        mlx5::Mailbox command(16);
        set(command, prm::kOpcode, prm::QueryQp);
        set(command, prm::kQpn, number);
        return client.devx_query(handle, command).error;
    };
    const auto attach = [&](std::uint32_t handle, std::uint32_t number) {
        return client.attach({handle, number, 0}, leaf.id()).error;
    };
    for (const auto& refused : {std::pair{queue_pair.handle, other.number},
                                {queue_pair.handle, 0U},
                                {cq, queue_pair.number},
                                {leaf.handle, queue_pair.number}}) {
        EXPECT_EQ(query(refused.first, refused.second), EINVAL);
        EXPECT_EQ(attach(refused.first, refused.second), EINVAL);
    }
    EXPECT_EQ(query(1000, queue_pair.number), ENOENT);
    EXPECT_EQ(attach(1000, queue_pair.number), ENOENT);
    EXPECT_EQ(client.devx_destroy(queue_pair.handle), EINVAL) << "it is not DEVX's own";
    EXPECT_EQ(emulator.firmware().queue_pair(queue_pair.number)->requester, kNoObject);
    EXPECT_EQ(query(queue_pair.handle, queue_pair.number), 0);
    EXPECT_EQ(attach(queue_pair.handle, queue_pair.number), 0);
}

TEST_F(EmulatorKernel, AContextWithoutDevxTakesNoCommand)
{
    const auto leaf = client.make_element(true, client.make_element(false, 0).id());
    UverbsClient plain(emulator.path(), 0, false);
    ASSERT_EQ(plain.get_context(0), 0);
    const auto queue_pair = plain.make_qp();
    emulator.firmware().set_queue_pair_state(queue_pair.number, QueuePairState::Rts);
    EXPECT_EQ(plain.attach(queue_pair, leaf.id()).error, EINVAL);
    mlx5::Mailbox query(16);
    set(query, prm::kOpcode, prm::QueryQp);
    set(query, prm::kQpn, queue_pair.number);
    EXPECT_EQ(plain.devx_query(queue_pair.handle, query).error, EINVAL);
    mlx5::Mailbox capabilities(16);
    set(capabilities, prm::kOpcode, prm::QueryHcaCap);
    mlx5::Mailbox answer(4112);
    const auto other = [&](UverbsClient& by) {
        return Ioctl(MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER)
            .in(MLX5_IB_ATTR_DEVX_OTHER_CMD_IN, capabilities.data(), capabilities.size())
            .out(MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT, answer.data(), answer.size())
            .run(by.fd());
    };
    EXPECT_EQ(other(plain), 0) << "the kernel asks for its capabilities itself";
    EXPECT_EQ(other(client), 0);
    EXPECT_EQ(emulator.firmware().queue_pair(queue_pair.number)->requester, kNoObject);
    EXPECT_EQ(plain.destroy_qp(queue_pair.handle), 0) << "verbs go on";
}

TEST_F(EmulatorKernel, AQueuePairUsesLeavesOfAnotherContextUnlessTheFirmwareKeepsThemApart)
{
    for (const bool isolate : {false, true}) {
        EmulatorInProcess device(default_capabilities(), isolate ? Isolation::All : Isolation::None);
        UverbsClient owner(device.path());
        UverbsClient guest(device.path());
        const auto root = owner.make_element(false, 0);
        const auto leaf = owner.make_element(true, root.id());
        const auto queue_pair = guest.make_qp();
        device.firmware().set_queue_pair_state(queue_pair.number, QueuePairState::Rts);
        EXPECT_EQ(guest.attach(queue_pair, leaf.id()).error, isolate ? EREMOTEIO : 0);
        EXPECT_EQ(guest.attach(queue_pair, 0).error, 0) << "out of the tree, always";
    }
}

TEST_F(EmulatorKernel, EventsReachTheirReaderAndUnreadOnesGoWithTheirObject)
{
    const UniqueFd events = client.open_events();
    const auto first = client.make_qp(IB_UVERBS_QPT_RC, 111);
    const auto second = client.make_qp(IB_UVERBS_QPT_RC, 222);
    const auto file = emulator.device().files().front();
    const auto fatal = [&](std::uint32_t handle) { file->send(AsyncEvent::QueuePairFatal, *file->find(handle)); };
    fatal(first.handle);
    fatal(second.handle);
    fatal(first.handle);
    ib_uverbs_async_event_desc event{};
    ASSERT_EQ(read(events.get(), &event, sizeof(event)), static_cast<ssize_t>(sizeof(event)));
    EXPECT_EQ(event.element, 111U);
    std::uint32_t reported = 99;
    EXPECT_EQ(client.destroy_qp(first.handle, &reported), 0);
    EXPECT_EQ(reported, 1U) << "the library waits for those that were read, and only for them";
    ASSERT_EQ(read(events.get(), &event, sizeof(event)), static_cast<ssize_t>(sizeof(event)));
    EXPECT_EQ(event.element, 222U);
    emulator.server().set_port(emulator.device(), 1, false);
    ASSERT_EQ(read(events.get(), &event, sizeof(event)), static_cast<ssize_t>(sizeof(event)));
    EXPECT_EQ(event.event_type, static_cast<std::uint32_t>(AsyncEvent::PortError));
    EXPECT_EQ(event.element, 1U);
    EXPECT_EQ(client.destroy_qp(second.handle, &reported), 0);
    EXPECT_EQ(reported, 1U);
}

// A DEVX command whose bytes are never handed over.
UniqueFd half_a_call(const UverbsClient& client)
{
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    Mailbox bytes(sizeof(CallHead) + sizeof(ib_uverbs_attr) * 2);
    const CallHead head{static_cast<std::uint16_t>(bytes.size()),
                        MLX5_IB_OBJECT_DEVX,
                        MLX5_IB_METHOD_DEVX_OTHER,
                        2,
                        0,
                        RDMA_DRIVER_MLX5,
                        0};
    std::memcpy(bytes.data(), &head, sizeof(head));
    ib_uverbs_attr in{};
    in.attr_id = MLX5_IB_ATTR_DEVX_OTHER_CMD_IN;
    in.len = 64;
    in.data = 8;
    std::memcpy(bytes.data() + sizeof(head), &in, sizeof(in));
    in.attr_id = MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT;
    std::memcpy(bytes.data() + sizeof(head) + sizeof(in), &in, sizeof(in));
    EXPECT_TRUE(send_call(client.fd(), ends[1], reinterpret_cast<const ib_uverbs_ioctl_hdr*>(bytes.data())));
    close(ends[1]);
    return UniqueFd(ends[0]);
}

TEST_F(EmulatorKernel, GarbageHarmsOnlyItsSender)
{
    UverbsClient bad(emulator.path());
    const std::string noise(3000, '\x7f');
    for (int each = 1; each <= 100; ++each) {
        ASSERT_GE(send(bad.fd(), noise.data(), static_cast<std::size_t>(each) * 30, MSG_NOSIGNAL), 0);
    }
    // Conversations that nobody leads to their end: more of them than run at the same time.
    std::vector<UniqueFd> open;
    for (int each = 0; each < 100; ++each) {
        open.push_back(half_a_call(bad));
    }
    EXPECT_EQ(client.make_pd(), 0U) << "others do not notice";
    bad.close();
    open.clear();
    EXPECT_TRUE(eventually([&] { return emulator.device().files().size() == 1; }));
    EXPECT_EQ(emulator.server().internal_errors(), 0U);
}

TEST_F(EmulatorKernel, AProcessHasABoundedNumberOfCalls)
{
    rlimit files_allowed{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files_allowed), 0);
    if (files_allowed.rlim_max < 4096) {
        GTEST_SKIP() << "needs 4096 open files; the limit is " << files_allowed.rlim_max;
    }
    files_allowed.rlim_cur = 4096;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files_allowed), 0);
    std::vector<std::unique_ptr<UverbsClient>> files;
    std::vector<UniqueFd> open;
    for (int file = 0; file < 12; ++file) {
        files.push_back(std::make_unique<UverbsClient>(emulator.path()));
    }
    for (const auto& file : files) {
        for (int each = 0; each < 50; ++each) {
            open.push_back(half_a_call(*file));
        }
    }
    EXPECT_TRUE(eventually([&] { return client.get_context() == EAGAIN; })) << "this process is the greedy one";
    open.clear();
    EXPECT_TRUE(eventually([&] { return client.get_context() == EINVAL; })) << "it has a context, and is heard again";
}

}    // namespace
}    // namespace rdmaqos::test
