// What is done to a port, and when nothing is done to it any more: the decisions, on a driver that behaves as its row
// says.
#include "daemon/port_classes/port_keeper.h"

#include <cerrno>
#include <random>

#include <gmock/gmock.h>

#include "tests/support/fake_dcb.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Kind = PortEvent::Kind;

port_classes::ClassRequest child(const std::string& name, std::uint32_t share, std::uint8_t dscp)
{
    return {ElementPath("/" + name), {{name, dscp}}, share, {}, {}, false};
}

PortWish wish(std::uint32_t share = 70)
{
    PortWish wish;
    wish.requests.children = {child("rpc", share, 26), child("bulk", 30, 10)};
    return wish;
}

// A port, its keeper, the disk, and a clock: one step is what the shell does between two events.
class Keeping {
public:
    explicit Keeping(std::string_view driver = "mlx5_core") : kernel(test::driver_row(driver)) { start(); }

    // As a daemon that is started, perhaps after one that was killed.
    void start() { keeper = PortKeeper(kernel.interface(), disk); }

    void read(const std::optional<PortChange>& change = {})
    {
        const auto settings = dcb::read_port(kernel, kernel.interface());
        if (settings) {
            const std::string driver(knows_driver ? kernel.driver().name : "");
            keeper.take_reading({driver, *settings, {}}, change, wall, now);
        } else {
            keeper.take_failed_reading(to_string(settings.error()));
        }
    }
    // One job; false: there is none.
    bool step()
    {
        const PortJob job = keeper.next(now);
        collect();
        switch (job.kind) {
        case PortJob::Kind::Rest:
            return false;
        case PortJob::Kind::Save:
            if (disk_works) {
                disk = keeper.record();
            }
            keeper.saved(disk_works ? Result<void>() : fail(ErrorCode::Io, "the disk is full"), now);
            break;
        case PortJob::Kind::Forget:
            disk.reset();
            break;
        case PortJob::Kind::Write: {
            EXPECT_TRUE(disk) << "nothing is written before what was there is on the disk";
            std::vector<dcb::Write> writes;
            for (const auto& each : job.steps) {
                writes.push_back(each.write);
            }
            keeper.written(dcb::write_port(kernel, kernel.interface(), writes, &kernel.driver()), now);
            break;
        }
        }
        collect();
        return true;
    }
    // Until there is nothing to do; the number of jobs. As the shell, it reads again when something is tried again.
    int run(const std::optional<PortChange>& change = {})
    {
        int jobs = 0;
        read(change);
        while (jobs < 100) {
            if (step()) {
                ++jobs;
            } else if (const auto retry = keeper.retry_at()) {
                now = std::max(now, *retry);
                read();
                if (keeper.next(now).kind == PortJob::Kind::Rest) {
                    break;
                }
            } else {
                break;
            }
        }
        return jobs;
    }
    [[nodiscard]] PortKeeping state() const { return keeper.care().keeping; }
    void other_writes(std::uint8_t priority = 5, std::uint16_t dscp = 26)
    {
        static_cast<void>(kernel.write_as_other(dcb::SetApp{{dcb::Selector::Dscp, dscp, priority}}));
    }
    void collect()
    {
        for (auto& event : keeper.take_events()) {
            events.push_back(std::move(event));
        }
    }

    test::FakeDcb kernel;
    PortKeeper keeper;
    std::optional<port_classes::Record> disk;
    bool disk_works = true;
    bool knows_driver = true;
    WallTime wall{1000s};
    TimePoint now{};
    std::vector<PortEvent> events;
};

auto of_kind(Kind kind)
{
    return Field(&PortEvent::kind, kind);
}

TEST(PortKeeper, DoesNothingBeforeItIsKnownWhatIsAsked)
{
    Keeping port;
    EXPECT_EQ(port.run(), 0);
    EXPECT_EQ(port.state(), PortKeeping::Off);
    port.keeper.take_wish(wish());
    port.keeper.hold();
    EXPECT_EQ(port.run(), 0);
    EXPECT_EQ(port.kernel.writes(), 0U);
}

