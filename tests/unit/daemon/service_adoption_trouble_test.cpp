// Adoption when something is in the way: searches that fail, owners that are busy, limits, and changes in the
// middle of a job.
#include "tests/unit/daemon/adoption_fixture.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class AdoptionTrouble : public test::AdoptionFixture {
protected:
    // As often as it is tried again at all.
    void try_all()
    {
        for (int i = 0; i < 8; ++i) {
            rest();
            loop.advance(50ms);
        }
        rest();
    }
};

// ---- the search ----

TEST_F(AdoptionTrouble, ASearchGoesOnUntilAllIsFound)
{
    programs->at_once = 2;
    begin();
    const auto owner = program(100);
    std::vector<HostQueuePair> ready;
    for (std::uint32_t number = 11; number <= 19; ++number) {
        const auto seen = make(owner, number);
        if (number > 15) {
            ready.push_back(seen);    // the last ones of nine handles
        }
    }
    tell(ready);
    for (const auto& seen : ready) {
        EXPECT_TRUE(comes_into("/rpc", seen.tracked.number));
    }
    EXPECT_EQ(programs->looks(), 5U) << "two at a time, none of them twice";
    EXPECT_EQ(leaf(15), "not attached") << "it is not ready";
}

TEST_F(AdoptionTrouble, WhatIsAdoptedIsNotLookedAtAgain)
{
    programs->at_once = 2;
    begin();
    const auto owner = program(100);
    tell({make(owner, 11), make(owner, 12), make(owner, 13), make(owner, 14)});
    ASSERT_TRUE(until([&] { return service->adoption().status().counters.adopted == 4; }));
    const std::size_t looks = programs->looks();
    tell({make(owner, 15)});
    EXPECT_TRUE(comes_into("/rpc", 15));
    EXPECT_EQ(programs->looks(), looks + 1);
}

TEST_F(AdoptionTrouble, AFileOfAnotherDeviceIsPassedOver)
{
    begin();
    add_nic("mlx5_1");
    const auto owner = program(100);
    make(owner, 16);
    const auto there = make(owner, 17, 0, "mlx5_1");
    tell({there});
    EXPECT_TRUE(comes_into("/rpc", 17, "mlx5_1/1"));
    const auto nowhere = make(owner, 18, 0, "mlx5_1");
    programs->end({"mlx5_1", 18});
    tell({nowhere});
    try_all();
    EXPECT_THAT(listed(nowhere),
                Pair(kNotAdoptable, HasSubstr("process 100 has no open file of mlx5_1/1 with this queue pair in it")))
        << "that the other file is of another device is no reason";
}

TEST_F(AdoptionTrouble, ASearchThatFailsIsTriedAgainAndThenSaid)
{
    begin();
    const auto seen = make(program(100), 17);
    programs->change({"mlx5_0", 17}, [](auto& each) {
        each.not_found = Error{ErrorCode::Unsupported, 0, "this kernel does not list handles"};
    });
    tell({seen});
    rest();
    EXPECT_EQ(word(seen), kNotReady) << "it is tried again";
    try_all();
    EXPECT_THAT(listed(seen), Pair(kNotAdoptable, "this kernel does not list handles"));
    EXPECT_THAT(programs->asked(), SizeIs(5));
    EXPECT_EQ(refused(kNotAdoptable), 1U);
    EXPECT_THAT(service->sessions().ids(), IsEmpty());
}

TEST_F(AdoptionTrouble, FilesThatCannotBeTaken)
{
    files->error = Error{ErrorCode::Unsupported, 0, "a security module refuses it"};
    begin();
    const auto seen = make(program(100), 17);
    tell({seen});
    try_all();
    EXPECT_THAT(listed(seen), Pair(kNotAdoptable, "a security module refuses it"));
    files->error.reset();
    tell({seen});
    EXPECT_TRUE(comes_into("/rpc", 17)) << "it is told again: perhaps it is allowed by now";
    EXPECT_EQ(word(seen), "");
}

