#include "tools/rdma-qosctl/verbs/verb.h"

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/base/try.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/path_answers.h"
#include "tools/rdma-qosctl/verbs/path_question.h"
#include "tools/rdma-qosctl/world/broadcast.h"

namespace rdmaqos::ctl {
namespace {

struct QueryPathOptions {
    PathQuestion question;
    std::string broadcast;    // compare with the broadcast group of this partition
};

void add_options(CLI::App& command, QueryPathOptions& options)
{
    add_options(command, options.question);
    command
        .add_option("--broadcast", options.broadcast,
                    "Compare the IPoIB broadcast group of this partition with the path; status 3 if they disagree")
        ->type_name("PARTITION");
}

using Paths = std::vector<api::PathAnswer>;

Result<PathAnswer<Paths>> ask_path(const Context& context, const PathQuestion& question)
{
    return ask_for_path<Paths>(context, question, "QueryPath", {},
                               [&](const OfflineWorld& world) { return query_path_offline(world, question.request); });
}

// The group is what the fabric file says; the daemon, or the files, are asked for a path with its P_Key.
Result<ExitStatus> query_broadcast(const Context& context, QueryPathOptions options)
{
    if (!options.question.request.pkey.empty()) {
        return fail(ErrorCode::InvalidArgument, "--broadcast brings the P_Key of its partition; leave --pkey out");
    }
    if (options.question.request.source.size() > 1 || options.question.request.destination.size() > 1) {
        return fail(ErrorCode::InvalidArgument, "--broadcast compares one path; give one source and one destination");
    }
    const auto fabric = TRY(require_fabric("", context.root));
    const auto partition = TRY(find_partition(fabric, options.broadcast));
    options.question.request.pkey = std::to_string(full_member(partition));
    const auto answer = ask_path(context, options.question);
    if (!answer) {
        return fail(answer.error());
    }
    if (answer->value.size() != 1) {
        return fail(ErrorCode::Internal, "the answer is not one path: is the daemon of another version?");
    }
    const BroadcastReport report = compare_broadcast(partition, answer->value.front());
    Json json{{"mode", answer->mode()}, {"note", answer->note}};
    json.update(broadcast_json(report));
    print(context.json ? to_text(json)
                       : render_note(answer->note, context.screen) + render_broadcast(report, context.screen));
    return report.agrees() ? ExitStatus::Ok : ExitStatus::Found;
}

Result<ExitStatus> query_path(const Context& context, const QueryPathOptions& options)
{
    if (!options.broadcast.empty()) {
        return query_broadcast(context, options);
    }
    const auto answer = TRY(ask_path(context, options.question));
    print(context.json
              ? to_text({{"mode", answer.mode()}, {"note", answer.note}, {"paths", api::to_json(answer.value)}})
              : render_note(answer.note, context.screen) + render_answers(answer.value, context.screen));
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kQueryPathVerb{
    .name = "query-path",
    .summary = "Answer as a PathRecord query would be: MTU, rate, packet life, P_Key, SL",
    .examples = "  rdma-qosctl query-path --source fd00::1 --destination fd00::2 --qos-class 7\n"
                "  rdma-qosctl query-path --source fd00::1 --destination fd00::2 --destination fd00::3\n"
                "  rdma-qosctl query-path new.yaml --level rpc --mtu '>1024'\n"
                "  rdma-qosctl query-path --broadcast Part1           does its IPoIB group agree with the policy?",
    .paged = true,
    .prepare = with_options<QueryPathOptions, add_options, query_path>,
};

}    // namespace rdmaqos::ctl
