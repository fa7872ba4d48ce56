#include "lib/base/file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/kcmp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/temporary_name.h"
#include "lib/base/units.h"

namespace rdmaqos {
namespace {

std::string_view kind_of(mode_t mode)
{
    if (S_ISDIR(mode)) {
        return "a directory";
    }
    if (S_ISFIFO(mode)) {
        return "a FIFO";
    }
    if (S_ISSOCK(mode)) {
        return "a socket";
    }
    return "a device";
}

// Reads from `offset` 0 on until the end or until `max_size` + 1 bytes are there.
Result<std::string> read_up_to(int fd, std::size_t max_size, std::size_t expected_size)
{
    std::string text;
    text.resize(std::min(expected_size, max_size) + 1);
    std::size_t length = 0;
    while (true) {
        const ssize_t got = pread(fd, text.data() + length, text.size() - length, static_cast<off_t>(length));
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            return fail(error_from_errno(ErrorCode::Io, errno, "cannot be read"));
        }
        if (got == 0) {
            break;
        }
        length += static_cast<std::size_t>(got);
        if (length > max_size) {
            return fail(ErrorCode::Io,
                        fmt::format("is larger than {}, the most that is read", bytes_to_string(max_size)));
        }
        if (length == text.size()) {
            text.resize(std::min(text.size() * 2, max_size + 1));
        }
    }
    text.resize(length);
    return text;
}

}    // namespace

bool is_same_open_file(int a, int b)
{
    const pid_t self = getpid();
    return syscall(SYS_kcmp, self, self, KCMP_FILE, static_cast<unsigned long>(a), static_cast<unsigned long>(b)) == 0;
}

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept
{
    if (this != &other) {
        reset();
        fd_ = other.release();
    }
    return *this;
}

void UniqueFd::reset()
{
    if (fd_ >= 0) {
        close(std::exchange(fd_, -1));
    }
}

Result<std::string> read_regular_file(int fd, std::size_t max_size)
{
    struct stat status {};
    if (fstat(fd, &status) < 0) {
        return fail(error_from_errno(ErrorCode::Io, errno, "cannot be read"));
    }
    if (!S_ISREG(status.st_mode)) {
        return fail(ErrorCode::Io, fmt::format("is {}, not a regular file", kind_of(status.st_mode)));
    }
    if (static_cast<std::uint64_t>(status.st_size) > max_size) {
        return fail(ErrorCode::Io,
                    fmt::format("is {} bytes large; at most {} is read", status.st_size, bytes_to_string(max_size)));
    }
    return read_up_to(fd, max_size, static_cast<std::size_t>(status.st_size));
}

namespace {

// A link that leads nowhere is there, unlike what its target's errno says.
Error why_not_opened(const std::filesystem::path& path, int err)
{
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) {
        return error_from_errno(ErrorCode::Io, err, "cannot be opened");
    }
    const std::string name = target.string();
    const auto is_hidden = [&name](std::string_view home) { return name.starts_with(home); };
    constexpr std::array<std::string_view, 3> kHomes{"/home/", "/root/", "/run/user/"};
    const char* hidden = std::ranges::any_of(kHomes, is_hidden)
                             ? "; rdma-qosd.service does not see /home, /root and /run/user (ProtectHome=)"
                             : "";
    return {
        ErrorCode::Io, err == ENOENT ? 0 : err,
        fmt::format("is a link to {}, which {}{}", name, err == ENOENT ? "is not there" : "cannot be opened", hidden)};
}

}    // namespace

Result<std::string> read_regular_file(const std::filesystem::path& path, std::size_t max_size)
{
    // O_NONBLOCK: opening a FIFO must not wait for a writer.
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!fd) {
        return fail(why_not_opened(path, errno));
    }
    return read_regular_file(fd.get(), max_size);
}

FileStamp stamp_of(const std::filesystem::path& path)
{
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) {
        return {};
    }
    constexpr std::int64_t kNanoseconds = 1'000'000'000;
    return {status.st_dev, status.st_ino, status.st_size,
            status.st_ctim.tv_sec * kNanoseconds + status.st_ctim.tv_nsec};
}

