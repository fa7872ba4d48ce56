#include "daemon/adoption/ability.h"

#include <cerrno>
#include <charconv>

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/text.h"

namespace rdmaqos {
namespace {

constexpr int kNobodyMay = 3;    // of ptrace_scope

// The effective capabilities of this process, from /proc/self/status.
std::uint64_t capabilities()
{
    constexpr std::string_view kKey = "CapEff:\t";
    const auto status = read_kernel_file("/proc/self/status");
    const auto at = status ? status->find(kKey) : std::string::npos;
    std::uint64_t bits = 0;
    if (at != std::string::npos) {
        std::from_chars(status->data() + at + kKey.size(), status->data() + status->size(), bits, 16);
    }
    return bits;
}

// Of a descriptor of our own, which every process may take: 0, or the errno.
int take_own_descriptor()
{
    const UniqueFd self(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
    const UniqueFd copy(self ? static_cast<int>(syscall(SYS_pidfd_getfd, self.get(), self.get(), 0)) : -1);
    return copy ? 0 : errno;
}

}    // namespace

AdoptionAbility adoption_ability()
{
    const std::uint64_t bits = capabilities();
    const auto has = [bits](unsigned capability) { return (bits >> capability & 1U) != 0; };
    AdoptionAbility ability;
    ability.may_trace = has(CAP_SYS_PTRACE);
    ability.may_search = has(CAP_DAC_READ_SEARCH) || has(CAP_DAC_OVERRIDE);
    const int error = take_own_descriptor();
    ability.kernel_can = error != ENOSYS && error != EINVAL;
    ability.is_filtered = error == EPERM || error == EACCES;
    if (const auto scope = read_kernel_file("/proc/sys/kernel/yama/ptrace_scope")) {
        int value = 0;
        if (std::from_chars(scope->data(), scope->data() + scope->size(), value).ec == std::errc()) {
            ability.ptrace_scope = value;
        }
    }
    return ability;
}

std::string why_not(const AdoptionAbility& ability)
{
    if (!ability.kernel_can) {
        return "this kernel has no pidfd_getfd(2): Linux 5.6 has it; until then use rdma-qos-run";
    }
    if (ability.is_filtered) {
        return "a filter of system calls refuses pidfd_getfd(2): start it with rdma-qosd.service as it was installed; "
               "in a "
               "container, whoever runs that has to allow it, too";
    }
    if (!ability.may_trace) {
        return "rdma-qosd lacks CAP_SYS_PTRACE: start it as root, with rdma-qosd.service as it was installed";
    }
    if (!ability.may_search) {
        return "rdma-qosd lacks CAP_DAC_READ_SEARCH: start it as root, with rdma-qosd.service as it was installed";
    }
    if (ability.ptrace_scope.value_or(0) >= kNobodyMay) {
        return "kernel.yama.ptrace_scope is 3, which forbids it to everybody until the next boot: set 2 or less in "
               "sysctl.d and reboot, or use rdma-qos-run";
    }
    return {};
}

}    // namespace rdmaqos
