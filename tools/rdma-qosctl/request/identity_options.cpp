#include "tools/rdma-qosctl/request/identity_options.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "lib/base/units.h"
#include "policy/model/cgroup_layouts.h"
#include "policy/model/client_keys.h"
#include "policy/model/name_service.h"

namespace rdmaqos::ctl {
namespace {

constexpr const char* kProc = "/proc";
constexpr std::size_t kPasswdBuffer = 65536;

struct User {
    std::uint32_t uid = 0;
    std::vector<std::uint32_t> gids;    // empty: the host does not know the user
};

Result<User> user_of(const std::string& text)
{
    std::vector<char> buffer(kPasswdBuffer);
    passwd entry{};
    passwd* found = nullptr;
    const auto number = parse_number(text);
    if (number && *number > UINT32_MAX - 1) {
        return fail(ErrorCode::InvalidArgument, fmt::format("`{}` is not a uid", printable(text)));
    }
    if (number) {
        getpwuid_r(static_cast<uid_t>(*number), &entry, buffer.data(), buffer.size(), &found);
    } else {
        getpwnam_r(text.c_str(), &entry, buffer.data(), buffer.size(), &found);
    }
    if (found == nullptr) {
        return number
                   ? Result<User>(User{static_cast<std::uint32_t>(*number), {}})
                   : fail(ErrorCode::InvalidArgument, fmt::format("there is no user {} on this host", printable(text)));
    }
    std::vector<gid_t> gids(64);
    auto count = static_cast<int>(gids.size());
    while (getgrouplist(found->pw_name, found->pw_gid, gids.data(), &count) < 0) {
        gids.resize(std::max(static_cast<std::size_t>(count), gids.size() * 2));
        count = static_cast<int>(gids.size());
    }
    gids.resize(static_cast<std::size_t>(count));
    return User{found->pw_uid, {gids.begin(), gids.end()}};
}

Result<std::uint32_t> group_of(const std::string& text)
{
    if (const auto number = parse_number(text); number && *number < UINT32_MAX) {
        return static_cast<std::uint32_t>(*number);
    }
    const auto gid = NameService::host().gid_of(text);
    if (!gid) {
        return fail(ErrorCode::InvalidArgument, fmt::format("there is no group {} on this host", printable(text)));
    }
    return *gid;
}

Result<Identity> identity_of_process(const std::string& text)
{
    const auto pid = parse_number(text);
    if (!pid || *pid == 0 || *pid > INT32_MAX) {
        return fail(ErrorCode::InvalidArgument, fmt::format("`{}` is not a process id", printable(text)));
    }
    struct stat status {};
    if (stat(fmt::format("{}/{}", kProc, *pid).c_str(), &status) != 0) {
        return fail(error_from_errno(ErrorCode::InvalidArgument, errno, fmt::format("process {}", *pid)));
    }
    return read_identity(kProc, {static_cast<pid_t>(*pid), status.st_uid, {}});
}

// Whom the --as options start from.
Result<Identity> base_identity(const IdentityOptions& options)
{
    if (!options.pid.empty()) {
        return identity_of_process(options.pid);
    }
    auto self = read_identity(kProc, {getpid(), geteuid(), {}});
    if (!self || !options.any()) {
        return self;
    }
    Identity somebody;
    somebody.uid = self->uid;
    somebody.gids = self->gids;
    return somebody;
}

}    // namespace

void add_identity_options(CLI::App& command, IdentityOptions& identity)
{
    command.add_option("--pid", identity.pid, "As this process; offline, as are all of --as-...")->type_name("PID");
    command.add_option("--as-user", identity.user, "As this user, in the user's groups")->type_name("NAME|UID");
    command.add_option("--as-group", identity.groups, "In this group as well")
        ->type_name("NAME|GID")
        ->allow_extra_args(false);
    for (const ClientKey& key : kClientKeys) {
        if (const auto* kind = std::get_if<NameKind>(&key.kind)) {
            const std::string option = fmt::format("--as-{}", key.name());
            command.add_option(option, identity.named.*kind->name, std::string(kind->as_words))
                ->type_name(std::string(kind->as_value));
        }
    }
}

Result<Identity> identity_of(const IdentityOptions& options)
{
    auto identity = base_identity(options);
    if (!identity) {
        return identity;
    }
    if (!options.user.empty()) {
        auto user = user_of(options.user);
        if (!user) {
            return fail(user.error());
        }
        identity->uid = user->uid;
        identity->gids = std::move(user->gids);
    }
    for (const auto& group : options.groups) {
        const auto gid = group_of(group);
        if (!gid) {
            return fail(gid.error());
        }
        identity->gids.push_back(*gid);
    }
    std::sort(identity->gids.begin(), identity->gids.end());
    identity->gids.erase(std::unique(identity->gids.begin(), identity->gids.end()), identity->gids.end());
    if (!options.named.cgroup.empty()) {
        identity->unit = unit_of_cgroup(options.named.cgroup);
        identity->slurm_job = slurm_job_of_cgroup(options.named.cgroup);
        identity->kubernetes_pod = kubernetes_pod_of_cgroup(options.named.cgroup);
    }
    for (const ClientKey& key : kClientKeys) {
        const auto* kind = std::get_if<NameKind>(&key.kind);
        if (kind != nullptr && !(options.named.*kind->name).empty()) {
            (*identity).*kind->name = options.named.*kind->name;
        }
    }
    return identity;
}

std::string describe(const Identity& identity)
{
    std::string text = fmt::format("uid {}", identity.uid);
    const auto add = [&](std::string_view what, std::string_view value) {
        if (!value.empty()) {
            text += fmt::format(", {} {}", what, printable(value));
        }
    };
    if (identity.pid != 0) {
        add("pid", std::to_string(identity.pid));
    }
    add(identity.gids.size() == 1 ? "group" : "groups", fmt::format("{}", fmt::join(identity.gids, " ")));
    add("unit", identity.unit);
    add("executable", identity.executable);
    return text;
}

}    // namespace rdmaqos::ctl
