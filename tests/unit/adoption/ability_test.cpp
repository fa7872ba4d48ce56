// Whether device files of other programs can be taken, and what is said if not.
#include "daemon/adoption/ability.h"

#include <array>
#include <cerrno>
#include <cstddef>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/golden.h"
#include "tests/support/qemu_user.h"

namespace rdmaqos {
namespace {

TEST(AdoptionAbility, WhatIsMissingIsSaidWithWhatToDo)
{
    const AdoptionAbility all{true, true, true, false, std::nullopt};
    EXPECT_EQ(why_not(all), "");
    std::string text;
    const auto say = [&](const char* what, auto change) {
        AdoptionAbility ability = all;
        change(ability);
        text += std::string(what) + ":\n    " + why_not(ability) + "\n";
    };
    say("an old kernel", [](AdoptionAbility& ability) { ability.kernel_can = false; });
    say("a filter", [](AdoptionAbility& ability) { ability.is_filtered = true; });
    say("no right to trace", [](AdoptionAbility& ability) { ability.may_trace = false; });
    say("no right to search", [](AdoptionAbility& ability) { ability.may_search = false; });
    say("no right at all", [](AdoptionAbility& ability) { ability.may_trace = ability.may_search = false; });
    for (const int scope : {0, 1, 2, 3, 4}) {
        say(("ptrace_scope " + std::to_string(scope)).c_str(),
            [scope](AdoptionAbility& ability) { ability.ptrace_scope = scope; });
    }
    test::expect_golden("adoption/why-not.txt", text);
}

// In a container without the call, adoption was said to be possible, and no program could be adopted.
TEST(AdoptionAbility, AFilterOfSystemCallsIsNoticed)
{
    RDMAQOS_NOT_BELOW_QEMU_USER(kNoSeccomp);
    const pid_t child = fork();
    if (child == 0) {
        std::array<sock_filter, 4> program{
            sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_getfd, 0, 1),
            sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog filter{program.size(), program.data()};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
            _exit(2);
        }
        const auto ability = adoption_ability();
        _exit(ability.is_filtered && ability.kernel_can ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_FALSE(adoption_ability().is_filtered);
}

TEST(AdoptionAbility, AnOrdinaryUserLacksTheRights)
{
    if (geteuid() != 0) {
        GTEST_SKIP() << "nothing to give up";
    }
    const pid_t child = fork();
    if (child == 0) {
        if (setresuid(65534, 65534, 65534) != 0) {
            _exit(2);
        }
        const auto ability = adoption_ability();
        _exit(ability.may_trace || ability.may_search || why_not(ability).empty() ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}    // namespace
}    // namespace rdmaqos
