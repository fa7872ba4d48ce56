#include "tools/rdma-qosctl/refusal.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lib/base/error.h"
#include "lib/base/text.h"

namespace rdmaqos::ctl {
namespace {

std::vector<std::string> command_names(const CLI::App& app)
{
    std::vector<std::string> names;
    for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        names.push_back(command->get_name());
    }
    return names;
}

// "did you mean `--level`?" for the first option the command does not know. The first word is a command.
std::string hint_for(const CLI::App& app, const std::vector<std::string>& arguments)
{
    const std::string word = first_word(arguments);
    std::vector<std::string> known;
    std::vector<const CLI::App*> owners{&app, app.get_subcommand(word)};
    std::ranges::copy(app.get_subcommand(word)->get_subcommands([](const CLI::App*) { return true; }),
                      std::back_inserter(owners));
    for (const auto* owner : owners) {
        for (const auto* option : owner->get_options()) {
            for (const auto& name : option->get_lnames()) {
                known.push_back("--" + name);
            }
        }
    }
    const std::vector<std::string_view> candidates(known.begin(), known.end());
    for (const auto& argument : arguments) {
        const std::string name = argument.substr(0, argument.find('='));
        if (!name.starts_with("--") || std::find(known.begin(), known.end(), name) != known.end()) {
            continue;
        }
        if (const auto near = did_you_mean(name, candidates)) {
            return fmt::format("did you mean `{}`?", *near);
        }
    }
    for (const auto& argument : arguments) {
        const auto equals = argument.find('=');
        const std::string option = "--" + argument.substr(0, equals);
        if (equals != std::string::npos && std::find(known.begin(), known.end(), option) != known.end()) {
            return fmt::format("options begin with `--`: `{} {}`", option, printable(argument.substr(equals + 1)));
        }
    }
    if (word == "request") {
        return "put `--` before the command to run; `rdma-qosctl request --help` shows examples";
    }
    return fmt::format("`rdma-qosctl {} --help` shows options and examples", word);
}

}    // namespace

std::string first_word(const std::vector<std::string>& arguments)
{
    constexpr std::array<std::string_view, 3> kWithValue{"--root", "--colour", "--color"};
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (std::find(kWithValue.begin(), kWithValue.end(), arguments[i]) != kWithValue.end()) {
            ++i;
        } else if (!arguments[i].starts_with("-")) {
            return arguments[i];
        }
    }
    return {};
}

Finished refuse(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments)
{
    const std::string word = first_word(arguments);
    const auto names = command_names(app);
    if (word.empty()) {
        return {static_cast<int>(ExitStatus::Failed),
                {},
                "rdma-qosctl: error: which command?\n  hint: `rdma-qosctl --help` lists them\n"};
    }
    if (std::find(names.begin(), names.end(), word) == names.end()) {
        std::vector<std::string_view> candidates;
        for (const auto& name : names) {
            if (!app.get_subcommand(name)->get_group().empty()) {    // else it is hidden
                candidates.push_back(name);
            }
        }
        const auto near = did_you_mean(word, candidates);
        return {static_cast<int>(ExitStatus::Failed),
                {},
                fmt::format("rdma-qosctl: error: there is no command `{}`\n  hint: {}\n", printable(word),
                            near ? fmt::format("did you mean `{}`?", *near)
                                 : std::string("`rdma-qosctl --help` lists the commands"))};
    }
    return {static_cast<int>(ExitStatus::Failed),
            {},
            fmt::format("rdma-qosctl: error: {}\n  hint: {}\n", printable(error.what()), hint_for(app, arguments))};
}

}    // namespace rdmaqos::ctl
