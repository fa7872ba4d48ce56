#include "daemon/survey/other_daemon.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/process_state.h"
#include "lib/rdma_netlink/queue_pairs.h"

namespace rdmaqos {
namespace {

using namespace rdma_netlink;

constexpr std::string_view kDaemonCommand = "rdma-qosd";

}    // namespace

std::string to_string(const OtherDaemon& other)
{
    if (other.pid == 0) {
        return "a process that is not visible from here";
    }
    return fmt::format("process {}{}", other.pid, other.unit.empty() ? "" : " of " + other.unit);
}

bool is_other_daemon(const Identity& process, std::uint32_t real_uid, const Identity& own)
{
    const auto is_believed = [&own](std::uint32_t uid) { return uid == 0 || uid == own.uid; };
    return process.pid != own.pid && process.command == kDaemonCommand && is_believed(process.uid) &&
           is_believed(real_uid);
}

std::optional<OtherDaemon> find_other_daemon(const std::filesystem::path& proc, const std::string& device)
{
    const auto own = read_identity_of_thread(proc, getpid());
    Connection kernel;
    if (!own || kernel.open() != 0) {
        return std::nullopt;
    }
    const auto devices = list_devices(kernel);
    if (!devices) {
        return std::nullopt;
    }
    const auto found = std::ranges::find(*devices, device, &TrackedDevice::name);
    if (found == devices->end()) {
        return std::nullopt;
    }
    const auto contexts = list_holders(kernel, *found, HolderKind::Context);
    std::set<pid_t> threads;
    for (const auto& context : contexts.value_or(std::vector<Holder>())) {
        if (context.thread && threads.insert(*context.thread).second) {
            const auto process = read_identity_of_thread(proc, *context.thread);
            const auto real_uid = process ? real_uid_of(proc, process->pid) : std::nullopt;
            if (real_uid && is_other_daemon(*process, *real_uid, *own) && !has_died(proc, process->pid)) {
                return OtherDaemon{process->pid, process->unit};
            }
        }
    }
    return std::nullopt;
}

OtherDaemon describe_daemon(const std::filesystem::path& proc, std::optional<pid_t> process)
{
    if (!process) {
        return {};
    }
    const auto identity = read_identity_of_thread(proc, *process);
    return {*process, identity ? identity->unit : std::string()};
}

}    // namespace rdmaqos
