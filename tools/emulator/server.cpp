#include "tools/emulator/server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/descriptor_message.h"
#include "tools/emulator/control.h"
#include "tools/emulator/methods.h"
#include "tools/emulator/netlink.h"
#include "tools/emulator/page_size.h"
#include "tools/emulator/protocol.h"
#include "tools/emulator/sysfs.h"

namespace rdmaqos::emulator {
namespace {

using namespace std::chrono_literals;

// Calls of one file that run at the same time; more wait in its socket.
constexpr int kCallsPerFile = 64;
// And of one process, on all its files; more get EAGAIN, which no kernel says. So nobody can take all the workers.
constexpr int kCallsPerProcess = 512;

// Threads that wait for something to happen; those that come back from a call and are more, rest.
constexpr int kWaiting = 2;

// How old the port counters may be.
constexpr std::chrono::milliseconds kCountInterval = 200ms;

[[noreturn]] void give_up(const std::string& what)
{
    throw std::runtime_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

std::vector<std::shared_ptr<Device>> make_devices(const ServerOptions& options, std::atomic<unsigned>& index)
{
    std::vector<std::shared_ptr<Device>> devices;
    std::vector<std::vector<SimulatedDevice>> groups;
    for (const auto& port : options.ports) {
        const auto known = std::find_if(groups.begin(), groups.end(),
                                        [&](const auto& group) { return group.front().name == port.name; });
        if (known != groups.end()) {
            known->push_back(port);
        } else {
            groups.push_back({port});
        }
    }
    for (auto& ports : groups) {
        FirmwareOptions firmware;
        firmware.capabilities = ports.front().capabilities;
        firmware.implicit_queue_pairs = false;
        firmware.isolation = options.isolation;
        firmware.refuse_busy_leaf = options.refuse_busy_leaf;
        const bool infiniband = ports.front().infiniband;
        devices.push_back(std::make_shared<Device>(std::move(ports), firmware, index++));
        if (!infiniband) {
            devices.back()->set_port_classes(options.port_classes);
        }
    }
    return devices;
}

// One message of a file, and the descriptors that came with it.
struct Message {
    ssize_t length = 0;
    CallHeader header;
    std::vector<std::uint8_t> bytes;
    Caller caller;
    std::vector<UniqueFd> fds;
    bool whole = false;     // a call
    bool closes = false;    // the beginning of a close
    bool maps = false;      // of a mapping
};

Message receive(int socket)
{
    constexpr std::size_t kMostFds = 16;
    Message message;
    message.bytes.resize(kMaxIoctl + kMaxChunks);
    iovec parts[2] = {{&message.header, sizeof(message.header)}, {message.bytes.data(), message.bytes.size()}};
    alignas(cmsghdr) std::uint8_t control[CMSG_SPACE(sizeof(int) * kMostFds) + CMSG_SPACE(sizeof(ucred))];
    msghdr header{};
    header.msg_iov = parts;
    header.msg_iovlen = 2;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    message.length = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (message.length <= 0) {
        return message;
    }
    for (cmsghdr* each = CMSG_FIRSTHDR(&header); each != nullptr; each = CMSG_NXTHDR(&header, each)) {
        if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_RIGHTS) {
            const std::size_t count = (each->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (std::size_t at = 0; at < count; ++at) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(each) + at * sizeof(int), sizeof(fd));
                message.fds.emplace_back(fd);
            }
        } else if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_CREDENTIALS) {
            ucred credentials{};
            std::memcpy(&credentials, CMSG_DATA(each), sizeof(credentials));
            message.caller.pid = credentials.pid;
            message.caller.uid = credentials.uid;
        }
    }
    const bool complete = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0 &&
                          message.length >= static_cast<ssize_t>(sizeof(message.header));
    message.whole = complete && message.header.magic == kCallMagic && message.fds.size() == 1;
    message.maps = complete && message.header.magic == kMapMagic && message.fds.size() == 1;
    message.closes = complete && message.header.magic == kCloseMagic && message.fds.size() == 2;
    message.bytes.resize(message.whole ? static_cast<std::size_t>(message.length) - sizeof(message.header) : 0);
    message.caller.thread = message.header.thread;
    return message;
}

