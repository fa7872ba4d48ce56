#include "tools/rdma-qosctl/verbs/verb.h"

#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lib/base/net.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/base/units.h"
#include "tools/rdma-qosctl/import/fabric.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/generated.h"

namespace rdmaqos::ctl {
namespace {

struct ImportFabricOptions {
    std::string discovery;     // of ibnetdiscover; "-": stdin
    std::string partitions;    // partitions.conf
    std::string node_names;    // node-name-map
    std::string subnet_manager;
    std::string output;    // empty: stdout
};

void add_options(CLI::App& command, ImportFabricOptions& options)
{
    command.add_option("--ibnetdiscover", options.discovery, "What ibnetdiscover printed; -: stdin")->type_name("FILE");
    command.add_option("--partitions", options.partitions, "OpenSM's partitions.conf")->type_name("FILE");
    command.add_option("--node-name-map", options.node_names, "Names of nodes by GUID")->type_name("FILE");
    command.add_option("--sm", options.subnet_manager, "Port GUID of the subnet manager: SELF in partitions.conf")
        ->type_name("GUID");
    command.add_option("--output", options.output, "Write here, not to stdout")->type_name("FILE");
}

Result<std::optional<Guid>> parse_subnet_manager(const std::string& text)
{
    if (text.empty()) {
        return std::optional<Guid>();
    }
    const auto number = parse_number(text);
    if (!number || *number == 0) {
        return fail(ErrorCode::InvalidArgument, fmt::format("`{}` is not the GUID of a port", printable(text)));
    }
    return std::optional(Guid{*number});
}

Result<ExitStatus> import_fabric(const Context& context, const ImportFabricOptions& options)
{
    if (options.discovery.empty() && options.partitions.empty()) {
        return fail(ErrorCode::InvalidArgument, "import-fabric needs --ibnetdiscover, --partitions or both");
    }
    const auto subnet_manager = TRY(parse_subnet_manager(options.subnet_manager));
    ReadResult<std::string> result;
    const auto load = [&result](const std::string& file) {
        return file.empty() ? nullptr : load_source(file, result.diagnostics);
    };
    FabricImport input{load(options.discovery), load(options.partitions), load(options.node_names), subnet_manager};
    if (!result.diagnostics.has_errors()) {
        result = rdmaqos::import_fabric(input);
    }
    return deliver(context, result.value.get(), result.diagnostics, options.output);
}

}    // namespace

extern const Verb kImportFabricVerb{
    .name = "import-fabric",
    .summary = "Generate the fabric file from ibnetdiscover's output, OpenSM's partitions.conf and a node-name-map",
    .examples =
        "  ibnetdiscover | rdma-qosctl import-fabric --ibnetdiscover - --partitions /etc/opensm/partitions.conf\n"
        "  rdma-qosctl import-fabric --ibnetdiscover topology --sm 0x0002c90300a1b2c1 --output fabric.yaml",
    .prepare = with_options<ImportFabricOptions, add_options, import_fabric>,
};

}    // namespace rdmaqos::ctl
