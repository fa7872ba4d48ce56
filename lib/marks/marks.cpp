#include "lib/marks/marks.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos::marks {
namespace {

namespace fs = std::filesystem;

// As their sources have them; docs/man/rdma-qos-run.1 names the projects. DeepEP's is an SL for InfiniBand; NCCL, which
// gets it from there, takes the same number for the traffic class on Ethernet.
constexpr KnownVariable kKnown[] = {
    {"NCCL_IB_SL", Meaning::ServiceLevel, Layer::Any, "NCCL, RCCL"},
    {"NCCL_IB_TC", Meaning::TrafficClass, Layer::Any, "NCCL, RCCL"},
    {"NVSHMEM_IB_SL", Meaning::ServiceLevel, Layer::Any, "NVSHMEM, DeepEP"},
    {"NVSHMEM_IB_TRAFFIC_CLASS", Meaning::TrafficClass, Layer::Any, "NVSHMEM, DeepEP"},
    {"UCX_IB_SL", Meaning::ServiceLevel, Layer::Any, "UCX, Open MPI, MPICH"},
    {"UCX_IB_TRAFFIC_CLASS", Meaning::TrafficClass, Layer::Any, "UCX, Open MPI, MPICH"},
    {"MC_IB_SL", Meaning::ServiceLevel, Layer::Any, "Mooncake"},
    {"MC_IB_TC", Meaning::TrafficClass, Layer::Any, "Mooncake"},
    {"MORI_RDMA_SL", Meaning::ServiceLevel, Layer::Any, "MORI"},
    {"MORI_RDMA_TC", Meaning::TrafficClass, Layer::Any, "MORI"},
    {"EP_OVERRIDE_RDMA_SL", Meaning::ServiceLevel, Layer::InfiniBand, "DeepEP with NCCL"},
    {"OMPI_MCA_btl_openib_ib_service_level", Meaning::ServiceLevel, Layer::Any, "Open MPI before 5.0"},
    {"MV2_DEFAULT_SERVICE_LEVEL", Meaning::ServiceLevel, Layer::Any, "MVAPICH2"},
};

bool sl_counts(const Marks& marks, HostLinks links)
{
    return marks.sl && (!links.infiniband || marks.sl_of_host);
}

bool traffic_class_counts(const Marks& marks, HostLinks links)
{
    return marks.traffic_class && (links.ethernet || !links.infiniband);
}

}    // namespace

std::span<const KnownVariable> known_variables()
{
    return kKnown;
}

HostLinks links_of_host()
{
    HostLinks links;
    const char* sysfs = secure_getenv("SYSFS_PATH");    // as libibverbs
    std::error_code error;
    for (const auto& device :
         fs::directory_iterator(fs::path(sysfs != nullptr ? sysfs : "/sys") / "class/infiniband", error)) {
        for (const auto& port : fs::directory_iterator(device.path() / "ports", error)) {
            std::string layer;
            std::getline(std::ifstream(port.path() / "link_layer"), layer);
            links.infiniband = links.infiniband || layer == "InfiniBand";
            links.ethernet = links.ethernet || layer == "Ethernet";
        }
    }
    return links;
}

std::vector<Variable> variables_of(const Marks& marks, HostLinks links)
{
    std::vector<Variable> variables;
    for (const KnownVariable& each : kKnown) {
        const bool applies = each.layer == Layer::Any || (links.infiniband && !links.ethernet);
        if (applies && each.meaning == Meaning::ServiceLevel && sl_counts(marks, links)) {
            variables.push_back({std::string(each.name), std::to_string(*marks.sl), std::string(each.programs)});
        } else if (applies && each.meaning == Meaning::TrafficClass && traffic_class_counts(marks, links)) {
            variables.push_back(
                {std::string(each.name), std::to_string(*marks.traffic_class), std::string(each.programs)});
        }
    }
    return variables;
}

std::vector<std::string> left_out(const Marks& marks, HostLinks links)
{
    std::vector<std::string> sentences;
    if (marks.traffic_class && !traffic_class_counts(marks, links)) {
        sentences.push_back(fmt::format(
            "traffic class {} of level {} is left out: this host has InfiniBand ports only, which have none",
            *marks.traffic_class, printable(marks.level)));
    }
    if (marks.sl && !sl_counts(marks, links)) {
        sentences.push_back(
            fmt::format("SL {} of level {} is left out: this host has InfiniBand ports, where the SL is "
                        "the subnet manager's, unless the level says `sl-source: host`",
                        *marks.sl, printable(marks.level)));
    }
    return sentences;
}

std::string to_shell(const Marks& marks, HostLinks links)
{
    std::string text = fmt::format("# level {}\n", printable(marks.level));
    const auto variables = variables_of(marks, links);
    std::size_t widest = 0;
    for (const Variable& each : variables) {
        widest = std::max(widest, each.name.size() + each.value.size());
    }
    for (const Variable& each : variables) {
        text += fmt::format("export {}={}{}  # {}\n", each.name, each.value,
                            std::string(widest - each.name.size() - each.value.size(), ' '), each.programs);
    }
    for (const std::string& sentence : left_out(marks, links)) {
        text += fmt::format("# {}\n", sentence);
    }
    if (!marks.sl && !marks.traffic_class) {
        text += "# it has neither an SL nor a traffic class\n";
    } else if (!variables.empty()) {
        text += "# programs that use rdma_cm, libfabric's verbs provider among them, read none of these: see "
                "rdma-qos-run(1), --default-roce-tos\n";
    }
    return text;
}

}    // namespace rdmaqos::marks
