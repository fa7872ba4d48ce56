#include "daemon/survey/other_daemon.h"

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace rdmaqos {
namespace {

Identity process(pid_t pid, std::uint32_t uid, const std::string& command)
{
    Identity identity;
    identity.pid = pid;
    identity.uid = uid;
    identity.command = command;
    return identity;
}

TEST(OtherDaemon, IsWhatRootOrOurUserHasStarted)
{
    struct Row {
        const char* what;
        Identity process;
        std::uint32_t real_uid;
        std::uint32_t own_uid;
        bool is_other;
    };
    const Row rows[] = {
        {"another one", process(2, 0, "rdma-qosd"), 0, 0, true},
        {"ourselves", process(1, 0, "rdma-qosd"), 0, 0, false},
        {"another program", process(2, 0, "ib_write_bw"), 0, 0, false},
        {"a user's program of this name", process(2, 1000, "rdma-qosd"), 1000, 0, false},
        {"a program with root's rights, called so by a user", process(2, 0, "rdma-qosd"), 1000, 0, false},
        {"a user's own second one", process(2, 1000, "rdma-qosd"), 1000, 1000, true},
        {"root's, for a user", process(2, 0, "rdma-qosd"), 0, 1000, true},
        {"another user's, for a user", process(2, 1001, "rdma-qosd"), 1001, 1000, false},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(is_other_daemon(row.process, row.real_uid, process(1, row.own_uid, "rdma-qosd")), row.is_other)
            << row.what;
    }
}

TEST(OtherDaemon, IsNamedByProcessAndUnit)
{
    const test::TempDir proc;
    proc.write("4711/stat", "4711 (rdma-qosd) S 1 4711 4711 0 -1 4194560 15 0 0 0 1 2 0 0 20 0 1 0 886633 2 3 4\n");
    proc.write("4711/status", "Name:\trdma-qosd\nTgid:\t4711\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t\n");
    proc.write("4711/cgroup", "0::/system.slice/rdma-qosd.service\n");
    EXPECT_EQ(to_string(describe_daemon(proc.path(), 4711)), "process 4711 of rdma-qosd.service");
    EXPECT_EQ(to_string(describe_daemon(proc.path(), 4712)), "process 4712") << "it has just ended";
    EXPECT_EQ(to_string(describe_daemon(proc.path(), std::nullopt)), "a process that is not visible from here");
}

}    // namespace
}    // namespace rdmaqos