TEST(PortKeeper, KeepsWhatWasThereThenWritesThenRests)
{
    Keeping port;
    const auto before = port.kernel.settings();
    port.keeper.take_wish(wish());
    EXPECT_EQ(port.run(), 2) << "the record, and all steps";
    EXPECT_EQ(port.state(), PortKeeping::Kept);
    ASSERT_TRUE(port.disk);
    EXPECT_EQ(port.disk->driver, "mlx5_core");
    EXPECT_EQ(port.disk->before.ets, before.ets);
    EXPECT_NE(dcb::class_of_dscp(port.kernel.settings(), 26), dcb::class_of_dscp(port.kernel.settings(), 10));
    EXPECT_THAT(port.events, ElementsAre(of_kind(Kind::Set)));
    EXPECT_EQ(port.run(), 0);
}

TEST(PortKeeper, WritesNothingAfterARestart)
{
    Keeping port;
    port.keeper.take_wish(wish());
    port.run();
    const auto writes = port.kernel.writes();
    port.start();
    port.keeper.take_wish(wish());
    EXPECT_EQ(port.run(), 0);
    EXPECT_EQ(port.kernel.writes(), writes);
    EXPECT_EQ(port.state(), PortKeeping::Kept);
}

TEST(PortKeeper, PutsBackWhatWasThereWhenItLetsGo)
{
    Keeping port;
    port.other_writes(3, 24);
    const auto before = port.kernel.settings();
    port.keeper.take_wish(wish());
    port.run();
    EXPECT_NE(port.kernel.settings(), before);
    port.start();    // by another run than the one that wrote
    port.keeper.take_wish({});
    port.run();
    EXPECT_EQ(port.kernel.settings(), before);
    EXPECT_FALSE(port.disk);
    EXPECT_EQ(port.state(), PortKeeping::Off);
    EXPECT_THAT(port.events, Contains(of_kind(Kind::Restored)));
}

TEST(PortKeeper, LeavesAPortAloneThatTheTreeDivides)
{
    Keeping port;
    auto by_tree = wish();
    by_tree.options.division = port_classes::Division::ByTree;
    port.keeper.take_wish(by_tree);
    EXPECT_EQ(port.run(), 0);
    EXPECT_EQ(port.state(), PortKeeping::LeftAlone);
    EXPECT_THAT(port.keeper.care().reason, HasSubstr("the scheduling tree divides"));

    const auto before = port.kernel.settings();
    port.keeper.take_wish(wish());
    port.run();
    port.keeper.take_wish(by_tree);
    port.run();
    EXPECT_EQ(port.kernel.settings(), before);
    EXPECT_EQ(port.state(), PortKeeping::LeftAlone);
}

TEST(PortKeeper, FollowsAnotherPolicyFromTheSameRecord)
{
    Keeping port;
    port.keeper.take_wish(wish());
    port.run();
    const auto record = port.disk;
    port.keeper.take_wish(wish(10));
    EXPECT_EQ(port.run(), 1);
    EXPECT_EQ(port.state(), PortKeeping::Kept);
    EXPECT_EQ(port.disk, record);
    EXPECT_THAT(port.events, Not(Contains(of_kind(Kind::Repaired)))) << "that was nobody's drift";
}

TEST(PortKeeper, TakesAnotherWishWhileItWrites)
{
    for (const bool lets_go : {false, true}) {
        Keeping port;
        port.keeper.take_wish(wish());
        port.read();
        port.step();    // the record
        const PortJob job = port.keeper.next(port.now);
        ASSERT_EQ(job.kind, PortJob::Kind::Write);
        std::vector<dcb::Write> writes;
        for (const auto& each : job.steps) {
            writes.push_back(each.write);
        }
        port.keeper.take_wish(lets_go ? std::optional<PortWish>() : wish(10));
        port.keeper.written(dcb::write_port(port.kernel, port.kernel.interface(), writes, &port.kernel.driver()),
                            port.now);
        port.run();
        EXPECT_EQ(port.state(), lets_go ? PortKeeping::Off : PortKeeping::Kept);
        EXPECT_THAT(port.events, Not(Contains(of_kind(Kind::Refused)))) << "nothing was";
    }
}

TEST(PortKeeper, RepairsAndNamesWhoWrote)
{
    Keeping port;
    port.keeper.take_wish(wish());
    port.run();
    const auto wanted = port.kernel.settings();
    port.events.clear();
    port.other_writes();
    port.run(PortChange{WallTime(900s), "probably the command `dcb`"});
    EXPECT_EQ(port.kernel.settings(), wanted);
    const PortCare care = port.keeper.care();
    EXPECT_EQ(care.keeping, PortKeeping::Kept);
    EXPECT_EQ(care.repairs, 1U);
    ASSERT_TRUE(care.drift);
    EXPECT_EQ(care.drift->at, WallTime(900s));
    EXPECT_EQ(care.drift->by, "probably the command `dcb`");
    EXPECT_THAT(care.drift->what, HasSubstr("DSCP 26 to priority 5"));
    EXPECT_THAT(port.events, ElementsAre(of_kind(Kind::Drift), of_kind(Kind::Repaired)));
}

