#include "lib/nic_mlx5/self_test.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lib/nic_mlx5/attach_reports.h"
#include "lib/nic_mlx5/self_test_cache.h"
#include "tests/support/no_descriptors.h"
#include "tests/support/temp_dir.h"

namespace rdmaqos::mlx5 {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Those of a row are of this one, unless of() says otherwise.
const char* row_of(std::string_view name)
{
    const auto cells = {step::kElements,  step::kAttachInit, step::kDetachInit, step::kAttachRtr,
                        step::kDetachRtr, step::kAttachRts,  step::kDetachRts,  step::kDestroy};
    return std::ranges::find(cells, name) == cells.end() ? "" : row::kSharedLeaf;
}

SelfTestStep good(const char* name)
{
    return {name, true, 0, 0, 0, {}, row_of(name)};
}

SelfTestStep bad(const char* name, int error = EREMOTEIO, std::uint8_t status = 5)
{
    return {name, false, error, status, status == 0 ? 0 : 0x51c00aU, {}, row_of(name)};
}

SelfTestStep of(const char* row, SelfTestStep step)
{
    step.row = row;
    return step;
}

// All that is tried with leaves of a row, which the firmware allows.
std::vector<SelfTestStep> all_good(const char* row)
{
    std::vector<SelfTestStep> steps;
    for (const char* name :
         {step::kElements, step::kAttachInit, step::kDetachInit, step::kAttachRts, step::kDetachRts}) {
        steps.push_back(of(row, good(name)));
    }
    return steps;
}

struct JudgeCase {
    const char* what;
    std::vector<SelfTestStep> steps;
    AttachMode mode;
    const char* reason;
    bool is_final;
};

std::vector<JudgeCase> cases()
{
    using namespace step;
    constexpr auto kShared = AttachMode::Shared;
    constexpr auto kPerProcess = AttachMode::PerProcess;
    constexpr auto kNone = AttachMode::None;
    const auto both = [](std::vector<SelfTestStep> more) {
        std::vector<SelfTestStep> steps{good(kElements), good(kHelper)};
        steps.insert(steps.end(), more.begin(), more.end());
        return steps;
    };
    // Shared leaves are refused, these rows are not.
    const auto isolated = [&](const std::vector<const char*>& rows) {
        std::vector<SelfTestStep> steps{bad(kAttachInit), good(kReadyToSend), bad(kAttachRts)};
        for (const char* row : rows) {
            std::ranges::copy(all_good(row), std::back_inserter(steps));
        }
        return both(std::move(steps));
    };
    return {
        {"all pass",
         both({good(kAttachInit), good(kDetachInit), good(kReadyToSend), good(kAttachRts), good(kDetachRts),
               good(kBusyLeaf)}),
         kShared, "attached another process's queue pair to a leaf of ours", true},
        {"a busy leaf is destroyed",
         both({good(kAttachInit), good(kDetachInit), good(kReadyToSend), good(kAttachRts), good(kDetachRts),
               bad(kBusyLeaf, 0, 0)}),
         kShared, "leaf of ours", true},
        {"RTS was not reached", both({good(kAttachInit), good(kDetachInit), bad(kReadyToSend, EINVAL, 0)}), kShared,
         "RTS could not be tested", false},
        {"only RTS works", both({bad(kAttachInit), good(kReadyToSend), good(kAttachRts), good(kDetachRts)}), kShared,
         "leaf of ours", true},
        {"only INIT works",
         both({good(kAttachInit), good(kDetachInit), good(kReadyToSend), bad(kAttachRts),
               of(row::kOwnTree, bad(kElements))}),
         kNone, "attach in RTS", true},
        {"not out of it again in RTS",
         both({good(kAttachInit), good(kDetachInit), good(kReadyToSend), good(kAttachRts), bad(kDetachRts)}), kNone,
         "detach in RTS", true},
        {"not out of it again in INIT", both({good(kAttachInit), bad(kDetachInit), bad(kReadyToSend, EINVAL, 0)}),
         kNone, "detach in INIT", false},
        {"isolated", isolated({row::kOwnTree}), kPerProcess, "leaves of its own process only (self-test)", true},
        {"isolated, RTS not reached",
         both({bad(kAttachInit), of(row::kOwnTree, good(kAttachInit)), of(row::kOwnTree, good(kDetachInit)),
               bad(kReadyToSend, EINVAL, 0)}),
         kPerProcess, "own process only (self-test); RTS could not be tested", false},
        {"only general objects are isolated", isolated({row::kSharedLegacy, row::kSharedNodeLegacy, row::kOwnTree}),
         AttachMode::SharedLegacy, "not one that the older commands make", true},
        {"a leaf of its own below a common node", isolated({row::kSharedNode, row::kOwnTree}), AttachMode::SharedNodes,
         "below a node of ours", true},
        {"shared is better than all others", both([&] {
             auto steps = all_good(row::kOwnTree);
             for (const char* each : {row::kSharedNode, row::kSharedLegacy, row::kSharedLeaf}) {
                 std::ranges::copy(all_good(each), std::back_inserter(steps));
             }
             steps.push_back(good(kReadyToSend));
             return steps;
         }()),
         kShared, "leaf of ours", true},
        {"nor in its own",
         both({bad(kAttachInit), of(row::kOwnTree, bad(kAttachInit)), good(kReadyToSend), bad(kAttachRts),
               of(row::kOwnTree, bad(kAttachRts))}),
         kNone, "attach in INIT: EREMOTEIO, status 0x5 (bad resource), syndrome 0x51c00a", true},
        {"what others are refused is not the reason",
         both({of(row::kSharedLegacy, bad(kElements)), bad(kAttachInit), good(kReadyToSend), bad(kAttachRts)}), kNone,
         "the self-test failed: attach in INIT", true},
        {"busy for a moment",
         both({bad(kAttachInit, EBUSY, 0), good(kReadyToSend), bad(kAttachRts, EBUSY, 0),
               of(row::kOwnTree, bad(kElements, EIO, 0))}),
         kNone, "attach in INIT: EBUSY", false},
        {"no helper",
         {good(kElements), bad(kHelper, ENOENT, 0)},
         kNone,
         "queue pair of another process: ENOENT",
         false},
        {"no elements", {bad(kElements)}, kNone, "create elements", false},
        {"nothing", {}, kNone, "could not be run", false},
    };
}

TEST(SelfTestJudge, EveryCombination)
{
    for (const auto& [what, steps, mode, reason, final_answer] : cases()) {
        SCOPED_TRACE(what);
        const AttachReport report = judge(steps);
        EXPECT_EQ(report.mode, mode);
        EXPECT_THAT(report.reason, HasSubstr(reason));
        EXPECT_EQ(report.steps, steps);
        EXPECT_EQ(is_final(report), final_answer);
    }
}

// What it says of queue pairs made by DEVX is told, and decides nothing.
TEST(SelfTestJudge, OneMadeByDevx)
{
    using namespace step;
    const std::vector<SelfTestStep> shared{good(kElements),    good(kHelper),    good(kAttachInit), good(kDetachInit),
                                           good(kReadyToSend), good(kAttachRts), good(kDetachRts)};
    struct Case {
        std::vector<SelfTestStep> more;
        const char* refused;
    };
    for (const auto& [more, refused] :
         {Case{{good(kDevxQueuePair), good(kAttachDevx), good(kDetachDevx), good(kBusyLeaf)}, ""},
          Case{{good(kDevxQueuePair), bad(kAttachDevx), good(kBusyLeaf)},
               "attach the one made by DEVX: EREMOTEIO, status 0x5 (bad resource), syndrome 0x51c00a"},
          Case{{bad(kDevxQueuePair), good(kBusyLeaf)}, ""}, Case{{bad(kDevxQueuePair, ENOMEM, 0)}, ""},
          Case{{good(kBusyLeaf)}, ""}}) {
        auto steps = shared;
        steps.insert(steps.end(), more.begin(), more.end());
        const auto report = judge(steps);
        EXPECT_EQ(report.mode, AttachMode::Shared);
        EXPECT_EQ(report.devx_refused, refused);
        EXPECT_TRUE(is_final(report));
    }
}

TEST(SelfTestJudge, TheReasonHasTheRemark)
{
    SelfTestStep failed = bad(step::kHelper, ETIMEDOUT, 0);
    failed.remark = "no answer is possible without it";
    EXPECT_EQ(judge({failed}).reason,
              "the self-test failed: queue pair of another process: ETIMEDOUT; no answer is possible without it");
}

// ---- what is kept ----

AttachReport report()
{
    AttachReport made = judge({good(step::kElements), good(step::kHelper), bad(step::kAttachInit)});
    made.steps.back().syndrome = 0xffffffff;
    made.steps.back().status = 0xff;
    made.steps.back().remark = "a \"quoted\" remark\n\x01";
    return made;
}

constexpr const char* kKey = "MT_0000000359 22.35.1012 6.1.0-25-amd64";

fs::path only_file(const fs::path& folder)
{
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        files.push_back(entry.path());
    }
    EXPECT_EQ(files.size(), 1U);
    return files.empty() ? fs::path() : files.front();
}

