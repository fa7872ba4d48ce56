// What a subnet administrator is asked, by both transports: MultiPath queries, service ids and classes as rdma_cm forms
// them.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/support/ctl.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using bus::Dict;
using bus::Value;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
namespace names = bus::names;

constexpr const char* kPathPolicy = R"(version: 1
port-groups:
  - {name: storage, port-guid: [0x77]}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, sl: 3, mtu-limit: 1024}
  - {name: bulk, sl: 1}
  - {name: tenant, sl: 5}
qos-match-rules:
  - {destination: [storage], qos-level-name: rpc}
  - {service-id: [0x1061144], qos-level-name: bulk}
  - {qos-class: [0x68], qos-level-name: bulk}
  - {pkey: [0x1234], qos-level-name: tenant}
)";
constexpr const char* kPathFabric = R"(version: 1
partitions:
  - {name: Part1, pkey: 0x1234, ipoib: {sl: 5, mtu: 2048, rate: 10Gbps, packet-life: 18}}
  - {name: Part2, pkey: 0x1235, ipoib: {sl: 5}}
)";

class PathsBy : public ::testing::TestWithParam<bool> {
protected:
    void SetUp() override
    {
        if (GetParam() && geteuid() != 0) {
            GTEST_SKIP() << "only root may own org.rdmaqos1";
        }
        daemon = std::make_unique<Daemon>(DaemonOptions{kPathPolicy, kTwoDevices, "", GetParam(), RDMAQOS_DAEMON});
        client = std::make_unique<bus::Client>(daemon->by(GetParam()));
    }
    Result<std::vector<Dict>> query(const Dict& request)
    {
        const auto reply = client->call(names::kRoot, names::kManager, "QueryPath", {Value(request)});
        return reply ? Result<std::vector<Dict>>(*reply->front().as<std::vector<Dict>>()) : fail(reply.error());
    }
    std::string level_for(const Dict& request)
    {
        const auto answers = query(request);
        return answers ? text_of(answers->front(), "level") : to_string(answers.error());
    }

    std::unique_ptr<Daemon> daemon;
    std::unique_ptr<bus::Client> client;
};

INSTANTIATE_TEST_SUITE_P(Both, PathsBy, ::testing::Bool(),
                         [](const auto& transport) { return transport.param ? "SystemBus" : "DirectSocket"; });

TEST_P(PathsBy, EachPairHasItsAnswerOrItsReason)
{
    Dict request;
    request.set("sl", std::uint8_t{3});
    request.set("source", std::vector<std::string>{"0x11", "0x21"});
    request.set("destination", std::vector<std::string>{"0x77", "0x78"});
    const auto answers = query(request);
    ASSERT_TRUE(answers) << to_string(answers.error());
    ASSERT_EQ(answers->size(), 4U);
    for (const std::size_t pair : {0U, 2U}) {
        EXPECT_EQ(text_of((*answers)[pair], "level"), "rpc");
        EXPECT_EQ(text_of((*answers)[pair], "mtu"), "1024");
        EXPECT_EQ(text_of((*answers)[pair], "error"), "absent");
    }
    for (const std::size_t pair : {1U, 3U}) {
        const Dict& missing = (*answers)[pair];
        EXPECT_EQ(text_of(missing, "error"), "org.rdmaqos1.Error.NoMatchingPath");
        EXPECT_EQ(text_of(missing, "message"), "SL 3 was requested; level DEFAULT has SL 0");
        EXPECT_EQ(text_of(missing, "destination"), "0x0000000000000078");
        EXPECT_EQ(text_of(missing, "level"), "absent");
    }
    EXPECT_EQ(text_of((*answers)[3], "source"), "0x0000000000000021");
}

TEST_P(PathsBy, WithoutAnyPathEachReasonIsInTheError)
{
    Dict request;
    request.set("sl", std::uint8_t{9});
    request.set("destination", std::vector<std::string>{"0x77", "0x78"});
    const auto answers = query(request);
    ASSERT_FALSE(answers);
    EXPECT_EQ(answers.error().code, ErrorCode::NoMatchingPath);
    EXPECT_THAT(answers.error().message, AllOf(HasSubstr("none of the 2 pairs has a path"),
                                               HasSubstr("level rpc has SL 3"), HasSubstr("level DEFAULT has SL 0")));
}

TEST_P(PathsBy, PortSpaceAndTypeOfServiceAreAsRdmaCmHasThem)
{
    Dict request;
    EXPECT_EQ(level_for(request), "DEFAULT");
    request.set("port-space", "tcp");
    request.set("destination-port", std::uint16_t{4420});
    EXPECT_EQ(level_for(request), "bulk");
    request.set("port-space", "udp");
    EXPECT_EQ(level_for(request), "DEFAULT");
    Dict service;
    service.set("tos", std::uint8_t{0x68});
    EXPECT_EQ(level_for(service), "bulk");
    service.set("qos-class", std::uint32_t{7});
    EXPECT_THAT(level_for(service), HasSubstr("give one of them"));
    Dict registered;
    registered.set("tos", std::uint8_t{0x68});
    const auto session = register_session(*client, registered);
    ASSERT_TRUE(session) << to_string(session.error());
    EXPECT_EQ(text_of(session->grant, "level"), "bulk");
}

TEST_P(PathsBy, FeaturesHaveTheCapabilityBit)
{
    const auto properties = client->properties(names::kRoot, names::kManager);
    ASSERT_TRUE(properties);
    const auto* features = properties->find("Features")->as<std::vector<std::string>>();
    ASSERT_NE(features, nullptr);
    EXPECT_THAT(*features, AllOf(Contains("qos"), Contains("multi-path")));
}

TEST_P(PathsBy, ABroadcastGroupIsComparedWithItsPath)
{
    daemon->dir().write("etc/rdma-qos/fabric.yaml", kPathFabric);
    const Outcome agrees = run_ctl(daemon->root(), "query-path --broadcast Part1");
    EXPECT_EQ(agrees.status, 0) << agrees.error;
    EXPECT_THAT(agrees.output, AllOf(HasSubstr("answered by the running daemon"),
                                     HasSubstr("ff12:401b:9234::ffff:ffff"), HasSubstr("tenant")));
    const Outcome differs = run_ctl(daemon->root(), "query-path --broadcast 0x1235 --json");
    EXPECT_EQ(differs.status, 3) << differs.error;
    const auto json = nlohmann::json::parse(differs.output);
    EXPECT_EQ(json.at("mode"), "daemon");
    EXPECT_EQ(json.at("agrees"), false);
    EXPECT_EQ(json.at("level"), "DEFAULT");
    EXPECT_EQ(daemon->sessions(), 0U);
    const Outcome offline = run_ctl(daemon->root(), "query-path --broadcast Part1 --offline --json");
    EXPECT_EQ(offline.status, 0) << offline.error;
    EXPECT_EQ(nlohmann::json::parse(offline.output).at("level"), "tenant");
    const Outcome unknown = run_ctl(daemon->root(), "query-path --broadcast Part3");
    EXPECT_EQ(unknown.status, 1);
    EXPECT_THAT(unknown.error, HasSubstr("the fabric file has no partition Part3"));
}

}    // namespace
}    // namespace rdmaqos::test
