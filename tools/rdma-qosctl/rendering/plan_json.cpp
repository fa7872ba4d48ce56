#include "tools/rdma-qosctl/rendering/plan.h"

#include <nlohmann/json.hpp>

#include "lib/api/json.h"

namespace rdmaqos::ctl {

Json plans_json(const PlanReport& report)
{
    return {{"mode", report.offline ? "offline" : "daemon"},
            {"note", report.note},
            {"accepted", report.accepted},
            {"diagnostics", to_json(report.diagnostics)},
            {"revision", report.revision},
            {"levels", api::to_json(report.levels)},
            {"changes", api::to_json(report.changes)},
            {"changes-omitted", report.more_changes},
            {"sessions", api::to_json(report.sessions)},
            {"lost-levels", api::to_json(report.lost_levels)},
            {"plans", api::to_json(report.plans)},
            {"left-out", api::to_json(report.left_out)},
            {"writes", report.writes},
            {"monitors", report.monitors}};
}

}    // namespace rdmaqos::ctl
