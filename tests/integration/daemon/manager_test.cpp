// The manager: policy, questions, devices.
#include <algorithm>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using bus::Dict;
using bus::Value;
namespace names = bus::names;

class Manager : public ::testing::Test {
protected:
    Result<std::vector<Value>> call(const std::string& method, const std::vector<Value>& arguments = {})
    {
        return client.call(names::kRoot, names::kManager, method, arguments);
    }
    Dict properties()
    {
        auto result = client.properties(names::kRoot, names::kManager);
        EXPECT_TRUE(result);
        return result ? *result : Dict();
    }
    void write_policy(const std::string& text) { daemon.dir().write("etc/rdma-qos/policy.yaml", text); }
    Value descriptor(const std::string& text)
    {
        daemon.dir().write("candidate.yaml", text);
        return bus::FileDescriptor{
            std::make_shared<UniqueFd>(open((daemon.root() / "candidate.yaml").c_str(), O_RDONLY | O_CLOEXEC))};
    }
    static std::string replaced(std::string text, const std::string& from, const std::string& to)
    {
        return text.replace(text.find(from), from.size(), to);
    }

    Dict last_reload() { return *properties().find("LastReload")->as<Dict>(); }

    Daemon daemon{{kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON}};
    bus::Client client = daemon.direct();
    const std::string broken = replaced(kTwoLevelPolicy, "max-rate: 40Gbps", "max-rat: 40Gbps");
};

TEST_F(Manager, SaysWhetherProgramsAreAdopted)
{
    const auto adoption = [&] { return *properties().find("Adoption")->as<Dict>(); };
    EXPECT_EQ(text_of(adoption(), "setting"), "count");
    EXPECT_EQ(text_of(adoption(), "unavailable"), "absent");
    EXPECT_EQ(text_of(adoption(), "programs"), "0");
    EXPECT_EQ(text_of(adoption(), "queue-pairs"), "0");
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root may reload by the direct socket";
    }
    daemon.dir().write("etc/rdma-qos/rdma-qosd.yaml", "version: 1\nunregistered: adopt\n");
    ASSERT_TRUE(call("Reload"));
    EXPECT_EQ(text_of(adoption(), "setting"), "adopt");
    const bool can_adopt = getenv("RDMAQOS_TEST_EMULATED") !=
                           nullptr;    // NOLINT(concurrency-mt-unsafe): nobody sets it
    EXPECT_TRUE(eventually([&] { return (text_of(adoption(), "unavailable") == "absent") == can_adopt; }))
        << "simulated devices have no programs";
}

TEST_F(Manager, ReloadTakesANewPolicy)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root may reload by the direct socket";
    }
    const std::string before = text_of(properties(), "PolicyRevision");
    write_policy(replaced(kTwoLevelPolicy, "share: 60", "share: 61"));
    const auto report = call("Reload");
    ASSERT_TRUE(report) << to_string(report.error());
    const auto after = properties();
    EXPECT_NE(text_of(after, "PolicyRevision"), before);
    EXPECT_EQ(text_of(last_reload(), "accepted"), "true");
}

TEST_F(Manager, ABrokenPolicyIsRefusedWithItsDiagnosticsAndTheRunningOneStays)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root may reload by the direct socket";
    }
    const auto session = register_session(client, {});
    ASSERT_TRUE(session);
    const std::string before = text_of(properties(), "PolicyRevision");
    write_policy(broken);
    const auto report = call("Reload");
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::InvalidPolicy);
    EXPECT_EQ(report.error().message,
              "/etc/rdma-qos/policy.yaml:9:27: unknown key `max-rat` in `schedule`; did you mean `max-rate`?");
    EXPECT_EQ(text_of(last_reload(), "accepted"), "false");
    const auto all = *last_reload().find("diagnostics")->as<std::vector<Dict>>();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(spelled(all).find("/etc/rdma-qos/policy.yaml:9:27: error: unknown key `max-rat` in `schedule` | "), 0U)
        << spelled(all);
    EXPECT_EQ(text_of(all.front(), "hint"), "did you mean `max-rate`?");
    const auto after = properties();
    EXPECT_EQ(text_of(after, "PolicyRevision"), before);
    Dict request;
    request.set("level", "rpc");
    EXPECT_TRUE(register_session(client, request)) << "the old policy serves on";

    write_policy(kTwoLevelPolicy);
    ASSERT_TRUE(call("Reload"));
    EXPECT_EQ(text_of(last_reload(), "accepted"), "true");
}

