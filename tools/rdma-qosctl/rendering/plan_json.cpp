#include "tools/rdma-qosctl/rendering/plan_json.h"

#include <nlohmann/json.hpp>

#include "lib/tree/described_plan.h"

namespace rdmaqos::ctl {
namespace {

void set_path(Json& json, const char* key, const ElementPath& path)
{
    set_text(json, key, path.text());
}

template <typename T>
void set(Json& json, const char* key, const std::optional<T>& value)
{
    if (value) {
        json[key] = *value;
    }
}

void set_attributes(Json& json, const char* share_key, const char* rate_key,
                    const std::optional<ElementAttributes>& attributes)
{
    if (attributes) {
        json[share_key] = attributes->share;
        set_rate(json, rate_key, attributes->max_rate);
    }
}

Json element_json(const DescribedElement& element)
{
    Json json{{"path", element.path.text()}};
    set_path(json, "parent", element.parent);
    json["kind"] = std::string(to_string(element.kind));
    set_attributes(json, "share-before", "max-rate-before", element.before);
    set_attributes(json, "share-after", "max-rate-after", element.after);
    set(json, "requested-share-before", element.requested_before.share);
    set_rate(json, "requested-min-rate-before", element.requested_before.min_rate);
    set(json, "requested-share-after", element.requested_after.share);
    set_rate(json, "requested-min-rate-after", element.requested_after.min_rate);
    json["queue-pairs-before"] = element.queue_pairs_before;
    json["queue-pairs-after"] = element.queue_pairs_after;
    return json;
}

Json operation_json(const DescribedOperation& operation)
{
    Json json{{"operation", std::string(to_string(operation.kind))}};
    set_path(json, "path", operation.path);
    if (operation.kind == DescribedOperation::Kind::Create) {
        set_path(json, "parent", operation.parent);
        json["kind"] = std::string(to_string(operation.element_kind));
    }
    set(json, "share-before", operation.share_before);
    set(json, "share-after", operation.share);
    set_rate(json, "max-rate-before", operation.max_rate_before);
    set_rate(json, "max-rate-after", operation.max_rate);
    if (operation.kind == DescribedOperation::Kind::Move || operation.kind == DescribedOperation::Kind::Limit) {
        json["queue-pair"] = operation.queue_pair;
    }
    set_path(json, "leaf-before", operation.leaf_before);
    set_path(json, "leaf-after", operation.leaf);
    set_path(json, "responder-leaf-before", operation.responder_leaf_before);
    set_path(json, "responder-leaf-after", operation.responder_leaf);
    if (const auto& limit = operation.limit_before) {
        json["rate-before"] = limit->rate.kbps();
        set(json, "max-burst-before", limit->max_burst);
        set(json, "typical-packet-before", limit->typical_packet);
    }
    if (const auto& limit = operation.limit) {
        json["rate-after"] = limit->rate.kbps();
        set(json, "max-burst-after", limit->max_burst);
        set(json, "typical-packet-after", limit->typical_packet);
    }
    json["message"] = to_string(operation);
    return json;
}

Json device_plan_json(const DevicePlanView& view)
{
    Json json{{"device", view.device}, {"tree", Json::array()}, {"operations", Json::array()}};
    for (const auto& element : view.plan.tree) {
        json["tree"].push_back(element_json(element));
    }
    for (const auto& operation : view.plan.operations) {
        json["operations"].push_back(operation_json(operation));
    }
    json["unreachable"] = Json::array();
    for (const auto& [path, why] : view.plan.unreachable) {
        json["unreachable"].push_back({{"path", path.text()}, {"message", why}});
    }
    json["findings"] = to_json(view.findings);
    json["link-speed"] = view.link_speed.kbps();
    json["rates"] = Json::array();
    for (const auto& [path, rate] : view.rates) {
        Json entry{{"class", path.text()}};
        set_rate(entry, "before", rate.before);
        set_rate(entry, "after", rate.after);
        json["rates"].push_back(std::move(entry));
    }
    return json;
}

}    // namespace

Json plans_json(const PlanReport& report)
{
    Json plans = Json::array();
    for (const auto& plan : report.plans) {
        plans.push_back(device_plan_json(plan));
    }
    return {{"mode", report.offline ? "offline" : "daemon"},
            {"note", report.note},
            {"accepted", report.accepted},
            {"diagnostics", to_json(report.diagnostics)},
            {"revision", report.revision},
            {"levels", to_json(report.levels)},
            {"changes", to_json(report.changes)},
            {"changes-omitted", report.more_changes},
            {"sessions", to_json(report.sessions)},
            {"lost-levels", to_json(report.lost_levels)},
            {"plans", std::move(plans)},
            {"left-out", to_json(report.left_out)},
            {"writes", report.writes}};
}

}    // namespace rdmaqos::ctl