TEST_F(AdoptionTrouble, AFileThatComesLate)
{
    begin();
    const auto seen = make(program(100), 17);
    test::Programs::QueuePair kept;
    programs->change({"mlx5_0", 17}, [&](auto& each) { kept = each; });
    programs->end({"mlx5_0", 17});    // its owner is just now using it
    tell({seen});
    rest();
    programs->change({"mlx5_0", 17}, [&](auto& each) { each = kept; });
    loop.advance(49ms);
    rest();
    EXPECT_EQ(leaf(17), "not attached");
    loop.advance(1ms);
    EXPECT_TRUE(comes_into("/rpc", 17));
    EXPECT_EQ(refused(kNotAdoptable), 0U);
}

// ---- what the device says ----

TEST_F(AdoptionTrouble, BusyOwnersAreTriedAgain)
{
    struct Case {
        const char* what;
        ErrorCode code;
        int times;
        bool gets_in;
    };
    const Case cases[] = {
        {"its state does not allow it for a while", ErrorCode::BadState, 4, true},
        {"its state never allows it", ErrorCode::BadState, 5, false},
    };
    begin();
    std::uint32_t number = 17;
    for (const auto& each : cases) {
        const auto seen = make(program(static_cast<pid_t>(number)), number);
        programs->change({"mlx5_0", number}, [&](auto& made) { made.not_placed = {each.times, each.code}; });
        tell({seen});
        try_all();
        if (each.gets_in) {
            EXPECT_EQ(leaf(number), "/rpc") << each.what;
        } else {
            EXPECT_THAT(listed(seen), Pair(kNotAdoptable, "not now")) << each.what;
            EXPECT_EQ(leaf(number), "not attached") << each.what;
        }
        ++number;
    }
    EXPECT_EQ(refused(kNotAdoptable), 1U);
    EXPECT_EQ(service->adoption().status().counters.adopted, 1U);
    EXPECT_EQ(service->adoption().status().programs, 1U) << "the other's session has ended";
}

TEST_F(AdoptionTrouble, BusyAtAdmission)
{
    begin();
    const auto seen = make(program(100), 17);
    programs->change({"mlx5_0", 17}, [](auto& each) { each.not_admitted = Error{ErrorCode::Busy, EBUSY, "in use"}; });
    tell({seen});
    rest();
    EXPECT_EQ(word(seen), kNotReady);
    EXPECT_THAT(service->sessions().ids(), IsEmpty());
    programs->change({"mlx5_0", 17}, [](auto& each) { each.not_admitted.reset(); });
    loop.advance(50ms);
    EXPECT_TRUE(comes_into("/rpc", 17));
}

TEST_F(AdoptionTrouble, WhatIsGoneOrAnothersIsNotSaid)
{
    begin();
    const auto gone = make(program(100), 17);
    const auto anothers = make(program(100), 18);
    programs->change({"mlx5_0", 17}, [](auto& each) { each.not_admitted = Error{ErrorCode::BadQueuePair, 0, "gone"}; });
    programs->change({"mlx5_0", 18}, [](auto& each) { each.not_admitted = Error{ErrorCode::NotOwner, 0, "no"}; });
    tell({gone, anothers});
    try_all();
    EXPECT_EQ(word(gone), kNotReady) << "what is true now will be told";
    EXPECT_EQ(word(anothers), kNotReady);
    EXPECT_THAT(programs->asked(), SizeIs(1)) << "once";
    EXPECT_THAT(service->adoption().status().counters.refused, IsEmpty());
    EXPECT_THAT(service->sessions().ids(), IsEmpty());
}

