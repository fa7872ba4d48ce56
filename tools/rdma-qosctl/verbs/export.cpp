#include "tools/rdma-qosctl/verbs/verb.h"

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "lib/base/try.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/offline/opensm_qos.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {
namespace {

struct ExportOpensmOptions {
    std::vector<std::string> files;
    std::uint32_t data_vls = 8;
};

void add_options(CLI::App& command, ExportOpensmOptions& options)
{
    command.add_option("FILE", options.files, "Policy files; none: those of the host")->check(policy_file());
    command.add_option("--data-vls", options.data_vls, "How many VLs for data all ports of the fabric have")
        ->type_name("1|2|4|8|15")
        ->check(CLI::IsMember({1, 2, 4, 8, 15}));
}

Json qos_json(const OpensmQos& qos)
{
    Json lanes = Json::array();
    for (const Lane& lane : qos.lanes) {
        Json each{{"vl", lanes.size()}};
        set_text(each, "child", lane.child);
        each["share"] = lane.share;
        each["weight"] = lane.weight;
        each["sls"] = lane.sls;
        lanes.push_back(std::move(each));
    }
    return {{"revision", qos.revision}, {"max-vls", qos.max_vls},   {"lanes", std::move(lanes)},
            {"sl2vl", qos.vl_of_sl},    {"findings", qos.findings}, {"conf", to_conf(qos)}};
}

Result<ExitStatus> export_opensm(const Context& context, const ExportOpensmOptions& options)
{
    const auto policy = TRY(require_policy(options.files, context.root));
    const OpensmQos qos = opensm_qos(*policy, static_cast<std::uint8_t>(options.data_vls));
    print(context.json ? to_text(qos_json(qos)) : to_conf(qos));
    return ExitStatus::Ok;
}

constexpr Verb kPartsOfExport[] = {
    {
        .name = "opensm",
        .summary = "Print lines of opensm.conf that divide the fabric's links as the policy divides a NIC",
        .examples = "  rdma-qosctl export opensm >>/etc/opensm/opensm.conf\n"
                    "  rdma-qosctl export opensm new.yaml --data-vls 4",
        .prepare = with_options<ExportOpensmOptions, add_options, export_opensm>,
    },
};

}    // namespace

extern const Verb kExportVerb{
    .name = "export",
    .summary = "Print the policy as settings of other programs: OpenSM's virtual lanes",
    .examples = "  rdma-qosctl export opensm",
    .parts = kPartsOfExport,
};

}    // namespace rdmaqos::ctl
