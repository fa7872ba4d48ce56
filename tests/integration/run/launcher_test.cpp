// What the launcher itself does: programs that take no preload library, exit statuses, the environment.
#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/integration/run/launched.h"
#include "tools/rdma-qos-run/program_file.h"

namespace rdmaqos::test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

TEST(RunProgram, AreFoundAsTheShellFindsThem)
{
    EXPECT_THAT(run::find_program("sh"), ::testing::EndsWith("/sh"));
    EXPECT_EQ(run::find_program("/bin/sh"), "/bin/sh");
    EXPECT_EQ(run::find_program("no-such-program"), "");
    EXPECT_EQ(run::find_program("/etc/passwd"), "");
}

TEST(RunProgram, ThatTakeNoPreloadLibraryAreRecognised)
{
    EXPECT_EQ(run::reason_without_preload(program("linked")), std::nullopt);
    EXPECT_THAT(run::reason_without_preload(program("static")).value_or(""), HasSubstr("it is statically linked"));

    const TempDir folder;
    folder.write("script", "#!/bin/sh -e\ntrue\n");
    EXPECT_EQ(run::reason_without_preload(folder.path() / "script"), std::nullopt);
    folder.write("by-static", "#! " + program("static") + "\n");
    EXPECT_THAT(run::reason_without_preload(folder.path() / "by-static").value_or(""), HasSubstr("statically linked"));
    folder.write("by-env", "#!/usr/bin/env -S VARIABLE=1 sh -e\n");
    EXPECT_EQ(run::reason_without_preload(folder.path() / "by-env"), std::nullopt);
    folder.write("to-itself", "#!" + (folder.path() / "to-itself").string() + "\n");
    EXPECT_EQ(run::reason_without_preload(folder.path() / "to-itself"), std::nullopt);
    folder.write("empty", "");
    EXPECT_EQ(run::reason_without_preload(folder.path() / "empty"), std::nullopt);
    folder.write("short", "\177ELF");
    EXPECT_EQ(run::reason_without_preload(folder.path() / "short"), std::nullopt);

    std::string other(64, '\0');
    other.replace(0, 6, std::string("\177ELF\1\1", 6));    // of 32 bits
    folder.write("other", other);
    EXPECT_THAT(run::reason_without_preload(folder.path() / "other").value_or(""),
                HasSubstr("another kind of machine"));
}

TEST(RunProgram, WithPrivilegesOfItsOwnIsRecognised)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root may give a file to another user";
    }
    const TempDir folder;
    const fs::path file = folder.path() / "setuid";
    fs::copy_file(program("linked"), file);
    ASSERT_EQ(chown(file.c_str(), 65534, 65534), 0);
    ASSERT_EQ(chmod(file.c_str(), 04755), 0);
    EXPECT_THAT(run::reason_without_preload(file).value_or(""), HasSubstr("setuid"));
    Launched launched("/nonexistent", {}, {file, "linked", "-x", "6"});
    launched.ended();
    EXPECT_EQ(launched.count("rdma-qos-run: "), 1U) << launched.output();
    EXPECT_EQ(launched.count("runs without a class: it runs as another user or group (setuid, setgid)"), 1U);
    Launched required("/nonexistent", {"--required"}, {file, "linked"});
    EXPECT_EQ(required.ended(), 125);
}

TEST(RunLauncher, AStaticProgramRunsOnWithALine)
{
    const TempDir root;
    JournalSocket journal(root.path());
    Launched launched(root.path(), {}, {program("static")});
    EXPECT_EQ(launched.ended(), 5);
    EXPECT_EQ(launched.count("runs without a class: it is statically linked"), 1U) << launched.output();
    EXPECT_THAT(journal.take(), HasSubstr("it is statically linked"));
    Launched required(root.path(), {"--required"}, {program("static")});
    EXPECT_EQ(required.ended(), 125);
}

TEST(RunLauncher, PassesStatusAndSignalsOn)
{
    const TempDir root;
    EXPECT_EQ(Launched(root.path(), {}, {"/bin/sh", "-c", "exit 42"}).ended(), 42);
    EXPECT_EQ(Launched(root.path(), {}, {"/bin/sh", "-c", "kill -TERM $$"}).ended(), 128 + SIGTERM);
    EXPECT_EQ(Launched(root.path(), {}, {"no-such-program"}).ended(), 127);
    EXPECT_EQ(Launched(root.path(), {}, {"/etc/passwd"}).ended(), 126);
    EXPECT_EQ(Launched(root.path(), {"--no-such-option"}, {"/bin/true"}).ended(), 125);
    EXPECT_EQ(Launched(root.path(), {}, {}).ended(), 125);
}

TEST(RunLauncher, KeepsPreloadLibrariesThatAreThere)
{
    const TempDir root;
    Launched launched(root.path(), {}, {"/bin/sh", "-c", "echo $LD_PRELOAD"});
    EXPECT_EQ(launched.ended(), 0);
    const std::string others = getenv("LD_PRELOAD") != nullptr ? getenv("LD_PRELOAD") : "";    // NOLINT
    ASSERT_THAT(others, HasSubstr("emulator"));
    EXPECT_EQ(launched.output(), RDMAQOS_RUN_PRELOAD ":" + others + "\n");
}

}    // namespace
}    // namespace rdmaqos::test
