#include "lib/base/privileges.h"

#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/file.h"

namespace rdmaqos {
namespace {

constexpr std::uint64_t bit(unsigned capability)
{
    return std::uint64_t{1} << capability;
}

// "CapPrm:\t000001ffffffffff" of proc(5).
bool parse_permitted(std::string_view status, std::uint64_t& capabilities)
{
    constexpr std::string_view kKey = "\nCapPrm:\t";
    const auto at = status.find(kKey);
    if (at == std::string_view::npos) {
        return false;
    }
    const char* begin = status.data() + at + kKey.size();
    const auto read = std::from_chars(begin, status.data() + status.size(), capabilities, 16);
    return read.ec == std::errc() && read.ptr != begin;
}

}    // namespace

Result<Privileges> read_privileges(const std::filesystem::path& proc, pid_t pid)
{
    const std::filesystem::path process = proc / fmt::format("{}", pid);
    Privileges privileges;
    struct stat space {};
    if (stat((process / "ns/user").c_str(), &space) == 0) {
        privileges.user_namespace = {space.st_dev, space.st_ino};
    } else if (errno != ENOENT || access((process / "ns").c_str(), F_OK) != 0) {
        return fail(error_from_errno(ErrorCode::Io, errno, fmt::format("the user namespace of process {}", pid)));
    }
    const auto status = read_kernel_file((process / "status").string());
    if (!status) {
        return fail(status.error());
    }
    if (!parse_permitted(*status, privileges.capabilities)) {
        return fail(ErrorCode::Io, fmt::format("process {}: unexpected format of status (see proc(5))", pid));
    }
    return privileges;
}

bool is_administrator(std::uint32_t uid, const Privileges& privileges, std::uint32_t own_uid, const Privileges& own)
{
    if ((uid != 0 && uid != own_uid) || privileges.user_namespace != own.user_namespace) {
        return false;
    }
    return (privileges.capabilities & bit(CAP_SYS_ADMIN)) != 0 || (own.capabilities & ~privileges.capabilities) == 0;
}

bool is_administrator(pid_t pid, std::uint32_t uid)
{
    const std::uint32_t own_uid = geteuid();
    if (uid != 0 && uid != own_uid) {
        return false;
    }
    const auto privileges = read_privileges("/proc", pid);
    const auto own = read_privileges("/proc", getpid());
    return privileges && own && is_administrator(uid, *privileges, own_uid, *own);
}

}    // namespace rdmaqos
