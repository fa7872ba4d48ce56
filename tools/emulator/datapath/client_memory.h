// The memory of a program, as its device reads and writes it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "lib/base/file.h"
#include "tools/emulator/datapath/chance.h"
#include "tools/emulator/datapath/completion.h"

namespace rdmaqos::emulator {

// Whose memory it is: a process, and the user as whom it has called.
struct MemoryOwner {
    pid_t process = 0;
    uid_t user = 0;
};

// A process whose memory is used. That is the memory which it has when this is made: neither what another program that
// it executes has, perhaps with the rights of another user, nor that of a later process of the same number.
struct ClientProcess {
    explicit ClientProcess(MemoryOwner owner);
    // The memory is gone: the process has ended, or is another program.
    [[nodiscard]] bool is_gone() const;

    const pid_t number;
    const UniqueFd handle;    // pidfd_open(2): readable when it has ended
    const UniqueFd memory;    // /proc/PID/mem, which stays with what it was opened for; empty: this process may not
    std::atomic<bool> has_ended{false};
    mutable std::chrono::nanoseconds news{0};    // when data or a completion last came, by the monotonic clock
};

class ClientMemory {
public:
    explicit ClientMemory(std::shared_ptr<const ClientProcess> process) : process_(std::move(process)) {}

    // False: it is not there (any more), or this process may not. Not whole then.
    [[nodiscard]] bool read(std::uint64_t address, std::span<std::uint8_t> to) const;
    [[nodiscard]] bool write(std::uint64_t address, std::span<const std::uint8_t> from) const;
    // Its last byte, which says whose the completion is, after all others.
    [[nodiscard]] bool write_completion(std::uint64_t address, const CompletionBytes& completion) const;
    // The process has ended, or is another program: what it had posted is nobody's.
    [[nodiscard]] bool is_gone() const;

    // Its threads that have a processor or wait for one. Empty: it has ended, or has too many threads to look at each,
    // or the kernel does not count what they compute.
    [[nodiscard]] std::optional<std::vector<RunnableThread>> runnable_threads() const;

    void set_news(std::chrono::nanoseconds now) const { process_->news = now; }
    [[nodiscard]] std::chrono::nanoseconds news() const { return process_->news; }
    // How long each thread has waited for a processor since it began. None: as above.
    [[nodiscard]] std::map<pid_t, std::chrono::nanoseconds> waited_of_threads() const;

private:
    std::shared_ptr<const ClientProcess> process_;
};

// Why this process may not use that memory, an errno; 0: it may. EPERM: nor may the user, who could otherwise use the
// memory of a setuid program by this process.
[[nodiscard]] int why_not_usable(MemoryOwner owner);

}    // namespace rdmaqos::emulator
