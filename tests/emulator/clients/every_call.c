// every_call [EMULATOR]: with the emulator's path also events and faults on order are checked.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/clients/every_call.h"

static const char* emulator;

bool can_control(void)
{
    return emulator != NULL;
}

bool control(const char* words)
{
    char line[512];
    const int length = snprintf(line, sizeof(line), "'%s' ctl %s >/dev/null", emulator, words);
    fflush(stdout);
    return length > 0 && (size_t)length < sizeof(line) && system(line) == 0;
}

int main(int argc, char** argv)
{
    static const struct {
        const char* name;
        void (*run)(void);
        bool with_control;
    } groups[] = {
        {"device", check_device, false},     {"capabilities", check_advertised, false},
        {"import", check_import, false},     {"objects", check_objects, false},
        {"domains", check_domains, false},   {"states", check_states, false},
        {"elements", check_elements, false}, {"attach", check_attaching, false},
        {"limits", check_limits, false},     {"rates", check_rates, false},
        {"devx", check_devx, false},         {"devx queue pair", check_devx_queue_pair, false},
        {"events", check_events, true},      {"faults", check_faults, true},
        {"kernels", check_kernels, true},    {"reset", check_reset, true},
    };
    emulator = argc > 1 ? argv[1] : NULL;
    // Before libibverbs looks: what a dead device held can be let go of.
    setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); ++i) {
        check_group(groups[i].name);
        if (groups[i].with_control && !can_control()) {
            skipped("all", "the emulator's path was not given");
        } else {
            groups[i].run();
        }
    }
    check_group("");
    return check_result();
}
