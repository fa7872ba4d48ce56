#include "policy/load/transient_files.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include "lib/base/try.h"
#include "policy/text/source_file.h"
#include "policy/yaml/transient_reader.h"

namespace rdmaqos {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunDirectory = "/run/rdma-qos";
constexpr const char* kStateDirectory = "/var/lib/rdma-qos";
// Not in kRunDirectory, which containers are given: their root could open it, and hold it.
constexpr const char* kLockFile = "/var/lib/rdma-qos/policy.lock";

bool file_exists(const fs::path& path)
{
    std::error_code error;
    return fs::exists(path, error);
}

// Whatever the umask: everybody may read the policy, and nobody what the daemon keeps.
constexpr fs::perms kForAll = fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                              fs::perms::others_read | fs::perms::others_exec;
constexpr fs::perms kForOwner = fs::perms::owner_all;

Result<void> make_directory(const fs::path& root, const char* name, fs::perms mode)
{
    const fs::path path = below_root(root, name);
    std::error_code error;
    if (!fs::create_directories(path, error)) {
        return error ? fail(error_from_errno(ErrorCode::Io, error.value(), "cannot be made").with_context(name))
                     : Result<void>{};
    }
    fs::permissions(path, mode, error);
    return {};
}

}    // namespace

fs::path cgroup_directory(const fs::path& root, const std::string& cgroup)
{
    // As systemd mounts it, in the unified and in the hybrid hierarchy.
    for (const char* mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
        const fs::path base = below_root(root, mount);
        if (file_exists(base / "cgroup.controllers")) {
            return base / fs::path(cgroup).relative_path();
        }
    }
    return {};
}

std::optional<WhyEnded> why_ended(const Transient& transient, const fs::path& root,
                                  std::chrono::system_clock::time_point now)
{
    // In seconds: years that can be written are more than the clock's own unit can count.
    if (transient.until && *transient.until <= std::chrono::floor<std::chrono::seconds>(now)) {
        return WhyEnded::Time;
    }
    if (!transient.cgroup.empty()) {
        const fs::path directory = cgroup_directory(root, transient.cgroup);
        std::error_code error;
        if (!directory.empty() && fs::status(directory, error).type() == fs::file_type::not_found) {
            return WhyEnded::Cgroup;
        }
    }
    return std::nullopt;
}

std::string to_string(WhyEnded why, const Transient& transient)
{
    return why == WhyEnded::Time
               ? fmt::format("its time has passed ({})", utc_text(transient.until.value_or(std::chrono::sys_seconds{})))
               : fmt::format("the cgroup {} is gone", transient.cgroup);
}

std::vector<TransientFile> find_transient_files(const fs::path& root, std::chrono::system_clock::time_point now)
{
    std::vector<TransientFile> files;
    std::error_code error;
    fs::directory_iterator entries(below_root(root, kTransientDirectory), error);
    for (const fs::directory_iterator end; !error && entries != end; entries.increment(error)) {
        const fs::path name = entries->path().filename();
        if (name.extension() != ".yaml" || name.string().starts_with(".")) {
            continue;
        }
        TransientFile file{kTransientDirectory / name, stamp_of(entries->path()), {}, {}};
        if (const auto source = reader::load(entries->path(), file.path.string())) {
            file.transient = reader::transient_of(*source).value_or(Transient{});
            file.ended = why_ended(file.transient, root, now);
            file.overrides = reader::overrides_of(*source);
        }
        files.push_back(std::move(file));
    }
    std::ranges::sort(files, {}, &TransientFile::path);
    return files;
}

bool is_still_there(const SourceFile& file, const fs::path& root, std::chrono::system_clock::time_point now)
{
    if (!file.name.starts_with(kRunDirectory)) {
        return true;
    }
    const auto source = std::make_shared<const SourceFile>(file);
    return file_exists(below_root(root, file.name)) &&
           !why_ended(reader::transient_of(source).value_or(Transient{}), root, now);
}

Result<TransientLock> TransientLock::take(const fs::path& root, int operation)
{
    for (const auto& [directory, mode] :
         {std::pair(kRunDirectory, kForAll), {kTransientDirectory, kForAll}, {kStateDirectory, kForOwner}}) {
        TRY(make_directory(root, directory, mode));
    }
    UniqueFd fd(open(below_root(root, kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) {
        return fail(error_from_errno(ErrorCode::Io, errno, "cannot be opened").with_context(kLockFile));
    }
    while (flock(fd.get(), operation) != 0) {
        if (errno != EINTR) {
            return fail(
                error_from_errno(errno == EWOULDBLOCK ? ErrorCode::Busy : ErrorCode::Io, errno, "cannot be locked")
                    .with_context(kLockFile));
        }
    }
    return TransientLock(std::move(fd));
}

Result<TransientLock> TransientLock::wait(const fs::path& root)
{
    return take(root, LOCK_EX);
}

Result<TransientLock> TransientLock::try_now(const fs::path& root)
{
    return take(root, LOCK_EX | LOCK_NB);
}

}    // namespace rdmaqos