TEST_F(AdoptionTrouble, WhatTheDeviceRefusesIsSaidAtOnce)
{
    begin();
    const auto seen = make(program(100), 17);
    const auto good = make(program(100), 18);
    programs->change({"mlx5_0", 17}, [](auto& each) {
        each.not_admitted = Error{ErrorCode::Unsupported, 0, "no DEVX"};
    });
    tell({seen, good});
    EXPECT_TRUE(gets_word(kNotAdoptable, seen));
    EXPECT_EQ(listed(seen).second, "no DEVX");
    EXPECT_TRUE(comes_into("/rpc", 18));
    EXPECT_EQ(adopted()->queue_pairs.size(), 1U);
}

// ---- limits ----

TEST_F(AdoptionTrouble, AUserHasNoMoreSessionsThanItsLimit)
{
    begin();
    set_to("adopt", "limits: {sessions-per-uid: 2}\n");
    reload_and_look();
    tell({make(program(101), 11), make(program(102), 12)});
    ASSERT_TRUE(comes_into("/rpc", 11));
    ASSERT_TRUE(comes_into("/rpc", 12));
    const auto too_many = make(program(103), 13);
    tell({too_many, make(program(201, "job", 2000), 21), make(program(101), 14)});
    EXPECT_TRUE(gets_word(kNotAdoptable, too_many));
    EXPECT_THAT(listed(too_many).second, HasSubstr("sessions-per-uid"));
    EXPECT_TRUE(comes_into("/rpc", 21)) << "another user";
    EXPECT_TRUE(comes_into("/rpc", 14)) << "a session that there is";
    EXPECT_EQ(refused(kNotAdoptable), 1U);
    destroy(12);
    rest();
    tell({too_many});
    EXPECT_TRUE(comes_into("/rpc", 13)) << "there is room again";
    EXPECT_FALSE(register_as(PeerId{1}, process(104), asking_for("rpc"))) << "the limit is of both kinds together";
}

TEST_F(AdoptionTrouble, ASessionHasNoMoreQueuePairsThanItsLimit)
{
    begin();
    set_to("adopt", "limits: {queue-pairs-per-session: 2, queue-pairs-per-uid: 3}\n");
    reload_and_look();
    tell({make(program(101), 11), make(program(101), 12)});
    ASSERT_TRUE(comes_into("/rpc", 11));
    ASSERT_TRUE(comes_into("/rpc", 12));
    const auto third = make(program(101), 13);
    tell({third});
    EXPECT_TRUE(gets_word(kNotAdoptable, third));
    EXPECT_THAT(listed(third).second, HasSubstr("queue-pairs-per-session"));
    tell({make(program(102), 14)});
    EXPECT_TRUE(comes_into("/rpc", 14));
    const auto of_user = make(program(103), 15);
    tell({of_user});
    EXPECT_TRUE(gets_word(kNotAdoptable, of_user));
    EXPECT_THAT(listed(of_user).second, HasSubstr("queue-pairs-per-uid"));
    EXPECT_EQ(service->adoption().status().programs, 2U) << "no session is left of who got nothing";
    tell({make(program(201, "job", 2000), 21)});
    EXPECT_TRUE(comes_into("/rpc", 21));
    destroy(11);
    tell({third});
    EXPECT_TRUE(comes_into("/rpc", 13));
}

TEST_F(AdoptionTrouble, ThereIsRoomForSomeAndLaterForMore)
{
    begin();
    set_to("adopt", "limits: {queue-pairs-per-session: 3}\n");
    reload_and_look();
    std::vector<HostQueuePair> all;
    for (const std::uint32_t number : {11, 12, 13, 14, 15}) {
        all.push_back(make(program(101), number));
    }
    tell(all);
    ASSERT_TRUE(gets_word(kNotAdoptable, all[4]));
    for (const std::uint32_t number : {11, 12, 13}) {
        EXPECT_TRUE(comes_into("/rpc", number));
    }
    EXPECT_THAT(listed(all[3]).second, HasSubstr("no room for 5 more: this session has 0 queue pairs: the limit is 3"));
    EXPECT_EQ(refused(kNotAdoptable), 2U);
    const auto asked = programs->asked().size();
    tell(all);
    rest();
    EXPECT_EQ(programs->asked().size(), asked) << "as long as there is no room its program is left alone";
    EXPECT_EQ(refused(kNotAdoptable), 2U) << "each counts once";

    const int told = watch->told_again;
    destroy(11);
    loop.advance(9s);
    rest();
    EXPECT_EQ(watch->told_again, told);
    loop.advance(1s);
    rest();
    EXPECT_EQ(watch->told_again, told + 1) << "there may be room";
    tell({all[3], all[4]});
    EXPECT_TRUE(comes_into("/rpc", 14));
    EXPECT_TRUE(gets_word(kNotAdoptable, all[4]));
}