Result<std::string> read_kernel_file(const std::filesystem::path& path, std::size_t max_size)
{
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!fd) {
        return fail(error_from_errno(ErrorCode::Io, errno, "cannot be opened").with_context(path.string()));
    }
    constexpr std::size_t kUsualSize = 4095;
    auto text = read_up_to(fd.get(), max_size, kUsualSize);
    if (!text) {
        return fail(std::move(text).error().with_context(path.string()));
    }
    return text;
}

namespace {

// What a file that is written has beside its text.
struct Ownership {
    mode_t mode = 0644;
    std::optional<std::pair<uid_t, gid_t>> owner;    // empty: the user of this process
};

int write_all(int fd, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t count = write(fd, text.data(), text.size());
        if (count < 0 && errno != EINTR) {
            return -1;
        }
        text.remove_prefix(count < 0 ? 0 : static_cast<std::size_t>(count));
    }
    return 0;
}

int give_to(int fd, const Ownership& ownership)
{
    if (ownership.owner && fchown(fd, ownership.owner->first, ownership.owner->second) < 0) {
        return -1;
    }
    return fchmod(fd, ownership.mode);    // last: a change of the owner takes bits of the mode away
}

Result<void> write_beside(const std::filesystem::path& path, const std::string& text, const Ownership& ownership)
{
    std::string temporary = path.string() + std::string(kTemporary) + "XXXXXX";
    const UniqueFd fd(mkostemp(temporary.data(), O_CLOEXEC));
    if (!fd) {
        return fail(error_from_errno(ErrorCode::Io, errno, "cannot be created").with_context(path.string()));
    }
    const auto give_up = [&](std::string_view what) {
        const int err = errno;
        unlink(temporary.c_str());
        return fail(error_from_errno(ErrorCode::Io, err, fmt::format("{}: {}", path.string(), what)));
    };
    if (write_all(fd.get(), text) < 0) {
        return give_up("cannot be written");
    }
    if (give_to(fd.get(), ownership) < 0 || fsync(fd.get()) < 0 || rename(temporary.c_str(), path.c_str()) < 0) {
        return give_up("cannot be replaced");
    }
    return {};
}

// A renaming is on the disk when the folder is.
Result<void> synchronize(const std::filesystem::path& folder)
{
    const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd || fsync(fd.get()) < 0) {
        return fail(error_from_errno(ErrorCode::Io, errno, "cannot be synchronized").with_context(folder.string()));
    }
    return {};
}

}    // namespace

Result<void> write_file_atomically(const std::filesystem::path& path, const std::string& text)
{
    return write_beside(path, text, {});
}

Result<void> write_state_file(const std::filesystem::path& path, const std::string& text)
{
    if (auto written = write_beside(path, text, {0600, {}}); !written) {
        return written;
    }
    return synchronize(path.parent_path());
}

Result<void> replace_file(const std::filesystem::path& path, const std::string& text)
{
    std::error_code error;
    std::filesystem::path file = path;
    Ownership ownership;
    if (std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::not_found) {
        file = std::filesystem::canonical(path, error);
        struct stat status {};
        if (error || stat(file.c_str(), &status) < 0) {
            return fail(error_from_errno(ErrorCode::Io, error ? error.value() : errno, "cannot be found")
                            .with_context(path.string()));
        }
        if (!S_ISREG(status.st_mode)) {
            return fail(ErrorCode::Io,
                        fmt::format("{}: is {}, not a regular file", path.string(), kind_of(status.st_mode)));
        }
        ownership = {status.st_mode & static_cast<mode_t>(07777), std::pair(status.st_uid, status.st_gid)};
    }
    if (auto written = write_beside(file, text, ownership); !written) {
        return written;
    }
    return synchronize(file.parent_path());
}

std::filesystem::path below_root(const std::filesystem::path& root, const std::filesystem::path& path)
{
    if (root.empty() || root == "/") {
        return path;
    }
    return root / path.relative_path();
}

}    // namespace rdmaqos
