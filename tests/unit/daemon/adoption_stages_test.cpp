// The stages of adoption that decide, without a device, a thread or a timer.
#include "daemon/service/adoption_stages.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "daemon/service/adoption_news.h"
#include "lib/model/profile.h"
#include "lib/rdma_netlink/queue_pairs.h"
#include "tests/unit/match/policy_dsl.h"

namespace rdmaqos {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::uint8_t kRc = 2;           // IB_QPT_RC
constexpr std::uint8_t kRawPacket = 8;    // IB_QPT_RAW_PACKET
constexpr std::uint8_t kUnknownType = 77;

DeviceInfo port_of_test()
{
    DeviceInfo info;
    info.name = "mlx5_0";
    return info;
}

std::shared_ptr<const Identity> process_of(pid_t pid, std::uint32_t uid = 1000, const std::string& command = "job")
{
    auto identity = std::make_shared<Identity>(somebody(uid));
    identity->pid = pid;
    identity->command = command;
    return identity;
}

// ---- seen ----

TEST(AdoptionNews, WhatIsGoneGoesFirstOneAtATime)
{
    HostNews first;
    first.gone = {{"mlx5_0", 1}, {"mlx5_1", 2}};
    first.ready.resize(2);
    first.ready[0].tracked.number = 3;
    first.ready[1].tracked.number = 4;
    first.seen_at = TimePoint(std::chrono::seconds(5));
    HostNews last;
    last.gone = {{"mlx5_0", 3}};
    AdoptionNews news;
    news.add(first);
    news.add({});
    news.add(last);
    std::vector<std::string> seen;
    while (!news.empty()) {
        news.next([&](const std::string& device,
                      std::uint32_t number) { seen.push_back("gone " + device + " " + std::to_string(number)); },
                  [&](const HostQueuePair& ready, TimePoint seen_at) {
                      seen.push_back("ready " + std::to_string(ready.tracked.number));
                      EXPECT_EQ(seen_at, first.seen_at);
                  });
    }
    EXPECT_THAT(seen, ElementsAre("gone mlx5_0 1", "gone mlx5_1 2", "ready 3", "ready 4", "gone mlx5_0 3"));
}

TEST(AdoptionNews, ClearedItBeginsAtTheFirstOfTheNext)
{
    HostNews report;
    report.gone = {{"mlx5_0", 1}, {"mlx5_0", 2}};
    AdoptionNews news;
    std::vector<std::uint32_t> seen;
    const auto next = [&] {
        news.next([&](const std::string&, std::uint32_t number) { seen.push_back(number); },
                  [](const HostQueuePair&, TimePoint) {});
    };
    news.add(report);
    next();
    news.clear();
    EXPECT_TRUE(news.empty());
    news.add(report);
    next();
    EXPECT_THAT(seen, ElementsAre(1, 1));
}

// ---- identified ----

TEST(AdoptionStages, WhatAPortCannotSchedule)
{
    Capabilities capabilities = default_capabilities();
    capabilities.attachable = {QueuePairType::Rc};
    EXPECT_EQ(why_not_schedulable(port_of_test(), capabilities, kRc), "");
    EXPECT_THAT(why_not_schedulable(port_of_test(), capabilities, kRawPacket),
                HasSubstr("send queue of a raw packet queue pair"));
    EXPECT_THAT(why_not_schedulable(port_of_test(), capabilities, kUnknownType),
                StartsWith("mlx5_0/1 cannot schedule queue pairs of type type 77"));
    capabilities.attachable.clear();
    EXPECT_THAT(why_not_schedulable(port_of_test(), capabilities, kRc), HasSubstr("of type rc"));
    capabilities.scheduling = false;
    EXPECT_EQ(why_not_schedulable(port_of_test(), capabilities, kRc),
              "mlx5_0/1 cannot schedule queue pairs of other processes: `rdma-qosctl devices mlx5_0` shows why");
}

// ---- matched ----

class AdoptionRules : public testing::Test {
protected:
    AdoptionRules()
    {
        policy.level("rpc", [](QosLevel& l) { l.schedule.emplace(); });
        policy.level("bulk", [](QosLevel& l) { l.schedule.emplace(); });
        policy.rule("rpc", [](MatchRule& r) { r.pkey = number(0x11); });
        policy.rule("bulk", [](MatchRule& r) { r.pkey = number(0x12); });
    }
    [[nodiscard]] Rules rules() const
    {
        return make_rules(std::make_shared<const Policy>(policy.policy), std::make_shared<const Fabric>(policy.fabric),
                          {});
    }
    // Found in the file, with this P_Key.
    static void find(AdoptionJob& job, std::uint32_t queue_pair, std::uint16_t pkey)
    {
        FoundQueuePair found;
        found.number = queue_pair;
        found.handle = queue_pair + 100;
        found.pkey = pkey;
        job.search.found[queue_pair] = {found, nullptr};
    }
    static AdoptionJob job_of(const std::vector<std::uint32_t>& queue_pairs)
    {
        AdoptionJob job{process_of(7), "mlx5_0/1", {}};
        for (const std::uint32_t number : queue_pairs) {
            job.candidates.push_back({{number, QueuePairType::Uc, {}}});
        }
        return job;
    }

