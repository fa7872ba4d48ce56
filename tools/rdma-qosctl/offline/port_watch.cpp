#include "tools/rdma-qosctl/offline/port_watch.h"

#include <ctime>
#include <vector>

#include <poll.h>

#include "lib/base/try.h"
#include "lib/dcb/transport.h"
#include "lib/dcb/watcher.h"
#include "lib/port_lint/rewrites.h"

namespace rdmaqos::ctl {

Result<std::map<std::string, port_lint::Rewrites>> watch_ports(std::chrono::seconds time)
{
    using Clock = std::chrono::steady_clock;
    using std::chrono::milliseconds;
    auto watcher = TRY(dcb::Watcher::open());
    const dcb::KernelTransport kernel;    // through which nothing is written
    std::map<std::string, std::vector<port_lint::SeenWrite>> writes;
    const auto begin = Clock::now();
    for (auto passed = milliseconds(0); passed < time;
         passed = std::chrono::duration_cast<milliseconds>(Clock::now() - begin)) {
        pollfd waits{watcher.fd(), POLLIN, 0};
        if (poll(&waits, 1, static_cast<int>((milliseconds(time) - passed).count())) <= 0) {
            continue;
        }
        for (const dcb::Change& change : watcher.drain()) {
            if (!change.interface.empty()) {
                writes[change.interface].push_back({std::chrono::duration_cast<milliseconds>(Clock::now() - begin),
                                                    dcb::author_of(change, kernel, std::time(nullptr))});
            }
        }
    }
    std::map<std::string, port_lint::Rewrites> counted;
    for (const auto& [interface, seen] : writes) {
        counted.emplace(interface, port_lint::count_rewrites(seen, time));
    }
    return counted;
}

}    // namespace rdmaqos::ctl
