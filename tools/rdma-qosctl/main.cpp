// rdma-qosctl: the command line of rdma-qosd.
#include <cstdio>
#include <exception>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/changes/password_agent.h"
#include "tools/rdma-qosctl/command_line.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/pager.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {
namespace {

int finish(const Finished& finished)
{
    print(finished.output);
    print_error(finished.error);
    return finished.status;
}

int run(const Invocation& invocation)
{
    Context context;
    context.root = invocation.root;
    context.system_bus = invocation.system_bus;
    context.json = invocation.json;
    context.ask_password = invocation.ask_password && PasswordAgent::has_somebody_to_ask();
    context.screen = {choose_colour(invocation.colour, STDOUT_FILENO),
                      invocation.wide ? kAnyWidth : screen_columns(STDOUT_FILENO)};
    context.command = invocation.command;
    context.on_terminal = isatty(STDOUT_FILENO) == 1;
    context.error_colour = choose_colour(invocation.colour, STDERR_FILENO);
    std::optional<Pager> pager;
    if (invocation.paged) {
        pager.emplace();
    }
    const Result<int> status = invocation.run(context);
    if (!status) {
        if (context.json) {
            print(to_text(error_json(status.error())));
        }
        pager.reset();    // so that the error stays on the terminal
        print_error(render_error(status.error(), context.error_colour));
        return static_cast<int>(exit_status(status.error().code));
    }
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
        print_error("rdma-qosctl: error: the output could not be written\n");
        return static_cast<int>(ExitStatus::Failed);
    }
    return *status;
}

}    // namespace
}    // namespace rdmaqos::ctl

int main(int argc, char** argv)
{
    using namespace rdmaqos::ctl;
    try {
        const auto parsed = parse_command_line({argv + 1, argv + argc});
        if (const auto* finished = std::get_if<Finished>(&parsed)) {
            return finish(*finished);
        }
        return run(std::get<Invocation>(parsed));
    } catch (const std::exception& error) {
        print_error(fmt::format("rdma-qosctl: error: {}\n", rdmaqos::printable(error.what())));
        return static_cast<int>(rdmaqos::ExitStatus::Failed);
    }
}