TEST(PortKeeper, StopsAfterTwoRepairsWithinAMinute)
{
    Keeping port;
    port.keeper.take_wish(wish());
    port.run();
    for (int i = 0; i < 2; ++i) {
        port.other_writes();
        port.run(PortChange{WallTime(900s), "another program"});
        EXPECT_EQ(port.state(), PortKeeping::Kept) << i;
        port.now += 20s;
    }
    port.other_writes();
    EXPECT_EQ(port.run(PortChange{WallTime(900s), "another program"}), 0);
    EXPECT_EQ(port.state(), PortKeeping::Stopped);
    EXPECT_THAT(port.keeper.care().reason, HasSubstr("another program has changed the traffic classes of ens1"));
    EXPECT_THAT(port.keeper.care().reason, HasSubstr("2 times within a minute"));
    EXPECT_THAT(port.events, Contains(of_kind(Kind::Stopped)));
    port.now += 1h;
    EXPECT_EQ(port.run(), 0) << "time alone does not begin it again";
    EXPECT_TRUE(port.keeper.resume());
    port.run();
    EXPECT_EQ(port.state(), PortKeeping::Kept);
}

TEST(PortKeeper, RepairsForEverWhatHappensSeldom)
{
    Keeping port;
    port.keeper.take_wish(wish());
    port.run();
    for (int i = 0; i < 10; ++i) {
        port.now += 31s;
        port.other_writes();
        port.run();
        EXPECT_EQ(port.state(), PortKeeping::Kept) << i;
    }
    EXPECT_EQ(port.keeper.care().repairs, 10U);
}

TEST(PortKeeper, PutsBackWhatWasThereAlsoWhenItHadStopped)
{
    Keeping port;
    const auto before = port.kernel.settings();
    port.keeper.take_wish(wish());
    port.run();
    for (int i = 0; i < 3; ++i) {
        port.other_writes();
        port.run();
    }
    EXPECT_EQ(port.state(), PortKeeping::Stopped);
    port.keeper.take_wish({});
    port.run();
    EXPECT_EQ(port.kernel.settings(), before);
}

TEST(PortKeeper, SetsAgainWhatAResetTook)
{
    Keeping port;
    port.keeper.take_wish(wish());
    port.run();
    const auto wanted = port.kernel.settings();
    port.events.clear();
    for (int i = 0; i < 5; ++i) {
        port.kernel.reset();
        port.keeper.was_reset();
        port.run();
        EXPECT_EQ(port.kernel.settings(), wanted);
    }
    EXPECT_EQ(port.keeper.care().repairs, 0U);
    EXPECT_FALSE(port.keeper.care().drift) << "nobody did it";
    EXPECT_THAT(port.events, Not(Contains(of_kind(Kind::Drift))));
}

TEST(PortKeeper, TriesAgainWhatMayWorkLaterAndThenGivesUp)
{
    Keeping port;
    port.keeper.take_wish(wish());
    port.kernel.fail_write(1, EBUSY);
    port.read();
    while (port.step()) {
    }
    EXPECT_EQ(port.state(), PortKeeping::Waiting);
    EXPECT_EQ(port.keeper.retry_at(), port.now + 1s);
    EXPECT_THAT(port.keeper.care().reason, HasSubstr("mlx5_core"));
    EXPECT_THAT(port.keeper.care().reason, HasSubstr("ens1"));
    EXPECT_THAT(port.keeper.care().reason, HasSubstr("step 1 of"));
    port.run();
    EXPECT_EQ(port.state(), PortKeeping::Kept);

    Keeping busy;
    busy.keeper.take_wish(wish());
    for (unsigned i = 1; i < 50; ++i) {
        busy.kernel.fail_write(i, EBUSY);
    }
    busy.run();
    EXPECT_EQ(busy.state(), PortKeeping::Failed);
    EXPECT_EQ(busy.kernel.writes(), 1U + PortKeeper::kPauses.size());
    EXPECT_FALSE(busy.keeper.retry_at());
    EXPECT_THAT(busy.keeper.care().reason, HasSubstr("rdma-qosctl reconcile"));
}

