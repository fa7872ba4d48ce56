// librdmaqos with rdma-qosd on emulated mlx5 devices, and queue pairs that libibverbs makes. Where they are is read
// from the emulator.
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/client/restartable.h"
#include "tests/nic_mlx5/program.h"
#include "tests/support/ctl.h"
#include "tests/unit/client/library.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using Clock = std::chrono::steady_clock;

constexpr ibv_qp_type kTypes[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET};

// A context and queue pairs of a program that knows nothing of D-Bus.
class Verbs {
public:
    Verbs()
    {
        if (!open_world(&world_)) {
            throw std::runtime_error("no world");
        }
    }
    ~Verbs()
    {
        for (ibv_qp* each : queue_pairs_) {
            EXPECT_EQ(rdmaqos_destroy_qp(nullptr, each), 0);
        }
        close_world(&world_);
    }
    Verbs(const Verbs&) = delete;
    Verbs& operator=(const Verbs&) = delete;

    ibv_qp* make(ibv_qp_type type = IBV_QPT_RC, ibv_qp_state state = IBV_QPS_RTS)
    {
        ibv_qp* made = qp_in_state(&world_, type, state);
        if (made == nullptr) {
            throw std::runtime_error("no queue pair");
        }
        queue_pairs_.push_back(made);
        return made;
    }
    void destroy(rdmaqos_handle* handle, ibv_qp* queue_pair)
    {
        std::erase(queue_pairs_, queue_pair);
        EXPECT_EQ(rdmaqos_destroy_qp(handle, queue_pair), 0);
    }
    [[nodiscard]] const std::vector<ibv_qp*>& all() const { return queue_pairs_; }
    [[nodiscard]] world& here() { return world_; }

private:
    world world_{};
    std::vector<ibv_qp*> queue_pairs_;
};

Handle registered(const RestartableDaemon& daemon, const char* level, std::uint32_t flags = RDMAQOS_OPEN_DIRECT)
{
    Handle handle = open_at(daemon.socket(), flags);
    const auto request = for_level(level);
    EXPECT_EQ(rdmaqos_register(handle.get(), &request, nullptr), 0) << rdmaqos_last_error();
    return handle;
}

class ClientEmulated : public ::testing::Test {
protected:
    // A daemon that is killed leaves leaves with queue pairs in them.
    static void SetUpTestSuite() { emulator("set busy-leaf released"); }
    static void TearDownTestSuite() { make_as_it_was(); }

    RestartableDaemon daemon_{kThreeClasses, ""};
};

TEST_F(ClientEmulated, QueuePairsOfEveryType)
{
    Verbs verbs;
    const Handle handle = registered(daemon_, "bulk");
    for (const auto type : kTypes) {
        ibv_qp* queue_pair = verbs.make(type);
        rdmaqos_answer* place = nullptr;
        ASSERT_EQ(rdmaqos_attach(handle.get(), queue_pair, nullptr, &place), 0) << rdmaqos_last_error();
        EXPECT_STREQ(rdmaqos_answer_level(Answer(place).get()), "bulk");
        EXPECT_EQ(place_of(queue_pair->qp_num), kPlaceOf[1]);
        EXPECT_EQ(rdmaqos_detach(handle.get(), queue_pair), 0) << rdmaqos_last_error();
        EXPECT_EQ(place_of(queue_pair->qp_num), "");
        EXPECT_EQ(rdmaqos_detach(handle.get(), queue_pair), -ENOENT);
    }
    ibv_qp* too_early = verbs.make(IBV_QPT_RC, IBV_QPS_RESET);
    EXPECT_EQ(rdmaqos_attach(handle.get(), too_early, nullptr, nullptr), -EBADFD);
}

