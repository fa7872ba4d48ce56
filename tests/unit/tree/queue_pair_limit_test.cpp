#include "lib/tree/queue_pair_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos {
namespace {

using testing::HasSubstr;

constexpr auto kRaw = QueuePairType::RawPacket;
constexpr auto kRc = QueuePairType::Rc;

Capabilities paces_raw()
{
    Capabilities capabilities;
    capabilities.scheduling = capabilities.rate_caps = true;
    capabilities.pacing.supported_types = {kRaw, QueuePairType::Ud};
    capabilities.pacing.table_size = 127;
    capabilities.pacing.burst = capabilities.pacing.typical_packet = true;
    return capabilities;
}

Capabilities ranged(std::uint64_t min_kbps, std::uint64_t max_kbps)
{
    Capabilities capabilities = paces_raw();
    capabilities.pacing.min_rate = Bandwidth::from_kbps(min_kbps);
    capabilities.pacing.max_rate = Bandwidth::from_kbps(max_kbps);
    return capabilities;
}

RateLimit kbps(std::uint64_t rate)
{
    return {Bandwidth::from_kbps(rate), {}, {}};
}

struct RangeCase {
    const char* name;
    std::uint64_t asked;    // kbit/s, as all here
    std::uint64_t least;
    std::uint64_t most;
    std::uint64_t gets;    // 0: nobody holds it
    LimitGap gap;
    const char* why;
    const char* note;
};

TEST(QueuePairLimit, PacingKeepsKbitsWithinWhatIsKnownOfTheRange)
{
    const RangeCase cases[] = {
        {"exact", 5000, 1000, 10'000, 5000, LimitGap::None, "", ""},
        {"not whole", 1500, 1000, 10'000, 1500, LimitGap::None, "", ""},
        {"below one Mbit/s", 500, 0, 0, 500, LimitGap::None, "", ""},
        {"an unknown range allows all", 900'000'000, 0, 0, 900'000'000, LimitGap::None, "", ""},
        {"but what can be said", 5'000'000'000, 0, 0, 4'294'967'295, LimitGap::None, "",
         "4294967.295 Mbit/s is the most the device can pace; 5000 Gbit/s was asked"},
        {"at the most", 10'000, 1000, 10'000, 10'000, LimitGap::None, "", ""},
        {"above the most", 20'000, 1000, 10'500, 10'500, LimitGap::None, "",
         "10.5 Mbit/s is the most the device can pace; 20 Mbit/s was asked"},
        {"at the least", 1500, 1500, 10'000, 1500, LimitGap::None, "", ""},
        {"below the least", 4999, 5000, 10'000, 0, LimitGap::PacingMinimum,
         "the least the device can pace is 5 Mbit/s; ask for that", ""},
    };
    for (const auto& [name, asked, least, most, gets, gap, why, note] : cases) {
        const HeldLimit held = hold_limit(kbps(asked), kRaw, ranged(least, most), std::nullopt);
        EXPECT_EQ(held.by, gets == 0 ? LimitHolder::Nobody : LimitHolder::Pacing) << name;
        EXPECT_EQ(held.limit.value_or(RateLimit{}).rate.kbps(), gets) << name;
        EXPECT_EQ(held.gap, gap) << name;
        EXPECT_EQ(held.why.empty(), *why == '\0') << name << held.why;
        EXPECT_THAT(held.why, HasSubstr(why)) << name;
        EXPECT_EQ(held.note, note) << name;
    }
}

TEST(QueuePairLimit, WhatPacingDoesNotTakeIsLeftOutAndSaid)
{
    const RateLimit asked{Bandwidth::from_mbps(5), 65536, 1024};
    Capabilities capabilities = paces_raw();
    EXPECT_EQ(hold_limit(asked, kRaw, capabilities, std::nullopt),
              (HeldLimit{LimitHolder::Pacing, asked, LimitGap::None, "", ""}));
    EXPECT_EQ(hold_limit({asked.rate, 0, 0}, kRaw, capabilities, std::nullopt).limit, kbps(5000))
        << "0 is the device's default";
    capabilities.pacing.burst = false;
    HeldLimit held = hold_limit(asked, kRaw, capabilities, std::nullopt);
    EXPECT_EQ(held.limit, (RateLimit{asked.rate, {}, 1024}));
    EXPECT_EQ(held.gap, LimitGap::PacingBurst);
    EXPECT_EQ(shortfall(asked, held), "the rate of 5 Mbit/s is held, but not the burst of 64 KiB: the device takes no "
                                      "burst size with a rate; leave `max-burst` out");
    EXPECT_EQ(refusal(asked, held), "the limit of 5 Mbit/s with bursts of 64 KiB is not set: the device takes no "
                                    "burst size with a rate; leave `max-burst` out");
    EXPECT_EQ(hold_limit({asked.rate, {}, 1024}, kRaw, capabilities, std::nullopt).gap, LimitGap::None)
        << "the device's own burst is all that was asked";
    capabilities = paces_raw();
    capabilities.pacing.typical_packet = false;
    held = hold_limit(asked, kRaw, capabilities, std::nullopt);
    EXPECT_EQ(held.limit, (RateLimit{asked.rate, 65536, {}}));
    EXPECT_EQ(held.gap, LimitGap::None) << "a packet size limits nothing";
    EXPECT_THAT(held.note, HasSubstr("takes no packet size"));
}

struct LeafCase {
    const char* name;
    RateLimit asked;
    std::uint64_t gets;    // Mbit/s; 0: nobody holds it
    LimitGap gap;
    const char* why;
    const char* note;
};

TEST(QueuePairLimit, ALeafHoldsWholeMbitsAndNothingElse)
{
    const LeafCase cases[] = {
        {"whole", kbps(2000), 2, LimitGap::None, "", ""},
        {"rounded down", kbps(1500), 1, LimitGap::None, "", "1 Mbit/s is held, 1.5 Mbit/s was asked"},
        {"never to 0, and never up", kbps(500), 0, LimitGap::LeafMinimum,
         "the least that a leaf can be capped at is 1 Mbit/s", ""},
        {"packet", {Bandwidth::from_mbps(2), {}, 1024}, 2, LimitGap::None, "", "`typical-packet` has no effect"},
        {"burst", {Bandwidth::from_mbps(2), 4096, {}}, 2, LimitGap::LeafBurst, "leaves take no burst size", ""},
        {"beyond what pacing can be told", kbps(5'000'000'000), 5'000'000, LimitGap::None, "", ""},
    };
    for (const auto& [name, asked, gets, gap, why, note] : cases) {
        const HeldLimit held = hold_limit(asked, kRc, paces_raw(), std::nullopt);
        EXPECT_EQ(held.by, gets == 0 ? LimitHolder::Nobody : LimitHolder::Leaf) << name;
        EXPECT_EQ(held.limit.value_or(RateLimit{}), (RateLimit{Bandwidth::from_mbps(gets), {}, {}})) << name;
        EXPECT_EQ(held.gap, gap) << name;
        EXPECT_THAT(held.why, HasSubstr(why)) << name;
        EXPECT_EQ(held.note.empty(), *note == '\0') << name << held.note;
        EXPECT_THAT(held.note, HasSubstr(note)) << name;
    }
}

TEST(QueuePairLimit, NobodyHoldsIt)
{
    const MissingLeaf no_class{false, no_schedule("c")};
    const MissingLeaf used_up{true, no_leaf_left("its leaf-budget is used up")};
    Capabilities nothing_paced = paces_raw();
    nothing_paced.pacing = {};
    Capabilities no_caps = paces_raw();
    no_caps.rate_caps = false;
    struct Case {
        Capabilities capabilities;
        std::optional<MissingLeaf> no_leaf;
        LimitGap gap;
        const char* words;
    };
    const Case cases[] = {
        {paces_raw(), no_class, LimitGap::PacingType,
         "the device paces ud, raw-packet queue pairs only, and level c has no `schedule` that would give each a leaf; "
         "give it one"},
        {nothing_paced, no_class, LimitGap::NoPacing,
         "the device has no packet pacing, and level c has no `schedule` that would give each a leaf; give it one"},
        {paces_raw(), used_up, LimitGap::NoLeaf,
         "the device paces ud, raw-packet queue pairs only, and no leaf is left for it: its leaf-budget is used up"},
        {no_caps, std::nullopt, LimitGap::NoRateCaps,
         "the device paces ud, raw-packet queue pairs only, and it has no caps on scheduling elements; leave the limit "
         "out"},
    };
    for (const auto& [capabilities, no_leaf, gap, words] : cases) {
        const HeldLimit held = hold_limit(kbps(2000), kRc, capabilities, no_leaf);
        EXPECT_EQ(held.by, LimitHolder::Nobody) << words;
        EXPECT_EQ(held.gap, gap) << words;
        EXPECT_EQ(shortfall(kbps(2000), held),
                  std::string("the limit of 2 Mbit/s per queue pair is not enforced: ") + words);
    }
}

TEST(QueuePairLimit, WhatCannotBeSaidToADeviceIsRefusedWithTheRange)
{
    struct Case {
        RateLimit limit;
        const char* refusal;    // empty: none
    };
    const Case cases[] = {
        {{kMostPacedRate, kMostBurst, kMostTypicalPacket}, ""},
        {kbps(4'294'967'296), "a rate of 4294967296 kbit/s is out of range: at most 4294967295 kbit/s"},
        {{Bandwidth::from_mbps(1), 5'000'000'000, {}}, "`max-burst` 5000000000 is out of range: 1 to 4294967295 bytes"},
        {{Bandwidth::from_mbps(1), {}, 70'000},
         "`typical-packet` 70000 is out of range: 1 to 65535 bytes, 0 for the "
         "device's default (the port's MTU)"},
    };
    for (const auto& [limit, refusal] : cases) {
        const auto result = check_range(limit);
        EXPECT_EQ(result.has_value(), *refusal == '\0') << refusal;
        if (!result) {
            EXPECT_EQ(result.error().code, ErrorCode::InvalidArgument);
            EXPECT_THAT(result.error().message, HasSubstr(refusal));
        }
    }
}

}    // namespace
}    // namespace rdmaqos
