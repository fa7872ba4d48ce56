#include "tools/rdma-qos-run/marks.h"

#include "lib/api/policy.h"
#include "lib/base/try.h"
#include "lib/bus/client.h"
#include "lib/bus/names.h"

namespace rdmaqos::run {
namespace {

namespace fs = std::filesystem;

}    // namespace

Result<marks::Marks> ask_marks(const fs::path& root, const std::string& level)
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
    return marks::Marks{path.level, path.sl, path.sl_source == "host", path.traffic_class};
}

}    // namespace rdmaqos::run
