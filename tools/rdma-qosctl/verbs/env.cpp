#include "tools/rdma-qosctl/verbs/verb.h"

#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "lib/api/policy.h"
#include "lib/base/try.h"
#include "lib/marks/marks.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/verbs/path_question.h"

namespace rdmaqos::ctl {
namespace {

struct EnvOptions {
    PathQuestion question;
    std::string link_layer;    // empty: that of this host's ports
};

void add_options(CLI::App& command, EnvOptions& options)
{
    command.add_option("--level", options.question.request.level, "The level whose marks are asked for")
        ->type_name("LEVEL")
        ->required();
    command
        .add_option("--link-layer", options.link_layer,
                    "For hosts with ports of this kind; default: the kinds that this host has")
        ->type_name("infiniband|ethernet")
        ->check(CLI::IsMember({"infiniband", "ethernet"}));
    command.add_option("POLICY", options.question.policy, "Answer from this policy file; no daemon needed")
        ->check(policy_file());
    command.add_flag("--offline", options.question.offline, "Answer from the host's files");
}

marks::HostLinks links_of(const std::string& link_layer)
{
    return link_layer.empty()
               ? marks::links_of_host()
               : marks::HostLinks{.infiniband = link_layer == "infiniband", .ethernet = link_layer == "ethernet"};
}

Json env_json(const marks::Marks& marks, marks::HostLinks links)
{
    Json variables = Json::array();
    for (const auto& each : marks::variables_of(marks, links)) {
        variables.push_back({{"name", each.name}, {"value", each.value}, {"programs", each.programs}});
    }
    Json json{{"level", marks.level}};
    if (marks.sl) {
        json["sl"] = *marks.sl;
    }
    if (marks.traffic_class) {
        json["traffic-class"] = *marks.traffic_class;
    }
    json["variables"] = std::move(variables);
    json["left-out"] = marks::left_out(marks, links);
    return json;
}

Result<ExitStatus> env(const Context& context, const EnvOptions& options)
{
    using Paths = std::vector<api::PathAnswer>;
    const auto answer = TRY(
        ask_for_path<Paths>(context, options.question, "QueryPath", {}, [&](const OfflineWorld& world) {
            return query_path_offline(world, options.question.request);
        }));
    if (answer.value.empty()) {
        return fail(ErrorCode::Internal, "QueryPath was answered with something else than documented");
    }
    const api::PathAnswer& path = answer.value.front();
    const marks::Marks marks{path.level, path.sl, path.sl_source == "host", path.traffic_class};
    const marks::HostLinks links = links_of(options.link_layer);
    print(context.json ? to_text(env_json(marks, links)) : marks::to_shell(marks, links));
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kEnvVerb{
    .name = "env",
    .summary = "Print a level's service level and traffic class as variables of NCCL, UCX, MPI and others",
    .examples = "  eval \"$(rdma-qosctl env --level rpc)\"           in a job script, before the program\n"
                "  rdma-qosctl env --level rpc --offline --link-layer ethernet",
    .prepare = with_options<EnvOptions, add_options, env>,
};

}    // namespace rdmaqos::ctl
