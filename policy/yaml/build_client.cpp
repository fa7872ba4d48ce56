#include "policy/yaml/build_client.h"

#include <algorithm>
#include <array>
#include <variant>

#include <fmt/format.h>

#include "lib/base/overloaded.h"
#include "lib/base/text.h"
#include "policy/keys/objects.h"
#include "policy/model/client_keys.h"

namespace rdmaqos::reader {
namespace {

constexpr std::size_t kLongestCommand = 15;    // TASK_COMM_LEN without its NUL
// What people look for, and the kernel does not know.
constexpr std::string_view kNamespace = "kubernetes-namespace";

// Users or groups: exact names or numbers, resolved now.
void read_accounts(Build& build, const Field& field, const AccountKind& kind, ClientCriteria& criteria)
{
    for (const Field& item : read_items(build.context, field)) {
        auto name = read_text(build.context, item);
        if (!name) {
            continue;
        }
        if (has_glob(*name)) {
            build.context.error(*item.value,
                                fmt::format("`{}` must be an exact name or a number, not a pattern", field.key),
                                field.key == "user" ? "name a `group` for many users" : "");
            continue;
        }
        std::optional<std::uint32_t> id;
        const auto number = parse_number(*name);
        const bool is_number = number || name->find_first_not_of("0123456789") == std::string::npos;
        if (is_number && number.value_or(~std::uint64_t{0}) >= 0xFFFFFFFF) {
            build.context.error(*item.value, fmt::format("{} {} is out of range", field.key, *name));
            continue;
        }
        if (number) {
            id = static_cast<std::uint32_t>(*number);
        } else {
            id = build.users.number_of(kind, *name);
        }
        if (id) {
            (criteria.*kind.numbers).push_back(*id);
        } else {
            build.context.warning(*item.value,
                                  fmt::format("there is no {} `{}` on this host: it never matches", field.key, *name),
                                  "create the account, then reload the policy");
        }
        (criteria.*kind.names).push_back(std::move(*name));
    }
}

std::string_view digits_of(std::string_view text)
{
    return text.substr(0, text.find_first_not_of("0123456789"));
}

// 36 characters in the cluster; static pods have 32 hexadecimal digits.
bool looks_like_pod_uid(std::string_view text)
{
    return std::ranges::all_of(
        text, [](char letter) { return is_digit(letter) || (letter >= 'a' && letter <= 'f') || letter == '-'; });
}

void read_patterns(Context& context, const Field& field, const NameKind& kind, ClientCriteria& criteria)
{
    for (const Field& item : read_items(context, field)) {
        if (auto pattern = read_text(context, item)) {
            warn_of_never(context, *item.value, *pattern, kind.form);
            (criteria.*kind.patterns).push_back(std::move(*pattern));
        }
    }
}

void read_key(Build& build, const Field& field, const ClientKey& key, ClientCriteria& criteria)
{
    std::visit(Overloaded{
                   [&](const AccountKind& kind) { read_accounts(build, field, kind, criteria); },
                   [&](const NameKind& kind) { read_patterns(build.context, field, kind, criteria); },
               },
               key.kind);
}

}    // namespace

void warn_of_never(Context& context, const Node& at, std::string_view pattern, NameForm form)
{
    switch (form) {
    case NameForm::Path:
        if (std::string_view("/*?[").find(pattern[0]) == std::string_view::npos) {
            context.warning(at, fmt::format("`{}` never matches: it is compared with a whole path", pattern),
                            fmt::format("write `*/{}` or the full path, starting with `/`", pattern));
        }
        return;
    case NameForm::Unit:
        if (!has_glob(pattern) && pattern.find('.') == std::string_view::npos) {
            context.warning(at, fmt::format("`{}` never matches: the name of a unit ends in its type", pattern),
                            fmt::format("write `{0}.service`, `{0}.scope` or `{0}.*`", pattern));
        }
        return;
    case NameForm::Command:
        // A backslash may stand for a character that cannot be printed, which is one of the 15.
        if (!has_glob(pattern) && pattern.find('\\') == std::string_view::npos && pattern.size() > kLongestCommand) {
            context.warning(at,
                            fmt::format("`{}` never matches: the kernel truncates names to {} characters", pattern,
                                        kLongestCommand),
                            fmt::format("write `{}`", pattern.substr(0, kLongestCommand)));
        }
        return;
    case NameForm::SlurmJob:
        if (!has_glob(pattern) && !std::ranges::all_of(pattern, is_digit)) {
            const auto digits = pattern.find_first_of("0123456789");
            context.warning(at, fmt::format("`{}` never matches: a job of Slurm is known by its number", pattern),
                            digits == std::string_view::npos
                                ? "a job's name is not known to the kernel; write the number that squeue prints"
                                : fmt::format("write `{}`", digits_of(pattern.substr(digits))));
        }
        return;
    case NameForm::PodUid:
        if (!has_glob(pattern) && !looks_like_pod_uid(pattern)) {
            context.warning(at, fmt::format("`{}` never matches: a pod is known by its UID", pattern),
                            "a pod's name is not known to the kernel; `kubectl get pod NAME -o "
                            "jsonpath={.metadata.uid}` prints the UID");
        }
        return;
    }
}

std::optional<ClientCriteria> read_client(Build& build, const Field& field, ClientFor use)
{
    Context& context = build.context;
    const Node* name_space = find_key(*field.value, kNamespace);
    const keys::Object& object = use == ClientFor::Allow ? keys::kAllow : keys::kClient;
    const Mapping mapping(context, *field.value, object.what, object.keys, kNamespace);
    if (!mapping.is_valid()) {
        return std::nullopt;
    }
    if (name_space != nullptr) {
        context.error(*name_space, "the kernel does not know the namespace of a pod",
                      "the pod's cgroup has its UID: give `kubernetes-pod: UID`, or let the CNI plugin add a rule when "
                      "the pod starts: `rdma-qosctl rule add --kubernetes-pod UID`");
    }
    ClientCriteria criteria;
    criteria.location = context.locate(*field.value);
    if (field.value->children.empty()) {
        context.error(*field.value, fmt::format("`{}` names nobody", field.key), "omit the key to allow everybody");
        return std::nullopt;
    }
    for (const ClientKey& key : kClientKeys) {
        const auto found = mapping.find(key.name());
        if (!found) {
            continue;
        }
        if (use == ClientFor::Allow && !key.gives_permission()) {
            context.error(*find_key(*field.value, key.name()),
                          fmt::format("`{}` cannot be used in `allow`", key.name()),
                          fmt::format("{}; use {} here, and match {} in the `client` of a rule", key.no_permission,
                                      permitting_keys("`"), key.name()));
            continue;
        }
        read_key(build, *found, key, criteria);
    }
    return criteria;
}

}    // namespace rdmaqos::reader
