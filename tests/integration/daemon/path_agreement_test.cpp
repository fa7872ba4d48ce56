// One question, put to everything that answers for a path: the daemon by D-Bus, `query-path` and `explain` with it and
// without it, and the program that answers OpenSM's compatibility cases. All say the same.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/support/ctl.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using bus::Dict;
using bus::Value;
namespace names = bus::names;
using Json = nlohmann::json;

// DEFAULT says what the packet life is, `plain` (QoS class 7) leaves it to the subnet, `tenant` (class 8) has a P_Key.
constexpr const char* kAgreementPolicy = R"(version: 1
qos-levels:
  - {name: DEFAULT, sl: 0, packet-life: 16}
  - {name: plain, sl: 1}
  - {name: tenant, sl: 2, pkey: [0x1234]}
qos-match-rules:
  - {qos-class: [7], qos-level-name: plain}
  - {qos-class: [8], qos-level-name: tenant}
)";
constexpr const char* kAgreementDevices = R"(version: 1
devices:
  - {name: mlx5_0, node-guid: 0x10, port-guid: 0x11, pci: "0000:3b:00.0", link-speed: 40Gbps, pkeys: [0xFFFF, 0x9234]}
  - {name: mlx5_1, node-guid: 0x20, port-guid: 0x21, pci: "0000:5e:00.0", link-speed: 40Gbps, pkeys: [0x7FFF]}
)";
// The two of this host, and four elsewhere.
constexpr const char* kAgreementFabric = R"(version: 1
ports:
  - {guid: 0x11, pkeys: [0xFFFF, 0x9234]}
  - {guid: 0x21, pkeys: [0x7FFF]}
  - {guid: 0x77, pkeys: [0xFFFF]}
  - {guid: 0x78, pkeys: [0x7FFF, 0x9234]}
  - {guid: 0x79, pkeys: [0x7FFF, 0x1234]}
  - {guid: 0x7a, pkeys: [0x7FFF, 0x1234]}
)";
constexpr const char* kNoPath = "no path";

struct Case {
    const char* name;
    const char* source;
    const char* destination;
    const char* qos_class;    // "": none
    const char* pkey;
    const char* expected;
};

const std::vector<Case>& cases()
{
    static const std::vector<Case> kCases{
        {"from here", "0x11", "0x77", "", "", "life 16 pkey 0xffff sl 0"},
        {"from here by the subnet's life", "0x11", "0x77", "7", "", "life 18 pkey 0xffff sl 1"},
        {"from here with a P_Key that only this end has", "0x11", "0x77", "", "0x1234", kNoPath},
        {"from here with a P_Key that both have", "0x11", "0x78", "", "0x1234", "life 16 pkey 0x1234 sl 0"},
        {"from here as a level wants it", "0x11", "0x78", "8", "", "life 18 pkey 0x1234 sl 2"},
        {"from here as a level wants it and one end has not", "0x11", "0x77", "8", "", kNoPath},
        {"from afar to here", "0x77", "0x11", "", "", "life 16 pkey 0xffff sl 0"},
        {"from afar to here by the subnet's life", "0x77", "0x11", "7", "", "life 18 pkey 0xffff sl 1"},
        {"from afar with a P_Key that only this end has", "0x77", "0x11", "", "0x1234", kNoPath},
        {"from afar with a P_Key that both have", "0x78", "0x11", "", "0x1234", "life 16 pkey 0x1234 sl 0"},
        {"from afar as a limited member", "0x79", "0x11", "", "", "life 16 pkey 0x1234 sl 0"},
        {"from afar as a level wants it", "0x78", "0x11", "8", "", "life 18 pkey 0x1234 sl 2"},
        {"from afar to limited members", "0x79", "0x21", "", "", kNoPath},
        {"here to itself", "0x11", "0x11", "", "", "life 0 pkey 0x9234 sl 0"},
        {"here to itself by the subnet's life", "0x21", "0x21", "7", "", kNoPath},
        {"here to the other port", "0x11", "0x21", "", "", "life 16 pkey 0xffff sl 0"},
        {"here to the other port with a P_Key of one", "0x11", "0x21", "", "0x1234", kNoPath},
        {"here from the other port", "0x21", "0x11", "7", "", "life 18 pkey 0x7fff sl 1"},
        {"elsewhere", "0x77", "0x78", "", "", "life 16 pkey 0xffff sl 0"},
        {"elsewhere with a P_Key that one has", "0x77", "0x78", "", "0x1234", kNoPath},
        {"elsewhere with a P_Key that this host has too", "0x78", "0x79", "", "0x1234", "life 16 pkey 0x1234 sl 0"},
        {"elsewhere with limited members", "0x79", "0x7a", "", "0x1234", kNoPath},
        {"elsewhere to itself", "0x77", "0x77", "", "", "life 0 pkey 0xffff sl 0"},
        {"elsewhere to itself by the subnet's life", "0x78", "0x78", "7", "0x1234", "life 0 pkey 0x1234 sl 1"},
    };
    return kCases;
}

// All paths here are of 40 Gbit/s (7) and 4096 bytes (5): anything else is said.
std::string shown(bool usual, unsigned life, unsigned pkey, unsigned sl)
{
    return fmt::format("life {} pkey {:#06x} sl {}{}", life, pkey, sl, usual ? "" : ", not 40 Gbit/s and 4096 bytes");
}

std::string words_of(const Case& asked)
{
    return fmt::format("--source {} --destination {}{}{}{}{}", asked.source, asked.destination,
                       *asked.qos_class == '\0' ? "" : " --qos-class ", asked.qos_class,
                       *asked.pkey == '\0' ? "" : " --pkey ", asked.pkey);
}

