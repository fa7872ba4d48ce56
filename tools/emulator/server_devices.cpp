// What happens to devices: they come, go and change.
#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/socket.h>

#include "tools/emulator/dcb.h"
#include "tools/emulator/protocol.h"
#include "tools/emulator/server.h"
#include "tools/emulator/sysfs.h"
#include "tools/emulator/uverbs_file.h"

namespace rdmaqos::emulator {

namespace {

std::string node_of(const Device& device)
{
    return fmt::format("uverbs{}.sock", device.index());
}

// What the node leads to: a program that is connected to it knows which one it was.
std::string socket_of(const Device& device)
{
    return fmt::format("uverbs{}.{}.sock", device.index(), device.appearance());
}

}    // namespace

void Server::appear(const std::shared_ptr<Device>& device)
{
    std::error_code none;
    std::filesystem::remove(directory_ / node_of(*device), none);    // of an emulator that was killed
    listen_at(socket_of(*device), Peer::Kind::DeviceListener, device);
    std::filesystem::create_symlink(socket_of(*device), directory_ / node_of(*device));
    write_sysfs(directory_ / "sys", *device);
}

void Server::disappear(const Device& device)
{
    remove_sysfs(directory_ / "sys", device);
    std::filesystem::remove(directory_ / node_of(device));
    std::filesystem::remove(directory_ / socket_of(device));
    int listener = -1;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [fd, peer] : peers_) {
            if (peer->kind == Peer::Kind::DeviceListener && peer->device.get() == &device) {
                listener = fd;
            }
        }
    }
    if (listener >= 0) {
        remove_peer(listener);
    }
}

// ---- who is notified ----

// A message of a subscriber: the groups that it joins, as bind() of a netlink socket does.
void Server::subscribe(Peer& peer)
{
    const int fd = peer.fd.get();
    std::uint32_t groups = 0;
    const ssize_t length = recv(fd, &groups, sizeof(groups), MSG_DONTWAIT);
    if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR)) {
        remove_peer(fd);
        return;
    }
    if (length == sizeof(groups)) {
        const std::lock_guard lock(mutex_);    // no notification precedes the answer
        subscribers_[fd] = groups;
        const char answer[kSubscribed] = {};
        (void)send(fd, answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    arm(fd);
}

void Server::join_dcb(int fd)
{
    const std::lock_guard lock(mutex_);    // as above
    dcb_listeners_.insert(fd);
    const char answer[kSubscribed] = {};
    (void)send(fd, answer, sizeof(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void Server::tell_dcb(const NetlinkDatagram& notice)
{
    const std::lock_guard lock(mutex_);
    for (const int fd : dcb_listeners_) {
        // Who does not read loses what does not fit; the kernel would tell him so.
        (void)send(fd, notice.data(), notice.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

void Server::tell(const std::vector<Uevent>& events)
{
    const std::lock_guard lock(mutex_);
    for (const auto& event : events) {
        ++uevents_;
        for (const auto& [fd, groups] : subscribers_) {
            // Who does not read loses what does not fit, as in the kernel.
            const auto tell_group = [&, to = fd](const std::string& message) {
                (void)send(to, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
            };
            if ((groups & kKernelGroup) != 0) {
                tell_group(kernel_message(event, uevents_));
            }
            if ((groups & kUdevGroup) != 0) {
                tell_group(udev_message(event, uevents_));
            }
        }
    }
}

// ---- what happens ----

unsigned Server::free_index() const
{
    std::set<unsigned> taken;
    for (const auto& device : devices_) {
        if (device->firmware().presence() == DevicePresence::Present) {
            taken.insert(device->index());
        }
    }
    unsigned index = 0;
    while (taken.contains(index)) {
        ++index;
    }
    return index;
}

// The kernel calls it a fatal error, too, if somebody only pulls the device out.
void Server::end_files(Device& device)
{
    for (const auto& file : device.files()) {
        if (!file->is_dead()) {
            file->send(AsyncEvent::DeviceFatal, 0);
            file->disassociate();
        }
    }
}

void Server::unplug(Device& device)
{
    if (device.firmware().presence() != DevicePresence::Present) {
        return;
    }
    {
        const std::lock_guard lock(counting_);
        disappear(device);
        device.firmware().remove();
    }
    end_files(device);
    tell(uevents_of(device, UeventAction::Remove));
}

void Server::plug(Device& device)
{
    if (device.firmware().presence() == DevicePresence::Present) {
        return;
    }
    device.set_appearance(free_index(), next_appearance_++);
    device.lose_port_classes();
    if (hardware_) {
        hardware_->clear_traffic(device);
    }
    {
        const std::lock_guard lock(counting_);
        device.firmware().replug();
        moved_.erase(&device);
        appear(find(device.name()));
    }
    tell(uevents_of(device, UeventAction::Add));
}

void Server::reset(Device& device)
{
    // In this order: the firmware holds nothing any more when a program closes its file because of the event.
    {
        const std::lock_guard lock(counting_);
        disappear(device);
        device.firmware().reset();
    }
    end_files(device);
    tell(uevents_of(device, UeventAction::Remove));
    plug(device);
}

void Server::set_port(Device& device, std::uint32_t port, bool up)
{
    device.set_port(port, up);
    write_port_state(directory_ / "sys", device, port);
    for (const auto& file : device.files()) {
        file->send(up ? AsyncEvent::PortActive : AsyncEvent::PortError, port);
    }
}

void Server::set_link_speed(Device& device, std::uint32_t port, Bandwidth speed)
{
    set_port(device, port, false);
    device.set_link_speed(port, speed);
    set_port(device, port, true);
}

void Server::set_port_classes(Device& device, const PortClasses& classes)
{
    set_by_host(device, classes, [this](const NetlinkDatagram& notice) { tell_dcb(notice); });
}

void Server::set_pkeys(Device& device, std::uint32_t port, std::vector<std::uint16_t> pkeys)
{
    device.set_pkeys(port, std::move(pkeys));
    write_pkeys(directory_ / "sys", device, port);
    for (const auto& file : device.files()) {
        file->send(AsyncEvent::PkeyChange, port);
    }
}

}    // namespace rdmaqos::emulator
