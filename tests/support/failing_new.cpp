// Preloaded into a C++ program: operator new, of which one fails when a test says so.
#include <cstddef>
#include <cstdlib>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/support/failing_new.h"

namespace {

using rdmaqos::test::FailingNew;

FailingNew* told = nullptr;
std::int32_t own_process = 0;

__attribute__((constructor)) void begin()
{
    const char* path = std::getenv(rdmaqos::test::kFailingNewFile);    // NOLINT(concurrency-mt-unsafe): no thread yet
    const int fd = path == nullptr ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    void* mapped = mmap(nullptr, sizeof(FailingNew), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    own_process = getpid();
    told = mapped == MAP_FAILED ? nullptr : static_cast<FailingNew*>(mapped);
}

bool fails()
{
    if (told == nullptr || told->process != own_process || told->left <= 0 || told->left.fetch_sub(1) != 1) {
        return false;
    }
    ++told->failed;
    return true;
}

void* allocate(std::size_t size, std::size_t alignment)
{
    if (fails()) {
        return nullptr;
    }
    const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
    return alignment > alignof(std::max_align_t) ? std::aligned_alloc(alignment, rounded) : std::malloc(size);
}

// As operator new does: what fails calls the handler, and is tried again.
void* allocate_or_throw(std::size_t size, std::size_t alignment = alignof(std::max_align_t))
{
    for (;;) {
        if (void* const memory = allocate(size == 0 ? 1 : size, alignment); memory != nullptr) {
            return memory;
        }
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) {
            throw std::bad_alloc();
        }
        handler();
    }
}

}    // namespace

// NOLINTBEGIN(*-no-malloc, misc-new-delete-overloads, readability-inconsistent-declaration-parameter-name)
void* operator new(std::size_t size)
{
    return allocate_or_throw(size);
}
void* operator new[](std::size_t size)
{
    return allocate_or_throw(size);
}
void* operator new(std::size_t size, std::align_val_t alignment)
{
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment)
{
    return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t& /*unused*/) noexcept
{
    return allocate(size == 0 ? 1 : size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size, const std::nothrow_t& /*unused*/) noexcept
{
    return allocate(size == 0 ? 1 : size, alignof(std::max_align_t));
}
void operator delete(void* memory) noexcept
{
    std::free(memory);
}
void operator delete[](void* memory) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept
{
    std::free(memory);
}
void operator delete[](void* memory, std::size_t /*size*/) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept
{
    std::free(memory);
}
void operator delete[](void* memory, std::align_val_t /*alignment*/) noexcept
{
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept
{
    std::free(memory);
}
void operator delete[](void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept
{
    std::free(memory);
}
// NOLINTEND(*-no-malloc, misc-new-delete-overloads, readability-inconsistent-declaration-parameter-name)