TEST_F(Manager, ChecksAPolicyThatIsPassed)
{
    const auto good = call("Check", {descriptor(kTwoLevelPolicy)});
    ASSERT_TRUE(good) << to_string(good.error());
    EXPECT_EQ(text_of(*good->front().as<Dict>(), "accepted"), "true");
    EXPECT_EQ(diagnostics_of(*good->front().as<Dict>()), "");
    const auto bad = call("Check", {descriptor(broken)});
    ASSERT_TRUE(bad) << to_string(bad.error());
    const auto& report = *bad->front().as<Dict>();
    EXPECT_EQ(text_of(report, "accepted"), "false");
    EXPECT_EQ(text_of(report, "errors"), "1");
    EXPECT_NE(diagnostics_of(report).find("candidate.yaml:9:27: error: unknown key `max-rat`"), std::string::npos)
        << diagnostics_of(report);
}

TEST_F(Manager, ChecksOnlyRegularFilesOfASaneSize)
{
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const UniqueFd writer(ends[1]);
    const auto fifo = call("Check", {bus::FileDescriptor{std::make_shared<UniqueFd>(ends[0])}});
    ASSERT_FALSE(fifo);
    EXPECT_EQ(fifo.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(fifo.error().message.find("nor a regular file"), std::string::npos) << fifo.error().message;

    const auto folder = call(
        "Check", {bus::FileDescriptor{std::make_shared<UniqueFd>(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC))}});
    ASSERT_FALSE(folder);
    EXPECT_NE(folder.error().message.find("directory"), std::string::npos) << folder.error().message;

    const auto large = std::make_shared<UniqueFd>(
        open((daemon.root() / "large").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(ftruncate(large->get(), 1LL << 30), 0);
    const auto refused = call("Check", {bus::FileDescriptor{large}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
}

TEST_F(Manager, PlansWithoutDoing)
{
    const auto same = call("Plan", {Value(Dict())});
    ASSERT_TRUE(same) << to_string(same.error());
    const auto* report = same->front().as<Dict>();
    ASSERT_NE(report, nullptr);
    EXPECT_EQ(text_of(*report, "accepted"), "true");
    EXPECT_TRUE(report->find("levels")->as<std::vector<Dict>>()->empty());
    EXPECT_TRUE(report->find("sessions")->as<std::vector<Dict>>()->empty());
    const auto* devices = report->find("devices")->as<std::vector<Dict>>();
    ASSERT_NE(devices, nullptr);
    ASSERT_EQ(devices->size(), 2U);
    EXPECT_EQ(text_of(devices->front(), "device"), "mlx5_0/1");
    EXPECT_TRUE(devices->front().find("operations")->as<std::vector<Dict>>()->empty());

    Dict options;
    options.set("policy", descriptor(replaced(kTwoLevelPolicy, "share: 40", "share: 30")));
    const auto changed = call("Plan", {Value(options)});
    ASSERT_TRUE(changed) << to_string(changed.error());
    const auto& changes = *changed->front().as<Dict>();
    const auto& level = changes.find("levels")->as<std::vector<Dict>>()->front();
    EXPECT_EQ(text_of(level, "level") + " " + text_of(level, "change") + ": " + text_of(level, "message"),
              "bulk changed: share 40 -> 30");
    const auto& plan = changes.find("devices")->as<std::vector<Dict>>()->front();
    const auto* operations = plan.find("operations")->as<std::vector<Dict>>();
    ASSERT_EQ(operations->size(), 1U);
    EXPECT_EQ(text_of(operations->front(), "operation"), "modify");
    EXPECT_EQ(text_of(operations->front(), "path"), "/bulk");
    const auto* tree = plan.find("tree")->as<std::vector<Dict>>();
    const auto bulk = std::ranges::find_if(*tree, [](const Dict& one) { return text_of(one, "path") == "/bulk"; });
    ASSERT_NE(bulk, tree->end());
    EXPECT_EQ(text_of(*bulk, "change"), "modify");
    EXPECT_NE(text_of(*bulk, "share-before"), text_of(*bulk, "share-after"));

    options = Dict();
    options.set("policy", descriptor(broken));
    const auto invalid = call("Plan", {Value(options)});
    ASSERT_TRUE(invalid) << to_string(invalid.error());
    EXPECT_EQ(text_of(*invalid->front().as<Dict>(), "accepted"), "false");
    EXPECT_NE(diagnostics_of(*invalid->front().as<Dict>()).find("unknown key `max-rat`"), std::string::npos);

    options.set("polcy", "x");
    const auto refused = call("Plan", {Value(options)});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
}

TEST_F(Manager, AnswersPathQueries)
{
    Dict request;
    request.set("qos-class", "bulk-class");
    request.set("source", std::vector<std::string>{"0x11", "0x21"});
    request.set("destination", std::vector<std::string>{"0x1", "0x2", "0x3"});
    const auto answers = call("QueryPath", {Value(request)});
    ASSERT_TRUE(answers) << to_string(answers.error());
    const auto* list = answers->front().as<std::vector<Dict>>();
    ASSERT_NE(list, nullptr);
    EXPECT_EQ(list->size(), 6U);
    EXPECT_EQ(text_of(list->front(), "level"), "bulk");
    EXPECT_EQ(text_of(list->front(), "sl"), "1");
    EXPECT_EQ(text_of(list->front(), "source"), "0x0000000000000011");
    EXPECT_EQ(text_of(list->back(), "destination"), "0x0000000000000003");

    // What holds for some pairs only is told for each.
    request.set("qos-class", std::uint32_t{7});
    request.set("sl", std::uint8_t{2});
    const auto refused = call("QueryPath", {Value(request)});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::NoMatchingPath);
    EXPECT_NE(refused.error().message.find("SL 2 was requested; level bulk has SL 1"), std::string::npos)
        << refused.error().message;

    Dict impossible;
    impossible.set("mtu", std::uint32_t{4096});
    impossible.set("mtu-selector", "greater-than");
    const auto none = call("QueryPath", {Value(impossible)});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::NoMatchingPath) << to_string(none.error());
    EXPECT_EQ(daemon.sessions(), 0U) << "asking registers nothing";
}

// What a launcher sets on the queue pairs of programs that do not ask themselves.
TEST_F(Manager, SaysHowAPathIsMarkedAndWhoseServiceLevelItIs)
{
    const auto marking = [&](const char* level) {
        Dict request;
        request.set("level", level);
        const auto answers = call("QueryPath", {Value(request)});
        if (!answers) {
            return to_string(answers.error());
        }
        const Dict& answer = answers->front().as<std::vector<Dict>>()->front();
        return text_of(answer, "sl") + " " + text_of(answer, "sl-source") + " " + text_of(answer, "traffic-class");
    };
    write_policy("version: 1\nqos-levels:\n  - {name: DEFAULT}\n  - {name: own, sl: 3, sl-source: host, dscp: 26}\n"
                 "  - {name: asked, sl: 2, traffic-class: 0x21}\n");
    ASSERT_TRUE(call("Reload"));
    EXPECT_EQ(marking("DEFAULT"), "absent absent absent");
    EXPECT_EQ(marking("own"), "3 host 104");
    EXPECT_EQ(marking("asked"), "2 absent 33");
}

TEST_F(Manager, ExplainsAsTextAndAsJson)
{
    Dict request;
    request.set("qos-class", std::uint32_t{7});
    const auto text = call("Explain", {Value(request)});
    ASSERT_TRUE(text) << to_string(text.error());
    EXPECT_NE(text->front().as<std::string>()->find("bulk"), std::string::npos);
    request.set("format", "json");
    const auto json = call("Explain", {Value(request)});
    ASSERT_TRUE(json);
    EXPECT_TRUE(json->front().as<std::string>()->starts_with("{"));
    request.set("format", "xml");
    EXPECT_FALSE(call("Explain", {Value(request)}));
}

TEST_F(Manager, ListsLevelsWithTheirUse)
{
    Dict request;
    request.set("level", "rpc");
    request.set("queue-pairs", std::vector<Dict>{queue_pair("mlx5_0", 21), queue_pair("mlx5_1", 21)});
    ASSERT_TRUE(register_session(client, request));
    const auto levels = call("ListLevels", {});
    ASSERT_TRUE(levels);
    for (const auto& level : *levels->front().as<std::vector<Dict>>()) {
        if (text_of(level, "name") == "rpc") {
            EXPECT_EQ(text_of(level, "class"), "/rpc");
            EXPECT_EQ(text_of(level, "fair-by"), "process");
            EXPECT_EQ(text_of(level, "sessions"), "1");
            EXPECT_EQ(text_of(level, "queue-pairs"), "2");
            EXPECT_EQ(text_of(level, "restricted"), "false");
            return;
        }
    }
    FAIL() << "rpc is not listed";
}

TEST_F(Manager, ListsSessionsInPages)
{
    std::vector<std::string> paths;
    for (const char* level : {"rpc", "bulk", "rpc", "rpc"}) {
        Dict request;
        request.set("level", level);
        const auto session = register_session(client, request);
        ASSERT_TRUE(session) << to_string(session.error());
        paths.push_back(session->path);
    }
    Dict in_bulk = queue_pair("mlx5_0", 7);
    in_bulk.set("level", "bulk");
    ASSERT_TRUE(attach(client, paths.back(), {in_bulk}));
    const auto numbered = [](const std::string& path) { return std::stoull(path.substr(path.rfind('/') + 1)); };
    const auto listed = [&](const std::vector<std::pair<std::string, Value>>& options) {
        Dict dict;
        for (const auto& [key, value] : options) {
            dict.set(key, value);
        }
        std::vector<std::string> found;
        const auto reply = call("ListSessions", {dict});
        EXPECT_TRUE(reply) << to_string(reply.error());
        for (const auto& session : reply ? *reply->front().as<std::vector<Dict>>() : std::vector<Dict>()) {
            found.push_back(session.find("Path")->as<bus::ObjectPath>()->text);
            EXPECT_EQ(text_of(*session.find("Owner")->as<Dict>(), "pid"), std::to_string(getpid()));
        }
        return found;
    };
    using Paths = std::vector<std::string>;
    EXPECT_EQ(listed({}), paths);
    EXPECT_EQ(listed({{"limit", 2U}}), Paths({paths[0], paths[1]}));
    EXPECT_EQ(listed({{"limit", 2U}, {"after", std::uint64_t{numbered(paths[1])}}}), Paths({paths[2], paths[3]}));
    EXPECT_EQ(listed({{"after", std::uint64_t{numbered(paths[3])}}}), Paths());
    EXPECT_EQ(listed({{"level", "Bulk"}}), Paths({paths[1], paths[3]})) << "also by a queue pair; of any case";
    EXPECT_EQ(listed({{"level", "nobody's"}}), Paths());
    EXPECT_EQ(listed({{"pid", static_cast<std::uint32_t>(getpid())}}), paths);
    EXPECT_EQ(listed({{"pid", 1U}}), Paths());
    EXPECT_EQ(listed({{"uid", static_cast<std::uint32_t>(getuid())}, {"limit", 1U}}), Paths({paths[0]}));
    EXPECT_EQ(listed({{"uid", static_cast<std::uint32_t>(getuid() + 1)}}), Paths());

    const auto refused = [&](const char* key, Value value) {
        Dict dict;
        dict.set(key, std::move(value));
        const auto reply = call("ListSessions", {dict});
        EXPECT_FALSE(reply) << key;
        return reply ? std::string() : reply.error().message;
    };
    EXPECT_EQ(refused("limit", 0U), "`limit` is 0, and must be from 1 to 1000");
    EXPECT_EQ(refused("limit", 1001U), "`limit` is 1001, and must be from 1 to 1000");
    EXPECT_THAT(refused("limt", 5U), testing::StartsWith("ListSessions has the options "));
    EXPECT_THAT(refused("after", 5U), testing::StartsWith("ListSessions has the options ")) << "a number of 64 bits";
}

TEST_F(Manager, VerifiesAndReconciles)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root may manage by the direct socket";
    }
    for (const auto* device : {"", "mlx5_0"}) {
        const auto drift = manage(client, "Verify", device);
        ASSERT_TRUE(drift) << to_string(drift.error());
        EXPECT_TRUE(drift->empty());
    }
    const auto done = manage(client, "Reconcile", "mlx5_1");
    ASSERT_TRUE(done) << to_string(done.error());
    ASSERT_EQ(done->size(), 1U);
    EXPECT_EQ(text_of(done->front(), "operations"), "0");
    const auto unknown = manage(client, "Reconcile", "mlx7");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::UnknownDevice);
}

