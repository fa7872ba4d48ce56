// The emulator does what the kernel does, but for the differences in the table of docs/testing.md. What the kernel does
// is in tests/golden/kernel, as kernel_agreement_test saw it.
#include <algorithm>
#include <filesystem>
#include <future>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include "tests/kernel/agreement/comparison.h"
#include "tests/kernel/agreement/variants.h"
#include "tests/support/golden.h"
#include "tests/support/process.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::test::agreement {
namespace {

using namespace std::chrono_literals;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

// Under an emulator of its own. `seed`: words for ctl before the program starts. `areas`: empty: all of the variant.
std::string transcript_of(const Variant& variant, const std::string& seed = "", std::string areas = "")
{
    const TempDir folder;
    const auto output = folder.path() / "transcript.txt";
    areas = areas.empty() ? variant.areas : areas;
    std::vector<std::string> command{RDMAQOS_EMULATOR, "run", "--devices", description_of(variant, RDMAQOS_AGREEMENT)};
    if (variant.isolated) {
        command.emplace_back("--isolate-queue-groups");
    }
    const std::string change = seed.empty() ? "" : std::string("'") + RDMAQOS_EMULATOR + "' ctl " + seed + " && ";
    for (const std::string& word : {std::string("--"), std::string("/bin/sh"), std::string("-c"),
                                    change + "exec '" + RDMAQOS_TRANSCRIPT + "' " + areas}) {
        command.push_back(word);
    }
    Child program(command, {}, output);
    // A minute of one core when nothing else runs.
    const auto status = program.wait(10 * kHung);
    EXPECT_EQ(status, 0) << read_text(output);
    return read_text(output);
}

std::string kernel_transcript(const Variant& variant)
{
    return read_text(source_dir() + "/tests/golden/" + golden_of(variant));
}

// Those of one area.
std::string area_of(const std::string& transcript, const std::string& area)
{
    std::istringstream in(transcript);
    std::string text;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with(area + ".")) {
            text += line + "\n";
        }
    }
    return text;
}

std::vector<KnownDifference> documented()
{
    return known_differences(read_text(source_dir() + "/docs/testing.md"));
}

std::string all_of(const std::vector<std::string>& paragraphs)
{
    std::string text;
    for (const auto& each : paragraphs) {
        text += each;
    }
    return text;
}

// Their lines ask for raw packet queue pairs.
bool is_root()
{
    return geteuid() == 0;
}

TEST(KernelAgreement, TheEmulatorDiffersOnlyWhereTheDocumentSaysSo)
{
    if (!is_root()) {
        GTEST_SKIP() << "raw packet queue pairs need root";
    }
    const auto known = documented();
    std::vector<bool> used;
    std::vector<std::future<std::string>> emulators;
    for (const Variant& variant : variants()) {
        emulators.push_back(std::async(std::launch::async, [&variant] { return transcript_of(variant); }));
    }
    for (std::size_t at = 0; at < variants().size(); ++at) {
        const Variant& variant = variants()[at];
        const std::string kernel = kernel_transcript(variant);
        ASSERT_FALSE(kernel.empty()) << golden_of(variant);
        const auto unknown = compare(kernel, emulators[at].get(), known, used);
        EXPECT_TRUE(unknown.empty()) << variant.name << " firmware: " << unknown.size()
                                     << " differences between kernel and emulator that docs/testing.md does not list:\n"
                                     << all_of(unknown);
    }
    EXPECT_THAT(unneeded(known, used), IsEmpty());
}

// Files of other kernels name lines that the played one has no more, or that say something else now.
TEST(KernelAgreement, WhatOtherKernelsSayIsAboutWhatThisOneSays)
{
    std::vector<std::string> transcripts;
    std::set<std::string> names;
    for (const Variant& variant : variants()) {
        transcripts.push_back(kernel_transcript(variant));
        names.insert(std::filesystem::path(golden_of(variant)).filename());
    }
    std::size_t others = 0;
    for (const auto& file : std::filesystem::directory_iterator(source_dir() + "/tests/golden/kernel")) {
        if (!names.contains(file.path().filename())) {
            ++others;
            EXPECT_THAT(about_nothing(read_text(file.path()), transcripts), IsEmpty()) << file.path();
        }
    }
    EXPECT_GT(others, 0U);
}

