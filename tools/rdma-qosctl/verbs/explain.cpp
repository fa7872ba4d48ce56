#include "tools/rdma-qosctl/verbs/verb.h"

#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "lib/base/try.h"
#include "policy/explain/explain_render.h"
#include "policy/model/traffic_class.h"
#include "tools/rdma-qosctl/offline/kernel_traffic.h"
#include "tools/rdma-qosctl/offline/port_demands.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/path_answers.h"
#include "tools/rdma-qosctl/verbs/path_question.h"

namespace rdmaqos::ctl {
namespace {

struct ExplainOptions {
    PathQuestion question;
    bool kernel = false;
};

void add_options(CLI::App& command, ExplainOptions& options)
{
    add_options(command, options.question);
    command.add_flag("--kernel", options.kernel,
                     "Show the levels of what the kernel itself sends (NVMe over Fabrics, NFS, Lustre and others), and "
                     "what marks it");
}

Result<PathAnswer<std::string>> ask_explain(const Context& context, const PathQuestion& question)
{
    bus::Dict format;
    format.set("format", context.json ? "json" : "text");
    return ask_for_path<std::string>(context, question, "Explain", format,
                                     [&](const OfflineWorld& world) -> Result<std::string> {
                                         const auto explanation = TRY(explain_offline(world, question.request));
                                         return context.json ? explanation_to_json(*world.policy, explanation)
                                                             : render_explanation(*world.policy, explanation);
                                     });
}

// What the kernel itself sends. The running daemon answers as for the caller, and its queue pairs belong to nobody: so
// the files are asked, and it is said if the daemon's policy is another one.
std::string kernel_note(const Context& context, const PathQuestion& question, const OfflineWorld& world)
{
    std::vector<std::string> names;
    for (const auto& source : world.policy->sources) {
        names.push_back(printable(source->name));
    }
    std::string note = fmt::format("answered from {}, revision {}, as for root outside of any unit",
                                   fmt::join(names, ", "), world.policy->revision);
    if (question.offline || !question.policy.empty()) {
        return note;
    }
    auto client = connect(context);
    const auto manager = client ? fetch_manager(*client) : Result<ManagerView>(fail(client.error()));
    if (manager && manager->policy_revision != world.policy->revision) {
        note += fmt::format("; the running daemon has another policy in force, revision {}",
                            manager->policy_revision.empty() ? "none" : manager->policy_revision);
    }
    return note;
}

Json kernel_json(const std::vector<KernelTraffic>& traffic, const std::vector<port_lint::FoundPort>& ports)
{
    Json protocols = Json::array();
    for (const KernelTraffic& each : traffic) {
        const marks::KernelProtocol& protocol = *each.protocol;
        Json services = Json::array();
        for (const KernelService& service : each.services) {
            Json one{{"port", service.port}, {"service-id", service.service_id}};
            set_text(one, "level", service.level);
            if (service.traffic_class) {
                one["traffic-class"] = *service.traffic_class;
                one["dscp"] = dscp_of(*service.traffic_class);
            }
            one["why"] = service.why;
            services.push_back(std::move(one));
        }
        Json json{{"what", protocol.what}, {"module", protocol.module}, {"loaded", each.is_loaded}};
        json["services"] = std::move(services);
        json["marked-by"] = marks::to_string(protocol.marked_by);
        json["accepts"] = protocol.accepts;
        set_text(json, "setting", std::string(protocol.setting));
        set_text(json, "remark", std::string(protocol.remark));
        json["source"] = protocol.source;
        protocols.push_back(std::move(json));
    }
    Json defaults = Json::array();
    for (const auto& port : ports) {
        const auto& rdma = port.interface.rdma;
        Json one{{"device", rdma.device}, {"port", rdma.port}, {"interface", port.interface.name}};
        if (rdma.default_tos) {
            one["default-roce-tos"] = *rdma.default_tos;
        }
        defaults.push_back(std::move(one));
    }
    return {{"protocols", std::move(protocols)}, {"ports", std::move(defaults)}};
}

Result<ExitStatus> explain_kernel(const Context& context, const PathQuestion& question)
{
    const RequestOptions& asked = question.request;
    if (!asked.level.empty() || !asked.service_id.empty() || !asked.port_space.empty() ||
        !asked.destination_port.empty() || question.identity.any()) {
        return fail(ErrorCode::InvalidArgument,
                    "--kernel asks for the services and the identity of the kernel: leave out the level, the service "
                    "and who asks");
    }
    const auto world = TRY(load_world(question.policy, context.root, question.devices_file, question.identity));
    const auto paths = TRY(requests_of(world, asked));
    if (paths.size() != 1) {
        return fail(ErrorCode::InvalidArgument, "--kernel takes one source and one destination");
    }
    const std::string root = context.root.empty() ? "/" : context.root;
    const auto traffic = kernel_traffic(*world.matcher, paths.front(), loaded_protocols(root));
    const auto ports = port_lint::find_ports(root);
    const std::string note = kernel_note(context, question, world);
    print(context.json ? to_text({{"mode", "offline"}, {"note", note}, {"kernel", kernel_json(traffic, ports)}})
                       : render_note(note, context.screen) +
                             lines_on(context.screen, render_kernel_traffic(traffic, ports, why_no_ports(root))));
    return ExitStatus::Ok;
}

Result<ExitStatus> explain(const Context& context, const ExplainOptions& options)
{
    const PathQuestion& question = options.question;
    if (options.kernel) {
        return explain_kernel(context, question);
    }
    const auto answer = TRY(ask_explain(context, question));
    if (!context.json) {
        print(render_note(answer.note, context.screen) + lines_on(context.screen, answer.value));
        return ExitStatus::Ok;
    }
    Json explanation = Json::parse(answer.value, nullptr, false);
    if (explanation.is_discarded()) {
        return fail(ErrorCode::Internal, "the explanation is not JSON: is the daemon of another version?");
    }
    print(to_text({{"mode", answer.mode()}, {"note", answer.note}, {"explanation", std::move(explanation)}}));
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kExplainVerb{
    .name = "explain",
    .summary = "Show which level a request gets and why, rule by rule",
    .examples = "  rdma-qosctl explain --service-id 0x10064 --destination 10.1.0.7\n"
                "  rdma-qosctl explain --port-space tcp --destination-port 4420\n"
                "  rdma-qosctl explain --pid 4711                 as this process would be seen\n"
                "  rdma-qosctl explain --kernel                   NVMe over Fabrics, NFS, Lustre and others\n"
                "  rdma-qosctl explain new.yaml --as-user alice --as-unit job-7.scope",
    .paged = true,
    .prepare = with_options<ExplainOptions, add_options, explain>,
};

}    // namespace rdmaqos::ctl
