#include "daemon/discovery.h"

#include <chrono>
#include <future>
#include <set>
#include <stdexcept>

#include <sys/epoll.h>

#include "daemon/service/device_control.h"
#include "daemon/service/device_table.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/reloads.h"
#include "lib/base/compare_maps.h"
#include "lib/base/log.h"
#include "lib/base/try.h"
#include "lib/nic_mlx5/sysfs.h"

namespace rdmaqos {
namespace {

// Events get lost, and a device may refuse to be opened at first: what is there is looked at now and then anyway.
constexpr auto kIntervalWithEvents = std::chrono::seconds(5);
constexpr auto kIntervalWithoutEvents = std::chrono::seconds(1);

// The daemon says that it is ready when devices that are there at its start are. Well below TimeoutStartSec=.
constexpr auto kPatienceAtStart = std::chrono::seconds(10);

}    // namespace

Discovery::Discovery(Service& service, bus::EventLoop& loop, Handover& handover, std::filesystem::path state)
    : service_(service), loop_(loop), handover_(handover), state_(std::move(state)), claims_(mlx5::sysfs_root()),
      calls_(loop)
{
}

Discovery::~Discovery() = default;

mlx5::BackendOptions Discovery::options() const
{
    const Settings& settings = service_.in_force().settings();
    mlx5::BackendOptions options;
    options.forced_mode = settings.attach_mode;
    options.caps = settings.cap_mode;
    options.postpone_test = !service_.reloads().makes_elements();
    options.self_test.helper = {"/proc/self/exe", "self-test-client"};
    options.self_test.cache = state_ / "self-test";
    return options;
}

std::vector<DeviceInfo> Discovery::consider(std::vector<DeviceInfo> ports)
{
    std::map<std::pair<Guid, std::uint32_t>, DeviceInfo> there;
    for (const auto& port : ports) {
        there.emplace(std::pair(port.node_guid, port.port), port);
    }
    compare_maps(seen_, there, [this](const auto& id, const DeviceInfo* before, const DeviceInfo* now) {
        if (now == nullptr) {
            service_.device_control().vanished({id.first, id.second});
        } else if (before != nullptr && *now != *before) {
            service_.device_control().port_changed({id.first, id.second});    // not every change has an event
        }
    });
    for (const auto& [guid, port] : std::exchange(wanted_again_, {})) {
        if (!there.contains({guid, port})) {
            service_.device_control().refused({guid, port},
                                              "it is not on this host; it will be managed when it appears");
        }
    }
    seen_ = std::move(there);
    const auto keys = service_.devices().keys();
    const std::set<std::string> present(keys.begin(), keys.end());
    std::erase_if(ports, [&](const DeviceInfo& port) {
        return present.contains(port.key()) || opening_.contains(port.name) || !mlx5::is_mlx5(port) ||
               !service_.device_control().wanted({port.node_guid, port.port});
    });
    return ports;
}

// On a thread of the device's.
Discovery::Found Discovery::open_port(DeviceInfo port, mlx5::BackendOptions options)
{
    auto claim = claims_.take(port.name);
    if (!claim) {
        std::string why = taken_by(port.name, claim.error());
        return {nullptr, nullptr, std::move(port), std::move(why)};
    }
    options.held = std::move(*claim);
    options.before_writing = [this, name = port.name]() -> Result<void> {
        if (const auto other = claims_.look(name)) {
            return fail(ErrorCode::Busy, taken_by(name, *other));
        }
        return {};
    };
    auto begun = handover_.begin(port);
    if (!begun) {
        return {nullptr, nullptr, std::move(port), to_string(begun.error())};
    }
    const std::shared_ptr<DeviceHandover> handover = std::move(*begun);
    if (handover) {
        auto left = handover->left_file(mlx5::can_take_over, port);
        if (!left) {
            return {nullptr, nullptr, std::move(port), to_string(left.error())};
        }
        options.elements_file = std::move(*left);
        // It has elements already, and they are of a mode that is known.
        options.postpone_test = options.postpone_test && !handover->has_left_elements();
    }
    auto backend = mlx5::open_backend(port, options);
    if (!backend) {
        return {nullptr, nullptr, std::move(port), to_string(backend.error())};
    }
    if (handover) {
        if (const auto kept = handover->begin((*backend)->lifeline()); !kept) {
            return {nullptr, nullptr, std::move(port), to_string(kept.error())};
        }
        handover_.opened(port);
    }
    return {std::move(*backend), handover, std::move(port), {}};
}

std::vector<Discovery::Found> Discovery::open(std::vector<DeviceInfo> ports, const mlx5::BackendOptions& options)
{
    std::vector<Found> found;
    found.reserve(ports.size());
    for (auto& port : ports) {
        found.push_back(open_port(std::move(port), options));
    }
    return found;
}

// A device that is there and not seen would lose what an earlier daemon has left on it: rather no start.
std::vector<DeviceInfo> Discovery::ports_at_start()
{
    auto ports = mlx5::list_ports(mlx5::sysfs_root());
    if (!ports) {
        throw std::runtime_error(to_string(ports.error()));
    }
    return std::move(*ports);
}

void Discovery::claim()
{
    for (const auto& port : ports_at_start()) {
        if (!mlx5::is_mlx5(port)) {
            continue;
        }
        auto claim = claims_.take(port.name);
        if (!claim) {
            throw DevicesTaken(taken_by(port.name, claim.error()));
        }
        first_claims_.push_back(std::move(*claim));
    }
}

std::set<std::string> Discovery::managed() const
{
    std::set<std::string> names;
    for (const auto& key : service_.devices().keys()) {
        names.insert(key.substr(0, key.find('/')));
    }
    return names;
}

void Discovery::report(const std::map<std::string, OtherDaemon>& others)
{
    std::erase_if(others_logged_, [&others](const auto& entry) { return !others.contains(entry.first); });
    for (const auto& [device, other] : others) {
        if (std::exchange(others_logged_[device], other.pid) != other.pid) {
            log(LogLevel::Error, {{"DEVICE", device}}, "{}", taken_by(device, other));
        }
    }
}

void Discovery::watch()
{
    auto opened = mlx5::DeviceWatcher::open();
    if (!opened) {
        log(LogLevel::Warning, "no device events ({}): looking for devices every {} s", to_string(opened.error()),
            kIntervalWithoutEvents.count());
        return;
    }
    watcher_ = std::move(*opened);
    auto source = loop_.on_io(watcher_->fd(), EPOLLIN, [this](std::uint32_t events) {
        const bool happened = watcher_->drain();
        if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
            watching_.reset();
            watcher_.reset();
        }
        if (happened) {
            look();
        }
    });
    if (!source) {
        watcher_.reset();
        return;
    }
    watching_ = std::move(*source);
}