TEST_F(ClientEmulated, ManyInOneCallEachWithItsOwnCriteria)
{
    Verbs verbs;
    const Handle handle = registered(daemon_, "bulk");
    const auto storage = for_level("storage");
    std::vector<const rdmaqos_request*> requests;
    for (const auto type : kTypes) {
        verbs.make(type);
        requests.push_back(type == IBV_QPT_UD ? &storage : nullptr);
    }
    verbs.make(IBV_QPT_RC, IBV_QPS_RTR);    // refused alone
    requests.push_back(nullptr);
    std::vector<int> results(5);
    EXPECT_EQ(rdmaqos_attach_many(handle.get(), 5, verbs.all().data(), requests.data(), results.data(), nullptr), 1);
    EXPECT_EQ(results, (std::vector<int>{0, 0, 0, 0, -EBADFD}));
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(place_of(verbs.all()[i]->qp_num), kPlaceOf[i == 2 ? 2 : 1]);
    }
    EXPECT_EQ(rdmaqos_detach_many(handle.get(), 5, verbs.all().data(), results.data()), 1);
    EXPECT_EQ(results, (std::vector<int>{0, 0, 0, 0, -ENOENT}));
    EXPECT_THAT(places(emulated_device()), Each(::testing::Pair(::testing::_, "")));
}

TEST_F(ClientEmulated, TwoContextsOfOneDevice)
{
    Verbs one;
    Verbs other;
    const Handle handle = registered(daemon_, "bulk");
    ibv_qp* const all[] = {one.make(), one.make(), other.make(), other.make()};
    EXPECT_EQ(rdmaqos_attach_many(handle.get(), 4, all, nullptr, nullptr, nullptr), 0) << rdmaqos_last_error();
    for (ibv_qp* each : all) {
        EXPECT_EQ(place_of(each->qp_num), kPlaceOf[1]);
    }
}

TEST_F(ClientEmulated, AQueuePairThatIsDestroyedIsDetachedFirst)
{
    Verbs verbs;
    const Handle handle = registered(daemon_, "bulk");
    for (int i = 0; i < 20; ++i) {
        ibv_qp* queue_pair = verbs.make();
        ASSERT_EQ(rdmaqos_attach(handle.get(), queue_pair, nullptr, nullptr), 0);
        verbs.destroy(handle.get(), queue_pair);
    }
    EXPECT_TRUE(attached_queue_pairs(daemon_).empty());
}

TEST_F(ClientEmulated, AConnectionIsMarked)
{
    constexpr const char* kMarked = R"(version: 1
qos-levels:
  - {name: DEFAULT}
  - {name: rpc, sl: 3, dscp: 26}
  - {name: host, sl: 5, sl-source: host}
)";
    daemon_.kill();
    daemon_.set_policy(kMarked);
    daemon_.start();
    Verbs verbs;
    ibv_qp* queue_pair = verbs.make(IBV_QPT_RC, IBV_QPS_INIT);
    ibv_port_attr port{};
    ASSERT_EQ(ibv_query_port(verbs.here().context, 1, &port), 0);
    const auto marks = [&](const char* level, std::uint8_t link_layer, ibv_ah_attr& ah) {
        const Handle handle = open_at(daemon_.socket());
        const auto request = for_level(level);
        rdmaqos_answer* path = nullptr;
        EXPECT_EQ(rdmaqos_query_path(handle.get(), &request, &path), 0) << rdmaqos_last_error();
        const Answer answer(path);
        if (link_layer != 0) {
            return rdmaqos_apply_ah(answer.get(), link_layer, &ah);
        }
        ibv_qp_attr attributes = values_for(queue_pair);
        attributes.ah_attr = ah;
        EXPECT_EQ(rdmaqos_apply_qp(answer.get(), queue_pair, &attributes, IBV_QP_STATE), 0)
            << "nothing without IBV_QP_AV";
        attributes.ah_attr.port_num = 1;
        const int done = rdmaqos_apply_qp(answer.get(), queue_pair, &attributes, IBV_QP_STATE | IBV_QP_AV);
        ah = attributes.ah_attr;
        return done;
    };
    constexpr int kBoth = RDMAQOS_APPLIED_SL | RDMAQOS_APPLIED_TRAFFIC_CLASS;
    ibv_ah_attr ah{};
    EXPECT_EQ(marks("rpc", IBV_LINK_LAYER_ETHERNET, ah), kBoth);
    EXPECT_EQ(ah.sl, 3);
    EXPECT_EQ(ah.grh.traffic_class, 104);
    ah = {};
    EXPECT_EQ(marks("rpc", IBV_LINK_LAYER_INFINIBAND, ah), RDMAQOS_SL_DIFFERS);
    EXPECT_EQ(ah.sl, 0);
    EXPECT_EQ(ah.grh.traffic_class, 0);
    ah.sl = 3;
    EXPECT_EQ(marks("rpc", IBV_LINK_LAYER_INFINIBAND, ah), 0);
    EXPECT_EQ(marks("host", IBV_LINK_LAYER_INFINIBAND, ah), RDMAQOS_APPLIED_SL);
    EXPECT_EQ(ah.sl, 5);
    EXPECT_EQ(marks("DEFAULT", IBV_LINK_LAYER_ETHERNET, ah), 0);
    // The port says what it is.
    ah = {};
    EXPECT_EQ(marks("rpc", 0, ah), port.link_layer == IBV_LINK_LAYER_ETHERNET ? kBoth : RDMAQOS_SL_DIFFERS);
}

