// A verb of the command, `rdma-qosctl status`: one file of this folder, NAME.cpp, with its options, what it does and,
// at its end, its row. The list of all rows is in verb.cpp; who reads a command line knows nothing more of a verb than
// this.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "lib/base/error.h"
#include "lib/base/result.h"
#include "tools/rdma-qosctl/output/context.h"

namespace CLI {
class App;
}

namespace rdmaqos::ctl {

// What a command line asks for; returns the exit status.
using Run = std::function<Result<int>(const Context&)>;

struct Verb {
    std::string_view name;
    std::string_view summary;
    std::string_view examples;     // lines of --help
    bool paged = false;            // it shows something, which may be long
    bool hidden = false;           // --help does not list it
    bool takes_command = false;    // what is behind `--` is Context::command
    std::string_view remarks{};    // what --help says before the examples
    // Adds the options: with_options<> or without_options<>. Null: one of the parts must be named.
    Run (*prepare)(CLI::App& command) = nullptr;
    // Throws a CLI::ParseError for options that do not go together.
    void (*check)(const CLI::App& command) = nullptr;
    std::span<const Verb> parts{};    // `add` of `rdma-qosctl rule add`
};

// In the order of --help.
[[nodiscard]] std::span<const Verb* const> all_verbs();

inline Result<int> to_status(const Result<ExitStatus>& status)
{
    return status ? Result<int>(static_cast<int>(*status)) : fail(status.error());
}
inline Result<int> to_status(const Result<int>& status)
{
    return status;
}

// `Options` holds what the options are read into, and lives as long as the run that it is for.
template <typename Options, void (*add_options)(CLI::App&, Options&), auto run>
Run with_options(CLI::App& command)
{
    auto options = std::make_shared<Options>();
    add_options(command, *options);
    return [options](const Context& context) { return to_status(run(context, std::as_const(*options))); };
}

template <auto run>
Run without_options(CLI::App& /*command*/)
{
    return [](const Context& context) { return to_status(run(context)); };
}

}    // namespace rdmaqos::ctl