// ---- the comparison notices ----

// A difference that is made on purpose, where it shows, and where it does not.
struct Seed {
    const char* name;
    const char* control;
    const char* area;
    std::vector<std::string> lines;    // that differ then, all of them; `*` is any text
};

void PrintTo(const Seed& seed, std::ostream* to)
{
    *to << seed.name;
}

class SeededDifference : public testing::TestWithParam<Seed> {};

TEST_P(SeededDifference, JustTheLinesConcernedAreFound)
{
    if (!is_root()) {
        GTEST_SKIP() << "raw packet queue pairs need root";
    }
    const Seed& seed = GetParam();
    const Variant& variant = variants().front();
    const std::string kernel = area_of(kernel_transcript(variant), seed.area);
    const auto known = documented();
    std::vector<bool> used;
    const auto found = compare(kernel, transcript_of(variant, seed.control, seed.area), known, used);
    std::vector<std::string> others;
    std::set<std::string> seen;
    for (const auto& paragraph : found) {
        const std::string name = paragraph.substr(0, paragraph.find('\n'));
        const auto expected = std::find_if(seed.lines.begin(), seed.lines.end(),
                                           [&](const std::string& line) { return fits(line, name, "*"); });
        if (expected == seed.lines.end()) {
            others.push_back(paragraph);
        } else {
            seen.insert(*expected);
        }
    }
    EXPECT_TRUE(others.empty()) << seed.control << " also shows in\n" << all_of(others);
    EXPECT_THAT(seen, UnorderedElementsAreArray(seed.lines)) << "where " << seed.control << " shows";
}

INSTANTIATE_TEST_SUITE_P(
    All, SeededDifference,
    testing::Values(
        Seed{"NoMailbox",
             "set mailbox-on-error no",
             "refusal",
             {"refusal.create, status *", "refusal.modify, status *", "refusal.query, status *",
              "refusal.attach, status *", "refusal.query of a queue pair, status *"}},
        Seed{"ExclusiveModify",
             "set modify-lock exclusive",
             "busy",
             {"busy.modify while it is modified", "busy.query while it is modified", "busy.modify while it is queried",
              "busy.ibv_query_qp while it is moved", "busy.ibv_modify_qp while it is moved",
              "busy.QUERY_QP while it is moved", "busy.move while it is moved"}},
        Seed{"ExclusiveModifyOfAnother",
             "set modify-lock exclusive",
             "other-process",
             {"other-process.meanwhile: its query while it is moved"}},
        Seed{"SharedLeaves",
             "set queue-groups shared",
             "queue-pair",
             {"queue-pair.moved into another file's leaf", "queue-pair.and is in",
              "queue-pair.MODIFY_SQ into another file's leaf",
              "queue-pair.mlx5dv_modify_qp_sched_elem into another context's leaf"}},
        Seed{"BusyLeafGoes",
             "set busy-leaf released",
             "queue-pair",
             {"queue-pair.a leaf with a queue pair is destroyed", "queue-pair.and the queue pair is in",
              "queue-pair.RTS2RTS_QP *"}},
        Seed{"DefaultShare",
             "set default-share 5",
             "element",
             {"element.modify *"}},    // of the leaf, once it has no share
        Seed{
            "ALinkThatIsDown", "event mlx5_0 port-error", "sysfs", {"sysfs.port 1: state", "sysfs.port 1: phys_state"}},
        Seed{"OneFailure", "fail query 3 0x5", "element", {"element.leaf"}}),
    [](const auto& row) { return std::string(row.param.name); });

}    // namespace
}    // namespace rdmaqos::test::agreement