TEST_F(ClientEmulated, ADeviceThatIsResetIsToldAndOneRegistersAgain)
{
    const Handle handle = registered(daemon_, "bulk");
    Heard heard(handle);
    {
        world lost{};
        ASSERT_TRUE(open_world(&lost));
        ASSERT_EQ(rdmaqos_attach(handle.get(), qp_in_state(&lost, IBV_QPT_RC, IBV_QPS_RTS), nullptr, nullptr), 0);
        emulator("reset mlx5_0");
        EXPECT_TRUE(heard.wait_for("detached"));
        ibv_close_device(lost.context);    // what is left of it goes with it
    }
    const auto request = for_level("bulk");
    EXPECT_EQ(rdmaqos_register(handle.get(), &request, nullptr), 0) << rdmaqos_last_error();
    // A kernel takes its time, and until then what is opened may be the device that went.
    world back{};
    EXPECT_TRUE(eventually([&] {
        if (back.context != nullptr) {
            ibv_close_device(back.context);
        }
        back = {};
        ibv_qp* const queue_pair = open_world(&back) ? qp_in_state(&back, IBV_QPT_RC, IBV_QPS_RTS) : nullptr;
        return queue_pair != nullptr && rdmaqos_attach(handle.get(), queue_pair, nullptr, nullptr) == 0 &&
               place_of(queue_pair->qp_num) == kPlaceOf[1];
    }));
    ibv_close_device(back.context);
}

// It is in the program's own file, which a killed daemon does not close.
TEST_F(ClientEmulated, ATreeThatAKilledDaemonLeftInAProgramIsNamed)
{
    if (!firmware_isolates()) {
        GTEST_SKIP() << "on this firmware the tree is in the daemon's file, and goes with it";
    }
    Verbs verbs;
    Handle handle = registered(daemon_, "bulk");
    Heard heard(handle);
    ibv_qp* const queue_pair = verbs.make();
    ASSERT_EQ(rdmaqos_attach(handle.get(), queue_pair, nullptr, nullptr), 0) << rdmaqos_last_error();
    daemon_.kill();
    daemon_.start();
    EXPECT_TRUE(heard.wait_for("back"));
    EXPECT_TRUE(eventually([&] { return !attached_queue_pairs(daemon_).empty(); }));
    EXPECT_EQ(place_of(queue_pair->qp_num), kPlaceOf[1]) << "as before";
    EXPECT_THAT(run_ctl(daemon_.root(), "why " + std::to_string(getpid())).output,
                ::testing::HasSubstr("a daemon that was killed has probably left its tree there"));
}

// ---- a daemon that is killed under a hundred programs ----

const int kPrograms = on_kernel() ? 40 : 100;    // its one processor is QEMU's
constexpr int kOfEach = 4;

// In a process of its own: says the number of each queue pair, and 0 whenever it has registered again.
class CrowdMember {
public:
    CrowdMember(const RestartableDaemon& daemon, const Processes::Say& say)
        : say_(say), handle_(registered(daemon, "rpc", RDMAQOS_OPEN_DIRECT | RDMAQOS_OPEN_THREAD))
    {
        rdmaqos_set_handler(handle_.get(), &CrowdMember::hear, this);
        const auto storage = for_level("storage");
        for (int i = 0; i < kOfEach; ++i) {
            ibv_qp* queue_pair = verbs_.make();
            if (rdmaqos_attach(handle_.get(), queue_pair, i == 0 ? &storage : nullptr, nullptr) != 0) {
                throw std::runtime_error(rdmaqos_last_error());
            }
            say_(queue_pair->qp_num);
        }
    }

private:
    static void hear(rdmaqos_handle*, const rdmaqos_event* event, void* data)
    {
        if (event->type == RDMAQOS_EVENT_DAEMON_BACK) {
            static_cast<CrowdMember*>(data)->say_(0);
        } else if (event->type == RDMAQOS_EVENT_QUEUE_PAIR_LOST) {
            fprintf(stderr, "queue pair %u is lost: %s\n", event->number, event->message);
        }
    }

