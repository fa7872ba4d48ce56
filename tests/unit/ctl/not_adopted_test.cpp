#include "tools/rdma-qosctl/world/not_adopted.h"

#include <gmock/gmock.h>

#include "tests/unit/ctl/sample.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(NotAdopted, WhatAnAdoptedProcessHasOutside)
{
    World world = sample_world();
    world.sessions.push_back(sample_session_adopted());
    world.sessions[1].owner.pid = 4712;
    const std::set<std::uint64_t> processes = adopted_processes({&world.sessions[0], &world.sessions[1]});
    EXPECT_THAT(processes, ElementsAre(4712U)) << "the other one has registered";
    std::vector<api::HostQueuePair> host = sample_host();
    host.push_back(not_adopted(20, "excluded"));
    host.push_back(not_adopted(21, "no-leaf"));
    host.back().session = 3;
    const auto outside = not_attached(host, processes);
    ASSERT_EQ(outside.size(), 1U) << "of that process, and of no session";
    EXPECT_EQ(outside[0].number, 20U);
}

TEST(NotAdopted, WhatToDo)
{
    const api::Adoption on{"adopt", "", 0, 0};
    EXPECT_THAT(advice_on(sample_not_adopted(), on),
                ElementsAre(HasSubstr("no-rule: write a rule"), HasSubstr("no-schedule: give the level"),
                            HasSubstr("excluded: remove `adopt: no`"), HasSubstr("not-ready: ")))
        << "the others have a reason of their own";
    EXPECT_THAT(advice_on({not_adopted(1, "excluded"), not_adopted(2, "excluded")}, on), SizeIs(1));
    EXPECT_THAT(advice_on({not_adopted(1, "owner-unknown")}, on), IsEmpty());
    const auto unseen = HasSubstr("through DEVX");
    EXPECT_THAT(advice_on({}, on), ElementsAre(unseen));
    EXPECT_THAT(advice_on({}, {"adopt", "the kernel is too old", 0, 0}),
                ElementsAre(unseen, HasSubstr("the kernel is too old")));
    EXPECT_THAT(advice_on({}, on, {"netns exclusive"}), ElementsAre(unseen, "netns exclusive"));
    EXPECT_THAT(advice_on({not_adopted(1, "excluded")}, on, {"netns exclusive"}), SizeIs(1)) << "it is seen";
    const auto how = HasSubstr("`unregistered: adopt`");
    EXPECT_THAT(advice_on({not_adopted(1, "unregistered")}, {"count", "", 0, 0}), ElementsAre(how));
    EXPECT_THAT(advice_on({}, {"ignore", "", 0, 0}), ElementsAre(unseen, how));
    EXPECT_THAT(advice_on({not_adopted(1, "not-attached")}, {"count", "", 0, 0}), IsEmpty());
    EXPECT_THAT(advice_on({not_adopted(1, "unregistered")}, {}), IsEmpty()) << "an older daemon adopts nobody";
}

}    // namespace
}    // namespace rdmaqos::ctl
