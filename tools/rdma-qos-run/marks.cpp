#include "tools/rdma-qos-run/marks.h"

#include <cstdlib>
#include <fstream>

#include "lib/api/policy.h"
#include "lib/base/try.h"
#include "lib/bus/client.h"
#include "lib/bus/names.h"

namespace rdmaqos::run {
namespace {

namespace fs = std::filesystem;

enum class Meaning : std::uint8_t { ServiceLevel, TrafficClass };

// As their sources have them; docs/man/rdma-qos-run.1 names the projects.
struct Name {
    const char* name;
    Meaning meaning;
};
constexpr Name kNames[] = {
    {"NCCL_IB_SL", Meaning::ServiceLevel},
    {"NCCL_IB_TC", Meaning::TrafficClass},
    {"NVSHMEM_IB_SL", Meaning::ServiceLevel},
    {"NVSHMEM_IB_TRAFFIC_CLASS", Meaning::TrafficClass},
    {"UCX_IB_SL", Meaning::ServiceLevel},
    {"UCX_IB_TRAFFIC_CLASS", Meaning::TrafficClass},
    {"OMPI_MCA_btl_openib_ib_service_level", Meaning::ServiceLevel},
    {"MV2_DEFAULT_SERVICE_LEVEL", Meaning::ServiceLevel},
};

}    // namespace

Result<Marks> ask_marks(const fs::path& root, const std::string& level)
{
    // The preload library knows only this socket.
    auto client = TRY(bus::Client::connect_direct(root / fs::path(bus::names::kSocket).relative_path()));
    bus::Dict request;
    if (!level.empty()) {
        request.set("level", level);
    }
    const auto answer = TRY(
        client.call(bus::names::kRoot, bus::names::kManager, "QueryPath", {bus::Value(std::move(request))}));
    const auto* paths = answer.size() == 1 ? answer.front().as<std::vector<bus::Dict>>() : nullptr;
    if (paths == nullptr || paths->empty()) {
        return fail(ErrorCode::Internal, "QueryPath was answered with something else than documented");
    }
    const auto path = api::read<api::PathAnswer>(paths->front());
    return Marks{path.level, path.sl, path.sl_source == "host", path.traffic_class};
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
    const bool sl_counts = marks.sl && (!links.infiniband || marks.sl_of_host);
    const bool traffic_class_counts = marks.traffic_class && (links.ethernet || !links.infiniband);
    std::vector<Variable> variables;
    for (const Name& each : kNames) {
        if (each.meaning == Meaning::ServiceLevel && sl_counts) {
            variables.push_back({each.name, std::to_string(*marks.sl)});
        } else if (each.meaning == Meaning::TrafficClass && traffic_class_counts) {
            variables.push_back({each.name, std::to_string(*marks.traffic_class)});
        }
    }
    return variables;
}

}    // namespace rdmaqos::run
