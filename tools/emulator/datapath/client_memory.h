// The memory of a program, as its device reads and writes it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
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

// A process whose memory is used. Its number may be another's after its end: once that is seen, nobody's memory is used.
struct ClientProcess {
    explicit ClientProcess(pid_t process);

    const pid_t number;
    const UniqueFd handle;    // pidfd_open(2): readable when it has ended
    std::atomic<bool> has_ended{false};
};

class ClientMemory {
public:
    explicit ClientMemory(std::shared_ptr<const ClientProcess> process) : process_(std::move(process)) {}

    // False: it is not there (any more), or this process may not. Not whole then.
    [[nodiscard]] bool read(std::uint64_t address, std::span<std::uint8_t> to) const;
    [[nodiscard]] bool write(std::uint64_t address, std::span<const std::uint8_t> from) const;
    // Its last byte, which says whose the completion is, after all others.
    [[nodiscard]] bool write_completion(std::uint64_t address, const CompletionBytes& completion) const;
    // The process has ended: what it had posted is nobody's.
    [[nodiscard]] bool is_gone() const;

    // Its threads that have a processor or wait for one. Empty: it has ended, or has too many threads to look at each, or the
    // kernel does not count what they compute.
    [[nodiscard]] std::optional<std::vector<RunnableThread>> runnable_threads() const;

private:
    std::shared_ptr<const ClientProcess> process_;
};

// Whether this process may read that one's memory; else the errno. `address`: of something that is there.
[[nodiscard]] int try_to_read(pid_t process, std::uint64_t address);

}    // namespace rdmaqos::emulator