TEST_F(Manager, ShowsItsDevices)
{
    const auto objects = client.managed_objects();
    ASSERT_TRUE(objects) << to_string(objects.error());
    ASSERT_TRUE(objects->contains("/org/rdmaqos1/device/mlx5_5f0_2f1"));
    ASSERT_TRUE(objects->contains("/org/rdmaqos1/device/mlx5_5f1_2f1"));
    const auto& device = objects->at("/org/rdmaqos1/device/mlx5_5f0_2f1").at(names::kDevice);
    EXPECT_EQ(text_of(device, "Name"), "mlx5_0");
    EXPECT_EQ(text_of(device, "State"), "ready");
    EXPECT_EQ(text_of(device, "LinkSpeed"), "100000000");
    const bool emulated = EmulatedNics::wanted();
    const bool isolated = EmulatedNics::isolated();
    EXPECT_EQ(text_of(device, "AttachMode"), isolated ? "per-process" : "shared");
    EXPECT_EQ(text_of(device, "AttachReason"),
              isolated   ? "the firmware lets a queue pair use leaves of its own process only (self-test)"
              : emulated ? "the self-test attached another process's queue pair to a leaf of ours"
                         : "a simulated device");
    EXPECT_EQ(device.find("SelfTest")->as<std::vector<Dict>>()->empty(), !emulated);
    EXPECT_EQ(device.find("Attributes")->as<bus::Triples>()->empty(), !emulated);
    EXPECT_EQ(text_of(device, "BoardId"), emulated ? "MT_0000000359" : "");
    EXPECT_EQ(*device.find("VirtualFunction"), Value(false));
    EXPECT_EQ(*device.find("Bond"), Value(""));
    EXPECT_EQ(text_of(*device.find("Capabilities")->as<Dict>(), "max-leaves"), "256");
    std::vector<std::string> paths;
    for (const auto& element : *device.find("Tree")->as<std::vector<Dict>>()) {
        paths.push_back(text_of(element, "path"));
    }
    EXPECT_NE(std::ranges::find(paths, "/bulk"), paths.end());
    EXPECT_NE(std::ranges::find(paths, "/rpc"), paths.end());
}

