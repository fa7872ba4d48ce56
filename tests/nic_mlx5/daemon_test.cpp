// rdma-qosd on emulated mlx5 devices, with queue pairs that programs make through libibverbs. What is expected is read
// from the emulator, which plays kernel and firmware, never from the daemon.
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "lib/nic_mlx5/uverbs.h"
#include "tests/support/daemon_fixture.h"
#include "tests/support/emulated.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr const char* kThreeClasses = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60, max-rate: 40Gbps, fair-by: process}}
  - {name: bulk, schedule: {share: 20}}
  - {name: storage, schedule: {share: 7, max-rate: 25Gbps}}
)";

constexpr const char* kPlaceOf[] = {"rate 0 share 1 < rate 40000 share 60 < root", "rate 0 share 20 < root",
                                    "rate 25000 share 7 < root"};
constexpr const char* kLevels[] = {"rpc", "bulk", "storage"};

DaemonOptions on_emulator(const std::string& policy = kThreeClasses, const std::string& settings = "")
{
    DaemonOptions options;
    options.policy = policy;
    options.settings = settings;
    options.system_bus = false;
    options.host_devices = true;
    return options;
}

bus::Dict level(const char* name)
{
    bus::Dict dict;
    dict.set("level", name);
    dict.set("device", "mlx5_0");
    return dict;
}

// An RDMA program: a context, queue pairs, a session.
class Program {
public:
    explicit Program(const Daemon& daemon, const char* level_name = "bulk") : client_(daemon.direct())
    {
        if (!open_world(&world_)) {
            throw std::runtime_error("no world");
        }
        auto registered = register_session(client_, level(level_name));
        if (!registered) {
            throw std::runtime_error(to_string(registered.error()));
        }
        session_ = registered->path;
    }
    ~Program()
    {
        for (auto* queue_pair : queue_pairs_) {
            ibv_destroy_qp(queue_pair);
        }
        if (world_.context != nullptr) {
            ibv_destroy_cq(world_.cq);
            ibv_dealloc_pd(world_.pd);
            ibv_close_device(world_.context);
        }
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    ibv_qp* make(ibv_qp_type type, ibv_qp_state state = IBV_QPS_RTS)
    {
        ibv_qp* made = qp_in_state(&world_, type, state);
        if (made == nullptr) {
            throw std::runtime_error("no queue pair");
        }
        queue_pairs_.push_back(made);
        return made;
    }
    bus::Dict attach(const bus::Dict& request)
    {
        auto results = test::attach(client_, session_, {request});
        if (!results) {
            throw std::runtime_error(to_string(results.error()));
        }
        return results->at(0);
    }
    bus::Dict attach(ibv_qp* queue_pair) { return attach(request_for(world_, queue_pair)); }
    Result<void> detach(std::uint32_t number)
    {
        auto reply = client_.call(session_, bus::names::kSession, "Detach",
                                  {bus::Value("mlx5_0"), bus::Value(number)});
        return reply ? Result<void>() : fail(reply.error());
    }
    void destroy(ibv_qp* queue_pair)
    {
        std::erase(queue_pairs_, queue_pair);
        ASSERT_EQ(ibv_destroy_qp(queue_pair), 0);
    }

    [[nodiscard]] world& here() { return world_; }
    [[nodiscard]] bus::Client& client() { return client_; }
    [[nodiscard]] const std::string& session() const { return session_; }

private:
    bus::Client client_;
    world world_{};
    std::string session_;
    std::vector<ibv_qp*> queue_pairs_;
};

std::string error_of(const bus::Dict& result)
{
    return text_of(result, "error");
}

std::string place_of(std::uint32_t number)
{
    const auto all = places(emulated_device());
    const auto found = all.find(number);
    return found == all.end() ? "absent" : found->second;
}

TEST(Mlx5Daemon, FourProcessesThreeClassesEveryType)
{
    const Daemon daemon(on_emulator());
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    std::vector<std::unique_ptr<Child>> children;
    for (int process = 0; process < 4; ++process) {
        children.push_back(std::make_unique<Child>([&] {
            for (int of = 0; of < 3; ++of) {
                auto* program = new Program(daemon, kLevels[of]);
                std::vector<std::uint32_t> numbers;
                for (const auto type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET}) {
                    ibv_qp* made = program->make(type);
                    const auto result = program->attach(made);
                    if (error_of(result) != "absent") {
                        fprintf(stderr, "attach: %s\n", text_of(result, "reason").c_str());
                        _exit(1);
                    }
                    numbers.push_back(made->qp_num);
                }
                ibv_qp* in_init = program->make(IBV_QPT_RC, IBV_QPS_INIT);
                program->attach(in_init);
                numbers.push_back(in_init->qp_num);
                for (const std::uint32_t number : numbers) {
                    const std::uint32_t message[] = {static_cast<std::uint32_t>(of), number};
                    if (write(pipe_ends[1], message, sizeof(message)) != sizeof(message)) {
                        _exit(1);
                    }
                }
            }
            pause();
        }));
    }
    close(pipe_ends[1]);
    std::map<std::uint32_t, std::string> expected;
    for (int i = 0; i < 4 * 3 * 5; ++i) {
        std::uint32_t message[2];
        ASSERT_EQ(read(pipe_ends[0], message, sizeof(message)), static_cast<ssize_t>(sizeof(message)));
        expected[message[1]] = kPlaceOf[message[0]];
    }
    EXPECT_EQ(places(emulated_device()), expected);
    // A class that is fair by process has a leaf for each, the others one.
    std::set<std::uint32_t> leaves;
    const auto device = emulated_device();
    for (const auto& each : device.at("queue-pairs")) {
        leaves.insert(each.at("requester").get<std::uint32_t>());
    }
    EXPECT_EQ(leaves.size(), 4U + 1 + 1);

    children.clear();    // killed
    EXPECT_TRUE(eventually([] { return emulated_device().at("files") == 1; }));
    EXPECT_TRUE(emulated_device().at("queue-pairs").empty());
    EXPECT_EQ(emulated_device().at("leaked"), 0);
    close(pipe_ends[0]);
}

TEST(Mlx5Daemon, StatesAreToldApart)
{
    const Daemon daemon(on_emulator());
    Program program(daemon);
    EXPECT_THAT(text_of(program.attach(program.make(IBV_QPT_RC, IBV_QPS_RTR)), "reason"),
                HasSubstr("is in RTR, and only in INIT or RTS"));
    EXPECT_THAT(text_of(program.attach(program.make(IBV_QPT_RC, IBV_QPS_RESET)), "reason"), HasSubstr("brought to INIT"));
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

TEST(Mlx5Daemon, ResetTellsSessionsAndBuildsAgain)
{
    const Daemon daemon(on_emulator());
    Program program(daemon);
    program.attach(program.make(IBV_QPT_RC));
    emulator("reset mlx5_0");
    EXPECT_TRUE(eventually([&] {
        const auto properties = program.client().properties(program.session(), bus::names::kSession);
        return properties && text_of(*properties, "State") == "detached";
    }));
    EXPECT_TRUE(eventually([] { return emulated_device().at("elements") == 5; })) << emulated_device().dump(2);
    Program again(daemon);
    ibv_qp* made = again.make(IBV_QPT_RC);
    EXPECT_EQ(error_of(again.attach(made)), "absent");
    EXPECT_EQ(place_of(made->qp_num), kPlaceOf[1]);
    EXPECT_EQ(emulated_device().at("files"), 2);
}

}    // namespace
}    // namespace rdmaqos::test