    TestPolicy policy;
};

TEST_F(AdoptionRules, AProgramIsJudgedOnceByTheSameRules)
{
    ProgramVerdicts verdicts;
    const Rules first = rules();
    const auto* verdict = &verdicts.of(first, *process_of(7), port_of_test());
    EXPECT_EQ(verdict->verdict, AdoptionVerdict::NeedsPath);
    EXPECT_TRUE(verdict->may_be_adopted());
    EXPECT_EQ(&verdicts.of(first, *process_of(7), port_of_test()), verdict);

    Identity later = *process_of(7);
    later.start_time += 1;
    EXPECT_NE(&verdicts.of(first, later, port_of_test()), verdict) << "another process with its pid";

    policy.policy.rules.clear();
    const auto& now = verdicts.of(rules(), *process_of(7), port_of_test());
    EXPECT_EQ(now.verdict, AdoptionVerdict::NoRule);
    EXPECT_FALSE(now.may_be_adopted());
}

// ---- placed ----

TEST_F(AdoptionRules, WhatWasFoundGoesToTheDevice)
{
    AdoptionJob job = job_of({17});
    find(job, 17, 0x11);
    const auto placement = plan_placement(job, port_of_test(), rules(), {8, {}});
    EXPECT_THAT(placement.outcomes, IsEmpty());
    ASSERT_EQ(placement.requests.size(), 1U);
    const auto& request = placement.requests[0];
    EXPECT_EQ(request.device, "mlx5_0/1");
    EXPECT_EQ(request.ref.number, 17U);
    EXPECT_EQ(request.ref.type, QueuePairType::Uc);
    EXPECT_EQ(request.ref.handle, 117U);
    EXPECT_EQ(request.ref.owner_pid, 7);
    EXPECT_EQ(request.ref.owner_start_time, job.owner->start_time);
    EXPECT_TRUE(request.has_path);
    EXPECT_TRUE(request.path.of_kernel);
    EXPECT_EQ(request.path.pkey, std::optional<std::uint16_t>(0x11));
    ASSERT_EQ(placement.tried.size(), 1U);
    EXPECT_EQ(placement.tried[0].ref.handle, 117U);
}

TEST_F(AdoptionRules, TheOthersHaveAnOutcome)
{
    AdoptionJob job = job_of({1, 2, 3, 4});
    find(job, 2, 0x99);
    find(job, 3, 0x12);
    find(job, 4, 0x12);
    UidLimits::Room room{1, {ErrorCode::LimitReached, 0, "full"}};
    const auto placement = plan_placement(job, port_of_test(), rules(), room);
    ASSERT_EQ(placement.requests.size(), 1U);
    EXPECT_EQ(placement.requests[0].ref.number, 3U);
    ASSERT_EQ(placement.outcomes.size(), 3U);
    EXPECT_EQ(placement.outcomes[0].candidate.sought.number, 1U);
    EXPECT_EQ(placement.outcomes[0].end, AdoptionEnd::TooEarly);
    EXPECT_THAT(placement.outcomes[0].reason.message, StartsWith("process 7 has no open file of mlx5_0/1"));
    EXPECT_EQ(placement.outcomes[1].candidate.sought.number, 2U);
    EXPECT_EQ(placement.outcomes[1].end, AdoptionEnd::Refused);
    EXPECT_EQ(placement.outcomes[1].verdict.word, kNoRule);
    EXPECT_EQ(placement.outcomes[1].verdict.process, 7);
    EXPECT_EQ(placement.outcomes[2].candidate.sought.number, 4U);
    EXPECT_EQ(placement.outcomes[2].end, AdoptionEnd::Limited);
    EXPECT_THAT(to_string(placement.outcomes[2].reason), HasSubstr("no room for 4 more"));

    job.search.problem = Error{ErrorCode::Unsupported, 0, "may not be searched"};
    EXPECT_EQ(plan_placement(job, port_of_test(), rules(), room).outcomes[0].reason.message, "may not be searched");
}

TEST_F(AdoptionRules, WhatTheDeviceMadeOfThem)
{
    const AdoptionJob job = job_of({1});
    const auto end_of = [&](const Result<std::vector<QueuePairResult>>& results) {
        const auto outcomes = outcomes_of(job, results);
        EXPECT_EQ(outcomes.size(), 1U);
        return outcomes.at(0).end;
    };
    const auto result = [](std::uint32_t number, std::optional<Error> error) {
        QueuePairResult one;
        one.number = number;
        one.error = std::move(error);
        return std::vector<QueuePairResult>{one};
    };
    EXPECT_EQ(end_of(result(1, std::nullopt)), AdoptionEnd::Adopted);
    EXPECT_EQ(end_of(result(2, std::nullopt)), AdoptionEnd::NotTried);
    const std::vector<std::pair<ErrorCode, AdoptionEnd>> cases = {
        {ErrorCode::Busy, AdoptionEnd::TooEarly},         {ErrorCode::BadState, AdoptionEnd::TooEarly},
        {ErrorCode::BadQueuePair, AdoptionEnd::Vanished}, {ErrorCode::NotOwner, AdoptionEnd::Vanished},
        {ErrorCode::Unsupported, AdoptionEnd::Refused},   {ErrorCode::LimitReached, AdoptionEnd::Refused},
    };
    for (const auto& [code, end] : cases) {
        EXPECT_EQ(end_of(result(1, Error{code, 0, "so"})), end) << static_cast<int>(code);
    }
    EXPECT_EQ(end_of(fail(ErrorCode::LimitReached, "full")), AdoptionEnd::Limited) << "of all of them";
    EXPECT_EQ(end_of(fail(ErrorCode::Busy, "ends")), AdoptionEnd::Refused);
}

// ---- matched to placed ----

AdoptionCandidate candidate_of(std::uint32_t number)
{
    return {{number, QueuePairType::Rc, {}}};
}

TEST(AdoptionJobs, UsersHaveTheirTurnsAndAProgramOneJobThatIsTaken)
{
    AdoptionJobs jobs;
    const auto of_one = process_of(1, 1000);
    const auto of_other = process_of(3, 2000);
    for (std::uint32_t number = 0; number < 65; ++number) {    // one more than fits into a job
        jobs.add(of_one, "mlx5_0/1", candidate_of(number));
    }
    jobs.add(process_of(2, 1000), "mlx5_0/1", candidate_of(100));
    jobs.add(of_other, "mlx5_0/1", candidate_of(200));

    const auto first = jobs.begin();
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->stage, AdoptionStage::Taken);
    EXPECT_EQ(first->owner->pid, 1);
    EXPECT_THAT(first->candidates, testing::SizeIs(1)) << "the newest of the program";
    EXPECT_EQ(jobs.begin()->owner->pid, 3);
    EXPECT_EQ(jobs.begin()->owner->pid, 2) << "the first one's next job waits";
    EXPECT_EQ(jobs.begin(), nullptr);
    first->stage = AdoptionStage::Placed;
    const auto next = jobs.begin();
    ASSERT_NE(next, nullptr);
    EXPECT_EQ(next->owner->pid, 1);
    EXPECT_THAT(next->candidates, testing::SizeIs(64));
}