// Both devices have 100 Gbit/s. What is asked of one in vain is named once, and why it is degraded.
TEST(ManagerOfALittleDevice, SaysWhatItCannotGive)
{
    const std::string policy = "version: 1\nqos-levels: [{name: DEFAULT}, {name: a, schedule: {min-rate: 200Gbps}}]\n";
    const Daemon daemon({policy, kTwoDevices, "version: 1\non-unsupported: degrade\n", false, RDMAQOS_DAEMON});
    const auto device = daemon.direct().properties("/org/rdmaqos1/device/mlx5_5f0_2f1", names::kDevice);
    ASSERT_TRUE(device) << to_string(device.error());
    EXPECT_EQ(text_of(*device, "State"), "degraded");
    const auto* findings = device->find("Findings")->as<std::vector<Dict>>();
    ASSERT_EQ(findings->size(), 1U);
    for (const auto& [key, text] :
         {std::pair("kind", "min-rate-missed"), std::pair("path", "/a"), std::pair("requested", "min-rate 200 Gbit/s"),
          std::pair("achievable", "100 Gbit/s"),
          std::pair("reason", "the port has 100 Gbit/s for 1 element when all are busy"),
          std::pair("message", "/a: requested min-rate 200 Gbit/s, achievable 100 Gbit/s: the port has 100 Gbit/s "
                               "for 1 element when all are busy")}) {
        EXPECT_EQ(text_of(findings->front(), key), text);
    }
    EXPECT_EQ(text_of(*device, "Reason"), text_of(findings->front(), "message"));
}

}    // namespace
}    // namespace rdmaqos::test
