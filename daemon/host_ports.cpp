#include "daemon/host_ports.h"

#include <chrono>
#include <map>
#include <string>
#include <utility>

#include <sys/epoll.h>

#include "lib/base/log.h"
#include "lib/base/try.h"
#include "lib/dcb/port.h"
#include "lib/dcb/watcher.h"

namespace rdmaqos {
namespace {

class HostPorts final : public PortKernel {
public:
    Result<PortAnswer> read(const std::string& netdev) override
    {
        auto settings = TRY(dcb::read_port(kernel_, netdev));
        return PortAnswer{dcb::driver_of_interface(netdev), std::move(settings)};
    }

private:
    dcb::KernelTransport kernel_;
};

class PortWatch final {
public:
    PortWatch(dcb::Watcher watcher, std::function<void(const PortNotice&)> take)
        : watcher_(std::move(watcher)), take_(std::move(take))
    {
    }

    // Else nothing is listened to.
    [[nodiscard]] Result<void> listen(bus::EventLoop& loop)
    {
        source_ = TRY(loop.on_io(watcher_.fd(), EPOLLIN, [this](std::uint32_t) { drain(); }));
        return {};
    }

private:
    // Of an interface, one notice for all changes that there are, however many a script has made: by the last of them.
    void drain()
    {
        const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
        std::map<std::string, PortNotice> notices;
        for (const auto& change : watcher_.drain()) {
            const bool is_lost = change.kind == dcb::ChangeKind::Lost;
            notices[change.interface] = {change.interface,
                                         is_lost ? std::string()
                                                 : std::string(dcb::in_words(dcb::author_of(change, nobody_, now)))};
        }
        for (const auto& [netdev, notice] : notices) {
            take_(notice);
        }
    }

    dcb::Watcher watcher_;
    const dcb::KernelTransport nobody_;    // this daemon writes nothing
    const std::function<void(const PortNotice&)> take_;
    std::unique_ptr<bus::IoSource> source_;    // goes first
};

}    // namespace

std::shared_ptr<PortKernel> host_ports()
{
    return std::make_shared<HostPorts>();
}

std::shared_ptr<void> watch_host_ports(bus::EventLoop& loop, std::function<void(const PortNotice&)> take)
{
    const auto cannot = [](const Error& error) {
        log(LogLevel::Warning, "changes of traffic classes are seen by reading them again alone: {}", to_string(error));
        return std::shared_ptr<void>();
    };
    auto watcher = dcb::Watcher::open();
    if (!watcher) {
        return cannot(watcher.error());
    }
    auto watch = std::make_shared<PortWatch>(std::move(*watcher), std::move(take));
    if (const auto listens = watch->listen(loop); !listens) {
        return cannot(listens.error());
    }
    return watch;
}

}    // namespace rdmaqos
