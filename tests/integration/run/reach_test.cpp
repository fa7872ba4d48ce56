// However a program gets at libibverbs, its queue pairs are in the leaf of their level, and marked as it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/run/launched.h"
#include "tests/integration/run/marks_told.h"
#include "tests/nic_mlx5/restarted_daemon.h"
#include "tests/support/tracked.h"

namespace rdmaqos::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Reach : public ::testing::Test {
protected:
    // "rate 25000 share 7 < root, sl 5 traffic-class 33" of each, as the device has it.
    static std::vector<std::string> where(const Launched& launched)
    {
        std::vector<std::string> all;
        for (const auto& each : launched.queue_pairs()) {
            all.push_back(place_of(each.number) + ", " + each.marks);
        }
        return all;
    }
    static std::string at(const char* place, const char* marks) { return std::string(place) + ", " + marks; }

    Words held(Words command) const { return test::held(folder, std::move(command)); }

    const std::string in_default = at(kInDefault, "sl 1 traffic-class 8");    // what the program sets itself
    const std::string in_rpc = at(kInRpc, "sl 3 traffic-class 104");
    const std::string in_storage = at(kInStorage, "sl 5 traffic-class 33");

    Daemon daemon{with_levels()};
    TempDir folder;
};

struct Way {
    const char* name;
    const char* program;
    const char* way;
    bool devx;

    friend void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }
};

class EveryWay : public Reach, public ::testing::WithParamInterface<Way> {
protected:
    // The device is told a DSCP, without the two bits below it; a verb, which the emulator sees, has them.
    static std::string in_storage_as_told()
    {
        return at(kInStorage, GetParam().devx || on_kernel() ? "sl 5 traffic-class 32" : "sl 5 traffic-class 33");
    }
    // As those of the base class, on RoCE v2.
    Words held(Words command) const
    {
        command.insert(command.end(), {"-i", "1"});
        return Reach::held(std::move(command));
    }
    // The same with the marks of the commands that brought them to RTR, as the emulator got them.
    std::vector<std::string> told(const Launched& launched)
    {
        auto marks = marks_told(trace, "mlx5_0");
        std::vector<std::string> all;
        for (const auto& each : launched.queue_pairs()) {
            all.push_back(place_of(each.number) + ", " + marks[each.number]);
        }
        return all;
    }

    Trace trace;
};

TEST_P(EveryWay, EachQueuePairGetsTheLevelOfItsDestination)
{
    const Way& way = GetParam();
    Launched launched(daemon.root(), {},
                      held({program(way.program), way.way, "-n", "4", "-g", std::string(kElsewhere) + "," + kTarget,
                            "-s", "1", "-c", "8", "-x", "7"}));
    ASSERT_TRUE(launched.ready()) << launched.output();
    const std::string storage = in_storage_as_told();
    EXPECT_THAT(told(launched), ::testing::ElementsAre(in_default, storage, in_default, storage));
    EXPECT_EQ(daemon.sessions(), 1U);
    let_go(folder);
    EXPECT_EQ(launched.ended(), 7) << launched.output();
    EXPECT_EQ(launched.count("rdma-qos-run"), 0U) << launched.output();
    EXPECT_TRUE(eventually([] { return emulated_device().at("queue-pairs").empty(); }));
}

TEST_P(EveryWay, OneLevelForAll)
{
    const Way& way = GetParam();
    Launched launched(daemon.root(), {"--level", "rpc"},
                      held({program(way.program), way.way, "-n", "2", "-g", std::string(kElsewhere) + "," + kTarget}));
    ASSERT_TRUE(launched.ready()) << launched.output();
    EXPECT_THAT(told(launched), ::testing::ElementsAre(in_rpc, in_rpc));
    let_go(folder);
    EXPECT_EQ(launched.ended(), 0);
}

TEST_P(EveryWay, MarksCanBeLeftToTheProgram)
{
    const Way& way = GetParam();
    Launched launched(daemon.root(), {"--level", "rpc", "--keep-sl"},
                      held({program(way.program), way.way, "-s", "1", "-c", "8"}));
    ASSERT_TRUE(launched.ready()) << launched.output();
    EXPECT_THAT(told(launched), ::testing::ElementsAre(at(kInRpc, "sl 1 traffic-class 8")));
}

INSTANTIATE_TEST_SUITE_P(Ways, EveryWay,
                         ::testing::Values(Way{"Linked", "linked", "linked", false},
                                           Way{"Devx", "linked", "devx", true}, Way{"Dlsym", "loaded", "dlsym", false},
                                           Way{"Dlvsym", "loaded", "dlvsym", false}),
                         [](const auto& way) { return way.param.name; });

