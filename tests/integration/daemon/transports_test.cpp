// Sessions by both transports: what a client asks for, gets, and leaves behind.
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/bus_with_descriptors.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;
using bus::Dict;
using bus::Value;
namespace names = bus::names;

class Transports : public ::testing::TestWithParam<bool> {
protected:
    void SetUp() override
    {
        if (GetParam() && geteuid() != 0) {
            GTEST_SKIP() << "only root may own org.rdmaqos1 on a bus with our policy";
        }
        DaemonOptions options{kTwoLevelPolicy, kTwoDevices, "", GetParam(), RDMAQOS_DAEMON};
        daemon = std::make_unique<Daemon>(options);
    }

    static Dict request(std::string_view key, const Value& value)
    {
        Dict dict;
        dict.set(key, value);
        return dict;
    }
    [[nodiscard]] bus::Client connect() const { return daemon->by(GetParam()); }
    [[nodiscard]] bool no_trace() const
    {
        return eventually([this] { return daemon->sessions() == 0 && queue_pairs_inside() == 0; });
    }
    [[nodiscard]] std::uint64_t queue_pairs_inside() const
    {
        auto client = daemon->direct();
        const auto properties = client.properties("/org/rdmaqos1/device/mlx5_5f0_2f1", names::kDevice);
        return properties ? properties->find("QueuePairsInside")->as_unsigned().value_or(999) : 999;
    }

    std::unique_ptr<Daemon> daemon;
};

// A queue pair of an mlx5 device comes with the descriptor of its file.
#define SKIP_IF_DESCRIPTORS_DO_NOT_PASS()                                                                              \
    if (GetParam() && EmulatedNics::wanted()) {                                                                        \
        GTEST_SKIP() << "the system bus passes no descriptors to rdma-qosd (docs/adr/0010)";                           \
    }

INSTANTIATE_TEST_SUITE_P(Both, Transports, ::testing::Bool(),
                         [](const auto& transport) { return transport.param ? "SystemBus" : "DirectSocket"; });

TEST_P(Transports, ASessionFromRegisterToRelease)
{
    SKIP_IF_DESCRIPTORS_DO_NOT_PASS();
    auto client = connect();
    const auto session = register_session(client, request("level", "rpc"));
    ASSERT_TRUE(session) << to_string(session.error());
    EXPECT_EQ(text_of(session->grant, "level"), "rpc");
    EXPECT_EQ(text_of(session->grant, "sl"), "3");
    EXPECT_EQ(text_of(session->grant, "mtu"), "4096");
    EXPECT_EQ(text_of(session->grant, "dscp"), "26");
    EXPECT_EQ(text_of(session->grant, "traffic-class"), "104");
    EXPECT_EQ(text_of(session->grant, "share"), "60");
    EXPECT_EQ(text_of(session->grant, "max-rate"), "40000000");

    const auto results = attach(client, session->path, {queue_pair("mlx5_0", 17), queue_pair("mlx5_0", 18)});
    ASSERT_TRUE(results) << to_string(results.error());
    ASSERT_EQ(results->size(), 2U);
    EXPECT_EQ(text_of(results->front(), "device"), "mlx5_0/1");
    EXPECT_EQ(text_of(results->front(), "number"), "17");
    EXPECT_EQ(text_of(results->front(), "leaf"), "/rpc/pid:" + std::to_string(getpid()));
    EXPECT_EQ(text_of(results->front(), "enforced"), "true");
    EXPECT_EQ(text_of(results->front(), "error"), "absent");
    EXPECT_EQ(queue_pairs_inside(), 2U);

    const auto properties = client.properties(session->path, names::kSession);
    ASSERT_TRUE(properties) << to_string(properties.error());
    EXPECT_EQ(text_of(*properties, "State"), "active");
    EXPECT_EQ(text_of(*properties, "Level"), "rpc");
    const auto* owner = properties->find("Owner")->as<Dict>();
    ASSERT_NE(owner, nullptr);
    EXPECT_EQ(text_of(*owner, "pid"), std::to_string(getpid()));
    EXPECT_EQ(text_of(*owner, "uid"), std::to_string(getuid()));
    EXPECT_EQ(queue_pairs_of(client, session->path).size(), 2U);

    EXPECT_TRUE(client.call(session->path, names::kSession, "Detach", {Value("mlx5_0"), Value(17U)}));
    EXPECT_TRUE(eventually([this] { return queue_pairs_inside() == 1; }));
    const auto twice = client.call(session->path, names::kSession, "Detach", {Value("mlx5_0"), Value(17U)});
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().code, ErrorCode::BadQueuePair) << to_string(twice.error());

    EXPECT_TRUE(client.call(session->path, names::kSession, "Release", {}));
    EXPECT_TRUE(no_trace());
    const auto ended = client.call(session->path, names::kSession, "Release", {});
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, ErrorCode::UnknownSession);
}

