#include "policy/model/cgroup_layouts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "policy/model/lower.h"
#include "tests/support/cgroup_layouts.h"

namespace rdmaqos {
namespace {

TEST(CgroupLayouts, NameEachPrincipal)
{
    std::size_t somebody = 0;
    std::size_t nobody = 0;
    for (const auto* name : test::kCgroupLayouts) {
        for (const auto& process : test::read_layout(name).processes) {
            const auto job = slurm_job_of_cgroup(process.path);
            const auto pod = kubernetes_pod_of_cgroup(process.path);
            const auto seen = !job.empty() ? "job:" + job : !pod.empty() ? "pod:" + pod : "-";
            EXPECT_EQ(seen, process.principal) << name << ": " << process.path;
            ++(seen == "-" ? nobody : somebody);
        }
    }
    EXPECT_GT(somebody, 15U);
    EXPECT_GT(nobody, 10U);
}

// Whoever has a cgroup of his own can make any folder below it.
TEST(CgroupLayouts, WhatIsBelowSomebodysOwnIsNobodys)
{
    for (const auto* name : test::kCgroupLayouts) {
        for (const auto& process : test::read_layout(name).processes) {
            for (const auto* own : {"/user.slice/user-1000.slice/user@1000.service", "/system.slice/docker-1f.scope",
                                    "/lxc/a", "/init.scope"}) {
                EXPECT_EQ(slurm_job_of_cgroup(own + process.path), "") << own << process.path;
                EXPECT_EQ(kubernetes_pod_of_cgroup(own + process.path), "") << own << process.path;
            }
        }
    }
}

TEST(CgroupLayouts, NamesThatAreNone)
{
    for (const auto* path :
         {"", "/", "//", "/system.slice/slurmstepd.scope/job_", "/system.slice/slurmstepd.scope/job_x",
          "/system.slice/slurmstepd.scope/job_1x/step_0", "/slurm/uid_x/job_1", "/slurm/job_1",
          "/system.slice/slurmstepd.scope", "/slurmx/uid_1/job_1"}) {
        EXPECT_EQ(slurm_job_of_cgroup(path), "") << path;
    }
    for (const auto* path :
         {"", "/", "/kubepods", "/kubepods/burstable/pod", "/kubepods/pod/x", "/kubepods/other/pod1", "/kubepods.slice",
          "/kubepods.slice/kubepods-pod.slice", "/kubepods.slice/kubepods-pod-.slice",
          "/kubepods.slice/kubepods-poda/b.slice", "/kubepods.slice/podx.slice",
          "/xkubepods.slice/xkubepods-pod1.slice", "/kubepods/burstable/pod..%2f"}) {
        EXPECT_EQ(kubernetes_pod_of_cgroup(path), "") << path;
    }
    EXPECT_EQ(slurm_job_of_cgroup("/slurmstepd.scope/job_1"), "1") << "where systemd has no slice for it";
    EXPECT_EQ(slurm_job_of_cgroup("/system.slice/node1_slurmstepd.scope/job_7/step_0"), "7")
        << "of one of several slurmds";
}

TEST(MatchingCgroup, IsTheOutermost)
{
    EXPECT_EQ(matching_cgroup("/a/job_1/job_2", "*/job_*"), "/a/job_1");
    EXPECT_EQ(matching_cgroup("/a/job_1", "/a"), "/a");
    EXPECT_EQ(matching_cgroup("/a/b", "*"), "/a");
    EXPECT_EQ(matching_cgroup("/a/b", "**/b"), "/a/b");
    EXPECT_EQ(matching_cgroup("/a/b", "*/c"), "");
    EXPECT_EQ(matching_cgroup("/", "*"), "");
    EXPECT_EQ(matching_cgroup("", "*"), "");
}

TEST(PrincipalSegment, OfJobsPodsAndCgroups)
{
    Identity identity;
    identity.pid = 4711;
    identity.cgroup = "/batch/a/x";
    const auto segment = [&](FairBy by, const char* pattern = "") {
        return principal_segment(by, pattern, identity, QueuePairId{1});
    };
    EXPECT_EQ(segment(FairBy::SlurmJob), "pid:4711") << "in no job, everybody stands for himself";
    EXPECT_EQ(segment(FairBy::KubernetesPod), "pid:4711");
    EXPECT_EQ(segment(FairBy::Cgroup, "/other/*"), "pid:4711");
    EXPECT_EQ(segment(FairBy::Cgroup, "/batch/*"), "cgroup:batch%2Fa");
    identity.slurm_job = "98";
    identity.kubernetes_pod = "1f0c";
    EXPECT_EQ(segment(FairBy::SlurmJob), "job:98");
    EXPECT_EQ(segment(FairBy::KubernetesPod), "pod:1f0c");
}

}    // namespace
}    // namespace rdmaqos
