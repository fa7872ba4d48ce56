#include "tools/rdma-qosctl/commands/rule.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "policy/load/host_files.h"
#include "policy/load/transient_files.h"
#include "tools/rdma-qosctl/commands/transient_change.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/rendering/rules.h"

namespace rdmaqos::ctl {
namespace {

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
    if (auto good = check_rule_name(options.name); !good) {
        return fail(good.error());
    }
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

}    // namespace

Result<ExitStatus> add_rule(const Context& context, const RuleOptions& options)
{
    const auto transient = transient_from(options, std::chrono::system_clock::now());
    if (!transient) {
        return fail(transient.error());
    }
    const auto text = rule_text(options, *transient);
    if (!text) {
        return fail(text.error());
    }
    if (why_ended(*transient, context.root, std::chrono::system_clock::now())) {
        return fail(ErrorCode::InvalidArgument, fmt::format("there is no cgroup {}", printable(transient->cgroup)));
    }
    const auto lock = lock_transient_files(context.root);    // until the daemon has taken the rule or refused it
    if (!lock) {
        return fail(lock.error());
    }
    const auto name = free_name(context.root, options);
    if (!name) {
        return fail(name.error());
    }
    const fs::path place = fs::path(kTransientDirectory) / rule_file(*name);
    const auto base = base_of_change(context);
    if (!base) {
        return fail(base.error());
    }
    if (const auto checked = check_with(context, *base, place, *text, "the policy with this rule"); !checked) {
        return fail(checked.error());
    }
    const fs::path file = below_root(context.root, place);
    if (auto written = write_file_atomically(file, *text); !written) {
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
    print_added(context, {*name, {place, {}, *transient, {}}, {}}, *reloaded);
    warn_of_failures(*reloaded);
    return ExitStatus::Ok;
}

Result<ExitStatus> remove_rules(const Context& context, const RuleRemoval& removal)
{
    if (removal.name.empty() == removal.owner.empty()) {
        return fail(ErrorCode::InvalidArgument, "name a rule, or the owner of rules with `--owner`");
    }
    const auto lock = lock_transient_files(context.root);
    if (!lock) {
        return fail(lock.error());
    }
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
        if (const auto reloaded = reload_if_it_runs(context); !reloaded) {
            removed.put_back();
            Error error = reloaded.error();
            error.message.insert(0, "nothing is removed: ");
            return fail(std::move(error));
        }
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

}    // namespace rdmaqos::ctl