TEST(SelfTestCache, RoundTrip)
{
    const test::TempDir dir;
    const fs::path folder = dir.path() / "made" / "here";
    EXPECT_EQ(load_self_test(folder, kKey).value(), std::nullopt);
    ASSERT_TRUE(save_self_test(folder, kKey, report()).has_value());
    EXPECT_EQ(load_self_test(folder, kKey).value(), report());
    AttachReport other = judge({});
    ASSERT_TRUE(save_self_test(folder, kKey, other).has_value());
    EXPECT_EQ(load_self_test(folder, kKey).value(), other);
}

TEST(SelfTestCache, TheKeyIsCardFirmwareAndKernel)
{
    DeviceInfo port;
    port.board_id = "MT_0000000359";
    port.firmware = "22.35.1012";
    const std::string key = self_test_key(port);
    EXPECT_TRUE(key.starts_with("MT_0000000359 22.35.1012 ")) << key;
    DeviceInfo other_card = port;
    other_card.board_id = "MT_0000000360";
    DeviceInfo other_firmware = port;
    other_firmware.firmware = "22.35.1013";
    DeviceInfo unknown = port;
    unknown.board_id.clear();
    EXPECT_NE(self_test_key(other_card), key);
    EXPECT_NE(self_test_key(other_firmware), key);
    EXPECT_TRUE(self_test_key(unknown).starts_with("unknown 22.35.1012 "));
    DeviceInfo other_port = port;
    other_port.name = "mlx5_7";
    other_port.port = 2;
    EXPECT_EQ(self_test_key(other_port), key);
}

