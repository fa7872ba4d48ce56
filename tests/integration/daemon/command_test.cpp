// Rules by the name of the process that asks, by both transports.
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using bus::Dict;
using bus::Value;
using ::testing::HasSubstr;
namespace names = bus::names;

constexpr const char* kPolicy = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, sl: 3}
qos-match-rules:
  - {client: {command: "train-*-0"}, qos-level-name: rpc}
)";

// This process under another name.
class Renamed {
public:
    explicit Renamed(const char* name)
    {
        prctl(PR_GET_NAME, before_);
        prctl(PR_SET_NAME, name);
    }
    ~Renamed() { prctl(PR_SET_NAME, before_); }
    Renamed(const Renamed&) = delete;
    Renamed& operator=(const Renamed&) = delete;

private:
    char before_[16] = {};
};

class CommandBy : public ::testing::TestWithParam<bool> {
protected:
    void SetUp() override
    {
        if (GetParam() && geteuid() != 0) {
            GTEST_SKIP() << "only root may own org.rdmaqos1";
        }
        daemon = std::make_unique<Daemon>(DaemonOptions{kPolicy, kTwoDevices, "", GetParam(), RDMAQOS_DAEMON});
    }

    static std::string explained(bus::Client& client)
    {
        const auto reply = client.call(names::kRoot, names::kManager, "Explain", {Value(Dict())});
        return reply ? *reply->front().as<std::string>() : to_string(reply.error());
    }

    std::unique_ptr<Daemon> daemon;
};

INSTANTIATE_TEST_SUITE_P(Both, CommandBy, ::testing::Bool(),
                         [](const auto& transport) { return transport.param ? "SystemBus" : "DirectSocket"; });

TEST_P(CommandBy, TheNameAtTheFirstCallDecidesAndIsAClaim)
{
    auto before = daemon->by(GetParam());
    const auto by_default = register_session(before, {});
    ASSERT_TRUE(by_default) << to_string(by_default.error());
    EXPECT_EQ(text_of(by_default->grant, "level"), "DEFAULT");

    const Renamed renamed("train-rank-0");
    auto after = daemon->by(GetParam());
    const auto by_name = register_session(after, {});
    ASSERT_TRUE(by_name) << to_string(by_name.error());
    EXPECT_EQ(text_of(by_name->grant, "level"), "rpc");
    const auto* verified = by_name->grant.find("verified");
    ASSERT_NE(verified, nullptr);
    EXPECT_EQ(*verified->as<bool>(), false);
    EXPECT_THAT(explained(after), HasSubstr("client.command  asks train-*-0  has train-rank-0  claimed"));

    EXPECT_THAT(explained(before), HasSubstr("does not match")) << "a connection stays who it was";
}

}    // namespace
}    // namespace rdmaqos::test
