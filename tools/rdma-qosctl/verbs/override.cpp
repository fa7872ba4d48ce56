#include "tools/rdma-qosctl/verbs/verb.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "lib/api/json.h"
#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "policy/explain/changes.h"
#include "policy/load/host_files.h"
#include "policy/load/policy_reader.h"
#include "policy/load/transient_files.h"
#include "tools/rdma-qosctl/changes/transient_change.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/offline/transient.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/rendering/transient.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

struct OverrideClearing {
    std::string level;    // empty: all, which must be said
    bool all = false;
};

struct OverrideValue {
    std::string_view key;
    std::string_view words;
    std::string_view value;
};

constexpr OverrideValue kValues[] = {
    {"max-rate", "Cap of the level's class: 10Gbps, 25%, unlimited", "RATE"},
    {"min-rate", "What its class gets when all are backlogged: 5Gbps, 10%", "RATE"},
    {"share", "Weight of its class among its siblings", "N"},
    {"per-queue-pair-max-rate", "Cap of each of its queue pairs: 1Gbps, unlimited", "RATE"},
};

void add_options(CLI::App& command, OverrideOptions& options)
{
    command.add_option("LEVEL,--level", options.level,
                       "Whose rate it is; `--level list` for one that is called like a command");
    for (const auto& [key, words, value] : kValues) {
        command
            .add_option_function<std::string>(
                "--" + std::string(key),
                [&options, key = std::string(key)](const std::string& text) { options.values[key] = text; },
                std::string(words))
            ->type_name(std::string(value));
    }
    command.add_option("--for", options.lasts, "It ends after this time: 90s, 30m, 1h30min; none: with the next boot")
        ->type_name("TIME");
    command.add_option("--cgroup", options.cgroup, "It ends when this cgroup is gone")->type_name("PATH");
}

void add_options(CLI::App& command, OverrideClearing& options)
{
    CLI::Option* level = command.add_option("LEVEL", options.level, "Whose override ends");
    command.add_flag("--all", options.all, "Those of all levels")->excludes(level);
}

// A level is overridden, or one of the parts is run.
void check_override(const CLI::App& command)
{
    const auto options = command.get_options();
    const bool has_part = !command.get_subcommands().empty();
    if (has_part && std::ranges::any_of(options, [](const CLI::Option* option) { return option->count() > 0; })) {
        throw CLI::ValidationError("override",
                                   "`list` and `clear` take neither a level before them nor a rate; a level "
                                   "of that name is named by `--level`");
    }
    if (!has_part && command.count("--level") == 0) {
        throw CLI::RequiredError("LEVEL");
    }
}

namespace fs = std::filesystem;
using std::chrono::system_clock;

OverrideView view_of(const Policy& policy, const LevelOverride& each)
{
    return {policy.levels.at(each.level).name,
            each.property,
            each.value,
            each.in_place_of,
            each.transient,
            each.location.file ? each.location.file->name : ""};
}

std::vector<OverrideView> views_of(const Policy& policy, const fs::path& place)
{
    std::vector<OverrideView> views;
    for (const auto& each : policy.overrides) {
        if (each.location.file && each.location.file->name == place) {
            views.push_back(view_of(policy, each));
        }
    }
    return views;
}

// What it changes: of levels only, since nothing else can change with it.
std::vector<LevelChange> changes_between(const std::shared_ptr<const Policy>& before,
                                         const std::shared_ptr<const Policy>& after)
{
    return before && after ? level_changes(*before, *after) : std::vector<LevelChange>{};
}

std::string changes_in_words(const std::vector<LevelChange>& changes)
{
    std::string text;
    for (const auto& change : changes) {
        text += printable(fmt::format("{}: {}", change.level, change.words)) + '\n';
    }
    return text;
}

Json changes_json(const std::vector<LevelChange>& changes)
{
    Json json = Json::array();
    for (const auto& change : changes) {
        json.push_back({{"level", change.level}, {"message", change.words}});
    }
    return json;
}

// Refuses an override of which something would have no effect: whoever asks for it would wait for it in vain.
Result<std::vector<OverrideView>> all_in_effect(const ProposedPolicy& proposed, const OverrideOptions& options,
                                                const fs::path& place)
{
    auto views = views_of(*proposed.policy, place);
    if (views.size() == options.values.size()) {
        return views;
    }
    if (!proposed.own.empty()) {
        return fail(ErrorCode::InvalidPolicy, fmt::format("level {} is not overridden: what is asked for would have no "
                                                          "effect",
                                                          printable(options.level)));
    }
    return fail(
        ErrorCode::InvalidPolicy,
        fmt::format("level {} is not overridden: a file that is read later, or in the place of {}, overrides it "
                    "already; `rdma-qosctl override list` shows which",
                    printable(options.level), place.string()));
}

