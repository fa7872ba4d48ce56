// The keys of `client:` (of a rule) and `allow:` (of a level), one row each. What reads, judges, indexes, explains and
// offers them on the command line goes by these rows: a new key is a row here, its member of ClientCriteria, and its
// member of Identity unless that is there.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "policy/model/identity.h"
#include "policy/model/name_service.h"
#include "policy/model/policy.h"

namespace rdmaqos {

// Whose word a criterion goes by: the client's, or the kernel's.
enum class Trust : std::uint8_t { Claimed, Verified };

constexpr std::string_view to_string(Trust trust)
{
    return trust == Trust::Verified ? "verified" : "claimed";
}

// Exact names or numbers, turned into numbers when the policy is read.
struct AccountKind {
    std::vector<std::string> ClientCriteria::*names;    // as written
    std::vector<std::uint32_t> ClientCriteria::*numbers;
    std::function<std::optional<std::uint32_t>(const std::string&)> NameService::*look_up;
    std::span<const std::uint32_t> (*of)(const Identity&);
    std::string_view noun;    // of a number: "uid"
    bool is_single;           // a process has exactly one
};

// What a name is, as far as a pattern can be seen never to match it. A process can have two units (unit_names()).
enum class NameForm : std::uint8_t { Unit, Path, Command, SlurmJob, PodUid };

// Patterns over one name. A client without it ("") matches none of them.
struct NameKind {
    std::vector<std::string> ClientCriteria::*patterns;
    std::string Identity::*name;
    NameForm form;
    std::string_view as_words;    // of the option --as-KEY: "As this program"
    std::string_view as_value;    // "PATH"
};

struct ClientKey {
    std::string_view path;    // "client.user", as explain() shows it
    Trust trust;
    std::string_view no_permission;    // why `allow` refuses the key; empty: it takes it
    std::string_view verb;             // "you are in unit a.service": in a refusal by `allow`
    std::string_view sentence;         // what it compares, for the schema of a policy
    std::variant<AccountKind, NameKind> kind;

    // "user"
    [[nodiscard]] constexpr std::string_view name() const { return path.substr(path.find('.') + 1); }
    [[nodiscard]] constexpr bool gives_permission() const { return no_permission.empty(); }
};

inline std::span<const std::uint32_t> uid_of(const Identity& identity)
{
    return {&identity.uid, 1};
}

inline std::span<const std::uint32_t> gids_of(const Identity& identity)
{
    return identity.gids;
}

// In the order of docs/policy-reference.md.
inline constexpr std::array kClientKeys{
    ClientKey{"client.user", Trust::Verified, "", "are", "Users, by name or number: the client's uid.",
              AccountKind{&ClientCriteria::users, &ClientCriteria::uids, &NameService::uid_of, uid_of, "uid", true}},
    ClientKey{"client.group", Trust::Verified, "", "are in",
              "Groups, by name or number: its primary or a supplementary group.",
              AccountKind{&ClientCriteria::groups, &ClientCriteria::gids, &NameService::gid_of, gids_of, "gid", false}},
    ClientKey{"client.unit", Trust::Verified, "", "are in", "Its systemd unit: `job-*.scope`.",
              NameKind{&ClientCriteria::units, &Identity::unit, NameForm::Unit, "In this systemd unit", "UNIT"}},
    ClientKey{
        "client.cgroup", Trust::Verified, "", "are in", "Its cgroup, the whole path: `/slurm/*`.",
        NameKind{&ClientCriteria::cgroups, &Identity::cgroup, NameForm::Path, "In this cgroup (and its unit)", "PATH"}},
    ClientKey{"client.slurm-job", Trust::Verified, "", "are in", "The number of its Slurm job: `4711`.",
              NameKind{&ClientCriteria::slurm_jobs, &Identity::slurm_job, NameForm::SlurmJob, "In this job of Slurm",
                       "NUMBER"}},
    ClientKey{"client.kubernetes-pod", Trust::Verified, "", "are in", "The UID of its pod.",
              NameKind{&ClientCriteria::kubernetes_pods, &Identity::kubernetes_pod, NameForm::PodUid,
                       "In this pod of Kubernetes", "UID"}},
    ClientKey{"client.executable", Trust::Verified, "anybody can run a program", "",
              "The path of its program: `/usr/bin/ib_*`.",
              NameKind{&ClientCriteria::executables, &Identity::executable, NameForm::Path, "As this program", "PATH"}},
    ClientKey{"client.command", Trust::Claimed, "a program can rename itself", "",
              "The name of its process, of 15 characters at most, which the process may change: `ib_*`.",
              NameKind{&ClientCriteria::commands, &Identity::command, NameForm::Command, "Under this name", "NAME"}},
};

static_assert(std::ranges::all_of(kClientKeys, [](const ClientKey& key) { return key.path.starts_with("client."); }));
static_assert(std::ranges::all_of(kClientKeys,
                                  [](const ClientKey& key) {
                                      return key.gives_permission() ? key.trust == Trust::Verified && !key.verb.empty()
                                                                    : key.verb.empty();
                                  }),
              "what a client says of itself gives no permission");

// "user, group, unit or cgroup"; each between two `quote`.
[[nodiscard]] std::string permitting_keys(std::string_view quote);

[[nodiscard]] bool asks(const ClientCriteria& criteria, const ClientKey& key);
// True for a key of `allow` that says who may.
[[nodiscard]] bool permits(const ClientCriteria& allow, const ClientKey& key);

// "alice, bob", "job-*.scope"
[[nodiscard]] std::string asked(const ClientCriteria& criteria, const ClientKey& key);
// "everyone", "nobody", "user alice, bob and unit job-*.scope"
[[nodiscard]] std::string allowed_in_words(const QosLevel& level);

}    // namespace rdmaqos