TEST_P(Transports, AnEmptyRequestIsValid)
{
    auto client = connect();
    const auto session = register_session(client, {});
    ASSERT_TRUE(session) << to_string(session.error());
    EXPECT_EQ(text_of(session->grant, "level"), "DEFAULT");
    EXPECT_EQ(text_of(session->grant, "enforced"), "false");
}

TEST_P(Transports, OneBadQueuePairDoesNotUndoTheOthers)
{
    SKIP_IF_DESCRIPTORS_DO_NOT_PASS();
    auto client = connect();
    auto wrong = queue_pair("mlx5_0", 2);
    wrong.set("typ", "rc");
    Dict dict = request("level", "bulk");
    dict.set("queue-pairs",
             std::vector<Dict>{queue_pair("mlx5_0", 21), wrong, queue_pair("mlx9", 3), queue_pair("mlx5_1", 4)});
    const auto session = register_session(client, dict);
    ASSERT_TRUE(session) << to_string(session.error());
    const auto* results = session->grant.find("queue-pairs")->as<std::vector<Dict>>();
    ASSERT_NE(results, nullptr);
    ASSERT_EQ(results->size(), 4U);
    EXPECT_EQ(text_of((*results)[0], "leaf"), "/bulk");
    EXPECT_EQ(text_of((*results)[1], "error"), "org.freedesktop.DBus.Error.InvalidArgs");
    EXPECT_EQ(text_of((*results)[1], "message"), "a queue pair has no key `typ`; did you mean `type`?");
    EXPECT_EQ(text_of((*results)[2], "error"), "org.rdmaqos1.Error.UnknownDevice");
    EXPECT_EQ(text_of((*results)[3], "device"), "mlx5_1/1");
    EXPECT_EQ(text_of((*results)[3], "leaf"), "/bulk");
}

TEST_P(Transports, MistakesAreNamedAndExplained)
{
    struct Case {
        Dict request;
        ErrorCode code;
        std::string part_of_message;
    };
    Dict ports = request("port-space", "tcp");
    Dict both = request("service-id", std::uint64_t{5});
    both.set("port-space", "tcp");
    both.set("destination-port", std::uint16_t{1});
    const std::vector<Case> cases{
        {request("levle", "rpc"), ErrorCode::InvalidArgument, "did you mean `level`?"},
        {request("level", std::uint32_t{5}), ErrorCode::InvalidArgument, "D-Bus type s, not u"},
        {request("level", ""), ErrorCode::InvalidArgument, "empty"},
        {request("level", "rcp"), ErrorCode::UnknownLevel, "rpc"},
        {request("level", "nobody"), ErrorCode::LevelNotAllowed, "no-such.service"},
        {request("qos-class", std::uint32_t{4096}), ErrorCode::InvalidArgument, "12 bits"},
        {request("qos-class", "bulk-clas"), ErrorCode::InvalidArgument, "did you mean `bulk-class`?"},
        {request("pkey", std::uint32_t{1}), ErrorCode::InvalidArgument, "D-Bus type q, not u"},
        {request("source", "nonsense"), ErrorCode::InvalidArgument, "GID"},
        {request("sl", std::uint8_t{1}), ErrorCode::InvalidArgument, "does not belong in Register"},
        {request("device", "mlx9"), ErrorCode::UnknownDevice, "mlx5_0"},
        {request("port", std::uint32_t{1}), ErrorCode::InvalidArgument, "needs `device`"},
        {ports, ErrorCode::InvalidArgument, "must be given together"},
        {both, ErrorCode::InvalidArgument, "give one of them"},
    };
    auto client = connect();
    for (const auto& [dict, code, part] : cases) {
        const auto session = register_session(client, dict);
        ASSERT_FALSE(session) << dict.entries().front().first;
        EXPECT_EQ(session.error().code, code) << to_string(session.error());
        EXPECT_NE(session.error().message.find(part), std::string::npos) << to_string(session.error());
    }
    EXPECT_TRUE(register_session(client, request("x-comment", std::int64_t{-1}))) << "x- keys are ignored";
}

