// The comparison itself.
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernel/agreement/comparison.h"

namespace rdmaqos::test::agreement {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kKernel = "a.one -> ok\na.two -> EINVAL, out 16 untouched\nb.three -> ok\n";

TEST(Comparison, EqualTranscriptsAgree)
{
    std::vector<bool> used;
    EXPECT_THAT(compare(kKernel, kKernel, {}, used), IsEmpty());
    EXPECT_THAT(differing(kKernel, kKernel), IsEmpty());
}

TEST(Comparison, ALineThatDiffersNamesTheProbeAndBothAnswers)
{
    std::vector<bool> used;
    const auto found = compare(kKernel, "a.one -> ok\na.two -> EIO\nb.three -> ok\n", {}, used);
    EXPECT_THAT(found, ElementsAre("a.two\n  the kernel:   EINVAL, out 16 untouched\n  the emulator: EIO\n"));
}

TEST(Comparison, ALineThatOneOfThemDoesNotHaveIsADifference)
{
    std::vector<bool> used;
    EXPECT_THAT(compare(kKernel, "a.one -> ok\nb.three -> ok\nc.four -> ok\n", {}, used),
                ElementsAre("a.two\n  the kernel:   EINVAL, out 16 untouched\n  the emulator: (no such line)\n",
                            "c.four\n  the kernel:   (no such line)\n  the emulator: ok\n"));
}

TEST(Comparison, ATableExplainsWhatItNamesAndNothingElse)
{
    const std::string emulator = "a.one -> EIO\na.two -> EIO\nb.three -> EIO\n";
    const std::vector<KnownDifference> known{{"a.*", "EINVAL...", "EIO", "why"}, {"b.three", "ok", "EIO", "why"}};
    std::vector<bool> used;
    EXPECT_THAT(compare(kKernel, emulator, known, used), ElementsAre(HasSubstr("a.one")));
    EXPECT_THAT(unneeded(known, used), IsEmpty());
    EXPECT_THAT(differing(kKernel, emulator), ElementsAre("a.one", "a.two", "b.three"));
}

TEST(Comparison, ARowThatIsNotNeededAnyMoreIsSaid)
{
    std::vector<bool> used;
    const std::vector<KnownDifference> known{{"a.two", "EINVAL...", "EIO", "why"}};
    EXPECT_THAT(compare(kKernel, kKernel, known, used), IsEmpty());
    EXPECT_THAT(unneeded(known, used), ElementsAre(HasSubstr("a.two")));
}

TEST(Comparison, TheTableIsReadFromTheDocument)
{
    const auto known = known_differences("| not | this | one | |\n\n<!-- differences -->\n\n"
                                         "| probe | the kernel | the emulator | why |\n|---|---|---|---|\n"
                                         "| `a.*` | `ok, out 16` | EIO | it cannot |\n\n| nor | this | one | |\n");
    ASSERT_EQ(known.size(), 1U);
    EXPECT_EQ(known[0].probe, "a.*");
    EXPECT_EQ(known[0].kernel, "ok, out 16");
    EXPECT_EQ(known[0].emulator, "EIO");
    EXPECT_EQ(known[0].reason, "it cannot");
    EXPECT_THROW(static_cast<void>(known_differences("<!-- differences -->\n| probe |\n|---|\n| `a` | ok | EIO | |\n")),
                 std::runtime_error);
    EXPECT_THROW(static_cast<void>(known_differences("no table")), std::runtime_error);
}

// What a newer kernel says, and the differences as they are kept.
constexpr const char* kNewer = "a.one -> ok\na.two -> EIO\nc.four -> ok: 4\n";
constexpr const char* kDifferences = "a.two\n  6.1:  EINVAL, out 16 untouched\n  6.12: EIO\n"
                                     "b.three\n  6.1:  ok\n  6.12: (no such line)\n"
                                     "c.four\n  6.1:  (no such line)\n  6.12: ok: 4\n";

TEST(Comparison, WhatANewerKernelSaysIsWrittenDownWithWhatWasSaid)
{
    EXPECT_EQ(differences("6.1", kKernel, "6.12", kKernel), "");
    EXPECT_EQ(differences("6.1", kKernel, "6.12", kNewer), kDifferences);
    EXPECT_EQ(with_differences(kKernel, kDifferences), kNewer);
    EXPECT_THROW(static_cast<void>(with_differences(kKernel, "a.two\n  6.1:  EINVAL\n")), std::runtime_error);
}

TEST(Comparison, WhatSeveralTranscriptsHaveInCommonIsWrittenOnce)
{
    const std::string other = "a.two\n  6.1:  ok\n  6.12: EIO\n";
    EXPECT_EQ(merged("", kDifferences), kDifferences);
    EXPECT_EQ(merged(kDifferences, kDifferences + other), kDifferences + other);
    EXPECT_EQ(with_differences(kKernel, kDifferences + other), kNewer) << "it did not say that";
    EXPECT_THAT(about_nothing(kDifferences + other, {kKernel}), ElementsAre("a.two"));
    EXPECT_THAT(about_nothing(kDifferences + other, {kKernel, "a.two -> ok\nb.three -> ok\n"}), IsEmpty());
}

TEST(Comparison, ALineTwiceIsAMistakeOfTheProgram)
{
    EXPECT_THROW(static_cast<void>(differing("a -> 1\na -> 2\n", "a -> 1\n")), std::runtime_error);
}

}    // namespace
}    // namespace rdmaqos::test::agreement