TEST(PortKeeper, DoesNotTryAgainWhatIsRefusedForGood)
{
    Keeping port;
    port.keeper.take_wish(wish());
    port.kernel.have_privileges(false);
    port.run();
    EXPECT_EQ(port.state(), PortKeeping::Failed);
    EXPECT_EQ(port.kernel.writes(), 1U);
    EXPECT_THAT(port.keeper.care().reason, HasSubstr("port-classes.conf")) << "what to do";
    port.kernel.have_privileges(true);
    EXPECT_EQ(port.run(), 0);
    EXPECT_TRUE(port.keeper.resume());
    port.run();
    EXPECT_EQ(port.state(), PortKeeping::Kept);
}

// The first step, which is ETS, refused without a trace in what the driver reads.
void refuse_first_step(Keeping& port, int error)
{
    port.read();
    while (port.keeper.next(port.now).kind == PortJob::Kind::Save) {
        ASSERT_TRUE(port.step());
    }
    const PortJob job = port.keeper.next(port.now);
    ASSERT_EQ(job.kind, PortJob::Kind::Write);
    dcb::WriteReport report{{}, *dcb::read_port(port.kernel, port.kernel.interface())};
    for (const auto& step : job.steps) {
        report.parts.push_back({step.write, dcb::WriteEnd::NotTried, 0, {}});
    }
    report.parts.front().end = dcb::WriteEnd::Refused;
    report.parts.front().error = error;
    ASSERT_TRUE(std::holds_alternative<dcb::SetEts>(report.parts.front().write));
    port.keeper.written(report, port.now);
}

TEST(PortKeeper, PutsBackEtsThatReadsAsBeforeIfTheNicMayHaveAPartOfAnother)
{
    Keeping port;
    const auto before = port.kernel.settings();
    port.keeper.take_wish(wish());
    refuse_first_step(port, EINVAL);
    port.keeper.take_wish({});
    port.read();
    const PortJob job = port.keeper.next(port.now);
    ASSERT_EQ(job.kind, PortJob::Kind::Write);
    ASSERT_EQ(job.steps.size(), 1U);
    EXPECT_EQ(std::get<dcb::SetEts>(job.steps.front().write).ets, before.ets);
    EXPECT_GT(port.run(), 0);
    EXPECT_EQ(port.run(), 0) << "once";
    EXPECT_FALSE(port.disk);
}

TEST(PortKeeper, WritesNothingWhereNothingCanHaveBeenWritten)
{
    Keeping port;
    port.keeper.take_wish(wish());
    refuse_first_step(port, EPERM);
    port.keeper.take_wish({});
    port.read();
    EXPECT_EQ(port.keeper.next(port.now).kind, PortJob::Kind::Forget);
}

TEST(PortKeeper, WritesNothingWhileTheRecordCannotBeKept)
{
    Keeping port;
    port.disk_works = false;
    port.keeper.take_wish(wish());
    port.run();
    EXPECT_EQ(port.kernel.writes(), 0U);
    EXPECT_EQ(port.state(), PortKeeping::Failed);
    EXPECT_THAT(port.keeper.care().reason, HasSubstr("the disk is full"));
    port.disk_works = true;
    EXPECT_TRUE(port.keeper.resume());
    port.run();
    EXPECT_EQ(port.state(), PortKeeping::Kept);
}

TEST(PortKeeper, DoesNotPutBackTheSettingsOfAnotherDriver)
{
    Keeping port;
    port_classes::Record record{"bnxt_en", port.kernel.settings()};
    record.before.ets->traffic_class[0].weight = 42;
    port.disk = record;
    port.start();
    port.keeper.take_wish({});
    port.run();
    EXPECT_EQ(port.kernel.writes(), 0U);
    EXPECT_FALSE(port.disk);
    ASSERT_THAT(port.events, ElementsAre(of_kind(Kind::NotPutBack)));
    EXPECT_THAT(port.events[0].text, HasSubstr("bnxt_en"));
}

