#include "daemon/adoption/program.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/base/verbs_devices.h"

namespace rdmaqos {
namespace {

constexpr std::size_t kMostDescriptors = 65536;    // that are looked at: a few tens of milliseconds
constexpr std::size_t kMostVerbsFiles = 64;

struct CloseDirectory {
    void operator()(DIR* directory) const { closedir(directory); }
};

tl::unexpected<Error> ended(pid_t pid)
{
    return fail(Error{ErrorCode::BadQueuePair, ESRCH, fmt::format("process {} has ended", pid)});
}

tl::unexpected<Error> refused(pid_t pid, int error)
{
    if (error == EPERM || error == EACCES) {
        return fail(Error{ErrorCode::Unsupported, error,
                          fmt::format("the device files of process {} cannot be taken: a security module of the kernel "
                                      "(SELinux, AppArmor, Yama) refuses it to rdma-qosd; allow it there, or use "
                                      "rdma-qos-run",
                                      pid)});
    }
    return fail(Error{is_shortage(error) ? ErrorCode::Busy : ErrorCode::Unsupported, error,
                      fmt::format("the device files of process {} cannot be taken", pid)});
}

// By the text of a link in /proc/PID/fd, which costs the file system behind it nothing: only what may be a device file
// is asked what it is. Containers and chroots have it below other paths, under its own name or below a /dev.
bool may_be_verbs(std::string_view target)
{
    return target.starts_with('/') &&
           (target.find("/uverbs") != std::string_view::npos || target.find("/dev/") != std::string_view::npos);
}

// Without asking a file system, as a program can serve one itself (FUSE).
dev_t device_of(int folder, const char* name)
{
    struct statx status {};
    if (statx(folder, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &status) != 0 ||
        !S_ISCHR(status.stx_mode)) {
        return 0;
    }
    return makedev(status.stx_rdev_major, status.stx_rdev_minor);
}

bool is_same_file(pid_t pid, int one, int other)
{
    return syscall(SYS_kcmp, pid, pid, KCMP_FILE, one, other) == 0;
}

}    // namespace

Result<std::shared_ptr<const Program>> Program::open(std::shared_ptr<const Identity> identity)
{
    UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, identity->pid, 0)));
    if (!pidfd) {
        return errno == ESRCH ? ended(identity->pid) : refused(identity->pid, errno);
    }
    // It may be of a later process with this pid. If the pid is still of ours, it was when the descriptor was made.
    const auto started = read_start_time("/proc", identity->pid);
    if (!started && is_shortage(started.error().sys_errno)) {
        return refused(identity->pid, started.error().sys_errno);
    }
    if (!started || *started != identity->start_time) {
        return ended(identity->pid);
    }
    return std::make_shared<const Program>(std::move(identity), std::move(pidfd));
}

bool Program::has_ended() const
{
    pollfd end{pidfd_.get(), POLLIN, 0};
    return poll(&end, 1, 0) != 0;
}

Result<std::vector<VerbsFile>> list_verbs_files(const Program& program)
{
    const pid_t pid = program.pid();
    const std::unique_ptr<DIR, CloseDirectory> folder(opendir(fmt::format("/proc/{}/fd", pid).c_str()));
    const int error = errno;
    if (program.has_ended()) {
        return ended(pid);
    }
    if (!folder) {
        return refused(pid, error);
    }
    const auto devices = verbs_devices();
    if (!devices) {
        return fail(devices.error());
    }
    std::vector<VerbsFile> files;
    std::size_t seen = 0;
    while (const dirent* entry = readdir(folder.get())) {
        const std::string_view name = entry->d_name;
        VerbsFile file;
        if (std::from_chars(name.data(), name.data() + name.size(), file.number).ec != std::errc()) {
            continue;
        }
        if (++seen > kMostDescriptors || files.size() >= kMostVerbsFiles) {
            return fail(ErrorCode::LimitReached,
                        fmt::format("process {} has more than {} descriptors, or {} files of RDMA devices: it has to "
                                    "register, or be run with rdma-qos-run",
                                    pid, kMostDescriptors, kMostVerbsFiles));
        }
        std::array<char, 4096> target{};
        const auto length = readlinkat(dirfd(folder.get()), entry->d_name, target.data(), target.size());
        if (length <= 0 || !may_be_verbs({target.data(), static_cast<std::size_t>(length)})) {
            continue;
        }
        file.device = device_of(dirfd(folder.get()), entry->d_name);
        bool is_known = !devices->contains(file.device);
        for (const auto& other : files) {
            is_known = is_known || (other.device == file.device && is_same_file(pid, other.number, file.number));
        }
        if (!is_known) {
            files.push_back(file);
        }
    }
    return files;
}

bool is_open_file_of(const Program& program, const VerbsFile& file, int fd)
{
    const bool is_same = syscall(SYS_kcmp, getpid(), program.pid(), KCMP_FILE, fd, file.number) == 0;
    return is_same && !program.has_ended();    // until then the pid was its own
}

Result<UniqueFd> take_verbs_file(const Program& program, const VerbsFile& file,
                                 const std::function<void(UniqueFd)>& close)
{
    const pid_t pid = program.pid();
    UniqueFd taken(static_cast<int>(syscall(SYS_pidfd_getfd, program.pidfd(), file.number, 0)));
    if (!taken && errno == ESRCH) {
        return ended(pid);
    }
    if (!taken && errno != EBADF) {
        return refused(pid, errno);
    }
    struct statx status {};
    const bool is_it = taken && statx(taken.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) == 0 &&
                       S_ISCHR(status.stx_mode) && makedev(status.stx_rdev_major, status.stx_rdev_minor) == file.device;
    if (!is_it) {
        if (taken) {
            close(std::move(taken));
        }
        return fail(
            Error{ErrorCode::BadQueuePair, EBADF,
                  fmt::format("process {} has closed the device file that it had as descriptor {}", pid, file.number)});
    }
    return taken;
}

}    // namespace rdmaqos
