// kernel_transcript [AREA...]: all areas, or these.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/kernel/agreement/transcript.h"

int main(int argc, char** argv)
{
    using namespace rdmaqos::test::agreement;
    struct Area {
        const char* name;
        void (*say)();
    };
    // The last one breaks the device.
    static const Area areas[] = {
        {"call", say_headers},
        {"element", say_elements},
        {"devx", say_commands},
        {"queue-pair", say_queue_pairs},
        {"devx-queue-pair", say_devx_queue_pairs},
        {"state", say_states},
        {"refusal", say_refusals},
        {"busy", say_busy},
        {"handles", say_handles},
        {"netlink", say_netlink},
        {"route", say_routes},
        {"other-process", say_other_process},
        {"pacing", say_pacing},
        {"sysfs", say_sysfs},
        {"reset", say_reset},
    };
    const std::vector<std::string> wanted(argv + 1, argv + argc);
    // With it, libmlx5 ignores that objects of a dead device cannot be destroyed. It must be set before the first call.
    setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
    try {
        for (const Area& area : areas) {
            if (wanted.empty() || std::find(wanted.begin(), wanted.end(), area.name) != wanted.end()) {
                begin_area(area.name);
                area.say();
            }
        }
    } catch (const std::exception& mistake) {
        fmt::print(stderr, "kernel_transcript: {}\n", mistake.what());
        return 1;
    }
    return 0;
}