TEST_P(Transports, OnlyItsConnectionMayUseASession)
{
    SKIP_IF_DESCRIPTORS_DO_NOT_PASS();
    auto owner = connect();
    auto stranger = connect();
    const auto session = register_session(owner, {});
    ASSERT_TRUE(session);
    for (const auto& [method, arguments] : std::vector<std::pair<std::string, std::vector<Value>>>{
             {"Attach", {Value(std::vector<Dict>{queue_pair("mlx5_0", 21)})}},
             {"Detach", {Value("mlx5_0"), Value(1U)}},
             {"SetRate", {Value("mlx5_0"), Value(1U), Value(request("rate", std::uint64_t{1000}))}},
             {"Release", {}},
         }) {
        const auto refused = stranger.call(session->path, names::kSession, method, arguments);
        ASSERT_FALSE(refused) << method;
        EXPECT_EQ(refused.error().code, ErrorCode::NotOwner) << method << ": " << to_string(refused.error());
    }
    EXPECT_TRUE(owner.call(session->path, names::kSession, "Release", {}));
}

TEST_P(Transports, AClosedConnectionLeavesNoTrace)
{
    SKIP_IF_DESCRIPTORS_DO_NOT_PASS();
    {
        auto client = connect();
        const auto session = register_session(client, request("level", "rpc"));
        ASSERT_TRUE(session);
        ASSERT_TRUE(attach(client, session->path, {queue_pair("mlx5_0", 21), queue_pair("mlx5_1", 2)}));
        EXPECT_EQ(daemon->sessions(), 1U);
    }
    EXPECT_TRUE(no_trace());
}

TEST_P(Transports, AKilledProcessLeavesNoTrace)
{
    SKIP_IF_DESCRIPTORS_DO_NOT_PASS();
    const bool by_bus = GetParam();
    const Daemon& server = *daemon;
    Child child([&] {
        auto client = server.by(by_bus);
        const auto session = register_session(client, [] {
            Dict dict;
            dict.set("level", "rpc");
            return dict;
        }());
        if (session && attach(client, session->path, {queue_pair("mlx5_0", 21)})) {
            pause();
        }
    });
    ASSERT_TRUE(eventually([this] { return daemon->sessions() == 1 && queue_pairs_inside() == 1; }));
    child.signal(SIGKILL);
    EXPECT_TRUE(child.wait());
    EXPECT_TRUE(no_trace());
}

TEST_P(Transports, ASessionEndsWithItsProcessThoughAChildHoldsTheConnection)
{
    const bool by_bus = GetParam();
    const Daemon& server = *daemon;
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    Child parent([&] {
        auto client = server.by(by_bus);
        if (register_session(client, {}) && fork() == 0) {
            // Inherits the connection and stays until the test closes the pipe's other end.
            writer.reset();
            char byte = 0;
            [[maybe_unused]] const auto got = read(reader.get(), &byte, 1);
            _exit(0);
        }
        pause();
    });
    ASSERT_TRUE(eventually([this] { return daemon->sessions() == 1; }));
    std::this_thread::sleep_for(100ms);
    parent.signal(SIGKILL);
    EXPECT_TRUE(parent.wait());
    EXPECT_TRUE(no_trace());
}

