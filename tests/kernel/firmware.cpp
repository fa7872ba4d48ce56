#include "tests/kernel/firmware.h"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "tests/support/process.h"

namespace rdmaqos::test {
namespace {

using namespace std::chrono_literals;

constexpr const char* kControl = "/proc/fake_mlx5";
constexpr auto kPatience = 60s;    // of a driver that probes, recovers or removes, on an emulated processor

[[noreturn]] void give_up(const std::string& what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

// Somebody may still have a file of it open.
bool unloads(const std::string& name)
{
    return eventually([&] { return syscall(SYS_delete_module, name.c_str(), O_NONBLOCK) == 0 || errno == ENOENT; },
                      kPatience);
}

}    // namespace

void load_module(const std::string& name, const std::string& parameters)
{
    const std::string path = "/modules/" + name + ".ko";
    const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) {
        give_up(path);
    }
    if (syscall(SYS_finit_module, file.get(), parameters.c_str(), 0) != 0) {
        give_up(fmt::format("loading {} {}", name, parameters));
    }
}

void unload_module(const std::string& name)
{
    if (!unloads(name)) {
        give_up("unloading " + name);
    }
}

LoadedNic::LoadedNic(const std::string& parameters)
{
    load_module("fake_mlx5", parameters);
    if (parameters.find("plugged=0") == std::string::npos && !wait_for_nic(true)) {
        throw std::runtime_error("the driver makes no uverbs device; see the kernel's messages");
    }
}

LoadedNic::~LoadedNic()
{
    static_cast<void>(unloads("fake_mlx5"));
}

bool nic_is_present()
{
    std::error_code ignored;
    return std::filesystem::exists("/dev/infiniband/uverbs0", ignored) &&
           std::filesystem::exists("/sys/class/infiniband/mlx5_0/ports/1/state", ignored);
}

bool wait_for_nic(bool present)
{
    return eventually([present] { return nic_is_present() == present; }, kPatience);
}

void tell_firmware(std::string_view line)
{
    const UniqueFd file(open(kControl, O_WRONLY | O_CLOEXEC));
    if (!file || write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
        give_up(fmt::format("the module refuses \"{}\"", line));
    }
}

}    // namespace rdmaqos::test
