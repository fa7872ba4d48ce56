#include "tools/emulator/firmware_process.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/emulator/control.h"

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

class KernelDevice final : public ControlledDevice {
public:
    KernelDevice(KernelFirmware& firmware, const FirmwareProcessOptions& options)
        : firmware_(firmware), options_(options)
    {
    }

    [[nodiscard]] const std::string& name() const override { return options_.device.name; }
    [[nodiscard]] Firmware& firmware() override { return firmware_.firmware(); }
    [[nodiscard]] std::size_t ports() const override { return 1; }
    [[nodiscard]] std::size_t files() const override { return firmware_.files(); }
    [[nodiscard]] std::size_t leaked() const override { return firmware_.leaked(); }
    [[nodiscard]] std::optional<std::string> uverbs() const override
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
    [[nodiscard]] std::optional<std::size_t> objects() const override { return std::nullopt; }
    [[nodiscard]] Result<std::vector<QueuePairOwner>> owners() const override
    {
        return fail(ErrorCode::InvalidArgument, "the kernel knows the owners: rdma resource show qp");
    }
    bool order_queue_pairs(const std::vector<std::uint32_t>& numbers) override
    {
        return firmware_.order_queue_pairs(numbers);
    }

    Result<void> reset() override
    {
        if (auto told = tell("fatal"); !told) {
            return told;
        }
        firmware_.lose_everything();
        return {};
    }
    Result<void> unplug() override { return tell("unplug"); }
    Result<void> plug() override { return tell("plug"); }
    Result<void> set_port(std::uint32_t /*port*/, bool up) override { return tell(up ? "link up" : "link down"); }
    Result<void> set_link_speed(std::uint32_t /*port*/, Bandwidth speed) override
    {
        constexpr std::uint64_t kGbit = 1'000'000;    // in kbit/s
        if (speed.kbps() % kGbit != 0) {
            return fail(ErrorCode::InvalidArgument, "the module's links have whole rates in Gbit/s");
        }
        return tell(fmt::format("speed {}", speed.kbps() / kGbit));
    }
    Result<void> set_pkeys(std::uint32_t, std::vector<std::uint16_t>) override { return not_here("pkeys"); }
    Result<void> send_device_fatal() override { return not_here("event device-fatal"); }
    Result<void> fail_queue_pair(std::uint32_t) override { return not_here("qp-fatal"); }

private:
    [[nodiscard]] Result<void> tell(const std::string& words) const { return tell_module(options_.control, words); }

    KernelFirmware& firmware_;
    const FirmwareProcessOptions& options_;
};

FirmwareOptions firmware_options(const FirmwareProcessOptions& options)
{
    FirmwareOptions firmware;
    firmware.capabilities = options.device.capabilities;
    firmware.implicit_queue_pairs = false;
    firmware.isolate_queue_groups = options.isolate_queue_groups;
    firmware.refuse_busy_leaf = options.refuse_busy_leaf;
    return firmware;
}

UniqueFd listen_at(const std::filesystem::path& path)
{
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.string().size() >= sizeof(address.sun_path)) {
        throw std::runtime_error(path.string() + " is too long for a socket; choose a shorter directory");
    }
    std::memcpy(address.sun_path, path.c_str(), path.string().size() + 1);
    unlink(path.c_str());
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd || bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        chmod(path.c_str(), 0600) != 0 || listen(fd.get(), SOMAXCONN) != 0) {
        throw std::runtime_error(fmt::format("{}: {}", path.string(), std::strerror(errno)));
    }
    return fd;
}

// False: `wakeup` says that it is over.
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

std::string method_of(const Mailbox& command)
{
    const auto opcode = get(command, prm::kOpcode);
    const auto name = prm::name_of(opcode);
    return name.empty() ? fmt::format("command-{:#x}", opcode) : std::string(name);
}

}    // namespace

Result<void> tell_module(const std::filesystem::path& control, const std::string& words)
{
    const UniqueFd fd(open(control.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd) {
        return fail(ErrorCode::Io,
                    fmt::format("{}: {}; is the module loaded?", control.string(), std::strerror(errno)));
    }
    const std::string line = words + "\n";
    if (write(fd.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
        return fail(ErrorCode::Io,
                    fmt::format("{}: the module does not do `{}`: {}", control.string(), words, std::strerror(errno)));
    }
    return {};
}

FirmwareProcess::FirmwareProcess(FirmwareProcessOptions options, UniqueFd commands, std::function<void()> gone)
    : options_(std::move(options)), commands_(std::move(commands)), gone_(std::move(gone)),
      firmware_(firmware_options(options_)), listener_(listen_at(options_.directory / "control.sock")),
      wakeup_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), buffer_(kFirstBuffer)
{
    if (!wakeup_) {
        throw std::runtime_error(fmt::format("eventfd: {}", std::strerror(errno)));
    }
    command_thread_ = std::thread([this] { serve_commands(); });
    client_thread_ = std::thread([this] { serve_clients(); });
}

FirmwareProcess::~FirmwareProcess()
{
    const std::uint64_t one = 1;
    (void)!write(wakeup_.get(), &one, sizeof(one));
    client_thread_.join();
    clients_.finish();    // they may be waiting for what commands do
    command_thread_.join();
    workers_.finish();
    unlink((options_.directory / "control.sock").c_str());
}

Result<void> FirmwareProcess::take_over()
{
    for (const std::uint16_t opcode : KernelFirmware::opcodes()) {
        if (auto told = tell_module(options_.control, fmt::format("delegate {:x} 1", opcode)); !told) {
            return told;
        }
    }
    return {};
}

// ---- commands ----

void FirmwareProcess::serve_commands()
{
    while (wait_for(commands_.get(), wakeup_.get())) {
        if (!take_command()) {
            gone_();
            return;
        }
    }
}

bool FirmwareProcess::take_command()
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

void FirmwareProcess::answer(const CommandHead& head, const Mailbox& command)
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
        record.device = options_.device.name;
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

void FirmwareProcess::serve_clients()
{
    while (wait_for(listener_.get(), wakeup_.get())) {
        const auto client = std::make_shared<UniqueFd>(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        if (*client) {
            clients_.run([this, client] { serve_control(*this, std::move(*client)); });
        }
    }
}

std::vector<std::shared_ptr<ControlledDevice>> FirmwareProcess::devices()
{
    return {std::make_shared<KernelDevice>(firmware_, options_)};
}

Result<void> FirmwareProcess::check_setting(const std::string& name, const std::string& value) const
{
    if ((name == "modify-lock" && value == "exclusive") || (name == "mailbox-on-error" && value == "no")) {
        return fail(ErrorCode::InvalidArgument, fmt::format("{} is as the kernel has it, which is not played", name));
    }
    return {};
}

}    // namespace rdmaqos::emulator