TEST_P(Transports, SetRateStaysWithinTheClass)
{
    SKIP_IF_DESCRIPTORS_DO_NOT_PASS();
    auto client = connect();
    const auto session = register_session(client, request("level", "rpc"));
    ASSERT_TRUE(session);
    const auto results = attach(client, session->path, {queue_pair("mlx5_0", 5, "raw-packet")});
    ASSERT_TRUE(results);
    EXPECT_EQ(text_of(results->front(), "error"), "absent") << text_of(results->front(), "message");
    EXPECT_TRUE(client.call(session->path, names::kSession, "SetRate",
                            {Value("mlx5_0"), Value(5U), Value(request("rate", std::uint64_t{1'000'000}))}));
    EXPECT_TRUE(client.call(session->path, names::kSession, "SetRate",
                            {Value("mlx5_0"), Value(5U), Value(request("rate", std::uint64_t{0}))}));
    const auto missing = client.call(session->path, names::kSession, "SetRate",
                                     {Value("mlx5_0"), Value(5U), Value(Dict())});
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::InvalidArgument);
    for (const std::uint64_t rate : {0U, 1'000'000U}) {
        auto sized = request("max-burst", std::uint64_t{65536});
        if (rate == 0) {
            sized.set("rate", rate);
        }
        const auto refused = client.call(session->path, names::kSession, "SetRate",
                                         {Value("mlx5_0"), Value(1U), Value(sized)});
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
        EXPECT_NE(refused.error().message.find("give a `rate` with them"), std::string::npos)
            << refused.error().message;
    }
    const auto unknown = client.call(session->path, names::kSession, "SetRate",
                                     {Value("mlx5_0"), Value(99U), Value(request("rate", std::uint64_t{1'000'000}))});
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::BadQueuePair);
}

// They would have to be closed here, which may hang.
TEST(SystemBus, PassesNoDescriptors)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root may own org.rdmaqos1 on a bus with our policy";
    }
    Daemon daemon;
    auto client = daemon.by_bus();
    const UniqueFd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const auto checked = client.call(names::kRoot, names::kManager, "Check",
                                     {bus::FileDescriptor{std::make_shared<UniqueFd>(dup(file.get()))}});
    EXPECT_FALSE(checked);
    EXPECT_TRUE(register_session(client, {})) << "the connection stays";
}

// Most libraries begin every connection with Hello, ask who owns the name, and take signals from that owner alone.
TEST(DirectSocket, IsABusForLibrariesThatKnowNothingElse)
{
    const Daemon daemon{{kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON}};
    const BusWithDescriptors bus("unix:path=" + daemon.socket().string());
    EXPECT_EQ(bus.name(), ":1.1");

    std::string heard;
    const auto hear = [](sd_bus_message* signal, void* heard_by, sd_bus_error* /*error*/) {
        *static_cast<std::string*>(heard_by) = sd_bus_message_get_sender(signal);
        return 0;
    };
    ASSERT_GE(sd_bus_match_signal(bus.get(), nullptr, names::kService, names::kRoot,
                                  "org.freedesktop.DBus.ObjectManager", "InterfacesAdded", hear, &heard),
              0);
    ASSERT_GE(sd_bus_call_method(bus.get(), names::kService, names::kRoot, names::kManager, "Subscribe", nullptr,
                                 nullptr, nullptr),
              0);
    auto client = daemon.direct();
    ASSERT_TRUE(register_session(client, {}));
    EXPECT_TRUE(eventually([&] {
        while (sd_bus_process(bus.get(), nullptr) > 0) {
        }
        return !heard.empty();
    }));

    sd_bus_message* reply = nullptr;
    ASSERT_GE(sd_bus_call_method(bus.get(), names::kBus, names::kBusPath, names::kBus, "GetNameOwner", nullptr, &reply,
                                 "s", names::kService),
              0);
    const auto owner = bus::MessageRef::adopt(reply);
    const char* name = nullptr;
    EXPECT_GT(sd_bus_message_read_basic(reply, 's', &name), 0);
    EXPECT_EQ(heard, name);
    EXPECT_LT(sd_bus_call_method(bus.get(), names::kBus, names::kBusPath, names::kBus, "GetNameOwner", nullptr, nullptr,
                                 "s", "org.freedesktop.systemd1"),
              0);
}

}    // namespace
}    // namespace rdmaqos::test