void set_reload(Json& json, const std::optional<ReloadView>& reload)
{
    if (reload) {
        json["revision"] = reload->revision;
        json["failures"] = api::to_json(reload->failures);
        json["unanswered"] = reload->unanswered;
    }
}

// A prolog that asks for a rate shall know that it does not hold.
ExitStatus status_if_reloaded(const std::optional<ReloadView>& reload)
{
    return reload ? status_of(*reload) : ExitStatus::Ok;
}

void print_set(const std::string& level, const std::vector<OverrideView>& views,
               const std::vector<LevelChange>& changes, const std::optional<ReloadView>& reload, bool as_json)
{
    if (as_json) {
        Json json{{"level", level}, {"overrides", Json::array()}, {"changes", changes_json(changes)}};
        std::ranges::transform(views, std::back_inserter(json["overrides"]), override_json);
        json["in-force"] = reload.has_value();
        set_reload(json, reload);
        print(to_text(json));
        return;
    }
    print(changes_in_words(changes) + render_set_override(views.front(), reload, system_clock::now()));
}

// Files that override this level; with an empty name, any.
struct OverridingFiles {
    std::vector<TransientFile> own;      // and nothing else
    std::vector<TransientFile> mixed;    // and more: nobody but who wrote them knows what may go
};

OverridingFiles overriding_files(const std::string& root, const std::string& level)
{
    OverridingFiles files;
    const auto all = find_transient_files(root, system_clock::now());
    for (const auto& file : all) {
        const auto is_meant = [&](const reader::StatedOverride& each) {
            return level.empty() || equals_ignoring_case(each.level, level);
        };
        const auto& overrides = file.overrides.overrides;
        if (std::ranges::none_of(overrides, is_meant)) {
            continue;
        }
        const bool is_own = file.overrides.are_all && std::ranges::all_of(overrides, is_meant);
        (is_own ? files.own : files.mixed).push_back(file);
    }
    return files;
}

Error nothing_to_clear(const OverridingFiles& files, const std::string& level)
{
    if (!files.mixed.empty()) {
        return {ErrorCode::InvalidArgument, 0,
                fmt::format("{} has more in it than what is to be cleared: edit or remove it, then reload",
                            files.mixed.front().path.string())};
    }
    return {ErrorCode::InvalidArgument, 0,
            fmt::format("no override of `{}` is there; `rdma-qosctl override list` shows those there are",
                        printable(level))};
}

std::string state_of(const reader::StatedOverride& stated, const TransientFile& file, const Policy* policy,
                     const std::vector<SkippedFile>& skipped, OverrideView& view)
{
    if (const auto skip = std::ranges::find(skipped, file.path, &SkippedFile::path); skip != skipped.end()) {
        return std::string(to_string(skip->why));
    }
    if (policy == nullptr) {
        return "unknown";
    }
    const auto applied = std::ranges::find_if(policy->overrides, [&](const LevelOverride& each) {
        return each.location.file && each.location.file->name == file.path && each.property == stated.property &&
               each.location.line == stated.location.line && each.location.column == stated.location.column;
    });
    if (applied == policy->overrides.end()) {
        return "no-effect";
    }
    view = view_of(*policy, *applied);
    return "applied";
}

// The policy in force is asked for by whoever may have it.
std::shared_ptr<const Policy> policy_of_list(const Context& context)
{
    const auto base = geteuid() == 0 ? base_of_change(context) : Result<Base>(Base{});
    return base ? base->policy(context.root) : load_policy({}, context.root).value;
}

std::vector<ListedOverride> listed_overrides(const Context& context)
{
    const std::string& root = context.root;
    const auto policy = policy_of_list(context);
    const auto skipped = skipped_policy_files(root);
    const auto files = find_transient_files(root, system_clock::now());
    std::vector<ListedOverride> listed;
    for (const auto& file : files) {
        for (const auto& stated : file.overrides.overrides) {
            OverrideView view{stated.level, stated.property, stated.value, {}, file.transient, file.path.string()};
            std::string state = state_of(stated, file, policy.get(), skipped, view);
            listed.push_back({std::move(view), std::move(state)});
        }
    }
    return listed;
}

