// The daemon with OpenSM's native file: grants, SLs and path answers as OpenSM, no elements.
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using bus::Dict;
using bus::Value;
namespace names = bus::names;

// "rpc" is limited to 2048 bytes and 10 Gb/s; 0x31 and 0x32 are storage servers.
const std::string kNative = R"(port-groups
    port-group
        name: storage
        port-name: "oss1 HCA-1/P1"
        port-guid: 0x32
    end-port-group
end-port-groups

qos-levels
    qos-level
        name: DEFAULT
        sl: 0
    end-qos-level
    qos-level
        name: rpc
        sl: 3
        mtu-limit: 4
        rate-limit: 3
        packet-life: 16
    end-qos-level
end-qos-levels

qos-match-rules
    qos-match-rule
        destination: storage
        qos-level-name: rpc
    end-qos-match-rule
end-qos-match-rules

qos-ulps
    sdp, port-num 80 : 5
end-qos-ulps
)";

const std::string kFabric = R"(version: 1
ports:
  - {guid: 0x31, description: oss1 HCA-1, pkeys: [0xffff]}
)";

class NativePolicy : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (geteuid() != 0) {
            GTEST_SKIP() << "only root may reload by the direct socket";
        }
        daemon.dir().write("etc/rdma-qos/fabric.yaml", kFabric);
        daemon.dir().write("etc/rdma-qos/policy.conf", kNative);
    }
    Result<std::vector<Value>> call(const std::string& method, const std::vector<Value>& arguments = {})
    {
        return client.call(names::kRoot, names::kManager, method, arguments);
    }
    void use_native_file()
    {
        std::filesystem::remove(daemon.root() / "etc/rdma-qos/policy.yaml");
        const auto report = call("Reload");
        ASSERT_TRUE(report) << to_string(report.error());
    }
    static Dict to(const std::string& destination)
    {
        Dict request;
        request.set("destination", destination);
        return request;
    }
    Dict first_path(const Dict& request)
    {
        const auto answers = call("QueryPath", {Value(request)});
        EXPECT_TRUE(answers) << to_string(answers.error());
        const auto* list = answers ? answers->front().as<std::vector<Dict>>() : nullptr;
        return list != nullptr && !list->empty() ? list->front() : Dict();
    }

    Daemon daemon{{kTwoLevelPolicy, kTwoDevices, "", false, RDMAQOS_DAEMON}};
    bus::Client client = daemon.direct();
};

TEST_F(NativePolicy, BothKindsAtOnceAreRefusedAndNamed)
{
    const auto report = call("Reload");
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::InvalidPolicy);
    for (const std::string part : {"/etc/rdma-qos/policy.conf", "/etc/rdma-qos/policy.yaml", "import-opensm"}) {
        EXPECT_NE(report.error().message.find(part), std::string::npos) << report.error().message;
    }
    Dict request;
    request.set("level", "bulk");
    EXPECT_TRUE(register_session(client, request)) << "the YAML policy serves on";
}

TEST_F(NativePolicy, PathsAreAnsweredAsOpensmWould)
{
    ASSERT_NO_FATAL_FAILURE(use_native_file());
    for (const std::string storage : {"0x31", "0x32"}) {
        const Dict path = first_path(to(storage));
        EXPECT_EQ(text_of(path, "level"), "rpc") << storage;
        EXPECT_EQ(text_of(path, "sl"), "3");
        EXPECT_EQ(text_of(path, "mtu"), "2048");
        EXPECT_EQ(text_of(path, "rate"), "10000000");
        EXPECT_EQ(text_of(path, "packet-life"), "16");
    }
    EXPECT_EQ(text_of(first_path(to("0x33")), "sl"), "0");
    Dict sdp = to("0x33");
    sdp.set("service-id", std::uint64_t{0x10050});
    EXPECT_EQ(text_of(first_path(sdp), "sl"), "5");
    // A request for another SL than the level's has no path.
    Dict other = to("0x31");
    other.set("sl", std::uint8_t{1});
    const auto refused = call("QueryPath", {Value(other)});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::NoMatchingPath);
}

TEST_F(NativePolicy, GrantsCarryTheSlAndNoElementIsMade)
{
    ASSERT_NO_FATAL_FAILURE(use_native_file());
    const auto session = register_session(client, to("0x31"));
    ASSERT_TRUE(session) << to_string(session.error());
    EXPECT_EQ(text_of(session->grant, "level"), "rpc");
    EXPECT_EQ(text_of(session->grant, "sl"), "3");
    EXPECT_EQ(text_of(session->grant, "enforced"), "false");
    const auto device = client.properties("/org/rdmaqos1/device/mlx5_5f0_2f1", names::kDevice);
    ASSERT_TRUE(device) << to_string(device.error());
    EXPECT_EQ(text_of(*device, "ElementsUsed"), "0");
}

TEST_F(NativePolicy, ABrokenFileLeavesTheRunningPolicy)
{
    ASSERT_NO_FATAL_FAILURE(use_native_file());
    daemon.dir().write("etc/rdma-qos/policy.conf", kNative + "bogus\n");
    const auto report = call("Reload");
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().message.find("policy.conf:33:1: `bogus` is not allowed"), std::string::npos)
        << report.error().message;
    EXPECT_EQ(text_of(first_path(to("0x31")), "level"), "rpc");
}

}    // namespace
}    // namespace rdmaqos::test