// Keys that differ only in what a file name cannot hold have one file: it is the other's, and is not believed.
TEST(SelfTestCache, AnotherKeyIsNotBelieved)
{
    const test::TempDir dir;
    ASSERT_TRUE(save_self_test(dir.path(), kKey, report()).has_value());
    for (const char* key : {"MT_0000000359 22.35.1013 6.1.0-25-amd64", "MT_0000000359 22.35.1012 6.1.0-26-amd64",
                            "MT_0000000360 22.35.1012 6.1.0-25-amd64", "MT_0000000359_22.35.1012 6.1.0-25-amd64"}) {
        EXPECT_EQ(load_self_test(dir.path(), key).value(), std::nullopt) << key;
    }
}

TEST(SelfTestCache, AKeyStaysInItsFolder)
{
    const test::TempDir dir;
    const fs::path folder = dir.path() / "folder";
    ASSERT_TRUE(save_self_test(folder, "../../x/\n y", report()).has_value());
    EXPECT_EQ(only_file(folder).parent_path(), folder);
    EXPECT_EQ(load_self_test(folder, "../../x/\n y").value(), report());
}

TEST(SelfTestCache, WhatCannotBeReadNowIsNoAnswerEither)
{
    const test::TempDir dir;
    ASSERT_TRUE(save_self_test(dir.path(), kKey, report()).has_value());
    const auto refused = [&] {
        const test::NoDescriptors none;
        return load_self_test(dir.path(), kKey);
    }();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Busy);
}

TEST(SelfTest, AShortageSaysNothingOfTheDevice)
{
    const auto report_of = [](const char* name, bool passed, int error, std::uint8_t status) {
        AttachReport report;
        report.steps = {{step::kElements, true, 0, 0, 0, {}}, {name, passed, error, status, 0, {}}};
        return report;
    };
    EXPECT_TRUE(was_short(report_of(step::kAttachRts, false, EMFILE, 0)));
    EXPECT_TRUE(was_short(report_of(step::kElements, false, EAGAIN, 0)));
    EXPECT_FALSE(was_short(report_of(step::kAttachRts, true, 0, 0)));
    EXPECT_FALSE(was_short(report_of(step::kAttachRts, false, EINVAL, 0)));
    EXPECT_FALSE(was_short(report_of(step::kAttachRts, false, ENOMEM, 0x8))) << "so says the firmware";
    EXPECT_FALSE(was_short(report_of(step::kHelper, false, EAGAIN, 0))) << "it did not answer in time";
}

