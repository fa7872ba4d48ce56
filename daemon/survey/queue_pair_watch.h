// Looks all the time for queue pairs that become ready to send, on a thread of its own: RDMA netlink has no
// notification for them.
//
//     a device file is opened (inotify), or the kernel's counts change ──▶ hot: counts every 10 ms for some seconds
//     the counts have changed                                          ──▶ list all queue pairs of the device
//     they have not, but one may have come in the place of another     ──▶ list, after 100 times what the last one took
//     one is not ready yet                                             ──▶ ask for it alone, as often
//     nothing happens, but programs have devices open                  ──▶ all of this, for a fortieth of a processor:
//                                                                          counts every 30 to 250 ms
//     nobody has                                                       ──▶ counts every 250 ms, or every 50 ms where
//                                                                          nobody sees that device files are opened
//
// A list costs an mlx5 device a command for each queue pair, so the thread sleeps at least four times as long as it has
// looked: on a busy host it finds out later, and uses no more than a fifth of a processor.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/model/host_survey.h"
#include "lib/base/clock.h"
#include "lib/base/executor.h"

namespace rdmaqos {

// What it finds, reported on the main loop in the order of its members.
struct HostNews {
    std::vector<std::pair<std::string, std::uint32_t>> gone;    // device and number, of those that were ready
    std::vector<HostQueuePair> ready;
    TimePoint seen_at{};    // of `ready`
};

class HostWatch {
public:
    virtual ~HostWatch() = default;
    // Tells all that are ready once more.
    virtual void tell_again() = 0;
};
using HostNewsHandler = std::function<void(HostNews)>;

struct WatchOptions {
    std::filesystem::path proc = "/proc";
    std::filesystem::path device_files = "/dev/infiniband";
};

// Until it is destroyed, which waits for the kernel's present answer. `news` is called on `loop`, which must outlive it
// as `clock` must; not after it was destroyed.
[[nodiscard]] std::unique_ptr<HostWatch> watch_queue_pairs(Executor& loop, const Clock& clock, HostNewsHandler news,
                                                           WatchOptions options = {});

}    // namespace rdmaqos
