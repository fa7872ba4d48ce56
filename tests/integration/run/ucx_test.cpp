// UCX, as it is packaged, below rdma-qos-run: it makes its queue pairs through verbs or, by default, through DEVX.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/run/launched.h"
#include "tests/integration/run/marks_told.h"

namespace rdmaqos::test {
namespace {

using ::testing::UnorderedElementsAre;

struct UcxWay {
    const char* name;
    bool devx;

    friend void PrintTo(const UcxWay& way, std::ostream* out) { *out << way.name; }
};

// Those of a port, as a list of the policy: ["fe80::1", "::ffff:10.2.0.1"].
std::string gids_of(const char* device)
{
    world of_device{};
    if (!open_world_of(&of_device, device)) {
        throw std::runtime_error("no world");
    }
    std::string list;
    ibv_gid_entry entry{};
    for (std::uint32_t index = 0; ibv_query_gid_ex(of_device.context, 1, index, &entry, 0) == 0; ++index) {
        char text[INET6_ADDRSTRLEN] = "";
        inet_ntop(AF_INET6, entry.gid.raw, text, sizeof(text));
        list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", text);
    }
    close_world(&of_device);
    return "[" + list + "]";
}

class Ucx : public ::testing::TestWithParam<UcxWay> {
protected:
    // What is connected to the second device is storage.
    static DaemonOptions second_device_is_storage()
    {
        DaemonOptions options = with_levels();
        const std::string gids = R"(["fd00:99::1"])";
        options.policy.replace(options.policy.find(gids), gids.size(), gids_of("mlx5_1"));
        return options;
    }
    // Since UCX 1.18 the server wants to hear of the device, too.
    static Words server(const char* device, int port)
    {
        return {program("with_terminal"),
                "/usr/bin/ucx_perftest",
                "-p",
                std::to_string(port),
                "-t",
                "am_lat",
                "-x",
                "rc_mlx5",
                "-d",
                std::string(device) + ":1"};
    }
    static Words client(const char* device, int port)
    {
        Words words = server(device, port);
        // It does not end by itself.
        words.insert(words.end(), {"-n", "1000000000", "127.0.0.1"});
        return words;
    }
    // Where each queue pair of a device is, with the marks it was brought to RTR with: "rate 0 share 10 < root, sl 0
    // traffic-class 0".
    std::vector<std::string> all_of(const char* device)
    {
        auto marks = marks_told(trace, device);
        std::vector<std::string> all;
        for (const auto& [number, place] : places(emulated_device(device))) {
            all.push_back(place + ", " + marks[number]);
        }
        return all;
    }

    // Its hooks of mmap() go past the emulator's. Of the objects that it makes through DEVX only queue pairs. By itself
    // it marks differently on RoCE v1 and v2.
    const Words environment{GetParam().devx ? "UCX_IB_MLX5_DEVX=y" : "UCX_IB_MLX5_DEVX=n",
                            "UCX_IB_MLX5_DEVX_OBJECTS=rcqp", "UCX_MEM_EVENTS=n", "UCX_IB_TRAFFIC_CLASS=0"};
    const std::string untouched = ", sl 0 traffic-class 0";
    Daemon daemon{second_device_is_storage()};
    Trace trace;
};

// Both ends of a connection use the same device, which the client names.
TEST_P(Ucx, EachConnectionGetsTheLevelOfItsDestination)
{
    Running first(server("mlx5_0", 19'001), environment);
    Running second(server("mlx5_1", 19'002), environment);
    ASSERT_TRUE(eventually([] { return is_listened_to(19'001) && is_listened_to(19'002); }));
    Launched to_first(daemon.root(), {}, client("mlx5_0", 19'001), environment);
    Launched to_second(daemon.root(), {}, client("mlx5_1", 19'002), environment);
    // The device is told a DSCP, without the two bits below it; a verb, which the emulator sees, has them.
    const char* const marks = GetParam().devx || on_kernel() ? ", sl 5 traffic-class 32" : ", sl 5 traffic-class 33";
    const std::string storage = std::string(kInStorage) + marks;
    EXPECT_TRUE(eventually([&] {
        return ::testing::Value(all_of("mlx5_0"), UnorderedElementsAre(untouched, kInDefault + untouched)) &&
               ::testing::Value(all_of("mlx5_1"), UnorderedElementsAre(untouched, storage));
    })) << ::testing::PrintToString(all_of("mlx5_0"))
        << ::testing::PrintToString(all_of("mlx5_1")) << to_first.output() << to_second.output();
    EXPECT_EQ(daemon.sessions(), 2U);
    EXPECT_EQ(to_second.count("rdma-qos-run"), 0U) << to_second.output();
}

TEST_P(Ucx, OneLevelForAll)
{
    Running called(server("mlx5_0", 19'003), environment);
    ASSERT_TRUE(eventually([] { return is_listened_to(19'003); })) << called.output();
    Launched launched(daemon.root(), {"--level", "rpc"}, client("mlx5_0", 19'003), environment);
    EXPECT_TRUE(eventually([&] {
        return ::testing::Value(all_of("mlx5_0"),
                                UnorderedElementsAre(untouched, std::string(kInRpc) + ", sl 3 traffic-class 104"));
    })) << ::testing::PrintToString(all_of("mlx5_0"))
        << launched.output() << called.output();
}

INSTANTIATE_TEST_SUITE_P(Ways, Ucx, ::testing::Values(UcxWay{"Verbs", false}, UcxWay{"Devx", true}),
                         [](const auto& way) { return way.param.name; });

}    // namespace
}    // namespace rdmaqos::test
