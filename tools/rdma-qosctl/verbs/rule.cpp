#include "tools/rdma-qosctl/verbs/verb.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "policy/load/host_files.h"
#include "policy/load/transient_files.h"
#include "policy/model/client_keys.h"
#include "tools/rdma-qosctl/changes/transient_change.h"
#include "tools/rdma-qosctl/offline/transient.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/rendering/transient.h"

namespace rdmaqos::ctl {
namespace {

struct RuleRemoval {
    std::string name;    // one of the two
    std::string owner;
};

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

// Criteria are named as in a match rule, but for `cgroup`, which stands for the end of the rule.
void add_options(CLI::App& command, RuleOptions& options)
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

void add_options(CLI::App& command, RuleRemoval& removal)
{
    CLI::Option* name = command.add_option("NAME", removal.name, "Of the rule, as `rule list` shows it");
    command.add_option("--owner", removal.owner, "All rules of this owner; it is no error if there is none")
        ->type_name("NAME")
        ->excludes(name);
}

namespace fs = std::filesystem;

bool is_taken(const std::string& root, const std::string& file)
{
    std::error_code error;
    return std::ranges::any_of(std::array{"/etc/rdma-qos/policy.d", "/usr/lib/rdma-qos/policy.d", kTransientDirectory},
                               [&](const char* directory) {
                                   const auto path = below_root(root, fs::path(directory) / file);
                                   return fs::symlink_status(path, error).type() != fs::file_type::not_found;
                               });
}

// The name of a file that there is in no directory, so that the rule neither masks anything nor is masked.
Result<std::string> free_name(const std::string& root, const RuleOptions& options)
{
    if (options.name.empty()) {
        const std::string name = default_rule_name(options.owner);
        std::string candidate = name;
        for (int number = 2; is_taken(root, rule_file(candidate)); ++number) {
            candidate = fmt::format("{}-{}", name, number);
        }
        return candidate;
    }
    TRY(check_rule_name(options.name));
    if (is_taken(root, rule_file(options.name))) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("there is a policy file {} already; `rdma-qosctl rule list` shows those that rules are "
                                "in, and `rdma-qosctl rule remove {}` takes such a one away",
                                rule_file(options.name), options.name));
    }
    return options.name;
}

std::vector<RuleView> rules_of(const std::string& root)
{
    const auto skipped = skipped_policy_files(root);
    std::vector<RuleView> rules;
    for (auto& file : find_transient_files(root, std::chrono::system_clock::now())) {
        if (file.overrides.are_all) {
            continue;    // those are what `override` is for
        }
        RuleView rule{rule_name(file.path.filename()), std::move(file), {}};
        const auto skip = std::ranges::find(skipped, rule.file.path, &SkippedFile::path);
        if (skip != skipped.end()) {
            rule.skipped = *skip;
        }
        rules.push_back(std::move(rule));
    }
    return rules;
}

void print_added(const Context& context, const RuleView& rule, const std::optional<ReloadView>& reload)
{
    if (context.json) {
        Json json = rule_json(rule);
        json["in-force"] = reload.has_value();
        if (reload) {
            json["revision"] = reload->revision;
        }
        print(to_text(json));
        return;
    }
    print(fmt::format("rule {} {}, {}\n", rule.name,
                      reload ? "is in force" : "is written; no daemon runs, and it will be in force when one starts",
                      how_long(rule.file.transient)));
}

Result<ExitStatus> add_rule(const Context& context, const RuleOptions& options)
{
    const auto transient = TRY(transient_from(options, std::chrono::system_clock::now()));
    const auto text = TRY(rule_text(options, transient));
    if (why_ended(transient, context.root, std::chrono::system_clock::now())) {
        return fail(ErrorCode::InvalidArgument, fmt::format("there is no cgroup {}", printable(transient.cgroup)));
    }
    const auto lock = lock_transient_files(context.root);    // until the daemon has taken the rule or refused it
    if (!lock) {
        return fail(lock.error());
    }
    const auto name = TRY(free_name(context.root, options));
    const fs::path place = fs::path(kTransientDirectory) / rule_file(name);
    const auto base = TRY(base_of_change(context));
    TRY(check_with(context, base, place, text, "the policy with this rule"));
    const fs::path file = below_root(context.root, place);
    if (auto written = write_file_atomically(file, text); !written) {
        return fail(not_written(kOnlyRootChanges, written.error()));
    }
    const auto reloaded = reload_if_it_runs(context);
    if (!reloaded) {
        std::error_code unused;
        fs::remove(file, unused);
        if (reloaded.error().code != ErrorCode::InvalidPolicy) {
            static_cast<void>(reload_if_it_runs(context));    // it may have taken the rule, and not told us
        }
        Error error = reloaded.error();
        error.message.insert(0, "the rule is not added: ");
        return fail(std::move(error));
    }
    print_added(context, {name, {place, {}, transient, {}}, {}}, *reloaded);
    warn_of_failures(*reloaded);
    return ExitStatus::Ok;
}

