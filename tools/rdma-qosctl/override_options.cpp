#include "tools/rdma-qosctl/override_options.h"

#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

namespace rdmaqos::ctl {
namespace {

constexpr const char* kExamples = "\nExamples:\n"
                                  "  rdma-qosctl override rpc --max-rate 10Gbps --for 30m\n"
                                  "  rdma-qosctl override list\n"
                                  "  rdma-qosctl override clear rpc";

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

}    // namespace

void add_override_command(CLI::App& app, OverrideArguments& arguments, std::function<void(OverrideRun)> choose)
{
    CLI::App* command = app.add_subcommand(
        "override", "Give a level another rate for a while, and reload; one that is refused leaves nothing");
    command->footer(kExamples);
    CLI::Option* level = command->add_option("LEVEL,--level", arguments.set.level,
                                             "Whose rate it is; `--level list` for one that is called like a command");
    for (const auto& [key, words, value] : kValues) {
        command
            ->add_option_function<std::string>(
                "--" + std::string(key),
                [&arguments, key = std::string(key)](const std::string& text) { arguments.set.values[key] = text; },
                std::string(words))
            ->type_name(std::string(value));
    }
    command
        ->add_option("--for", arguments.set.lasts,
                     "It ends after this time: 90s, 30m, 1h30min; none: with the next boot")
        ->type_name("TIME");
    command->add_option("--cgroup", arguments.set.cgroup, "It ends when this cgroup is gone")->type_name("PATH");
    CLI::App* clear = command->add_subcommand("clear", "End overrides before their time, and reload");
    clear->footer("\nExamples:\n  rdma-qosctl override clear rpc\n  rdma-qosctl override clear --all");
    CLI::Option* cleared = clear->add_option("LEVEL", arguments.clear.level, "Whose override ends");
    clear->add_flag("--all", arguments.clear.all, "Those of all levels")->excludes(cleared);
    CLI::App* list = command->add_subcommand("list", "Show which levels have another rate, and until when");
    list->footer("\nExamples:\n  rdma-qosctl override list\n  rdma-qosctl override list --json");
    // That of the command comes last, also when one of its parts is asked for.
    command->callback([&arguments, level, clear, list, choose = std::move(choose)] {
        const bool has_part = clear->parsed() || list->parsed();
        if (has_part && (level->count() > 0 || !arguments.set.values.empty() || !arguments.set.lasts.empty() ||
                         !arguments.set.cgroup.empty())) {
            throw CLI::ValidationError("override",
                                       "`list` and `clear` take neither a level before them nor a rate; a level "
                                       "of that name is named by `--level`");
        }
        if (!has_part && level->count() == 0) {
            throw CLI::RequiredError("LEVEL");
        }
        if (clear->parsed()) {
            choose([&arguments](const Context& context) { return clear_overrides(context, arguments.clear); });
        } else if (list->parsed()) {
            choose(list_overrides);
        } else {
            choose([&arguments](const Context& context) { return set_override(context, arguments.set); });
        }
    });
}

}    // namespace rdmaqos::ctl
