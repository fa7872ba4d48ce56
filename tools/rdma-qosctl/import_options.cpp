#include "tools/rdma-qosctl/import_options.h"

#include <CLI/CLI.hpp>

namespace rdmaqos::ctl {

void add_import_fabric_options(CLI::App& command, ImportFabricOptions& fabric)
{
    command.add_option("--ibnetdiscover", fabric.discovery, "What ibnetdiscover printed; -: stdin")->type_name("FILE");
    command.add_option("--partitions", fabric.partitions, "OpenSM's partitions.conf")->type_name("FILE");
    command.add_option("--node-name-map", fabric.node_names, "Names of nodes by GUID")->type_name("FILE");
    command.add_option("--sm", fabric.subnet_manager, "Port GUID of the subnet manager: SELF in partitions.conf")
        ->type_name("GUID");
    command.add_option("--output", fabric.output, "Write here, not to stdout")->type_name("FILE");
}

void add_import_opensm_options(CLI::App& command, ImportOpensmOptions& native, std::string& topology)
{
    command.add_option("FILE", native.file, "OpenSM's policy file; -: stdin")->required();
    CLI::Option* file = command.add_option("--fabric", native.fabric, "A fabric file; none: the host's");
    file->type_name("FILE");
    command.add_option("--topology", topology, "The fabric of a test case")->type_name("FILE")->excludes(file);
    command.add_option("--output", native.output, "Write here, not to stdout")->type_name("FILE");
    command.add_flag("--force", native.replace, "Replace the output file, also if it was edited")->needs("--output");
}

}    // namespace rdmaqos::ctl