// As while a device is pulled out: its name in /sys goes first.
TEST(PortKeeper, KeepsTheRecordWhileTheDriverIsNotKnown)
{
    Keeping port;
    port.other_writes(3, 24);
    const auto before = port.kernel.settings();
    port.keeper.take_wish(wish());
    port.run();
    const auto writes = port.kernel.writes();
    const auto record = port.disk;
    port.knows_driver = false;
    port.other_writes();
    EXPECT_EQ(port.run(), 0);
    for (const bool asks : {false, true}) {
        port.keeper.take_wish(asks ? std::optional(wish(10)) : std::nullopt);
        EXPECT_EQ(port.run(), 0) << asks;
    }
    EXPECT_EQ(port.kernel.writes(), writes);
    EXPECT_EQ(port.disk, record);
    EXPECT_THAT(port.events, Not(Contains(of_kind(Kind::NotPutBack))));

    port.knows_driver = true;
    port.run();
    EXPECT_EQ(port.state(), PortKeeping::Kept);
    EXPECT_EQ(port.disk, record);
    port.keeper.take_wish({});
    port.run();
    EXPECT_EQ(port.kernel.settings(), before);
    EXPECT_FALSE(port.disk);
}

TEST(PortKeeper, SaysWhatIsNotDoneToAPortThatCannotBeRead)
{
    Keeping port;
    const auto cannot_be_read = [&] {
        port.kernel.fail_read(1, EIO);
        EXPECT_EQ(port.run(), 0);
        EXPECT_EQ(port.state(), PortKeeping::Waiting);
        return port.keeper.care().reason;
    };
    port.keeper.take_wish(wish());
    EXPECT_THAT(cannot_be_read(),
                HasSubstr("the traffic classes of ens1 are not set yet, since they cannot be read: "));
    port.run();
    EXPECT_EQ(port.state(), PortKeeping::Kept);

    EXPECT_THAT(cannot_be_read(), HasSubstr("it is not known whether the traffic classes of ens1 are as the policy"));
    port.run();
    EXPECT_EQ(port.state(), PortKeeping::Kept);
    port.keeper.take_wish(wish(10));
    EXPECT_THAT(cannot_be_read(), HasSubstr("are not set yet"));
    port.start();
    port.keeper.take_wish(wish());
    EXPECT_THAT(cannot_be_read(), HasSubstr("it is not known whether")) << "another run has perhaps set it";

    auto by_tree = wish();
    by_tree.options.division = port_classes::Division::ByTree;
    for (const auto& none : {std::optional<PortWish>(), std::optional(by_tree)}) {
        port.keeper.take_wish(none);
        EXPECT_THAT(cannot_be_read(), HasSubstr("what the traffic classes of ens1 were before is not put back yet"));
    }
    port.run();
    EXPECT_EQ(port.state(), PortKeeping::LeftAlone);
    port.kernel.fail_read(1, EIO);
    port.run();
    EXPECT_EQ(port.state(), PortKeeping::LeftAlone) << "nothing is to be done to it";
    EXPECT_THAT(port.keeper.care().reason, HasSubstr("the scheduling tree divides"));
}

TEST(PortKeeper, LeavesAPortAloneThatHasNoTrafficClasses)
{
    Keeping port;
    port.keeper.take_wish(wish());
    port.keeper.take_none("its driver has no DCB");
    EXPECT_EQ(port.state(), PortKeeping::LeftAlone);
    EXPECT_EQ(port.keeper.care().reason, "its driver has no DCB");
}

TEST(PortKeeper, SaysThatPuttingBackWasRefused)
{
    Keeping port;
    port.keeper.take_wish(wish());
    port.run();
    port.kernel.have_privileges(false);
    port.keeper.take_wish({});
    port.run();
    EXPECT_EQ(port.state(), PortKeeping::Failed);
    EXPECT_THAT(port.keeper.care().reason, HasSubstr("what the traffic classes of ens1 were before is not put back: "));
    EXPECT_THAT(port.keeper.care().reason, Not(HasSubstr("port-classes: report"))) << "which does not mend it";
    EXPECT_TRUE(port.disk);
}

TEST(PortKeeper, BeginsNothingWhileTheDriverIsNotKnown)
{
    Keeping port;
    port.knows_driver = false;
    port.keeper.take_wish(wish());
    EXPECT_EQ(port.run(), 0);
    EXPECT_EQ(port.state(), PortKeeping::Waiting);
    EXPECT_THAT(port.keeper.care().reason, HasSubstr("the driver of ens1 is not known"));
    EXPECT_FALSE(port.disk);
    port.knows_driver = true;
    port.run();
    EXPECT_EQ(port.state(), PortKeeping::Kept);
}

