// Whether device files of other programs can be taken, and what is said if not.
#include "daemon/adoption/ability.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/golden.h"

namespace rdmaqos {
namespace {

TEST(AdoptionAbility, WhatIsMissingIsSaidWithWhatToDo)
{
    const AdoptionAbility all{true, true, true, std::nullopt};
    EXPECT_EQ(why_not(all), "");
    std::string text;
    const auto say = [&](const char* what, auto change) {
        AdoptionAbility ability = all;
        change(ability);
        text += std::string(what) + ":\n    " + why_not(ability) + "\n";
    };
    say("an old kernel", [](AdoptionAbility& ability) { ability.kernel_can = false; });
    say("no right to trace", [](AdoptionAbility& ability) { ability.may_trace = false; });
    say("no right to search", [](AdoptionAbility& ability) { ability.may_search = false; });
    say("no right at all", [](AdoptionAbility& ability) { ability.may_trace = ability.may_search = false; });
    for (const int scope : {0, 1, 2, 3, 4}) {
        say(("ptrace_scope " + std::to_string(scope)).c_str(),
            [scope](AdoptionAbility& ability) { ability.ptrace_scope = scope; });
    }
    test::expect_golden("adoption/why-not.txt", text);
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