TEST_F(AdoptionTrouble, NobodyIsAskedForThoseForWhomThereWasRoom)
{
    begin();
    tell({make(program(101), 11)});
    ASSERT_TRUE(comes_into("/rpc", 11));
    const int told = watch->told_again;
    destroy(11);
    loop.advance(60s);
    rest();
    EXPECT_EQ(watch->told_again, told);
}

// One that the rules do not want is not said to be one for which there is no room.
TEST_F(AdoptionTrouble, TheLimitIsSaidOfThoseItConcerns)
{
    begin();
    set_to("adopt", "limits: {sessions-per-uid: 1}\n");
    reload_and_look();
    tell({make(program(101), 11)});
    ASSERT_TRUE(comes_into("/rpc", 11));
    const auto owner = program(102, "talker");
    const auto to_storage = make(owner, 17);
    const auto elsewhere = make(owner, 18);
    const auto not_there = make(owner, 19);
    programs->change({"mlx5_0", 17}, [](auto& each) { each.found.destination = *parse_gid("fe80::50"); });
    programs->end({"mlx5_0", 19});
    tell({to_storage, elsewhere, not_there});
    EXPECT_TRUE(gets_word(kNotAdoptable, to_storage));
    EXPECT_EQ(word(elsewhere), kNoRule);
    EXPECT_EQ(word(not_there), kNotReady) << "it is tried again";
    EXPECT_EQ(refused(kNotAdoptable), 1U);
}

// ---- in the middle of a job ----

TEST_F(AdoptionTrouble, WhatIsToldTwiceIsTakenOnce)
{
    test::Gate gate;
    begin();
    files->before_answer = gate.waiter();
    const auto seen = make(program(100), 17);
    tell({seen});
    ASSERT_TRUE(until([&] { return gate.holds(); }));
    tell({seen, seen});
    tell({seen});
    gate.open();
    ASSERT_TRUE(comes_into("/rpc", 17));
    rest();
    EXPECT_EQ(service->adoption().status().counters.adopted, 1U);
    EXPECT_EQ(service->adoption().status().counters.delay.count(), 1U);
    EXPECT_THAT(programs->asked(), SizeIs(1)) << "its program is left alone from then on";
}

TEST_F(AdoptionTrouble, GoneDuringTheSearch)
{
    test::Gate gate;
    begin();
    files->before_answer = gate.waiter();
    tell({make(program(100), 17), make(program(100), 18)});
    ASSERT_TRUE(until([&] { return gate.holds(); }));
    tell_gone(17);    // the device does not know yet
    gate.open();
    ASSERT_TRUE(comes_into("/rpc", 18));
    rest();
    EXPECT_EQ(leaf(17), "not attached");
    EXPECT_EQ(service->adoption().status().queue_pairs, 1U);
}

TEST_F(AdoptionTrouble, GoneWhileItIsAttached)
{
    begin();
    test::HangingAttach attach(*nic);
    const auto seen = make(program(100), 17);
    tell({seen});
    ASSERT_TRUE(until([&] { return attach.hangs(); }));
    tell_gone(17);
    attach.let_go();
    rest();
    EXPECT_EQ(leaf(17), "not attached");
    EXPECT_THAT(service->sessions().ids(), IsEmpty());
    tell({seen});
    EXPECT_TRUE(comes_into("/rpc", 17)) << "another one, later";
}

