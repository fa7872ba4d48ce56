#include "daemon/host_ports.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <sys/epoll.h>

#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/base/try.h"
#include "lib/dcb/driver.h"
#include "lib/dcb/port.h"
#include "lib/dcb/watcher.h"

namespace rdmaqos {
namespace {

// A host with very many sockets is not searched to the end.
constexpr std::size_t kMostSockets = std::size_t{4} * 1024 * 1024;

class PortWatch final {
public:
    PortWatch(dcb::Watcher watcher, std::shared_ptr<const HostPorts> ours, std::function<void(const PortNotice&)> take)
        : watcher_(std::move(watcher)), ours_(std::move(ours)), take_(std::move(take))
    {
    }

    // Else nothing is listened to.
    [[nodiscard]] Result<void> listen(bus::EventLoop& loop)
    {
        source_ = TRY(loop.on_io(watcher_.fd(), EPOLLIN, [this](std::uint32_t) { drain(); }));
        return {};
    }

private:
    // Of an interface, one notice for all changes by others that there are, however many a script has made: by the last
    // of them. What we write, we read back ourselves.
    void drain()
    {
        const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
        std::map<std::string, PortNotice> notices;
        for (const auto& change : watcher_.drain()) {
            if (change.kind == dcb::ChangeKind::Lost) {
                notices[change.interface] = {change.interface, {}};
                continue;
            }
            if (const auto author = dcb::author_of(change, ours_->transport(), now); author != dcb::Author::Ourselves) {
                notices[change.interface] = {change.interface, std::string(dcb::in_words(author))};
            }
        }
        for (const auto& [netdev, notice] : notices) {
            take_(notice);
        }
    }

    dcb::Watcher watcher_;
    const std::shared_ptr<const HostPorts> ours_;
    const std::function<void(const PortNotice&)> take_;
    std::unique_ptr<bus::IoSource> source_;    // goes first
};

}    // namespace

Result<PortAnswer> HostPorts::read(const std::string& netdev)
{
    auto settings = TRY(dcb::read_port(kernel_, netdev));
    return PortAnswer{dcb::driver_of_interface(netdev), std::move(settings), other_owners()};
}

dcb::WriteReport HostPorts::write(const std::string& netdev, const std::vector<dcb::Write>& writes)
{
    return dcb::write_port(kernel_, netdev, writes, dcb::find_driver(dcb::driver_of_interface(netdev)));
}

std::string why_ports_cannot_be_set(const std::filesystem::path& proc)
{
    constexpr unsigned kNetAdmin = 12;    // CAP_NET_ADMIN
    const auto status = read_kernel_file(proc / "status");
    if (!status) {
        return {};    // a write will tell
    }
    constexpr std::string_view kKey = "\nCapEff:";
    const auto at = status->find(kKey);
    if (at == std::string::npos) {
        return {};
    }
    const std::uint64_t effective = std::strtoull(status->c_str() + at + kKey.size(), nullptr, 16);
    return (effective >> kNetAdmin & 1U) != 0
               ? std::string()
               : "setting the traffic classes of ports needs CAP_NET_ADMIN, which rdma-qosd does not have";
}

std::vector<std::string> other_owners(const std::filesystem::path& root)
{
    // Where lldpad listens for lldptool, in the abstract namespace.
    constexpr std::string_view kLldpad = "@/com/intel/lldpad";
    const auto sockets = read_kernel_file(below_root(root, "/proc/net/unix"), kMostSockets);
    if (!sockets || sockets->find(kLldpad) == std::string::npos) {
        return {};
    }
    return {"lldpad runs on this host: it sets traffic classes of the ports for which DCB is enabled in it "
            "(`lldptool -t -i INTERFACE -V IEEE-DCBX`), and takes the switch's"};
}

std::shared_ptr<void> watch_host_ports(bus::EventLoop& loop, std::shared_ptr<const HostPorts> ours,
                                       std::function<void(const PortNotice&)> take)
{
    const auto cannot = [](const Error& error) {
        log(LogLevel::Warning, "changes of traffic classes are seen by reading them again alone: {}", to_string(error));
        return std::shared_ptr<void>();
    };
    auto watcher = dcb::Watcher::open();
    if (!watcher) {
        return cannot(watcher.error());
    }
    auto watch = std::make_shared<PortWatch>(std::move(*watcher), std::move(ours), std::move(take));
    if (const auto listens = watch->listen(loop); !listens) {
        return cannot(listens.error());
    }
    return watch;
}

}    // namespace rdmaqos
