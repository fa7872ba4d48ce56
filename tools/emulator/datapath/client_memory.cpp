#include "tools/emulator/datapath/client_memory.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/process_state.h"

namespace rdmaqos::emulator {
namespace {

void* in_client(std::uint64_t address)
{
    return reinterpret_cast<void*>(address);    // NOLINT(performance-no-int-to-ptr): of another process
}

}    // namespace

ClientProcess::ClientProcess(pid_t process)
    : number(process), handle(static_cast<int>(syscall(SYS_pidfd_open, process, 0)))
{
}

bool ClientMemory::read(std::uint64_t address, std::span<std::uint8_t> to) const
{
    const iovec here{to.data(), to.size()};
    const iovec there{in_client(address), to.size()};
    return to.empty() || (!process_->has_ended && process_vm_readv(process_->number, &here, 1, &there, 1, 0) ==
                                                      static_cast<ssize_t>(to.size()));
}

bool ClientMemory::write(std::uint64_t address, std::span<const std::uint8_t> from) const
{
    const iovec here{const_cast<std::uint8_t*>(from.data()), from.size()};    // NOLINT(*-const-cast): only read
    const iovec there{in_client(address), from.size()};
    return from.empty() || (!process_->has_ended && process_vm_writev(process_->number, &here, 1, &there, 1, 0) ==
                                                        static_cast<ssize_t>(from.size()));
}

bool ClientMemory::write_completion(std::uint64_t address, const CompletionBytes& completion) const
{
    // The kernel locks the program's memory for each part: nobody sees the second before the first, on whatever
    // processor.
    constexpr std::size_t kLast = std::tuple_size_v<CompletionBytes> - 1;
    const iovec here{const_cast<std::uint8_t*>(completion.data()), completion.size()};    // NOLINT(*-const-cast)
    const std::array there{iovec{in_client(address), kLast}, iovec{in_client(address + kLast), 1}};
    return !process_->has_ended && process_vm_writev(process_->number, &here, 1, there.data(), there.size(), 0) ==
                                       static_cast<ssize_t>(completion.size());
}

bool ClientMemory::is_gone() const
{
    // A process that ends loses its memory first: until it is waited for, it can still be signalled.
    return process_->has_ended || try_to_read(process_->number, 0) == ESRCH;
}

std::optional<std::vector<RunnableThread>> ClientMemory::runnable_threads() const
{
    constexpr int kMost = 16;
    const std::filesystem::path tasks = "/proc/" + std::to_string(process_->number) + "/task";
    std::vector<RunnableThread> threads;
    int count = 0;
    std::error_code error;
    for (std::filesystem::directory_iterator task(tasks, error), end; !error && task != end; task.increment(error)) {
        if (++count > kMost) {
            return std::nullopt;
        }
        if (task_state(task->path() / "stat") != 'R') {
            continue;
        }
        const auto computed = task_processor_time(task->path() / "schedstat");
        if (!computed) {
            return std::nullopt;
        }
        threads.push_back({static_cast<pid_t>(std::stol(task->path().filename())), *computed});
    }
    return count == 0 || process_->has_ended ? std::nullopt : std::optional(std::move(threads));
}

int try_to_read(pid_t process, std::uint64_t address)
{
    std::uint8_t byte = 0;
    const iovec here{&byte, sizeof(byte)};
    const iovec there{in_client(address), sizeof(byte)};
    return process_vm_readv(process, &here, 1, &there, 1, 0) < 0 ? errno : 0;
}

}    // namespace rdmaqos::emulator