    const Processes::Say say_;
    Verbs verbs_;
    Handle handle_;
};

TEST_F(ClientEmulated, AHundredProgramsRegisterAgain)
{
    Processes processes;
    for (int program = 0; program < kPrograms; ++program) {
        processes.start([&](const Processes::Say& say) { static_cast<void>(new CrowdMember(daemon_, say)); });
    }
    const auto numbers = processes.hear(kPrograms * kOfEach);
    ASSERT_EQ(numbers.size(), static_cast<std::size_t>(kPrograms * kOfEach));
    const auto before = attached_queue_pairs(daemon_);
    ASSERT_EQ(before.size(), numbers.size());
    const auto come_back = [&] {
        daemon_.start();
        const auto since = Clock::now();
        EXPECT_EQ(processes.hear(kPrograms), std::vector<std::uint32_t>(kPrograms, 0));
        const auto until = Clock::now();
        EXPECT_EQ(attached_queue_pairs(daemon_), before) << "none is lost, and none is there twice";
        return std::chrono::duration_cast<std::chrono::milliseconds>(until - since);
    };
    const auto kill = [&] {
        daemon_.kill();
        ASSERT_TRUE(eventually([] { return emulated_device().at("files") == kPrograms; }));
    };
    kill();
    const auto took = come_back();
    std::cout << kPrograms << " programs with " << kOfEach << " queue pairs each are back " << took.count()
              << " ms after the daemon\n";

    // In the device, each is put into a leaf once. (What sees that takes its time.) Where leaves are in the programs'
    // own files they are still there, with the queue pairs in them.
    const auto places_before = places(emulated_device());
    kill();
    Trace trace;
    come_back();
    std::map<std::uint32_t, int> attached;
    for (const auto& call : trace.writes()) {
        if (call.at("fields").value("requester", 0U) != 0) {
            ++attached[call.at("fields").at("qpn").get<std::uint32_t>()];
        }
    }
    EXPECT_EQ(places(emulated_device()), places_before);
    EXPECT_EQ(attached.size(), firmware_isolates() ? 0 : numbers.size());
    EXPECT_THAT(attached, Each(::testing::Pair(::testing::_, 1)));
}

// ---- resource domains ----

class ClientDomains : public ClientEmulated {
protected:
    // A queue pair with its completion queue, in the domain.
    struct Made {
        ibv_cq* cq = nullptr;
        ibv_qp* qp = nullptr;
    };
    Made make_in(rdmaqos_domain* domain)
    {
        Made made;
        EXPECT_EQ(rdmaqos_domain_create_cq(domain, 16, nullptr, nullptr, 0, &made.cq), 0) << rdmaqos_last_error();
        ibv_qp_init_attr attributes{};
        attributes.send_cq = attributes.recv_cq = made.cq;
        attributes.cap = {16, 16, 1, 1, 64};
        attributes.qp_type = IBV_QPT_RC;
        EXPECT_EQ(rdmaqos_domain_create_qp(domain, &attributes, &made.qp), 0) << rdmaqos_last_error();
        return made;
    }
    static void end(const Made& made)
    {
        EXPECT_EQ(ibv_destroy_qp(made.qp), 0);
        EXPECT_EQ(ibv_destroy_cq(made.cq), 0);
    }
    rdmaqos_domain* create(const rdmaqos_domain_attr* attr)
    {
        rdmaqos_domain* domain = nullptr;
        EXPECT_EQ(rdmaqos_domain_create(verbs_.here().pd, attr, &domain), 0) << rdmaqos_last_error();
        return domain;
    }
    static rdmaqos_achieved achieved_by(rdmaqos_domain* domain)
    {
        rdmaqos_achieved achieved;
        rdmaqos_achieved_init(&achieved);
        EXPECT_EQ(rdmaqos_domain_achieved(domain, &achieved), 0);
        return achieved;
    }
    static rdmaqos_domain_attr wish(std::uint32_t thread_model, std::uint32_t message_model)
    {
        rdmaqos_domain_attr attr;
        rdmaqos_domain_attr_init(&attr);
        attr.mask = RDMAQOS_DOMAIN_THREAD_MODEL | RDMAQOS_DOMAIN_MESSAGE_MODEL;
        attr.thread_model = thread_model;
        attr.message_model = message_model;
        return attr;
    }

