#include "tools/emulator/datapath/client_memory.h"

#include <cerrno>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/process_state.h"
#include "lib/base/result.h"

namespace rdmaqos::emulator {
namespace {

// The kernel lets a process that may trace this one open this, and from then on it leads to the memory that the process
// had, which an exec destroys. process_vm_readv(2) would ask by number each time, and find a setuid program's.
//
// An emulator of root may trace everybody, and the process may have executed such a program since it called. So the
// owner of the file, which the kernel asks who may trace the process, must still be who called: of what was executed
// with other rights, and of what does not let itself be traced, it is root.
Result<UniqueFd> open_memory(MemoryOwner owner)
{
    const std::string path = "/proc/" + std::to_string(owner.process) + "/mem";
    UniqueFd memory(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!memory) {
        return fail(error_from_errno(ErrorCode::Io, errno, path));
    }
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) {    // not fstat(): that says whose it was when it was opened
        return fail(error_from_errno(ErrorCode::Io, errno, path));
    }
    if (status.st_uid != owner.user) {
        return fail(error_from_errno(ErrorCode::Io, EPERM, path));
    }
    return memory;
}

}    // namespace

ClientProcess::ClientProcess(MemoryOwner owner)
    : number(owner.process), handle(static_cast<int>(syscall(SYS_pidfd_open, owner.process, 0))),
      memory(open_memory(owner).value_or(UniqueFd()))
{
}

bool ClientProcess::is_gone() const
{
    // Nothing is at 0: what is there says so, and what is gone reads as empty. A process that ends loses its memory
    // first: until it is waited for, it can still be signalled.
    std::uint8_t byte = 0;
    return has_ended || (memory && pread(memory.get(), &byte, sizeof(byte), 0) == 0);
}

bool ClientMemory::read(std::uint64_t address, std::span<std::uint8_t> to) const
{
    return to.empty() ||
           (!process_->has_ended && pread(process_->memory.get(), to.data(), to.size(), static_cast<off_t>(address)) ==
                                        static_cast<ssize_t>(to.size()));
}

bool ClientMemory::write(std::uint64_t address, std::span<const std::uint8_t> from) const
{
    return from.empty() ||
           (!process_->has_ended && pwrite(process_->memory.get(), from.data(), from.size(),
                                           static_cast<off_t>(address)) == static_cast<ssize_t>(from.size()));
}

bool ClientMemory::write_completion(std::uint64_t address, const CompletionBytes& completion) const
{
    // The kernel locks the program's memory for each part: nobody sees the second before the first, on whatever
    // processor.
    const auto bytes = std::span(completion);
    return write(address, bytes.first(bytes.size() - 1)) && write(address + bytes.size() - 1, bytes.last(1));
}

bool ClientMemory::is_gone() const
{
    return process_->is_gone();
}

namespace {

// look(thread, its directory) of each; false ends it. False: it ended so, or there are none, or too many.
template <typename F>
bool for_each_thread(pid_t process, F look)
{
    constexpr int kMost = 16;
    const std::filesystem::path tasks = "/proc/" + std::to_string(process) + "/task";
    int count = 0;
    std::error_code error;
    for (std::filesystem::directory_iterator task(tasks, error), end; !error && task != end; task.increment(error)) {
        if (++count > kMost || !look(static_cast<pid_t>(std::stol(task->path().filename())), task->path())) {
            return false;
        }
    }
    return count > 0;
}

}    // namespace

std::optional<std::vector<RunnableThread>> ClientMemory::runnable_threads() const
{
    std::vector<RunnableThread> threads;
    const bool are_all = for_each_thread(process_->number, [&](pid_t number, const std::filesystem::path& task) {
        if (task_state(task / "stat") != 'R') {
            return true;
        }
        const auto times = task_processor_times(task / "schedstat");
        if (times) {
            threads.push_back({number, times->computed});
        }
        return times.has_value();
    });
    return !are_all || process_->has_ended ? std::nullopt : std::optional(std::move(threads));
}

std::map<pid_t, std::chrono::nanoseconds> ClientMemory::waited_of_threads() const
{
    std::map<pid_t, std::chrono::nanoseconds> threads;
    const bool are_all = for_each_thread(process_->number, [&](pid_t number, const std::filesystem::path& task) {
        const auto times = task_processor_times(task / "schedstat");
        if (times) {
            threads.emplace(number, times->waited);
        }
        return times.has_value();
    });
    return are_all ? threads : std::map<pid_t, std::chrono::nanoseconds>();
}

int why_not_usable(MemoryOwner owner)
{
    const auto memory = open_memory(owner);
    return memory ? 0 : memory.error().sys_errno;
}

}    // namespace rdmaqos::emulator
