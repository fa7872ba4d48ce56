#include "lib/base/memory_log.h"
#include "lib/base/try.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rdmaqos {
namespace {

//     0   kMagic
//     8   Extent: begin, size
//    16   text, and what is left of earlier texts
constexpr std::array<char, 8> kMagic{'r', 'd', 'm', 'a', 'q', 'o', 's', '1'};
constexpr off_t kExtentAt = kMagic.size();
constexpr std::uint32_t kTextAt = 16;

Result<void> write_at(int fd, std::string_view bytes, off_t offset)
{
    while (!bytes.empty()) {
        const ssize_t written = pwrite(fd, bytes.data(), bytes.size(), offset);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return fail(error_from_errno(ErrorCode::Io, written < 0 ? errno : ENOSPC, "writing to memory"));
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
        offset += written;
    }
    return {};
}

Result<void> read_at(int fd, std::span<char> bytes, off_t offset)
{
    while (!bytes.empty()) {
        const ssize_t got = pread(fd, bytes.data(), bytes.size(), offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return fail(error_from_errno(ErrorCode::Io, got < 0 ? errno : EIO, "reading from memory"));
        }
        bytes = bytes.subspan(static_cast<std::size_t>(got));
        offset += got;
    }
    return {};
}

template <typename T>
std::string_view bytes_of(const T& value)
{
    return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

}    // namespace

Result<MemoryLog> MemoryLog::create(const std::string& name)
{
    MemoryLog log(UniqueFd(memfd_create(name.c_str(), MFD_CLOEXEC)));
    if (!log.fd_) {
        return fail(error_from_errno(ErrorCode::Io, errno, "memfd_create"));
    }
    TRY(write_at(log.fd(), bytes_of(kMagic), 0));
    log.end_of_memory_ = TRY(log.take_memory({kTextAt, 0}));
    TRY(log.commit({kTextAt, 0}));
    return log;
}

Result<MemoryLog> MemoryLog::open(UniqueFd fd)
{
    MemoryLog log(std::move(fd));
    struct stat status {};
    if (fstat(log.fd(), &status) != 0) {
        return fail(error_from_errno(ErrorCode::Io, errno, "fstat"));
    }
    std::array<char, kTextAt> head{};
    if (!S_ISREG(status.st_mode) || status.st_size < static_cast<off_t>(head.size())) {
        return fail(ErrorCode::Io, "it is no log");
    }
    TRY(read_at(log.fd(), head, 0));
    std::memcpy(&log.extent_, head.data() + kExtentAt, sizeof(log.extent_));
    const auto [begin, size] = log.extent_;
    if (std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0 || begin < kTextAt || size > kMaxSize ||
        std::uint64_t{begin} + size > static_cast<std::uint64_t>(status.st_size)) {
        return fail(ErrorCode::Io, "it is damaged, or no log");
    }
    log.end_of_memory_ = static_cast<std::uint64_t>(status.st_size);
    return log;
}

Result<void> MemoryLog::commit(Extent extent)
{
    static_assert(sizeof(Extent) == kTextAt - kExtentAt, "one word, which is written as a whole");
    if (auto written = write_at(fd(), bytes_of(extent), kExtentAt); !written) {
        return written;
    }
    extent_ = extent;
    return {};
}

Result<std::uint64_t> MemoryLog::take_memory(Extent text) const
{
    const std::uint64_t end = std::uint64_t{text.begin} + text.size;
    for (const std::uint64_t wanted : {end + 2 * kAhead, end}) {
        if (wanted == text.begin || fallocate(fd(), 0, text.begin, static_cast<off_t>(wanted - text.begin)) == 0) {
            return wanted;
        }
    }
    return fail(error_from_errno(ErrorCode::Io, errno, "taking memory"));
}

Result<std::string> MemoryLog::read() const
{
    std::string text(extent_.size, '\0');
    TRY(read_at(fd(), text, extent_.begin));
    return text;
}

Result<void> MemoryLog::append(std::string_view text)
{
    if (text.size() > kMaxSize - extent_.size) {
        return fail(ErrorCode::NoSpace, fmt::format("more than {} bytes", kMaxSize));
    }
    const Extent longer{extent_.begin, extent_.size + static_cast<std::uint32_t>(text.size())};
    const std::uint64_t end = std::uint64_t{longer.begin} + longer.size;
    if (end + kAhead > end_of_memory_) {
        if (const auto taken = take_memory(longer)) {
            end_of_memory_ = std::max(end_of_memory_, *taken);
        } else if (end > end_of_memory_) {
            return fail(taken.error());
        }
    }
    if (auto written = write_at(fd(), text, off_t{extent_.begin} + extent_.size); !written) {
        return written;
    }
    return commit(longer);
}

// Beside what is there: before it if that is room enough, else behind it.
Result<void> MemoryLog::replace(std::string_view text)
{
    if (text.size() > kMaxSize) {
        return fail(ErrorCode::NoSpace, fmt::format("more than {} bytes", kMaxSize));
    }
    const Extent old = extent_;
    const auto size = static_cast<std::uint32_t>(text.size());
    const Extent fresh{std::uint64_t{kTextAt} + size <= old.begin ? kTextAt : old.begin + old.size, size};
    const auto taken = TRY(take_memory(fresh));
    if (auto written = write_at(fd(), text, fresh.begin); !written) {
        return written;
    }
    if (auto committed = commit(fresh); !committed) {
        return committed;
    }
    // Gives the memory back; where that does not work, it is used again.
    if (fresh.begin > old.begin) {
        end_of_memory_ = std::max(end_of_memory_, taken);
        (void)fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kTextAt, fresh.begin - kTextAt);
    } else {
        end_of_memory_ = taken;
        (void)!ftruncate(fd(), static_cast<off_t>(taken));
    }
    return {};
}

}    // namespace rdmaqos
