// Reading files that somebody else controls: never blocks on a FIFO, never reads more than its limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "lib/base/result.h"

namespace rdmaqos {

// An owned file descriptor; closes on destruction.
class UniqueFd {
public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept;
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;
    ~UniqueFd() { reset(); }

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    void reset();

private:
    int fd_ = -1;
};

// Whether two descriptors of this process are of one open file; false where the kernel does not tell (kcmp(2)).
[[nodiscard]] bool is_same_open_file(int a, int b);

// The largest policy, fabric, settings or device file that is read.
constexpr std::size_t kMaxConfigFileSize = 16U * 1024 * 1024;

// The whole of a regular file of at most `max_size` bytes. A directory, FIFO, socket or device, and a file that is
// larger, are refused with a sentence that says so. Links are followed.
[[nodiscard]] Result<std::string> read_regular_file(const std::filesystem::path& path, std::size_t max_size);
// The same for a descriptor somebody passed; its offset is not used nor moved.
[[nodiscard]] Result<std::string> read_regular_file(int fd, std::size_t max_size);

// What a file looks like from outside: equal for a file that was neither written nor replaced. All zero: it is not
// there.
struct FileStamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = 0;
    std::int64_t changed_ns = 0;    // of contents or permissions, since the epoch

    friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
// Links are followed.
[[nodiscard]] FileStamp stamp_of(const std::filesystem::path& path);

// Reads a small file of /proc, /sys or a cgroup (whose size is not known in advance), at most `max_size` bytes.
[[nodiscard]] Result<std::string> read_kernel_file(const std::filesystem::path& path, std::size_t max_size = 65536);

// Writes `text` beside `path` and renames it over: readers see the old or the new file, never a part.
[[nodiscard]] Result<void> write_file_atomically(const std::filesystem::path& path, const std::string& text);
// The same for what a program keeps for itself: nobody else may read it, and it is on the disk, below this name, when
// this returns.
[[nodiscard]] Result<void> write_state_file(const std::filesystem::path& path, const std::string& text);
// The same for a file that belongs to somebody else, a person's: its owner, group and mode stay, a link to it stays a
// link. What is there and is no regular file is refused.
[[nodiscard]] Result<void> replace_file(const std::filesystem::path& path, const std::string& text);

// `path` (absolute, as the user knows it) below `root`; root "" or "/" is the host itself.
[[nodiscard]] std::filesystem::path below_root(const std::filesystem::path& root, const std::filesystem::path& path);

}    // namespace rdmaqos
