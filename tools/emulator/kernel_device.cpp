#include "tools/emulator/kernel_device.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace rdmaqos::emulator {
namespace {

using namespace mlx5;

constexpr std::size_t kFirstBuffer = 256 * 1024;
constexpr std::size_t kLargestBuffer = 16 * 1024 * 1024;
// No command asks for more.
constexpr std::size_t kMostAnswer = 1024 * 1024;

Result<void> not_here(const std::string& what)
{
    return fail(ErrorCode::InvalidArgument,
                what + ": the kernel and the module play this part of the device, and have no such word");
}

FirmwareOptions firmware_options(const KernelDeviceOptions& options)
{
    FirmwareOptions firmware;
    firmware.capabilities = options.description.capabilities;
    firmware.implicit_queue_pairs = false;
    firmware.isolation = options.isolation;
    firmware.refuse_busy_leaf = options.refuse_busy_leaf;
    return firmware;
}

std::string method_of(const Mailbox& command)
{
    const auto opcode = get(command, prm::kOpcode);
    const auto name = prm::name_of(opcode);
    return name.empty() ? fmt::format("command-{:#x}", opcode) : std::string(name);
}

}    // namespace

UniqueFd make_wakeup()
{
    UniqueFd fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!fd) {
        throw std::runtime_error(fmt::format("eventfd: {}", std::strerror(errno)));
    }
    return fd;
}

void wake(const UniqueFd& wakeup)
{
    const std::uint64_t one = 1;
    (void)!write(wakeup.get(), &one, sizeof(one));
}

bool wait_for(int fd, int wakeup)
{
    for (;;) {
        pollfd both[2] = {{fd, POLLIN, 0}, {wakeup, POLLIN, 0}};
        const int ready = poll(both, 2, -1);
        if (ready < 0 && errno != EINTR) {
            return false;
        }
        if (ready > 0 && both[1].revents != 0) {
            return false;
        }
        if (ready > 0 && both[0].revents != 0) {
            return true;
        }
    }
}

KernelDevice::KernelDevice(KernelDeviceOptions options, UniqueFd commands, std::shared_ptr<Behaviour> behaviour,
                           Trace& trace, std::function<void()> gone)
    : options_(std::move(options)), commands_(std::move(commands)), trace_(trace), gone_(std::move(gone)),
      firmware_(firmware_options(options_), std::move(behaviour)), wakeup_(make_wakeup()), buffer_(kFirstBuffer),
      thread_([this] { serve(); })
{
}

KernelDevice::~KernelDevice()
{
    wake(wakeup_);
    thread_.join();
    workers_.finish();
}

// ---- commands ----

Result<void> KernelDevice::take_over() const
{
    for (const std::uint16_t opcode : KernelFirmware::opcodes()) {
        if (auto sent = tell(fmt::format("delegate {:x} 1", opcode)); !sent) {
            return sent;
        }
    }
    return {};
}

void KernelDevice::serve()
{
    while (wait_for(commands_.get(), wakeup_.get())) {
        if (!take_command()) {
            gone_();
            return;
        }
    }
}

bool KernelDevice::take_command()
{
    const ssize_t length = read(commands_.get(), buffer_.data(), buffer_.size());
    if (length < 0 && errno == EMSGSIZE && buffer_.size() < kLargestBuffer) {
        buffer_.resize(2 * buffer_.size());
        return true;
    }
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    CommandHead head;
    if (length < static_cast<ssize_t>(sizeof(head))) {
        return false;
    }
    std::memcpy(&head, buffer_.data(), sizeof(head));
    const Mailbox command(buffer_.begin() + sizeof(head), buffer_.begin() + length);
    workers_.run([this, head, command] { answer(head, command); });
    return true;
}