TEST(AdoptionJobs, WhatIsGoneIsDroppedOrMarked)
{
    AdoptionJobs jobs;
    jobs.note_gone("mlx5_0/1", 1);
    EXPECT_FALSE(jobs.is_gone("mlx5_0/1", 1)) << "there is no job that it concerns";
    jobs.add(process_of(1), "mlx5_0/1", candidate_of(1));
    const auto job = jobs.begin();
    jobs.note_gone("mlx5_0/1", 1);
    EXPECT_TRUE(jobs.is_gone("mlx5_0/1", 1));
    EXPECT_FALSE(job->candidates[0].gone);
    jobs.forget_gone_if_idle();
    EXPECT_TRUE(jobs.is_gone("mlx5_0/1", 1));
    jobs.note_back("mlx5_0/1", 1);
    EXPECT_FALSE(jobs.is_gone("mlx5_0/1", 1));

    job->stage = AdoptionStage::Placed;
    job->candidates[0].ref.handle = 5;
    EXPECT_EQ(jobs.placed(*job->owner, "mlx5_0/1").at(1).handle, 5U);
    EXPECT_THAT(jobs.placed(*process_of(2), "mlx5_0/1"), IsEmpty());
    jobs.note_gone("mlx5_1/1", 1);
    EXPECT_FALSE(job->candidates[0].gone) << "of another device";
    jobs.note_gone("mlx5_0/1", 1);
    EXPECT_TRUE(job->candidates[0].gone);
    jobs.end(job);
    EXPECT_THAT(jobs.placed(*job->owner, "mlx5_0/1"), IsEmpty());
}

TEST(AdoptionJobs, WhatCameTooEarlyWaitsForTheRetry)
{
    AdoptionJobs jobs;
    jobs.keep_back(process_of(1), "mlx5_0/1", candidate_of(1));
    EXPECT_EQ(jobs.begin(), nullptr);
    jobs.note_gone("mlx5_0/1", 1);
    EXPECT_TRUE(jobs.is_gone("mlx5_0/1", 1));
    jobs.retry();
    const auto job = jobs.begin();
    ASSERT_NE(job, nullptr);
    jobs.end(job);
    jobs.forget_gone_if_idle();
    EXPECT_FALSE(jobs.is_gone("mlx5_0/1", 1));
    jobs.keep_back(process_of(1), "mlx5_0/1", candidate_of(1));
    jobs.clear();
    jobs.retry();
    EXPECT_EQ(jobs.begin(), nullptr);
}

}    // namespace
}    // namespace rdmaqos
