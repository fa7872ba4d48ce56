// The memory of a program, as its device reads and writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <sys/types.h>

#include "tools/emulator/datapath/completion.h"

namespace rdmaqos::emulator {

class ClientMemory {
public:
    explicit ClientMemory(pid_t process) : process_(process) {}

    // False: it is not there (any more), or this process may not. Not whole then.
    [[nodiscard]] bool read(std::uint64_t address, std::span<std::uint8_t> to) const;
    [[nodiscard]] bool write(std::uint64_t address, std::span<const std::uint8_t> from) const;
    // Its last byte, which says whose the completion is, after all others.
    [[nodiscard]] bool write_completion(std::uint64_t address, const CompletionBytes& completion) const;
    // The process has ended: what it had posted is nobody's.
    [[nodiscard]] bool is_gone() const;

    friend bool operator==(const ClientMemory&, const ClientMemory&) = default;

private:
    pid_t process_;
};

}    // namespace rdmaqos::emulator