void KernelDevice::answer(const CommandHead& head, const Mailbox& command)
{
    ++calls_;
    const auto started = std::chrono::steady_clock::now();
    FirmwareAnswer answer;
    try {
        answer = firmware_.answer(command);
    } catch (const std::exception& mistake) {
        ++internal_errors_;
        fmt::print(stderr, "rdma-qos-emulator: {}: {}\n", method_of(command), mistake.what());
        answer.mailbox.assign(prm::kHeaderBytes, 0);
        set(answer.mailbox, prm::kStatus, static_cast<std::uint64_t>(FirmwareStatus::InternalError));
    }
    if (trace_.is_watched()) {
        CallRecord record;
        record.device = name();
        record.file = get(command, prm::kUid);
        record.method = method_of(command);
        record.notes = std::move(answer.notes);
        if (answer.refusal) {
            record.notes.push_back({"refusal", answer.refusal->message});
            record.error = answer.refusal->sys_errno;
        }
        record.ends(started);
        trace_.show(record);
    }
    if (!answer.mailbox.empty()) {
        answer.mailbox.resize(std::min<std::size_t>(head.out_bytes, kMostAnswer));
    }
    std::vector<std::uint8_t> bytes(sizeof(head) + answer.mailbox.size());
    std::memcpy(bytes.data(), &head, sizeof(head));
    std::copy(answer.mailbox.begin(), answer.mailbox.end(), bytes.begin() + sizeof(head));
    // A device that was reset meanwhile does not want it any more.
    (void)!write(commands_.get(), bytes.data(), bytes.size());
}

// ---- ctl ----

std::optional<std::string> KernelDevice::uverbs() const
{
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/class/infiniband_verbs", none)) {
        std::string device;
        if (std::ifstream(entry.path() / "ibdev") >> device && device == name()) {
            return entry.path().filename().string();
        }
    }
    return std::nullopt;
}

Result<std::vector<QueuePairOwner>> KernelDevice::owners() const
{
    return fail(ErrorCode::InvalidArgument, "the kernel knows the owners: rdma resource show qp");
}

Result<void> KernelDevice::tell(const std::string& words) const
{
    const UniqueFd fd(open(options_.control.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd) {
        return fail(ErrorCode::Io,
                    fmt::format("{}: {}; is the module loaded?", options_.control.string(), std::strerror(errno)));
    }
    const std::string line = words + "\n";
    if (write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
        return fail(ErrorCode::Io, fmt::format("{}: the module does not do `{}`: {}", options_.control.string(), words,
                                               std::strerror(errno)));
    }
    return {};
}

Result<void> KernelDevice::reset()
{
    if (auto sent = tell("fatal"); !sent) {
        return sent;
    }
    firmware_.lose_everything();
    return {};
}

Result<void> KernelDevice::set_port(std::uint32_t /*port*/, bool up)
{
    return tell(up ? "link up" : "link down");
}

Result<void> KernelDevice::set_link_speed(std::uint32_t /*port*/, Bandwidth speed)
{
    constexpr std::uint64_t kGbit = 1'000'000;    // in kbit/s
    if (speed.kbps() % kGbit != 0) {
        return fail(ErrorCode::InvalidArgument, "the module's links have whole rates in Gbit/s");
    }
    return tell(fmt::format("speed {}", speed.kbps() / kGbit));
}

Result<void> KernelDevice::set_port_classes(const PortClasses& /*classes*/)
{
    return not_here("port-classes");
}

Result<void> KernelDevice::order_dcb_fault(std::uint64_t /*nth*/, std::uint64_t /*times*/, const DcbFault& /*fault*/)
{
    return not_here("dcb-fault");
}

Result<void> KernelDevice::set_pkeys(std::uint32_t /*port*/, std::vector<std::uint16_t> /*pkeys*/)
{
    return not_here("pkeys");
}

Result<void> KernelDevice::send_device_fatal()
{
    return not_here("event device-fatal");
}

Result<void> KernelDevice::fail_queue_pair(std::uint32_t /*number*/)
{
    return not_here("qp-fatal");
}

}    // namespace rdmaqos::emulator