TEST(PortKeeper, PlansWithoutWriting)
{
    Keeping port;
    EXPECT_FALSE(port.keeper.plan_of(wish())) << "it was not read";
    port.keeper.take_wish({});
    port.read();
    const auto plan = port.keeper.plan_of(wish());
    ASSERT_TRUE(plan);
    EXPECT_THAT(plan->classes, HasSubstr("/rpc"));
    EXPECT_THAT(plan->steps, Not(IsEmpty()));
    EXPECT_THAT(port.keeper.plan_of({})->steps, IsEmpty());
    EXPECT_EQ(port.kernel.writes(), 0U);
    port.keeper.take_wish(wish());
    port.run();
    EXPECT_THAT(port.keeper.plan_of(wish())->steps, IsEmpty());
    EXPECT_THAT(port.keeper.plan_of({})->steps, Not(IsEmpty())) << "what was before would be put back";
}

TEST(PortKeeper, SaysWhatDiffers)
{
    Keeping port;
    port.keeper.take_wish(wish());
    port.run();
    EXPECT_THAT(port.keeper.differences(port.kernel.settings()), IsEmpty());
    port.other_writes();
    EXPECT_THAT(port.keeper.differences(port.kernel.settings()), Not(IsEmpty()));
}

// Whatever is interrupted, refused, lost or written by others, the port ends as the policy asks, as it was before, or
// with a sentence that says why not.
TEST(PortKeeper, EndsInAnOrderlyWay)
{
    for (std::uint32_t seed = 0; seed < 400; ++seed) {
        std::mt19937 numbers(seed);
        const auto one_in = [&](std::uint32_t n) { return numbers() % n == 0; };
        const std::array drivers{"mlx5_core", "bnxt_en", "ice", "hns3"};
        Keeping port(drivers.at(numbers() % drivers.size()));
        const auto before = port.kernel.settings();
        bool others_wrote = false;
        for (int event = 0; event < 30; ++event) {
            const unsigned nth = 1 + numbers() % 4;
            if (one_in(3)) {
                port.kernel.fail_write(nth, one_in(2) ? EBUSY : EINVAL);
            } else if (one_in(8)) {
                port.kernel.lose_answer(nth);
            }
            if (one_in(8)) {
                port.kernel.fail_read(nth, EIO);
            }
            port.disk_works = !one_in(6);
            if (one_in(4)) {
                port.keeper.take_wish(one_in(3) ? std::optional<PortWish>()
                                                : wish(static_cast<std::uint32_t>(1 + numbers() % 3)));
            }
            if (one_in(5)) {
                port.other_writes(static_cast<std::uint8_t>(numbers() % 8),
                                  static_cast<std::uint16_t>(one_in(2) ? 26 : 33));
                others_wrote = true;
            }
            if (one_in(10)) {
                port.kernel.reset();
                port.keeper.was_reset();
            }
            if (one_in(10)) {
                port.keeper.resume();
            }
            port.now += std::chrono::seconds(numbers() % 40);
            port.read();
            for (unsigned steps = numbers() % 4; steps > 0 && port.step(); --steps) {
            }
            if (one_in(8)) {
                port.start();    // it was killed there
                port.keeper.take_wish(wish(static_cast<std::uint32_t>(1 + numbers() % 3)));
            }
        }
        // From now on nothing goes wrong any more.
        for (unsigned i = 1; i < 20; ++i) {
            port.kernel.fail_write(i, 0);
            port.read();    // those that were to fail among them
        }
        port.disk_works = true;
        port.run();
        const PortKeeping state = port.state();
        const PortCare care = port.keeper.care();
        EXPECT_NE(state, PortKeeping::Pending) << seed;
        EXPECT_NE(state, PortKeeping::Waiting) << seed;
        if (state == PortKeeping::Failed || state == PortKeeping::Stopped || state == PortKeeping::LeftAlone) {
            EXPECT_NE(care.reason, "") << seed;
        } else {
            EXPECT_THAT(port.keeper.differences(port.kernel.settings()), IsEmpty()) << seed;
        }
        static_cast<void>(port.keeper.resume());
        port.keeper.take_wish({});
        port.run();
        EXPECT_EQ(port.state(), PortKeeping::Off) << seed << ": " << port.keeper.care().reason;
        EXPECT_FALSE(port.disk) << seed;
        if (!others_wrote && port.kernel.driver().name == std::string_view("mlx5_core")) {
            EXPECT_EQ(port.kernel.settings().apps, before.apps) << seed;
        }
    }
}

}    // namespace
}    // namespace rdmaqos