// Inside librdmacm, which knows more of the connection.
TEST_F(Reach, RdmaCmCallsAService)
{
    Launched launched(daemon.root(), {}, held({program("rdma_cm"), "call"}));
    ASSERT_TRUE(launched.ready()) << launched.output();
    EXPECT_THAT(where(launched), ::testing::ElementsAre(in_storage));
}

TEST_F(Reach, RdmaCmIsCalled)
{
    Launched launched(daemon.root(), {}, held({program("rdma_cm"), "answer"}));
    ASSERT_TRUE(launched.ready()) << launched.output();
    EXPECT_THAT(where(launched), ::testing::ElementsAre(in_storage));
}

TEST_F(Reach, RdmaCmWithATypeOfService)
{
    Launched launched(daemon.root(), {}, held({program("rdma_cm"), "call", "-c", "96"}));
    ASSERT_TRUE(launched.ready()) << launched.output();
    EXPECT_THAT(where(launched), ::testing::ElementsAre(in_rpc)) << "the rule for the QoS class comes first";
}

TEST_F(Reach, RdmaCmInsideAModule)
{
    Launched launched(daemon.root(), {}, held({program("modular"), "answer"}));
    ASSERT_TRUE(launched.ready()) << launched.output();
    EXPECT_THAT(where(launched), ::testing::ElementsAre(in_storage));
}

TEST_F(Reach, EveryTypeOfQueuePair)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root may make raw packet queue pairs";
    }
    Launched launched(daemon.root(), {"--level", "rpc"}, held({program("linked"), "types"}));
    ASSERT_TRUE(launched.ready()) << launched.output();
    for (const auto& each : launched.queue_pairs()) {
        EXPECT_EQ(place_of(each.number), kInRpc) << each.number;
    }
    EXPECT_EQ(launched.queue_pairs().size(), 4U);
    EXPECT_EQ(launched.count("rdma-qos-run"), 0U) << launched.output();
}

