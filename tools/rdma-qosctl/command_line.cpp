#include "tools/rdma-qosctl/command_line.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/base/version.h"

namespace rdmaqos::ctl {
namespace {

constexpr const char* kDescription =
    "Query and control rdma-qosd, the daemon that attaches processes and queue pairs to the\ntransmit scheduling "
    "tree of RDMA NICs.";

constexpr const char* kFooter =
    "\nExit status: 0 ok, 1 failed, 2 bad policy, 3 found drift or a problem, 4 not authorised, 5 no daemon.\n"
    "`rdma-qosctl COMMAND --help` shows options and examples; rdma-qosctl(8) has it all.";
constexpr std::string_view kCommandMark = "--";

// The first word that is no option nor an option's value.
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

const Verb* find_verb(std::string_view name)
{
    const auto verbs = all_verbs();
    const auto found = std::ranges::find(verbs, name, &Verb::name);
    return found == verbs.end() ? nullptr : *found;
}

// "did you mean `--level`?" for the first option that the verb does not know.
std::string hint_for(const CLI::App& app, const Verb& verb, const std::vector<std::string>& arguments)
{
    const std::string word(verb.name);
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
    if (verb.takes_command) {
        return fmt::format("put `--` before the command to run; `rdma-qosctl {} --help` shows examples", word);
    }
    return fmt::format("`rdma-qosctl {} --help` shows options and examples", word);
}

// What to say of a command line that makes no sense.
Finished refuse(const CLI::App& app, const CLI::ParseError& error, const std::vector<std::string>& arguments)
{
    const auto refused = [](const std::string& what, const std::string& hint) {
        return Finished{
            static_cast<int>(ExitStatus::Failed), {}, fmt::format("rdma-qosctl: error: {}\n  hint: {}\n", what, hint)};
    };
    const std::string word = first_word(arguments);
    if (word.empty()) {
        return refused("which command?", "`rdma-qosctl --help` lists them");
    }
    if (const Verb* verb = find_verb(word)) {
        return refused(printable(error.what()), hint_for(app, *verb, arguments));
    }
    std::vector<std::string_view> candidates;
    for (const Verb* verb : all_verbs()) {
        if (!verb->hidden) {
            candidates.push_back(verb->name);
        }
    }
    const auto near = did_you_mean(word, candidates);
    return refused(fmt::format("there is no command `{}`", printable(word)),
                   near ? fmt::format("did you mean `{}`?", *near) : "`rdma-qosctl --help` lists the commands");
}

class Parser {
public:
    Parser();

    std::variant<Invocation, Finished> parse(std::vector<std::string> arguments);

private:
    void add_global_options();
    void add_verb(CLI::App& parent, const Verb& verb);

    CLI::App app_{kDescription, "rdma-qosctl"};
    Invocation invocation_;
    bool no_pager_ = false;
    bool no_ask_password_ = false;
    std::string colour_ = "auto";
};

Parser::Parser()
{
    app_.fallthrough();
    app_.require_subcommand(1);
    app_.footer(kFooter);
    add_global_options();
    app_.get_formatter()->column_width(34);
    for (const Verb* verb : all_verbs()) {
        add_verb(app_, *verb);
    }
}

void Parser::add_global_options()
{
    app_.set_version_flag("--version", fmt::format("rdma-qosctl {}", kVersion), "Print the version and exit");
    app_.add_option("--root", invocation_.root,
                    "Take every path below DIR instead of / (daemon socket, policy, settings)")
        ->type_name("DIR");
    app_.add_flag("--system-bus", invocation_.system_bus,
                  "Talk to the daemon over the system bus instead of its direct socket");
    app_.add_flag("-j,--json", invocation_.json, "Print JSON instead of text; rdma-qosctl-json.md describes it");
    app_.add_option("--colour,--color", colour_, "auto: on a terminal, unless NO_COLOR is set")
        ->type_name("WHEN")
        ->check(CLI::IsMember({"auto", "always", "never"}));
    app_.add_flag("--wide", invocation_.wide, "Every column and line in full, however narrow the terminal is");
    app_.add_flag("--no-pager", no_pager_, "Do not show long output in a pager");
    app_.add_flag("--no-ask-password", no_ask_password_, "Do not ask for a password that polkit wants");
}

void Parser::add_verb(CLI::App& parent, const Verb& verb)
{
    CLI::App* command = parent.add_subcommand(std::string(verb.name), std::string(verb.summary));
    command->footer(
        fmt::format("\n{}{}Examples:\n{}", verb.remarks, verb.remarks.empty() ? "" : "\n\n", verb.examples));
    if (verb.hidden) {
        command->group("");
    }
    Run run = verb.prepare == nullptr ? Run{} : verb.prepare(*command);
    for (const Verb& part : verb.parts) {
        add_verb(*command, part);
    }
    if (!run) {
        command->require_subcommand(1);
        return;
    }
    // That of a verb comes after that of its part.
    command->callback([this, command, run = std::move(run), &verb] {
        if (verb.check != nullptr) {
            verb.check(*command);
        }
        if (!invocation_.run) {
            invocation_.run = run;
            invocation_.paged = verb.paged;
        }
    });
}

std::variant<Invocation, Finished> Parser::parse(std::vector<std::string> arguments)
{
    // What is behind `--` is not ours: CLI11 would look for commands and options in it.
    if (const Verb* verb = find_verb(first_word(arguments)); verb != nullptr && verb->takes_command) {
        const auto mark = std::find(arguments.begin(), arguments.end(), kCommandMark);
        if (mark != arguments.end()) {
            invocation_.command.assign(mark + 1, arguments.end());
            arguments.erase(mark, arguments.end());
        }
    }
    try {
        app_.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success)) {
            return refuse(app_, error, arguments);
        }
        std::ostringstream output;
        std::ostringstream messages;
        app_.exit(error, output, messages);
        return Finished{0, output.str(), messages.str()};
    }
    invocation_.ask_password = !no_ask_password_;
    invocation_.paged = invocation_.paged && !no_pager_;
    invocation_.colour = colour_ == "always"  ? ColourChoice::Always
                         : colour_ == "never" ? ColourChoice::Never
                                              : ColourChoice::Auto;
    return std::move(invocation_);
}

}    // namespace

std::variant<Invocation, Finished> parse_command_line(const std::vector<std::string>& arguments)
{
    return Parser().parse(arguments);
}

}    // namespace rdmaqos::ctl
