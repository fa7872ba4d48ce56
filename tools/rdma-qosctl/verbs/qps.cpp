#include "tools/rdma-qosctl/verbs/verb.h"

#include <limits>
#include <sstream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/world/host.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::string_view kForAnyReason = "true";    // as the parser of options has a flag without a value

struct QpsOptions {
    std::string pid;    // empty: of all
    std::string device;
    std::string level;
    std::string unit;
    std::string outside;    // empty: also those inside; "true": for any reason; else the words of reasons, "a,b"
};

void add_options(CLI::App& command, QpsOptions& options)
{
    command.add_option("PID", options.pid, "Only those of this process; none: all");
    command.add_option("--device", options.device, "Only those of this device")->type_name("DEVICE");
    command.add_option("--unit", options.unit, "Only those of this systemd unit; may be a glob")->type_name("UNIT");
    command.add_option("--level", options.level, "Only those in this level")->type_name("LEVEL");
    command.add_flag("--outside", options.outside,
                     "Only those of programs that are in no leaf; --outside=WORD,...: for one of these reasons");
}

Result<ExitStatus> qps(const Context& context, const QpsOptions& options)
{
    HostFilter filter{options.device, {}, options.level, options.unit, !options.outside.empty()};
    if (filter.outside && options.outside != kForAnyReason) {
        std::istringstream words(options.outside);
        for (std::string word; std::getline(words, word, ',');) {
            filter.reasons.emplace(without_blanks(word));
        }
    }
    if (!options.pid.empty()) {
        const auto pid = parse_number(options.pid);
        if (!pid || *pid > std::numeric_limits<std::uint32_t>::max()) {
            return fail(ErrorCode::InvalidArgument, fmt::format("`{}` is not a process id", printable(options.pid)));
        }
        filter.pid = static_cast<std::uint32_t>(*pid);
    }
    auto client = TRY(connect(context));
    const auto queue_pairs = TRY(fetch_host_queue_pairs(client, filter));
    print(context.json ? to_text({{"queue-pairs", api::to_json(queue_pairs)}})
                       : render_host_queue_pairs(queue_pairs, context.screen));
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kQpsVerb{
    .name = "qps",
    .summary = "List all queue pairs of this host, whoever made them, and why those outside the tree are there",
    .examples = "  rdma-qosctl qps\n"
                "  rdma-qosctl qps 4711                           of this process\n"
                "  rdma-qosctl qps --outside --device mlx5_0      of programs, in no leaf\n"
                "  rdma-qosctl qps --outside=no-rule,excluded     for one of these reasons",
    .paged = true,
    .prepare = with_options<QpsOptions, add_options, qps>,
};

}    // namespace rdmaqos::ctl
