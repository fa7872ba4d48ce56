#include "tools/rdma-qosctl/verbs/path_question.h"

#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/offline/files.h"

namespace rdmaqos::ctl {

void add_options(CLI::App& command, PathQuestion& question)
{
    add_request_options(command, question.request);
    command.add_option("--device", question.request.device, "Device, netdev or PCI address")->type_name("DEVICE");
    command.add_option("--sl", question.request.sl, "Service level of the query")->type_name("0-15");
    command.add_option("--mtu", question.request.mtu, "2048, >1024, <4096 or largest")->type_name("BYTES");
    command.add_option("--rate", question.request.rate, "40Gbps, >10Gbps, <100Gbps or largest")->type_name("RATE");
    command.add_option("--packet-life", question.request.packet_life, "16, <18 or largest")->type_name("0-63");
    command.add_option("POLICY", question.policy, "Answer from this policy file; no daemon needed")
        ->check(policy_file());
    command.add_option("--devices", question.devices_file, "Answer for the devices of this file, offline")
        ->type_name("FILE.yaml");
    command.add_flag("--offline", question.offline, "Answer from the host's files");
    add_identity_options(command, question.identity);
}

Result<PathSource> choose_source(const Context& context, const PathQuestion& question)
{
    if (question.offline || !question.policy.empty() || !question.devices_file.empty() || question.identity.any()) {
        return PathSource{std::nullopt, "offline"};
    }
    auto client = connect(context);
    if (!client && client.error().code == ErrorCode::NoDaemon) {
        return PathSource{std::nullopt, "no daemon runs"};
    }
    if (!client) {
        return fail(client.error());
    }
    return PathSource{std::move(*client), {}};
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

}    // namespace rdmaqos::ctl