// Two of the stock program, which talk to each other.
TEST_F(Reach, StockPingpong)
{
    const Words pingpong{"ibv_rc_pingpong", "-d", "mlx5_0", "-g", "0", "-n", "1000000000", "-p", "18611"};
    Launched server(daemon.root(), {"--level", "rpc"}, pingpong);
    ASSERT_TRUE(eventually([] { return is_listened_to(18'611); })) << server.output();
    Words calling = pingpong;
    calling.emplace_back("127.0.0.1");
    Launched client(daemon.root(), {"--level", "storage"}, calling);
    const auto all_places = [] {
        std::vector<std::string> all;
        for (const auto& [number, place] : places(emulated_device())) {
            all.push_back(place);
        }
        return all;
    };
    EXPECT_TRUE(eventually([&] {
        return ::testing::Value(all_places(), ::testing::UnorderedElementsAre(kInRpc, kInStorage));
    })) << server.output()
        << client.output();
    EXPECT_EQ(daemon.sessions(), 2U);
}

// The server of ib_read_bw only answers, stays in RTR, and sends all the data. Nobody can write its place once more: it
// keeps it also when the daemon is another.
TEST(ReachReads, TheServerOfReadsIsInItsClassWithoutEverBeingReadyToSend)
{
    const Words read{"/usr/bin/ib_read_bw", "-d", "mlx5_0", "-x", "0", "-s", "4096", "-D", "600", "-p", "18613"};
    if (access(read.front().c_str(), X_OK) != 0) {
        GTEST_SKIP() << "ib_read_bw is not installed";
    }
    RestartedDaemon daemon(kLevelsByDestination);
    const Launched server(daemon.root(), {"--level", "rpc", "--required"}, read);
    ASSERT_TRUE(eventually([] { return is_listened_to(18'613); })) << server.output();
    Words calling = read;
    calling.emplace_back("127.0.0.1");
    const Launched client(daemon.root(), {"--level", "storage", "--required"}, calling);
    const auto only = [](QueuePairState state) {
        std::vector<std::uint32_t> numbers;
        for (const auto& each : Tracker().all()) {
            if (each.state == state) {
                numbers.push_back(each.number);
            }
        }
        return numbers.size() == 1 ? numbers.front() : 0;
    };
    ASSERT_TRUE(eventually([&] { return only(QueuePairState::Rts) != 0 && only(QueuePairState::Rtr) != 0; }))
        << client.output();
    const std::uint32_t answers = only(QueuePairState::Rtr);
    const auto line_of_qps = [&] {
        std::istringstream lines(daemon.ctl("qps").output);
        std::string line;
        while (std::getline(lines, line) && !line.starts_with(fmt::format("mlx5_0/1  {} ", answers))) {
        }
        return line;
    };
    const auto is_in_place = [&] {
        return place_of(answers) == kInRpc && line_of_qps().find(" /rpc ") != std::string::npos;
    };
    EXPECT_TRUE(is_in_place()) << place_of(answers) << "\n" << line_of_qps() << "\n" << server.output();
    EXPECT_TRUE(eventually([&] { return place_of(only(QueuePairState::Rts)) == kInStorage; }));
    daemon.restart();
    EXPECT_TRUE(eventually(is_in_place)) << place_of(answers) << "\n" << line_of_qps() << "\n" << daemon.said();
    EXPECT_EQ(server.count("rdma-qos-run: "), 0U) << server.output();
}

TEST_F(Reach, AForkedChildHasASessionOfItsOwn)
{
    Launched launched(daemon.root(), {}, held({program("linked"), "linked", "-f", "-g", kTarget, "-x", "3"}));
    ASSERT_TRUE(launched.ready(2)) << launched.output();
    EXPECT_THAT(where(launched), ::testing::ElementsAre(in_storage, in_storage));
    const auto all = launched.queue_pairs();
    EXPECT_NE(all.front().pid, all.back().pid);
    EXPECT_EQ(daemon.sessions(), 2U);
    let_go(folder);
    EXPECT_EQ(launched.ended(), 3);
}

TEST_F(Reach, FollowsExecThroughAShell)
{
    Words command = held({program("linked"), "linked", "-g", kTarget, "-x", "4"});
    std::string line = "true; exec env";
    for (const auto& word : command) {
        line += " " + word;
    }
    Launched launched(daemon.root(), {}, {"/bin/sh", "-c", line});
    ASSERT_TRUE(launched.ready()) << launched.output();
    EXPECT_THAT(where(launched), ::testing::ElementsAre(in_storage));
    EXPECT_EQ(launched.queue_pairs().front().pid, launched.child().pid()) << "the launcher becomes the program";
    let_go(folder);
    EXPECT_EQ(launched.ended(), 4);
}

TEST_F(Reach, ThreadsAtTheSameTime)
{
    Launched launched(daemon.root(), {},
                      held({program("linked"), "linked", "-t", "8", "-n", "6", "-g", std::string(kTarget), "-k", "1"}));
    ASSERT_TRUE(launched.ready()) << launched.output();
    EXPECT_THAT(where(launched), ::testing::AllOf(::testing::SizeIs(48), ::testing::Each(in_storage)));
    EXPECT_EQ(daemon.sessions(), 1U);
    EXPECT_EQ(emulated_device().at("queue-pairs").size(), 48U) << "what was destroyed is gone";
    auto client = daemon.direct();
    EXPECT_TRUE(eventually([&] { return queue_pairs_of(client, "/org/rdmaqos1/session/1").size() == 48; }))
        << "and the daemon knows it";
    EXPECT_THAT(daemon.log(), Not(HasSubstr("warning")));
    EXPECT_THAT(daemon.log(), Not(HasSubstr("error")));
}

// What posts work and polls for completions is as without the launcher; the preload library exports what it needs to.
TEST_F(Reach, TheDataPathIsUntouched)
{
    Launched launched(daemon.root(), {}, held({program("linked"), "path"}));
    ASSERT_TRUE(launched.ready()) << launched.output();
    EXPECT_THAT(launched.output(), HasSubstr("post_send libmlx5"));
    EXPECT_THAT(launched.output(), HasSubstr("poll_cq libmlx5"));

    FILE* pipe = popen("nm -D --defined-only --format=just-symbols " RDMAQOS_RUN_PRELOAD, "r");
    ASSERT_NE(pipe, nullptr);
    std::string symbols;
    for (int c = 0; (c = fgetc(pipe)) != EOF;) {
        symbols += c == '\n' ? ' ' : static_cast<char>(c);
    }
    ASSERT_EQ(pclose(pipe), 0);
    EXPECT_EQ(symbols, "ioctl rdma_accept rdma_create_qp rdma_create_qp_ex rdma_destroy_id rdma_set_option ");
}

}    // namespace
}    // namespace rdmaqos::test