// Of a last close: what went with the file.
CallRecord record_of(UverbsFile& file, const UverbsFile::Closed& closed, std::chrono::steady_clock::time_point started)
{
    CallRecord record;
    record.device = file.device().name();
    record.file = file.number();
    record.caller.pid = file.opener();
    record.method = "last-close";
    std::int64_t objects = 0;
    for (const auto& [type, count] : closed.objects) {
        record.notes.push_back({std::string(to_string(type)), static_cast<std::int64_t>(count)});
        objects += static_cast<std::int64_t>(count);
    }
    record.notes.insert(record.notes.begin(), {"objects", objects});
    record.notes.push_back({"leaked", static_cast<std::int64_t>(closed.leaked)});
    record.ends(started);
    return record;
}

void refuse_call(UniqueFd reply, const Caller& caller, std::uint64_t address, std::vector<std::uint8_t> bytes)
{
    try {
        Call(std::move(reply), caller, address, std::move(bytes)).finish(EAGAIN);
    } catch (const Failure&) {
        // It was not even well-formed, and has been answered so.
    }
}

// Nobody has a descriptor of its other end any more.
bool is_hung_up(int socket)
{
    pollfd look{socket, 0, 0};
    return poll(&look, 1, 0) == 1 && (look.revents & POLLHUP) != 0;
}

// Nothing: who it is is not known.
std::optional<ucred> peer_of(int socket)
{
    ucred credentials{};
    socklen_t length = sizeof(credentials);
    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 ? std::optional(credentials)
                                                                                   : std::nullopt;
}

}    // namespace

Server::Server(const ServerOptions& options)
    : directory_(options.directory), any_user_(options.any_user), devices_(make_devices(options, next_appearance_)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)), wakeup_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
{
    if (!epoll_ || !wakeup_) {
        give_up("epoll");
    }
    if (options.move_data) {
        hardware_ = std::make_unique<Hardware>();
        for (const auto& device : devices_) {
            hardware_->add(*device);
            device->set_hardware(*hardware_);
        }
    }
    add_peer({Peer::Kind::Wakeup, UniqueFd(dup(wakeup_.get())), nullptr, nullptr, UniqueFd()});
    // First, for it tells whether another emulator lives here.
    listen_at("control.sock", Peer::Kind::ControlListener, nullptr);
    begin_sysfs(directory_ / "sys");
    for (const auto& device : devices_) {
        appear(device);
    }
    listen_at("netlink.sock", Peer::Kind::NetlinkListener, nullptr);
    listen_at("uevent.sock", Peer::Kind::UeventListener, nullptr);
    workers_.run([this] { loop(); });
}

Server::~Server()
{
    ending_ = true;
    const std::uint64_t one = 1;
    (void)!write(wakeup_.get(), &one, sizeof(one));
    workers_.finish();
    for (const auto& device : devices_) {
        for (const auto& file : device->files()) {
            file->disassociate();
            file->hang_up();
            device->remove(file.get(), 0);
        }
    }
    try {
        for (const auto& device : devices_) {
            disappear(*device);
        }
        for (const char* name : {"netlink.sock", "uevent.sock", "control.sock"}) {
            std::filesystem::remove(directory_ / name);
        }
    } catch (const std::exception& mistake) {
        fmt::print(stderr, "rdma-qos-emulator: {}\n", mistake.what());
    }
    const std::lock_guard lock(mutex_);
    peers_.clear();
}

std::shared_ptr<Device> Server::find(const std::string& name) const
{
    const auto found = std::find_if(devices_.begin(), devices_.end(),
                                    [&](const auto& device) { return device->name() == name; });
    return found == devices_.end() ? nullptr : *found;
}

// ---- descriptors in the loop ----

