#include "tools/emulator/datapath/client_memory.h"

#include <array>
#include <cerrno>
#include <csignal>

#include <sys/uio.h>

namespace rdmaqos::emulator {
namespace {

void* in_client(std::uint64_t address)
{
    return reinterpret_cast<void*>(address);    // NOLINT(performance-no-int-to-ptr): of another process
}

}    // namespace

bool ClientMemory::read(std::uint64_t address, std::span<std::uint8_t> to) const
{
    const iovec here{to.data(), to.size()};
    const iovec there{in_client(address), to.size()};
    return to.empty() || process_vm_readv(process_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(to.size());
}

bool ClientMemory::write(std::uint64_t address, std::span<const std::uint8_t> from) const
{
    const iovec here{const_cast<std::uint8_t*>(from.data()), from.size()};    // NOLINT(*-const-cast): only read
    const iovec there{in_client(address), from.size()};
    return from.empty() || process_vm_writev(process_, &here, 1, &there, 1, 0) == static_cast<ssize_t>(from.size());
}

bool ClientMemory::write_completion(std::uint64_t address, const CompletionBytes& completion) const
{
    constexpr std::size_t kLast = std::tuple_size_v<CompletionBytes> - 1;
    const iovec here{const_cast<std::uint8_t*>(completion.data()), completion.size()};    // NOLINT(*-const-cast)
    const std::array there{iovec{in_client(address), kLast}, iovec{in_client(address + kLast), 1}};
    return process_vm_writev(process_, &here, 1, there.data(), there.size(), 0) ==
           static_cast<ssize_t>(completion.size());
}

bool ClientMemory::is_gone() const
{
    return kill(process_, 0) != 0 && errno == ESRCH;
}

}    // namespace rdmaqos::emulator