    Verbs verbs_;
};

TEST_F(ClientDomains, WithoutAttributesSafeAndDefault)
{
    rdmaqos_domain* domain = create(nullptr);
    const auto achieved = achieved_by(domain);
    EXPECT_EQ(achieved.thread_model, RDMAQOS_THREAD_SAFE);
    EXPECT_EQ(achieved.message_model, RDMAQOS_MESSAGE_DEFAULT);
    EXPECT_EQ(achieved.thread_domain, 0);
    EXPECT_EQ(achieved.single_threaded_cq, 0);
    end(make_in(domain));
    EXPECT_EQ(rdmaqos_domain_destroy(domain), 0) << rdmaqos_last_error();
}

TEST_F(ClientDomains, BusyWhileSomethingOfItExists)
{
    for (const std::uint32_t model : {RDMAQOS_THREAD_SAFE, RDMAQOS_THREAD_UNSAFE, RDMAQOS_THREAD_SINGLE}) {
        const auto attr = wish(model, RDMAQOS_MESSAGE_DEFAULT);
        rdmaqos_domain* domain = create(&attr);
        EXPECT_EQ(achieved_by(domain).thread_model, model);
        const Made made = make_in(domain);
        EXPECT_EQ(rdmaqos_domain_destroy(domain), -EBUSY);
        EXPECT_EQ(ibv_destroy_qp(made.qp), 0);
        EXPECT_EQ(rdmaqos_domain_destroy(domain), -EBUSY) << "the completion queue is still there";
        EXPECT_EQ(ibv_destroy_cq(made.cq), 0);
        EXPECT_EQ(rdmaqos_domain_destroy(domain), 0) << rdmaqos_last_error();
    }
    EXPECT_EQ(rdmaqos_domain_destroy(nullptr), 0);
}

TEST_F(ClientDomains, WhatIsAchievedIsTold)
{
    auto attr = wish(RDMAQOS_THREAD_SINGLE, RDMAQOS_MESSAGE_LOW_LATENCY);
    rdmaqos_domain* domain = create(&attr);
    auto achieved = achieved_by(domain);
    EXPECT_EQ(achieved.thread_domain, 1);
    EXPECT_EQ(achieved.own_doorbell, 1);
    EXPECT_EQ(achieved.single_threaded_cq, 1);
    EXPECT_EQ(achieved.message_model, RDMAQOS_MESSAGE_LOW_LATENCY);
    end(make_in(domain));
    EXPECT_EQ(achieved_by(domain).single_threaded_cq, 1) << "it was taken";
    EXPECT_EQ(rdmaqos_domain_destroy(domain), 0);

    // Suggestions without effect.
    attr = wish(RDMAQOS_THREAD_SAFE, RDMAQOS_MESSAGE_LOW_LATENCY);
    domain = create(&attr);
    EXPECT_EQ(achieved_by(domain).message_model, RDMAQOS_MESSAGE_DEFAULT);
    EXPECT_EQ(rdmaqos_domain_destroy(domain), 0);
    attr = wish(RDMAQOS_THREAD_SINGLE, RDMAQOS_MESSAGE_HIGH_BW);
    domain = create(&attr);
    EXPECT_EQ(achieved_by(domain).message_model, RDMAQOS_MESSAGE_DEFAULT) << "libmlx5 decides for each message";
    EXPECT_EQ(rdmaqos_domain_destroy(domain), 0);
}

