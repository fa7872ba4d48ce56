#include "tools/emulator/firmware_process.h"

#include <cerrno>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/emulator/control.h"

namespace rdmaqos::emulator {
namespace {

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

}    // namespace

FirmwareProcess::FirmwareProcess(std::filesystem::path directory, std::vector<ModuleEnd> modules,
                                 const std::function<void()>& gone)
    : directory_(std::move(directory)), listener_(listen_at(directory_ / "control.sock")), wakeup_(make_wakeup())
{
    for (auto& module : modules) {
        devices_.push_back(std::make_shared<KernelDevice>(std::move(module.options), std::move(module.commands),
                                                          behaviour_, trace_, gone));
    }
    client_thread_ = std::thread([this] { serve_clients(); });
}

FirmwareProcess::~FirmwareProcess()
{
    wake(wakeup_);
    client_thread_.join();
    clients_.finish();    // they may be waiting for what commands do
    devices_.clear();
    unlink((directory_ / "control.sock").c_str());
}

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
    return {devices_.begin(), devices_.end()};
}

std::uint64_t FirmwareProcess::calls() const
{
    return std::accumulate(devices_.begin(), devices_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& device) { return sum + device->calls(); });
}

std::uint64_t FirmwareProcess::internal_errors() const
{
    return std::accumulate(devices_.begin(), devices_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& device) { return sum + device->internal_errors(); });
}

Result<void> FirmwareProcess::check_setting(const std::string& name, const std::string& value) const
{
    if ((name == "modify-lock" && value == "exclusive") || (name == "mailbox-on-error" && value == "no") ||
        name == "counters") {
        return fail(ErrorCode::InvalidArgument, fmt::format("{} is as the kernel has it, which is not played", name));
    }
    return {};
}

}    // namespace rdmaqos::emulator