void Server::listen_at(const std::string& name, Peer::Kind kind, const std::shared_ptr<Device>& device)
{
    const mode_t mode = any_user_ && kind != Peer::Kind::ControlListener ? 0666 : 0600;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = (directory_ / name).string();
    if (path.size() >= sizeof(address.sun_path)) {
        throw std::runtime_error(path + " is too long for a socket; choose a shorter directory");
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const int type = kind == Peer::Kind::ControlListener ? SOCK_STREAM : SOCK_SEQPACKET;
    if (UniqueFd left(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
        connect(left.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
        errno == ECONNREFUSED) {
        unlink(path.c_str());    // of an emulator that was killed
    }
    UniqueFd fd(socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    if (!fd || setsockopt(fd.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0 ||
        bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        chmod(path.c_str(), mode) != 0 || listen(fd.get(), SOMAXCONN) != 0) {
        give_up(path);
    }
    add_peer({kind, std::move(fd), device, nullptr, UniqueFd()});
}

void Server::add_peer(Peer peer)
{
    const int fd = peer.kind == Peer::Kind::File ? peer.file->socket() : peer.fd.get();
    const bool wakes_all = peer.kind == Peer::Kind::Wakeup;
    {
        const std::lock_guard lock(mutex_);
        peers_[fd] = std::make_shared<Peer>(std::move(peer));
    }
    epoll_event event{};
    // One thread at a time, which arms it again; all of them when this ends.
    event.events = EPOLLIN | (wakes_all ? 0U : EPOLLONESHOT);
    event.data.fd = fd;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Server::remove_peer(int fd)
{
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    const std::lock_guard lock(mutex_);
    peers_.erase(fd);
    subscribers_.erase(fd);
    dcb_listeners_.erase(fd);
}

void Server::arm(int fd)
{
    epoll_event event{};
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.fd = fd;
    epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Server::count_traffic()
{
    const auto now = std::chrono::steady_clock::now();
    const std::unique_lock lock(counting_, std::try_to_lock);
    if (!lock || now - counted_ < kCountInterval) {
        return;
    }
    counted_ = now;
    for (const auto& device : devices_) {
        if (device->firmware().presence() != DevicePresence::Present) {
            continue;
        }
        const auto moved = hardware_->traffic_of_ports(*device);
        if (std::exchange(moved_[device.get()], moved) != moved) {
            show_traffic(*device, moved);
        }
    }
}

// Programs do not need the counters: where they cannot be written (the file system is full, the directory is gone), it
// is tried again, and everything else goes on.
void Server::show_traffic(const Device& device, const std::vector<PortTraffic>& moved)
{
    try {
        write_counters(directory_ / "sys", device, moved);
        counters_fail_ = false;
    } catch (const std::exception& mistake) {
        moved_.erase(&device);
        if (!std::exchange(counters_fail_, true)) {
            fmt::print(stderr, "rdma-qos-emulator: the port counters are not written: {}\n", mistake.what());
        }
    }
}

// Who finds a call runs it, so that it changes threads only once; somebody else waits meanwhile.
void Server::loop()
{
    while (!ending_) {
        epoll_event event{};
        ++waiting_;
        const int patience = hardware_ ? static_cast<int>(kCountInterval.count()) : -1;
        const int count = epoll_wait(epoll_.get(), &event, 1, patience);
        if (--waiting_ == 0 && !ending_) {
            workers_.run([this] { loop(); });
        }
        if (hardware_) {
            count_traffic();
        }
        if (count > 0) {
            std::shared_ptr<Peer> peer;
            {
                const std::lock_guard lock(mutex_);
                const auto found = peers_.find(event.data.fd);
                peer = found == peers_.end() ? nullptr : found->second;
            }
            if (peer) {
                handle(*peer);
            }
        }
        if (waiting_ >= kWaiting) {
            return;
        }
    }
}

void Server::handle(Peer& peer)
{
    switch (peer.kind) {
    case Peer::Kind::DeviceListener:
    case Peer::Kind::ControlListener:
    case Peer::Kind::NetlinkListener:
    case Peer::Kind::UeventListener: {
        UniqueFd fd = accept_from(peer);
        arm(peer.fd.get());
        if (fd) {
            welcome(peer, std::move(fd));
        }
        break;
    }
    case Peer::Kind::File:
        take_call(peer.file);
        break;
    case Peer::Kind::Closing:
        descriptor_closed(peer);
        break;
    case Peer::Kind::Netlink:
        if (answer_netlink(peer.fd.get(), {devices_, [this](const NetlinkDatagram& notice) { tell_dcb(notice); },
                                           behaviour_.counts_bytes ? KernelCounters::Bytes : KernelCounters::Requests,
                                           [this, &peer] { join_dcb(peer.fd.get()); }})) {
            arm(peer.fd.get());
        } else {
            remove_peer(peer.fd.get());
        }
        break;
    case Peer::Kind::Uevents:
        subscribe(peer);
        break;
    case Peer::Kind::Wakeup:
        break;
    }
}

UniqueFd Server::accept_from(const Peer& listener) const
{
    UniqueFd fd(accept4(listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd && (errno == EMFILE || errno == ENFILE)) {
        std::this_thread::sleep_for(10ms);    // until somebody closes something
    }
    const bool may_be_any = any_user_ && listener.kind != Peer::Kind::ControlListener;
    const auto peer = fd && !may_be_any ? peer_of(fd.get()) : std::nullopt;
    return may_be_any || (peer && peer->uid == geteuid()) ? std::move(fd) : UniqueFd();
}

void Server::welcome(const Peer& listener, UniqueFd fd)
{
    if (listener.kind == Peer::Kind::ControlListener) {
        await_closes(nullptr);
        serve_control(*this, std::move(fd));    // as long as the client likes: this thread is his
    } else if (listener.kind == Peer::Kind::NetlinkListener || listener.kind == Peer::Kind::UeventListener) {
        const bool uevents = listener.kind == Peer::Kind::UeventListener;
        add_peer({uevents ? Peer::Kind::Uevents : Peer::Kind::Netlink, std::move(fd), nullptr, nullptr, UniqueFd()});
    } else {
        const auto peer = peer_of(fd.get());
        const pid_t opener = peer ? peer->pid : 0;
        const auto file = std::make_shared<UverbsFile>(listener.device, std::move(fd), next_file_++, opener);
        listener.device->add(file);
        add_peer({Peer::Kind::File, UniqueFd(), nullptr, file, UniqueFd()});
    }
}

// ---- calls ----

void Server::map_page(UverbsFile& file, const UniqueFd& conversation, std::uint64_t offset)
{
    std::shared_ptr<DoorbellPage> page;
    const auto number = static_cast<std::uint32_t>(offset / page_size());
    for (const auto& object : file.objects()) {
        if (object->type == ObjectType::Uar && object->number == number) {
            const auto* found = std::get_if<std::shared_ptr<DoorbellPage>>(&object->data);
            page = found != nullptr ? *found : nullptr;
        }
    }
    const timeval patience{5, 0};
    setsockopt(conversation.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    char byte = 0;
    iovec part{&byte, sizeof(byte)};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    DescriptorRoom room;
    const std::array fds{page ? page->fd() : -1};
    room.put(message, std::span(fds).first(page ? 1 : 0));
    if (sendmsg(conversation.get(), &message, MSG_NOSIGNAL) != sizeof(byte) || !page) {
        return;
    }
    std::uint64_t address = 0;
    part = {&address, sizeof(address)};
    message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    room.offer(message);
    if (recvmsg(conversation.get(), &message, MSG_CMSG_CLOEXEC) != sizeof(address)) {
        return;
    }
    if (auto got = take_descriptors(message); got.size() == 1) {
        file.device().hardware()->watch_page(file.device(), number, std::move(got.front()), address);
    }
}

void Server::take_call(const std::shared_ptr<UverbsFile>& file)
{
    Message message = receive(file->socket());
    if (message.length == 0 || (message.length < 0 && errno != EAGAIN && errno != EINTR)) {
        remove_peer(file->socket());
        file_closed(file);
        return;
    }
    if (!message.whole) {
        arm(file->socket());
        if (message.closes) {
            add_peer({Peer::Kind::Closing, std::move(message.fds[0]), nullptr, file, std::move(message.fds[1])});
        } else if (message.maps) {
            map_page(*file, message.fds.front(), message.header.address);
        }
        return;
    }
    const Caller caller = message.caller;
    if (!begin_call(caller.pid)) {
        arm(file->socket());
        refuse_call(std::move(message.fds.front()), caller, message.header.address, std::move(message.bytes));
        return;
    }
    if (++file->calls < kCallsPerFile) {    // else who ends first arms it
        arm(file->socket());
    }
    run_one(file, std::move(message.fds.front()), caller, message.header.address, std::move(message.bytes));
    end_call(caller.pid);
    if (file->calls-- == kCallsPerFile) {
        arm(file->socket());
    }
}

bool Server::begin_call(pid_t process)
{
    const std::lock_guard lock(calls_mutex_);
    int& running = calls_of_[process];
    if (running >= kCallsPerProcess) {
        return false;
    }
    ++running;
    return true;
}

void Server::end_call(pid_t process)
{
    const std::lock_guard lock(calls_mutex_);
    if (const auto found = calls_of_.find(process); --found->second == 0) {
        calls_of_.erase(found);
    }
}

void Server::run_one(const std::shared_ptr<UverbsFile>& file, UniqueFd reply, Caller caller, std::uint64_t address,
                     std::vector<std::uint8_t> bytes)
{
    ++calls_;
    const auto started = std::chrono::steady_clock::now();
    caller.traced = trace_.is_watched();
    CallRecord record;
    record.device = file->device().name();
    record.file = file->number();
    record.caller = caller;
    record.method = "malformed";
    record.error = EINVAL;
    try {
        Call call(std::move(reply), caller, address, std::move(bytes));
        try {
            record.error = run_call(call, *file, behaviour_, record.method);
        } catch (const std::exception& mistake) {
            ++internal_errors_;
            fmt::print(stderr, "rdma-qos-emulator: {}: {}\n", record.method, mistake.what());
            record.error = EIO;
        }
        record.notes = call.take_notes();
        record.ends(started);
        if (caller.traced) {
            trace_.show(record);    // before the caller goes on, so that lines are in order
        }
        call.finish(record.error);
    } catch (const Failure&) {
        if (caller.traced) {
            record.ends(started);
            trace_.show(record);
        }
    }
}

void Server::descriptor_closed(Peer& closing)
{
    remove_peer(closing.fd.get());
    closing.copy.reset();
    if (is_hung_up(closing.file->socket())) {
        closing.file->add_closer(std::move(closing.fd));
    }
}

void Server::await_closes(UverbsFile* file) const
{
    const auto is_awaited = [&](const std::shared_ptr<UverbsFile>& other) {
        return (file == nullptr || other->number() > file->number()) && is_hung_up(other->socket());
    };
    const auto are_closing = [&](const std::shared_ptr<Device>& device) {
        return (file == nullptr || device.get() == &file->device()) && std::ranges::any_of(device->files(), is_awaited);
    };
    const auto until = std::chrono::steady_clock::now() + 1s;
    while (behaviour_.close_milliseconds == 0 && std::ranges::any_of(devices_, are_closing) && !ending_ &&
           std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(1ms);
    }
}

void Server::file_closed(const std::shared_ptr<UverbsFile>& file)
{
    const auto started = std::chrono::steady_clock::now();
    await_closes(file.get());
    while (file->calls > 0 && !ending_) {
        std::this_thread::sleep_for(1ms);
    }
    const auto begin = std::chrono::steady_clock::now();
    // A time that is set meanwhile holds for it, too.
    const auto delay = [this] { return std::chrono::milliseconds(behaviour_.close_milliseconds.load()); };
    while (std::chrono::steady_clock::now() < begin + delay() && !ending_) {
        std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(delay(), 10ms));
    }
    const UverbsFile::Closed closed = file->close();
    file->device().remove(file.get(), closed.leaked);
    if (trace_.is_watched()) {
        trace_.show(record_of(*file, closed, started));
    }
    file->release_closers();
}

}    // namespace rdmaqos::emulator
