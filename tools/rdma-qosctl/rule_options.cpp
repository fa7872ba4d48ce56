#include "tools/rdma-qosctl/rule_options.h"

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "policy/model/client_keys.h"

namespace rdmaqos::ctl {
namespace {

struct RuleCriterion {
    std::string_view key;
    std::string_view words;
    std::string_view value;
};

constexpr RuleCriterion kCriteriaOfRules[] = {
    {"source", "From the ports of this port group", "GROUP"},
    {"destination", "To the ports of this port group", "GROUP"},
    {"qos-class", "Number, range or name", "CLASS"},
    {"service-id", "64-bit number or range", "ID"},
    {"pkey", "P_Key or range", "PKEY"},
    {"device", "On this device; may be a glob", "DEVICE"},
};

// Each may be given several times, for any of its values.
void add_criterion(CLI::App& command, const std::string& option, const std::string& key, std::string_view words,
                   std::string_view value, std::map<std::string, std::vector<std::string>>& into)
{
    command
        .add_option_function<std::vector<std::string>>(
            "--" + option, [&into, key](const std::vector<std::string>& values) { into[key] = values; },
            std::string(words))
        ->type_name(std::string(value))
        ->allow_extra_args(false);
}

// "Of processes whose unit is this; may be a glob"
std::string words_of(const ClientKey& key)
{
    return std::holds_alternative<NameKind>(key.kind)
               ? fmt::format("Of processes whose {} is this; may be a glob", key.name())
               : fmt::format("Of processes of this {}", key.name());
}

}    // namespace

void add_rule_options(CLI::App& command, RuleOptions& options)
{
    command.add_option("--level", options.level, "What it gets")->type_name("LEVEL")->required();
    command.add_option("--for", options.lasts, "The rule ends after this time: 90s, 30m, 1h30min")->type_name("TIME");
    command.add_option("--cgroup", options.cgroup, "The rule ends when this cgroup is gone")->type_name("PATH");
    command.add_option("--owner", options.owner, "For whom it is: a name for `rule remove --owner` and `rule list`")
        ->type_name("NAME");
    command.add_option("--name", options.name, "Of the rule; none: made of the owner. 70-NAME: behind policy.yaml")
        ->type_name("NAME");
    command.add_option("--use", options.use, "What it is for, shown wherever the rule is")->type_name("TEXT");
    for (const ClientKey& key : kClientKeys) {
        const bool means_end = key.name() == "cgroup";
        const auto* account = std::get_if<AccountKind>(&key.kind);
        add_criterion(command, means_end ? "cgroup-pattern" : std::string(key.name()), std::string(key.name()),
                      words_of(key),
                      account == nullptr       ? std::get<NameKind>(key.kind).as_value
                      : account->noun == "uid" ? "NAME|UID"
                                               : "NAME|GID",
                      options.client);
    }
    for (const RuleCriterion& criterion : kCriteriaOfRules) {
        add_criterion(command, std::string(criterion.key), std::string(criterion.key), criterion.words, criterion.value,
                      options.criteria);
    }
    command.add_option("--ulp-port", options.ulp_port, "To this port: tcp:4420")->type_name("SPACE:PORT");
}

void add_removal_options(CLI::App& command, RuleRemoval& removal)
{
    CLI::Option* name = command.add_option("NAME", removal.name, "Of the rule, as `rule list` shows it");
    command.add_option("--owner", removal.owner, "All rules of this owner; it is no error if there is none")
        ->type_name("NAME")
        ->excludes(name);
}

}    // namespace rdmaqos::ctl