void Discovery::start()
{
    watch();
    service_.device_control().on_wanted_again([this](Guid node_guid, std::uint32_t port) {
        wanted_again_.emplace(node_guid, port);
        look();
    });
    const auto ports = ports_at_start();
    auto managed = ports;
    std::erase_if(managed, [this](const DeviceInfo& port) {
        return !service_.device_control().wanted({port.node_guid, port.port});
    });
    handover_.forget_all_but(managed);
    open_all(consider(ports), kPatienceAtStart);
    first_claims_.clear();
    end_look();
    if (service_.devices().empty() && opening_.empty()) {
        log(LogLevel::Notice, "there is no mlx5 device on this host; one that appears will be managed");
    }
}

void Discovery::look()
{
    if (std::exchange(looking_, true)) {
        look_again_ = true;
        return;
    }
    // Fails where it is not known what is there: then nothing has changed, as far as one knows.
    auto task = [this, devices = managed()]() -> Result<Looked> {
        auto ports = TRY(mlx5::list_ports(mlx5::sysfs_root()));
        Looked looked{std::move(ports), {}};
        for (const auto& device : devices) {
            if (auto other = claims_.look(device)) {
                looked.others.emplace(device, std::move(*other));
            }
        }
        return looked;
    };
    calls_.run(worker_, std::move(task), [this](Result<Looked> looked) {
        if (looked) {
            report(looked->others);
            open_all(consider(std::move(looked->ports)), Duration::zero());
        }
        end_look();
    });
}

void Discovery::open_all(std::vector<DeviceInfo> ports, Duration patience)
{
    using Opened = std::promise<std::vector<Found>>;
    std::map<std::string, std::vector<DeviceInfo>> by_device;
    for (auto& port : ports) {
        by_device[port.name].push_back(std::move(port));
    }
    std::map<std::string, std::shared_ptr<std::future<std::vector<Found>>>> waiting;
    for (auto& [device, its_ports] : by_device) {
        for (const auto& port : its_ports) {
            if (!logged_.contains(port.key())) {    // else why it was refused before is said until it is not
                service_.device_control().not_managed(port, "it is being opened, and has not answered yet");
            }
        }
        auto opened = std::make_shared<Opened>();
        waiting[device] = std::make_shared<std::future<std::vector<Found>>>(opened->get_future());
        auto& worker = opening_[device] = std::make_unique<Worker>("open-" + device, 2);
        worker->submit_always([this, opened, to_open = std::move(its_ports), options = options()] {
            opened->set_value(open(to_open, options));
        });
    }
    const auto deadline = std::chrono::steady_clock::now() + patience;
    for (auto& [device, found] : waiting) {
        if (patience > Duration::zero() && found->wait_until(deadline) == std::future_status::ready) {
            opening_.erase(device);
            take(found->get());
            continue;
        }
        if (patience > Duration::zero()) {
            log(LogLevel::Warning, {{"DEVICE", device}}, "{} does not answer: it is managed when it does", device);
        }
        calls_.run(
            *opening_.at(device), [late = found] { return late->get(); },
            [this, device = device](Result<std::vector<Found>> late) {
                opening_.erase(device);    // joins a thread that has nothing left to do
                take(late ? std::move(*late) : std::vector<Found>());
            });
    }
}

void Discovery::take(std::vector<Found> found)
{
    for (auto& each : found) {
        const std::string key = each.port.key();
        if (each.backend) {
            logged_.erase(key);
            service_.device_control().add(std::move(each.backend), std::move(each.handover));
            continue;
        }
        service_.device_control().not_managed(each.port, each.error);
        service_.device_control().refused({each.port.node_guid, each.port.port}, each.error);
        if (logged_[key] != each.error) {
            log_event(LogLevel::Warning, LogEvent::DeviceRefused, LogOrigin::device(key), {{"DEVICE", key}},
                      "{} is left alone: {}", key, each.error);
            logged_[key] = each.error;
        }
    }
}

void Discovery::end_look()
{
    looking_ = false;
    if (std::exchange(look_again_, false)) {
        look();
    } else {
        look_later();
    }
}

void Discovery::look_later()
{
    timer_ = loop_.after(watcher_ ? kIntervalWithEvents : kIntervalWithoutEvents, [this] { look(); });
}

}    // namespace rdmaqos
