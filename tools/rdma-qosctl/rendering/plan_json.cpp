#include "tools/rdma-qosctl/rendering/plan.h"

#include <nlohmann/json.hpp>

#include "lib/api/json.h"

namespace rdmaqos::ctl {

Json plans_json(const PlanReport& report)
{
    Json sessions = Json::array();
    for (const auto& session : report.sessions) {
        Json json = api::to_json<api::SessionChange>(session);
        set_text(json, "user", session.user);
        sessions.push_back(std::move(json));
    }
    return {{"mode", report.offline ? "offline" : "daemon"},
            {"note", report.note},
            {"accepted", report.accepted},
            {"diagnostics", to_json(report.diagnostics)},
            {"revision", report.revision},
            {"levels", api::to_json(report.levels)},
            {"changes", api::to_json(report.changes)},
            {"changes-omitted", report.more_changes},
            {"sessions", std::move(sessions)},
            {"lost-levels", api::to_json(report.lost_levels)},
            {"plans", api::to_json(report.plans)},
            {"left-out", api::to_json(report.left_out)},
            {"writes", report.writes}};
}

}    // namespace rdmaqos::ctl