TEST_F(AdoptionTrouble, ItsProgramEndsWhileItIsAttached)
{
    begin();
    test::HangingAttach attach(*nic);
    tell({make(program(100), 17)});
    ASSERT_TRUE(until([&] { return attach.hangs(); }));
    ends.end(100);
    attach.let_go();
    rest();
    EXPECT_EQ(leaf(17), "not attached");
    EXPECT_THAT(service->sessions().ids(), IsEmpty());
    EXPECT_THAT(ends.watched(), IsEmpty());
    tell_gone(17);
    tell({make(program(200), 17)});
    EXPECT_TRUE(comes_into("/rpc", 17)) << "another one, later";
}

TEST_F(AdoptionTrouble, ItsProgramEndsWhileItIsAdmitted)
{
    begin();
    test::Gate gate;
    programs->before_admission = gate.waiter();
    tell({make(program(100), 17)});
    ASSERT_TRUE(until([&] { return gate.holds(); }));
    ends.end(100);
    rest_without_device();
    gate.open();
    rest();
    EXPECT_EQ(leaf(17), "not attached");
    EXPECT_THAT(service->sessions().ids(), IsEmpty());
}

TEST_F(AdoptionTrouble, GoneWhileItIsAdmitted)
{
    begin();
    test::Gate gate;
    programs->before_admission = gate.waiter();
    const auto seen = make(program(100), 17);
    tell({seen});
    ASSERT_TRUE(until([&] { return gate.holds(); }));
    rest_without_device();
    tell_gone(17);
    gate.open();
    rest();
    EXPECT_EQ(leaf(17), "not attached");
    EXPECT_THAT(service->sessions().ids(), IsEmpty());
}

// A device that does not answer is not waited for, and takes the queue pair when it does.
TEST_F(AdoptionTrouble, AReloadWhileItIsAttached)
{
    constexpr const char* kNoRules = "version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 0}\n"
                                     "  - {name: rpc, schedule: {share: 60}}\n";
    const std::pair<const char*, const char*> cases[] = {{"count", test::kAdoptionPolicy}, {"adopt", kNoRules}};
    begin();
    for (const auto& [setting, rules] : cases) {
        SCOPED_TRACE(setting);
        test::Gate gate;
        programs->before_admission = gate.waiter();
        tell({make(program(100), 17)});
        ASSERT_TRUE(until([&] { return gate.holds(); }));
        set_to(setting);
        policy(rules);
        std::optional<ReloadOutcome> outcome;
        const auto before = service->in_force().policy();
        service->reloads().reload([&outcome](ReloadOutcome got) { outcome = std::move(got); });
        ASSERT_TRUE(until([&] { return service->in_force().policy() != before; }));
        tell({make(program(100), 18)});    // the rules are in force before all devices have taken them
        rest_without_device();
        EXPECT_THAT(programs->asked(), ElementsAre(100)) << "it is left alone";
        loop.advance(20s);
        ASSERT_TRUE(until([&] { return outcome.has_value(); }));
        rest_without_device();
        programs->forget_asked();
        gate.open();
        rest();
        EXPECT_EQ(leaf(17), "not attached");
        EXPECT_THAT(service->sessions().ids(), IsEmpty());
        programs->before_admission = {};
        set_to("adopt");
        ASSERT_TRUE(reload_with(test::kAdoptionPolicy).accepted);
    }
}