Result<ExitStatus> set_override(const Context& context, const OverrideOptions& options)
{
    const auto until = TRY(end_after(options.lasts, system_clock::now()));
    const Transient transient{until, {}, options.cgroup};
    const auto text = TRY(override_text(options, transient));
    if (why_ended(transient, context.root, system_clock::now())) {
        return fail(ErrorCode::InvalidArgument, fmt::format("there is no cgroup {}", printable(transient.cgroup)));
    }
    const auto lock = TRY(lock_transient_files(context.root));
    const auto base = TRY(base_of_change(context));
    const auto before = base.policy(context.root);
    const fs::path place = fs::path(kTransientDirectory) / override_file(options.level);
    const auto proposed = TRY(check_with(context, base, place, text, "the policy with this override"));
    const auto views = TRY(all_in_effect(proposed, options, place));
    const fs::path file = below_root(context.root, place);
    const auto old = read_regular_file(file, kMaxConfigFileSize);    // of an earlier override of the level
    if (auto written = write_file_atomically(file, text); !written) {
        return fail(not_written(kOnlyRootChanges, written.error()));
    }
    const auto reloaded = reload_if_it_runs(context);
    if (!reloaded) {
        std::error_code unused;
        if (!old || !write_file_atomically(file, *old)) {
            fs::remove(file, unused);
        }
        if (reloaded.error().code != ErrorCode::InvalidPolicy) {
            static_cast<void>(reload_if_it_runs(context));    // it may have taken the override, and not told us
        }
        Error error = reloaded.error();
        error.message.insert(0, fmt::format("level {} is not overridden: ", printable(options.level)));
        return fail(std::move(error));
    }
    print_set(views.front().level, views, changes_between(before, proposed.policy), *reloaded, context.json);
    warn_of_failures(*reloaded);
    return status_if_reloaded(*reloaded);
}

Result<ExitStatus> clear_overrides(const Context& context, const OverrideClearing& clearing)
{
    if (clearing.level.empty() != clearing.all) {
        return fail(ErrorCode::InvalidArgument, "name a level, or clear all overrides with `--all`");
    }
    const auto lock = TRY(lock_transient_files(context.root));
    const auto files = overriding_files(context.root, clearing.level);
    if (files.own.empty() && (!clearing.all || !files.mixed.empty())) {
        return fail(nothing_to_clear(files, clearing.level));
    }
    const auto base = TRY(base_of_change(context));
    const auto before = base.policy(context.root);
    RemovedFiles removed;
    std::set<std::string> levels;    // as the policy writes them
    for (const auto& file : files.own) {
        if (auto gone = removed.remove(context.root, file.path); !gone) {
            removed.put_back();
            return fail(gone.error());
        }
        for (const auto& stated : file.overrides.overrides) {
            const QosLevel* level = before ? before->find_level(stated.level) : nullptr;
            levels.insert(level == nullptr ? stated.level : level->name);
        }
    }
    std::optional<ReloadView> reload;
    if (!files.own.empty()) {
        auto reloaded = reload_if_it_runs(context);
        if (!reloaded) {
            removed.put_back();
            Error error = reloaded.error();
            error.message.insert(0, "nothing is cleared: ");
            return fail(std::move(error));
        }
        reload = std::move(*reloaded);
    }
    const auto changes = changes_between(before, base.policy(context.root));
    if (context.json) {
        Json json{{"cleared", levels}, {"changes", changes_json(changes)}};
        set_reload(json, reload);
        print(to_text(json));
    } else if (levels.empty()) {
        print("no level is overridden\n");
    } else {
        print(changes_in_words(changes) +
              fmt::format("cleared: {}\n", printable(fmt::format("{}", fmt::join(levels, ", ")))));
    }
    warn_of_failures(reload);
    if (!files.mixed.empty()) {
        return fail(nothing_to_clear(files, clearing.level));
    }
    return status_if_reloaded(reload);
}

Result<ExitStatus> list_overrides(const Context& context)
{
    const auto overrides = listed_overrides(context);
    if (context.json) {
        Json list = Json::array();
        std::ranges::transform(overrides, std::back_inserter(list), listed_override_json);
        print(to_text({{"overrides", std::move(list)}}));
    } else {
        print(render_overrides(overrides, system_clock::now(), context.screen));
    }
    return ExitStatus::Ok;
}

constexpr Verb kPartsOfOverride[] = {
    {
        .name = "clear",
        .summary = "End overrides before their time, and reload",
        .examples = "  rdma-qosctl override clear rpc\n"
                    "  rdma-qosctl override clear --all",
        .prepare = with_options<OverrideClearing, add_options, clear_overrides>,
    },
    {
        .name = "list",
        .summary = "Show which levels have another rate, and until when",
        .examples = "  rdma-qosctl override list\n"
                    "  rdma-qosctl override list --json",
        .prepare = without_options<list_overrides>,
    },
};

}    // namespace

extern const Verb kOverrideVerb{
    .name = "override",
    .summary = "Give a level another rate for a while, and reload; one that is refused leaves nothing",
    .examples = "  rdma-qosctl override rpc --max-rate 10Gbps --for 30m\n"
                "  rdma-qosctl override list\n"
                "  rdma-qosctl override clear rpc",
    .prepare = with_options<OverrideOptions, add_options, set_override>,
    .check = check_override,
    .parts = kPartsOfOverride,
};

}    // namespace rdmaqos::ctl