TEST_F(ClientDomains, ForcedLowLatencyIsHadOrRefused)
{
    rdmaqos_domain* domain = nullptr;
    auto attr = wish(RDMAQOS_THREAD_SAFE, RDMAQOS_MESSAGE_FORCE_LOW_LATENCY);
    EXPECT_EQ(rdmaqos_domain_create(verbs_.here().pd, &attr, &domain), -EOPNOTSUPP);
    EXPECT_EQ(domain, nullptr);
    attr.thread_model = RDMAQOS_THREAD_UNSAFE;
    setenv("MLX5_SHUT_UP_BF", "1", 1);    // NOLINT(concurrency-mt-unsafe): one thread
    EXPECT_EQ(rdmaqos_domain_create(verbs_.here().pd, &attr, &domain), -EOPNOTSUPP);
    unsetenv("MLX5_SHUT_UP_BF");    // NOLINT(concurrency-mt-unsafe): likewise
    domain = create(&attr);
    EXPECT_EQ(achieved_by(domain).message_model, RDMAQOS_MESSAGE_FORCE_LOW_LATENCY);
    end(make_in(domain));
    EXPECT_EQ(rdmaqos_domain_destroy(domain), 0);
}

TEST_F(ClientDomains, TheLevelsMessageModelIsTheDefault)
{
    daemon_.kill();
    daemon_.set_policy("version: 1\nqos-levels: [{name: DEFAULT, message-model: force-low-latency}]\n");
    daemon_.start();
    const Handle handle = open_at(daemon_.socket());
    rdmaqos_answer* raw = nullptr;
    ASSERT_EQ(rdmaqos_register(handle.get(), nullptr, &raw), 0);
    const Answer grant(raw);
    rdmaqos_domain_attr attr;
    rdmaqos_domain_attr_init(&attr);
    attr.grant = grant.get();
    rdmaqos_domain* domain = nullptr;
    EXPECT_EQ(rdmaqos_domain_create(verbs_.here().pd, &attr, &domain), -EOPNOTSUPP);
    attr.mask = RDMAQOS_DOMAIN_THREAD_MODEL;
    attr.thread_model = RDMAQOS_THREAD_SINGLE;
    domain = create(&attr);
    EXPECT_EQ(achieved_by(domain).message_model, RDMAQOS_MESSAGE_FORCE_LOW_LATENCY);
    EXPECT_EQ(rdmaqos_domain_destroy(domain), 0);
    attr.mask |= RDMAQOS_DOMAIN_MESSAGE_MODEL;    // its own wish counts
    domain = create(&attr);
    EXPECT_EQ(achieved_by(domain).message_model, RDMAQOS_MESSAGE_DEFAULT);
    EXPECT_EQ(rdmaqos_domain_destroy(domain), 0);
}

TEST_F(ClientDomains, ExtendedAttributes)
{
    const auto attr = wish(RDMAQOS_THREAD_SINGLE, RDMAQOS_MESSAGE_DEFAULT);
    rdmaqos_domain* domain = create(&attr);
    ibv_cq_init_attr_ex of_cq{};
    of_cq.cqe = 16;
    of_cq.wc_flags = IBV_WC_EX_WITH_BYTE_LEN;
    ibv_cq_ex* cq = nullptr;
    ASSERT_EQ(rdmaqos_domain_create_cq_ex(domain, &of_cq, &cq), 0) << rdmaqos_last_error();
    ibv_qp_init_attr_ex of_qp{};
    of_qp.send_cq = of_qp.recv_cq = ibv_cq_ex_to_cq(cq);
    of_qp.cap = {16, 16, 1, 1, 0};
    of_qp.qp_type = IBV_QPT_UD;
    ibv_qp* qp = nullptr;
    ASSERT_EQ(rdmaqos_domain_create_qp_ex(domain, &of_qp, &qp), 0) << rdmaqos_last_error();
    EXPECT_EQ(rdmaqos_domain_destroy(domain), -EBUSY);
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
    EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
    of_cq.comp_mask = 1U << 20U;
    EXPECT_EQ(rdmaqos_domain_create_cq_ex(domain, &of_cq, &cq), -EOPNOTSUPP);
    EXPECT_EQ(rdmaqos_domain_destroy(domain), 0);
}

}    // namespace
}    // namespace rdmaqos::test