class PathAgreement : public ::testing::Test {
protected:
    std::string by_dbus(const Case& asked)
    {
        Dict request;
        request.set("source", asked.source);
        request.set("destination", asked.destination);
        if (*asked.qos_class != '\0') {
            request.set("qos-class", static_cast<std::uint32_t>(std::stoul(asked.qos_class)));
        }
        if (*asked.pkey != '\0') {
            request.set("pkey", static_cast<std::uint16_t>(std::stoul(asked.pkey, nullptr, 0)));
        }
        const auto reply = client.call(names::kRoot, names::kManager, "QueryPath", {Value(request)});
        if (!reply) {
            return reply.error().code == ErrorCode::NoMatchingPath ? kNoPath : to_string(reply.error());
        }
        const Dict answer = reply->front().as<std::vector<Dict>>()->front();
        // Absent: not known, as before the fabric file has been read.
        const auto number = [&](const char* key) {
            const auto* value = answer.find(key);
            return value == nullptr ? 0U : static_cast<unsigned>(value->as_unsigned().value_or(0));
        };
        return shown(number("mtu") == 4096 && number("rate") == 40'000'000, number("packet-life"), number("pkey"),
                     number("sl"));
    }
    std::string by_query_path(const Case& asked, const std::string& more)
    {
        const Outcome outcome = run_ctl(daemon.root(), "query-path --json " + words_of(asked) + more);
        if (outcome.status != 0) {
            return outcome.error.find("do not share P_Key") != std::string::npos ||
                           outcome.error.find("two ports share no") != std::string::npos
                       ? kNoPath
                       : outcome.error;
        }
        const Json json = Json::parse(outcome.output);
        EXPECT_EQ(json.at("mode"), more.empty() ? "daemon" : "offline");
        const Json& path = json.at("paths").at(0);
        return shown(path.at("mtu") == 4096 && path.at("rate") == 40'000'000, path.at("packet-life"), path.at("pkey"),
                     path.at("sl"));
    }
    std::string by_explain(const Case& asked, const std::string& more)
    {
        const Outcome outcome = run_ctl(daemon.root(), "explain --json " + words_of(asked) + more);
        if (outcome.status != 0) {
            return outcome.error;
        }
        const Json explanation = Json::parse(outcome.output).at("explanation");
        if (explanation.at("answer").is_null()) {
            return kNoPath;
        }
        const Json& answer = explanation.at("answer");
        const bool same_port = answer.at("reasons").at("packet-life") == "the path begins and ends at one port";
        EXPECT_EQ(same_port, std::string(asked.source) == asked.destination);
        return shown(answer.at("mtu") == 5 && answer.at("rate") == 7, answer.at("packet-life"),
                     static_cast<unsigned>(std::stoul(answer.at("pkey").get<std::string>(), nullptr, 0)),
                     answer.at("sl"));
    }
    std::vector<std::string> by_cases()
    {
        std::string queries;
        const auto column = [](const char* text) { return *text == '\0' ? "-" : text; };
        for (const Case& asked : cases()) {
            queries += fmt::format("{} {} {} - {} - - - - 5 40 -\n", asked.source, asked.destination,
                                   column(asked.qos_class), column(asked.pkey));
        }
        daemon.dir().write("queries", queries);
        const Outcome outcome = run_program(daemon.root(), RDMAQOS_OPENSM_CASES " answer", "--queries queries");
        EXPECT_EQ(outcome.status, 0) << outcome.error;
        std::vector<std::string> answers;
        std::istringstream lines(outcome.output);
        for (std::string line; std::getline(lines, line);) {
            unsigned mtu = 0;
            unsigned rate = 0;
            unsigned life = 0;
            unsigned pkey = 0;
            unsigned sl = 0;
            const int read = std::sscanf(line.c_str(), "OK mtu=%u rate=%u life=%u pkey=%x sl=%u", &mtu, &rate, &life,
                                         &pkey, &sl);
            answers.push_back(read == 5           ? shown(mtu == 5 && rate == 7, life, pkey, sl)
                              : line == "FAIL(5)" ? kNoPath
                                                  : line);
        }
        return answers;
    }

    Daemon daemon{{kAgreementPolicy, kAgreementDevices, "", false, RDMAQOS_DAEMON}};
    bus::Client client = daemon.direct();
};

TEST_F(PathAgreement, OneAnswerEverywhere)
{
    daemon.dir().write("etc/rdma-qos/fabric.yaml", kAgreementFabric);
    ASSERT_TRUE(eventually([&] { return by_dbus(cases().front()) == cases().front().expected; }))
        << by_dbus(cases().front());
    const std::vector<std::string> batch = by_cases();
    ASSERT_EQ(batch.size(), cases().size());
    const std::string offline = " --offline --devices devices.yaml";
    for (std::size_t i = 0; i < cases().size(); ++i) {
        const Case& asked = cases()[i];
        SCOPED_TRACE(asked.name);
        EXPECT_EQ(by_dbus(asked), asked.expected);
        EXPECT_EQ(batch[i], asked.expected);
        EXPECT_EQ(by_query_path(asked, ""), asked.expected);
        EXPECT_EQ(by_query_path(asked, offline), asked.expected);
        EXPECT_EQ(by_explain(asked, ""), asked.expected);
        EXPECT_EQ(by_explain(asked, offline), asked.expected);
    }
}

}    // namespace
}    // namespace rdmaqos::test
