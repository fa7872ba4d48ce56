// rdma-qosctl edit: editors are sed and shell scripts.
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/ctl.h"
#include "tests/support/daemon_fixture.h"

namespace rdmaqos::test {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kPolicyFile = "etc/rdma-qos/policy.yaml";
constexpr const char* kDropIn = "etc/rdma-qos/policy.d/60-more.yaml";

class CtlEdit : public testing::Test {
protected:
    void SetUp() override
    {
        unsetenv("VISUAL");
        fs::create_directory(copies());
        setenv("TMPDIR", copies().c_str(), 1);
        use_editor("echo '# edited' >>");
    }
    void TearDown() override
    {
        unsetenv("TMPDIR");
        unsetenv("EDITOR");
    }

    // A command to which a shell gives the file as its last word.
    void use_editor(const std::string& command) const
    {
        daemon->dir().write("editor", "#!/bin/sh\n" + command + " \"$1\"\n");
        fs::permissions(daemon->root() / "editor", fs::perms::owner_all);
        setenv("EDITOR", (daemon->root() / "editor").c_str(), 1);
    }
    Outcome edit(const std::string& words = "") const { return run_ctl(daemon->root(), "edit " + words); }
    std::string file(const char* name = kPolicyFile) const { return read_text(daemon->root() / name); }
    std::string revision() const
    {
        const Outcome said = run_ctl(daemon->root(), "status --json");
        return Json::parse(said.output).at("policy").at("revision").get<std::string>();
    }
    fs::path copies() const { return daemon->root() / "tmp"; }

    const std::string old = kTwoLevelPolicy;
    std::optional<Daemon> daemon{std::in_place, DaemonOptions{old, kTwoDevices, "", false, RDMAQOS_DAEMON}};
    const std::string before = revision();
};

TEST_F(CtlEdit, InstallsAndReloads)
{
    const Outcome done = edit();
    EXPECT_EQ(done.status, 0) << done.error;
    EXPECT_THAT(done.output, HasSubstr("is running"));
    EXPECT_EQ(file(), old + "# edited\n");
    EXPECT_NE(revision(), before);
    EXPECT_TRUE(fs::is_empty(copies())) << "no copy is left";
}

TEST_F(CtlEdit, WhatIsNotChangedIsLeftAlone)
{
    use_editor("true");
    const Outcome done = edit();
    EXPECT_EQ(done.status, 0) << done.error;
    EXPECT_THAT(done.output, HasSubstr("policy.yaml is as it was"));
    EXPECT_EQ(revision(), before);
    EXPECT_TRUE(fs::is_empty(copies()));
}

TEST_F(CtlEdit, ABrokenTextIsNotInstalledAndNotLost)
{
    use_editor("echo 'bogus: 1' >>");
    const Outcome refused = edit();
    EXPECT_EQ(refused.status, 2) << refused.output;
    EXPECT_THAT(refused.error, HasSubstr("unknown key `bogus`"));
    EXPECT_EQ(file(), old);
    EXPECT_EQ(revision(), before);
    ASSERT_FALSE(fs::is_empty(copies()));
    const fs::path copy = fs::directory_iterator(copies())->path() / "policy.yaml";
    EXPECT_THAT(refused.error, HasSubstr("your text is kept in " + copy.string()));
    EXPECT_EQ(read_text(copy), old + "bogus: 1\n");
}

TEST_F(CtlEdit, WhatTheDaemonRefusesIsPutBack)
{
    // More than the link can guarantee, which only who has the device knows.
    use_editor("sed -i 's/max-rate: 40Gbps/min-rate: 900Gbps/'");
    const Outcome refused = edit();
    EXPECT_NE(refused.status, 0) << refused.output;
    EXPECT_THAT(refused.error, HasSubstr("/etc/rdma-qos/policy.yaml is as it was before"));
    EXPECT_EQ(file(), old);
    EXPECT_EQ(revision(), before);
}

TEST_F(CtlEdit, MakesADropIn)
{
    const Outcome done = edit("policy.d/60-more.yaml");
    EXPECT_EQ(done.status, 0) << done.error;
    EXPECT_EQ(file(kDropIn), "version: 1\n# edited\n");
    EXPECT_NE(revision(), before);
    EXPECT_EQ(edit("elsewhere.yaml").status, 1) << "no policy is read from there";
}

TEST_F(CtlEdit, SomebodyElsesEditIsNotOverwritten)
{
    use_editor("echo '# other' >>" + (daemon->root() / kPolicyFile).string() + "; echo '# edited' >>");
    const Outcome refused = edit();
    EXPECT_EQ(refused.status, 1) << refused.output;
    EXPECT_THAT(refused.error, HasSubstr("was changed by somebody else"));
    EXPECT_EQ(file(), old + "# other\n");
}

TEST_F(CtlEdit, WithoutADaemonItIsWritten)
{
    static_cast<void>(daemon->stop());
    const Outcome done = edit();
    EXPECT_EQ(done.status, 0) << done.error;
    EXPECT_THAT(done.output, HasSubstr("reads it when it starts"));
    EXPECT_EQ(file(), old + "# edited\n");
}

// On a terminal it asks; the second editor sees what the first one left.
TEST_F(CtlEdit, IsEditedAgainOnATerminal)
{
    use_editor("if grep -q bogus \"$1\"; then sed -i /bogus/d \"$1\"; fi; echo '# edited' >>\"$1\"; "
               "[ -e ran ] || echo 'bogus: 1' >>\"$1\"; touch ran; true");
    int terminal = -1;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
        if (chdir(daemon->root().c_str()) == 0) {
            execl(RDMAQOS_CTL, "rdma-qosctl", "--root", daemon->root().c_str(), "edit", nullptr);
        }
        _exit(127);
    }
    std::string shown;
    char chunk[4096];
    bool is_answered = false;
    for (ssize_t got = 0; (got = read(terminal, chunk, sizeof(chunk))) > 0;) {
        shown.append(chunk, static_cast<std::size_t>(got));
        if (!is_answered && shown.find("edit again? [Y/n]") != std::string::npos) {
            is_answered = true;
            ASSERT_EQ(write(terminal, "\n", 1), 1);
        }
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << shown;
    EXPECT_THAT(shown, HasSubstr("unknown key `bogus`"));
    EXPECT_EQ(file(), old + "# edited\n# edited\n");
    close(terminal);
}

}    // namespace
}    // namespace rdmaqos::test
