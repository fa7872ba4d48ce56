#include "tools/emulator/datapath/doorbell_page.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/emulator/page_size.h"

namespace rdmaqos::emulator {
namespace {

// Where libmlx5 writes, in bytes: send doorbells and the beginning of a request with them, alternating; and the arm of
// a completion queue.
constexpr std::array<std::size_t, 4> kSend{0x800, 0x900, 0xa00, 0xb00};
constexpr std::size_t kArm = 0x20;

[[noreturn]] void give_up(const char* what)
{
    throw std::system_error(errno, std::generic_category(), what);
}

}    // namespace

DoorbellPage::DoorbellPage() : fd_(memfd_create("doorbells", MFD_CLOEXEC | MFD_ALLOW_SEALING))
{
    if (!fd_ || ftruncate(fd_.get(), page_size()) != 0 ||
        fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        give_up("a page for doorbells");
    }
    void* const mapped = mmap(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (mapped == MAP_FAILED) {
        give_up("a page for doorbells");
    }
    memory_ = static_cast<std::uint8_t*>(mapped);
    memory_[0] = 0;    // a page that is there can be guarded
}

DoorbellPage::~DoorbellPage()
{
    release();
    munmap(memory_, page_size());
}

void DoorbellPage::watch(UniqueFd userfault, std::uint64_t address)
{
    release();
    userfault_ = std::move(userfault);
    address_ = address;
}

DoorbellPage::Rung DoorbellPage::take()
{
    // To be read and cleared in one step: a doorbell may ring with the same value twice.
    const auto take = [this](std::size_t at) {
        const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(memory_ + at));
        return word.load(std::memory_order_acquire) != 0 && word.exchange(0) != 0;
    };
    Rung rung;
    for (const auto at : kSend) {
        rung.send = take(at) || rung.send;
    }
    rung.arm = take(kArm);
    return rung;
}

bool DoorbellPage::is_rung() const
{
    const auto is_set = [this](std::size_t at) {
        return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory_ + at)).load(std::memory_order_acquire) != 0;
    };
    return std::ranges::any_of(kSend, is_set) || is_set(kArm);
}

bool DoorbellPage::protect(bool on)
{
    uffdio_writeprotect protection{{address_, page_size()}, on ? UFFDIO_WRITEPROTECT_MODE_WP : 0ULL};
    return userfault_ && ioctl(userfault_.get(), UFFDIO_WRITEPROTECT, &protection) == 0;
}

bool DoorbellPage::guard()
{
    guarded_ = guarded_ || protect(true);
    return guarded_;
}

void DoorbellPage::release()
{
    if (std::exchange(guarded_, false)) {
        (void)protect(false);    // fails when its program has ended
    }
    uffd_msg message{};
    while (userfault_ && read(userfault_.get(), &message, sizeof(message)) == sizeof(message)) {
    }
}

}    // namespace rdmaqos::emulator