// The watch ends on a thread, after what it does just now.
TEST_F(AdoptionTrouble, NewsOfAWatchThatIsOver)
{
    test::Gate gate;
    begin();
    files->before_answer = gate.waiter();
    tell({make(program(100), 17)});
    ASSERT_TRUE(until([&] { return gate.holds(); }));    // and with it the thread that ends the watch
    set_to("count");
    ASSERT_TRUE(reload().accepted);
    loop.advance(Duration(0));
    ASSERT_FALSE(watch->is_over());
    const auto late = make(program(200), 20);
    tell({late});
    gate.open();
    try_all();
    EXPECT_THAT(programs->asked(), ElementsAre(100)) << "before the reload";
    EXPECT_THAT(service->sessions().ids(), IsEmpty());
    EXPECT_TRUE(watch->is_over());
    EXPECT_THAT(service->adoption().status().counters.refused, IsEmpty());
}

TEST_F(AdoptionTrouble, WhoWaitsWhileTheRulesChangeIsLeftAlone)
{
    test::Gate gate;
    begin();
    files->before_answer = gate.waiter();
    const auto first = make(program(100), 17);
    const auto waits = make(program(100), 18);
    tell({first});
    ASSERT_TRUE(until([&] { return gate.holds(); }));
    tell({waits});    // of the same process: after the first job
    const auto reloaded = reload_with(
        "version: 1\nqos-levels:\n  - {name: DEFAULT, sl: 0}\n  - {name: rpc, schedule: {share: 60}}\n");
    ASSERT_TRUE(reloaded.accepted);
    gate.open();
    try_all();
    EXPECT_THAT(programs->asked(), SizeIs(1)) << "before the reload";
    EXPECT_EQ(programs->looks(), 0U) << "nobody's handles are looked at";
    EXPECT_THAT(service->sessions().ids(), IsEmpty());
}

TEST_F(AdoptionTrouble, WhoRegistersWhileItWaits)
{
    test::Gate gate;
    begin();
    files->before_answer = gate.waiter();
    const auto owner = program(100);
    tell({make(owner, 17)});
    ASSERT_TRUE(until([&] { return gate.holds(); }));
    tell({make(owner, 18)});
    ASSERT_TRUE(register_as(PeerId{1}, owner, asking_for("bulk", "mlx5_0", {17})));
    gate.open();
    try_all();
    EXPECT_EQ(leaf(17), "/bulk");
    EXPECT_EQ(leaf(18), "not attached") << "its program sees to that";
    EXPECT_FALSE(adopted());
    EXPECT_THAT(programs->asked(), SizeIs(1));
}

TEST_F(AdoptionTrouble, ShutdownInTheMiddleOfAJob)
{
    for (const bool while_attached : {false, true}) {
        SCOPED_TRACE(while_attached);
        test::Gate gate;
        files->before_answer = while_attached ? std::function<void()>() : gate.waiter();
        programs->before_admission = while_attached ? gate.waiter() : std::function<void()>();
        begin();
        tell({make(program(100), 17)});
        ASSERT_TRUE(until([&] { return gate.holds(); }));
        bool is_down = false;
        service->shutdown(EndOfService::Stop, [&] { is_down = true; });
        gate.open();
        ASSERT_TRUE(until([&] { return is_down; }));
        rest_without_device();
        EXPECT_THAT(nic->firmware().elements(), IsEmpty());
        EXPECT_EQ(leaf(17), while_attached ? leaf(17) : "not attached");
        for (const auto& each : nic->firmware().queue_pairs()) {
            EXPECT_EQ(each.requester, kNoObject);
        }
        const auto asked = programs->asked().size();
        tell({make(program(200), 18)});
        rest_without_device();
        EXPECT_EQ(programs->asked().size(), asked) << "nobody is asked any more";
        service.reset();
    }
}

TEST_F(AdoptionTrouble, TheEndInTheMiddleOfAJob)
{
    test::Gate gate;
    begin();
    files->before_answer = gate.waiter();
    tell({make(program(100), 17)});
    ASSERT_TRUE(until([&] { return gate.holds(); }));
    gate.open();
    service.reset();    // its threads end; nothing is heard of them
    EXPECT_TRUE(watch->is_over());
}

}    // namespace
}    // namespace rdmaqos