Result<ExitStatus> remove_rules(const Context& context, const RuleRemoval& removal)
{
    if (removal.name.empty() == removal.owner.empty()) {
        return fail(ErrorCode::InvalidArgument, "name a rule, or the owner of rules with `--owner`");
    }
    const auto lock = TRY(lock_transient_files(context.root));
    std::vector<std::string> names;
    RemovedFiles removed;
    for (const auto& rule : rules_of(context.root)) {
        const bool wanted = removal.owner.empty()
                                ? rule.name == removal.name || rule.file.path.filename() == removal.name
                                : rule.file.transient.owner == removal.owner;
        if (!wanted) {
            continue;
        }
        if (auto gone = removed.remove(context.root, rule.file.path); !gone) {
            removed.put_back();
            return fail(gone.error());
        }
        names.push_back(rule.name);
    }
    if (names.empty() && removal.owner.empty()) {
        return fail(ErrorCode::InvalidArgument, fmt::format("there is no rule {}; `rdma-qosctl rule list` shows those "
                                                            "there are",
                                                            printable(removal.name)));
    }
    if (!names.empty()) {
        const auto reloaded = reload_if_it_runs(context);
        if (!reloaded) {
            removed.put_back();
            Error error = reloaded.error();
            error.message.insert(0, "nothing is removed: ");
            return fail(std::move(error));
        }
        warn_of_failures(*reloaded);
    }
    if (context.json) {
        print(to_text({{"removed", names}}));
    } else if (names.empty()) {
        print(fmt::format("{} has no rule\n", printable(removal.owner)));    // it may have ended before
    } else {
        print(fmt::format("removed: {}\n", fmt::join(names, ", ")));
    }
    return ExitStatus::Ok;
}

Result<ExitStatus> list_rules(const Context& context)
{
    const auto rules = rules_of(context.root);
    if (context.json) {
        Json list = Json::array();
        std::ranges::transform(rules, std::back_inserter(list), rule_json);
        print(to_text({{"rules", std::move(list)}}));
    } else {
        print(render_rules(rules, context.screen));
    }
    return ExitStatus::Ok;
}

constexpr Verb kPartsOfRule[] = {
    {
        .name = "add",
        .summary = "Add a rule that ends by itself, and reload; one that is refused leaves nothing",
        .examples =
            "  rdma-qosctl rule add --for 2h --owner slurm-job-4711 --cgroup-pattern '*/job_4711/*' --level rpc\n"
            "  rdma-qosctl rule add --cgroup /kubepods.slice/pod7.slice --unit 'pod7*' --level bulk\n"
            "  rdma-qosctl rule add --name 70-late --user alice --level bulk",
        .prepare = with_options<RuleOptions, add_options, add_rule>,
    },
    {
        .name = "remove",
        .summary = "Remove a rule, or all of an owner, and reload",
        .examples = "  rdma-qosctl rule remove slurm-job-4711\n"
                    "  rdma-qosctl rule remove --owner slurm-job-4711",
        .prepare = with_options<RuleRemoval, add_options, remove_rules>,
    },
    {
        .name = "list",
        .summary = "Show the rules, for whom they are and when they end",
        .examples = "  rdma-qosctl rule list\n"
                    "  rdma-qosctl rule list --json",
        .prepare = without_options<list_rules>,
    },
};

}    // namespace

extern const Verb kRuleVerb{
    .name = "rule",
    .summary = "Add, remove and list match rules that end by themselves",
    .examples = "  rdma-qosctl rule add --for 2h --owner slurm-job-4711 --cgroup-pattern '*/job_4711/*' --level rpc\n"
                "  rdma-qosctl rule remove --owner slurm-job-4711\n"
                "  rdma-qosctl rule list",
    .parts = kPartsOfRule,
};

}    // namespace rdmaqos::ctl
