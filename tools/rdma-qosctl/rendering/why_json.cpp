#include "tools/rdma-qosctl/rendering/why.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "tools/rdma-qosctl/rendering/marks.h"
#include "tools/rdma-qosctl/rendering/world_json.h"

namespace rdmaqos::ctl {
namespace {

Json step_json(const WhyStep& step)
{
    Json json{{"path", step.path}};
    if (step.port_class) {
        json["port-class"] = *step.port_class;
        json["strict"] = step.is_strict;
        json["siblings"] = step.siblings;
    }
    if (step.share) {
        json["share"] = *step.share;
        json["share-of"] = step.share_of;
        json["siblings"] = step.siblings;
        if (step.is_tree_of_process) {
            json["assumed"] = true;
        }
    }
    if (step.max_rate) {
        json["max-rate"] = step.max_rate->kbps();
        json["narrowest"] = step.is_narrowest_cap;
    }
    return json;
}

Json leaf_json(const WhyLeaf& leaf)
{
    Json json{{"device", leaf.device},           {"level", leaf.level},
              {"queue-pairs", leaf.queue_pairs}, {"holds-it", to_string(leaf.narrowness)},
              {"verdict", leaf.verdict},         {"advice", leaf.advice}};
    if (!leaf.lost_level.empty()) {
        json["lost-level"] = leaf.lost_level;
    }
    if (!leaf.remark.empty()) {
        json["remark"] = leaf.remark;
    }
    if (leaf.narrowness == Narrowness::Outside) {
        return json;
    }
    const bool in_tree = !leaf.leaf.empty();    // else it is paced
    if (in_tree) {
        json["leaf"] = leaf.leaf;
        json["others-in-leaf"] = leaf.others_in_leaf;
        json["outside"] = leaf.outside;
    }
    json["link-speed"] = leaf.link_speed.kbps();
    json["alone"] = leaf.alone.kbps();
    json["busy"] = leaf.own.kbps();
    if (in_tree) {
        Json way = Json::array();
        for (const auto& step : leaf.steps) {
            way.push_back(step_json(step));
        }
        json["way"] = std::move(way);
    }
    if (in_tree && leaf.port_class) {
        json["port-class"] = *leaf.port_class;
        json["port-class-reason"] = leaf.class_reason;
        for (const auto& stage : leaf.stages) {
            json["stages"].push_back({{"by", stage.by},
                                      {"gets", stage.rate.kbps()},
                                      {"percent", std::round(stage.part * 1000) / 10},
                                      {"assumed", stage.assumed}});
        }
    }
    return json;
}

}    // namespace

Json why_json(const WhyReport& report)
{
    Json sessions = Json::array();
    for (const auto& why : report.sessions) {
        Json leaves = Json::array();
        for (const auto& leaf : why.leaves) {
            leaves.push_back(leaf_json(leaf));
        }
        Json one{{"session", session_json(why.session)}, {"leaves", std::move(leaves)}};
        if (!why.more_sessions.empty()) {
            one["more-sessions"] = why.more_sessions;
        }
        sessions.push_back(std::move(one));
    }
    Json ports = Json::array();
    for (const auto& port : report.ports) {
        ports.push_back({{"device", port.device},
                         {"link-speed", port.link_speed.kbps()},
                         {"transmits", port.transmits.kbps()},
                         {"receives", port.receives.kbps()},
                         {"programs", api::to_json(port.programs)}});
    }
    const bool registered = std::any_of(report.sessions.begin(), report.sessions.end(),
                                        [](const WhySession& why) { return !why.session.adopted; });
    Json json{{"target", report.target}, {"registered", registered}, {"sessions", std::move(sessions)}};
    json["ports"] = std::move(ports);
    json["marks"] = mark_paths_json(report.marks);
    if (!report.note.empty()) {
        json["note"] = report.note;
        json["queue-pairs"] = api::to_json(report.queue_pairs);
    }
    json["advice"] = report.advice;
    return json;
}

}    // namespace rdmaqos::ctl