TEST(SelfTestCache, GarbageIsNoAnswer)
{
    const test::TempDir dir;
    ASSERT_TRUE(save_self_test(dir.path(), kKey, report()).has_value());
    const fs::path file = only_file(dir.path());
    std::string text;
    {
        std::ifstream in(file);
        std::getline(in, text, '\0');
    }
    const auto replaced = [&](const std::string& from, const std::string& to) {
        std::string changed = text;
        changed.replace(changed.find(from), from.size(), to);
        return changed;
    };
    for (const std::string& each :
         {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string("{}"),
          std::string(70000, ' '), std::string(60000, '['), text.substr(0, text.size() / 2),
          replaced("\"version\": 4", "\"version\": 3"), replaced("\"none\"", "\"some\""), replaced("\"none\"", "7"),
          replaced("\"passed\": true", "\"passed\": 1"), replaced("\"steps\"", "\"stops\""),
          replaced("\"key\"", "\"kay\""), replaced("\"remark\"", "\"mark\"")}) {
        std::ofstream(file) << each;
        EXPECT_EQ(load_self_test(dir.path(), kKey).value(), std::nullopt) << each.substr(0, 300);
    }
    std::ofstream(file) << text;
    EXPECT_EQ(load_self_test(dir.path(), kKey).value(), report());
}

// Numbers beyond their field would come back as others.
TEST(SelfTestCache, NumbersOutOfRangeAreNoAnswer)
{
    const test::TempDir dir;
    ASSERT_TRUE(save_self_test(dir.path(), kKey, report()).has_value());
    const fs::path file = only_file(dir.path());
    std::string text;
    {
        std::ifstream in(file);
        std::getline(in, text, '\0');
    }
    for (const auto& [from, to] : {std::pair("\"status\": 255", "\"status\": 256"),
                                   {"\"status\": 255", "\"status\": -1"},
                                   {"\"syndrome\": 4294967295", "\"syndrome\": 4294967296"},
                                   {"\"status\": 255", "\"status\": 5.5"},
                                   {"\"errno\": 121", "\"errno\": 1e99"}}) {
        std::string changed = text;
        ASSERT_NE(changed.find(from), std::string::npos) << from << text;
        changed.replace(changed.find(from), std::string(from).size(), to);
        std::ofstream(file) << changed;
        EXPECT_EQ(load_self_test(dir.path(), kKey).value(), std::nullopt) << to;
    }
}

TEST(SelfTestCache, ALinkOrAFifoIsNotWaitedFor)
{
    const test::TempDir dir;
    ASSERT_TRUE(save_self_test(dir.path(), kKey, report()).has_value());
    const fs::path file = only_file(dir.path());
    fs::remove(file);
    ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
    EXPECT_EQ(load_self_test(dir.path(), kKey).value(), std::nullopt);
}

TEST(SelfTestCache, ALinkToItselfIsReplaced)
{
    const test::TempDir dir;
    ASSERT_TRUE(save_self_test(dir.path(), kKey, report()).has_value());
    const fs::path file = only_file(dir.path());
    fs::remove(file);
    fs::create_symlink(file.filename(), file);
    EXPECT_EQ(load_self_test(dir.path(), kKey).value(), std::nullopt);
    ASSERT_TRUE(save_self_test(dir.path(), kKey, report()).has_value());
    EXPECT_EQ(load_self_test(dir.path(), kKey).value(), report());

    const fs::path folder = dir.path() / "loop";
    fs::create_symlink("loop", folder);
    EXPECT_EQ(load_self_test(folder, kKey).value(), std::nullopt);
    EXPECT_EQ(save_self_test(folder, kKey, report()).error().sys_errno, ELOOP);
}

// A file in the way of the folder: nobody can write there, root included.
TEST(SelfTestCache, AFolderThatCannotBeWritten)
{
    const test::TempDir dir;
    dir.write("file", "");
    const auto saved = save_self_test(dir.path() / "file", kKey, report());
    ASSERT_FALSE(saved.has_value());
    EXPECT_EQ(saved.error().code, ErrorCode::Io);
    EXPECT_EQ(load_self_test(dir.path() / "file", kKey), std::nullopt);
}

TEST(SelfTestCache, NoFolderKeepsNothing)
{
    EXPECT_TRUE(save_self_test({}, kKey, report()).has_value());
    EXPECT_EQ(load_self_test({}, kKey), std::nullopt);
}

}    // namespace
}    // namespace rdmaqos::mlx5
