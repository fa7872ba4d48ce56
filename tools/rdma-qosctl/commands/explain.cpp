#include "tools/rdma-qosctl/commands/explain.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "lib/base/text.h"
#include "policy/explain/explain_render.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/offline/offline_world.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/broadcast.h"
#include "tools/rdma-qosctl/rendering/path_answers.h"
#include "tools/rdma-qosctl/world/broadcast.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

// Either a connection, or the reason in words why the answer comes from files.
struct Source {
    std::optional<bus::Client> client;
    std::string why_offline;
};

Result<Source> choose_source(const Context& context, const ExplainOptions& options)
{
    if (options.offline || !options.policy.empty() || !options.devices_file.empty() || options.identity.any()) {
        return Source{std::nullopt, "offline"};
    }
    auto client = connect(context);
    if (!client && client.error().code == ErrorCode::NoDaemon) {
        return Source{std::nullopt, "no daemon runs"};
    }
    if (!client) {
        return fail(client.error());
    }
    return Source{std::move(*client), {}};
}

std::string offline_note(const OfflineWorld& world, std::string_view why)
{
    std::vector<std::string> names;
    for (const auto& source : world.policy->sources) {
        names.push_back(printable(source->name));
    }
    return fmt::format("{}: answered from {}, as {}", why, fmt::join(names, ", "),
                       world.identity.pid == getpid() ? fmt::format("uid {}", world.identity.uid)
                                                      : describe(world.identity));
}

// Of explain a text, of query-path the paths.
template <typename T>
struct Answer {
    bool offline = false;
    std::string note;
    T value;

    [[nodiscard]] std::string_view mode() const { return offline ? "offline" : "daemon"; }
};

// By the daemon's `method`, whose dictionary holds `more` too, or by `by_files`, a Result<T>(const OfflineWorld&).
template <typename T, typename ByFiles>
Result<Answer<T>> ask(const Context& context, const ExplainOptions& options, const std::string& method,
                      const bus::Dict& more, ByFiles by_files)
{
    auto source = choose_source(context, options);
    if (!source) {
        return fail(source.error());
    }
    if (source->client) {
        auto request = to_dict(options.request);
        if (!request) {
            return fail(request.error());
        }
        for (const auto& [key, value] : more.entries()) {
            request->set(key, value);
        }
        auto answer = call_manager<T>(*source->client, method, {bus::Value(std::move(*request))});
        return answer ? Result<Answer<T>>(Answer<T>{false, "answered by the running daemon", std::move(*answer)})
                      : fail(answer.error());
    }
    const auto world = load_world(options.policy, context.root, options.devices_file, options.identity);
    if (!world) {
        return fail(world.error());
    }
    auto answer = by_files(*world);
    return answer ? Result<Answer<T>>(Answer<T>{true, offline_note(*world, source->why_offline), std::move(*answer)})
                  : fail(answer.error());
}

Result<Answer<std::string>> ask_explain(const Context& context, const ExplainOptions& options)
{
    bus::Dict format;
    format.set("format", context.json ? "json" : "text");
    return ask<std::string>(context, options, "Explain", format, [&](const OfflineWorld& world) -> Result<std::string> {
        const auto explanation = explain_offline(world, options.request);
        if (!explanation) {
            return fail(explanation.error());
        }
        return context.json ? explanation_to_json(*world.policy, *explanation)
                            : render_explanation(*world.policy, *explanation);
    });
}

Result<Answer<std::vector<bus::Dict>>> ask_path(const Context& context, const ExplainOptions& options)
{
    return ask<std::vector<bus::Dict>>(context, options, "QueryPath", {}, [&](const OfflineWorld& world) {
        return query_path_offline(world, options.request);
    });
}

// The group is what the fabric file says; the daemon, or the files, are asked for a path with its P_Key.
Result<ExitStatus> query_broadcast(const Context& context, ExplainOptions options)
{
    if (!options.request.pkey.empty()) {
        return fail(ErrorCode::InvalidArgument, "--broadcast brings the P_Key of its partition; leave --pkey out");
    }
    if (options.request.source.size() > 1 || options.request.destination.size() > 1) {
        return fail(ErrorCode::InvalidArgument, "--broadcast compares one path; give one source and one destination");
    }
    const auto fabric = require_fabric("", context.root);
    if (!fabric) {
        return fail(fabric.error());
    }
    const auto partition = find_partition(*fabric, options.broadcast);
    if (!partition) {
        return fail(partition.error());
    }
    options.request.pkey = std::to_string(full_member(*partition));
    const auto answer = ask_path(context, options);
    if (!answer) {
        return fail(answer.error());
    }
    if (answer->value.size() != 1) {
        return fail(ErrorCode::Internal, "the answer is not one path: is the daemon of another version?");
    }
    const BroadcastReport report = compare_broadcast(*partition, answer->value.front());
    Json json{{"mode", answer->mode()}, {"note", answer->note}};
    json.update(broadcast_json(report));
    print(context.json ? to_text(json)
                       : render_note(answer->note, context.screen) + render_broadcast(report, context.screen));
    return report.agrees() ? ExitStatus::Ok : ExitStatus::Found;
}

}    // namespace

Result<ExitStatus> explain_request(const Context& context, const ExplainOptions& options)
{
    const auto answer = ask_explain(context, options);
    if (!answer) {
        return fail(answer.error());
    }
    if (!context.json) {
        print(render_note(answer->note, context.screen) + lines_on(context.screen, answer->value));
        return ExitStatus::Ok;
    }
    Json explanation = Json::parse(answer->value, nullptr, false);
    if (explanation.is_discarded()) {
        return fail(ErrorCode::Internal, "the explanation is not JSON: is the daemon of another version?");
    }
    print(to_text({{"mode", answer->mode()}, {"note", answer->note}, {"explanation", std::move(explanation)}}));
    return ExitStatus::Ok;
}

Result<ExitStatus> query_path(const Context& context, const ExplainOptions& options)
{
    if (!options.broadcast.empty()) {
        return query_broadcast(context, options);
    }
    const auto answer = ask_path(context, options);
    if (!answer) {
        return fail(answer.error());
    }
    print(context.json ? to_text({{"mode", answer->mode()}, {"note", answer->note}, {"paths", to_json(answer->value)}})
                       : render_note(answer->note, context.screen) + render_answers(answer->value, context.screen));
    return ExitStatus::Ok;
}

}    // namespace rdmaqos::ctl
