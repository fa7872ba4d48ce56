#include "tools/rdma-qosctl/simulate/report_json.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace rdmaqos::ctl {
namespace {

std::uint64_t whole(double kbps)
{
    return Bandwidth::from_computed(kbps).kbps();
}

Json limit_json(const Limit& limit)
{
    switch (limit.kind) {
    case Limit::Kind::Idle:
        return {{"kind", "idle"}};
    case Limit::Kind::Demand:
        return {{"kind", "demand"}};
    case Limit::Kind::Cap: {
        Json json{{"kind", "cap"}, {"path", limit.at.text()}};
        if (limit.rate) {
            json["max-rate"] = limit.rate->kbps();
        }
        return json;
    }
    case Limit::Kind::Below:
        return {{"kind", "caps-below"}};
    case Limit::Kind::Link:
        return {{"kind", "link"}};
    }
    return {};
}

void add_attributes(Json& json, const ElementAttributes& attributes)
{
    json["share"] = attributes.share;
    if (attributes.max_rate) {
        json["max-rate"] = attributes.max_rate->kbps();
    }
}

void add_result(Json& json, std::size_t senders, const Rates& rates, const Limit& limit)
{
    json["senders"] = senders;
    json["unlimited"] = std::isinf(rates.asked);
    if (!std::isinf(rates.asked)) {
        json["asked"] = whole(rates.asked);
    }
    json["gets"] = whole(rates.gets);
    json["guaranteed"] = whole(rates.guaranteed);
    json["limited-by"] = limit_json(limit);
}

Json level_json(const SimulatedLevel& level)
{
    Json json{{"level", level.level}, {"path", level.path.text()}, {"fair-by", to_string(level.fair_by)}};
    if (level.attributes) {
        add_attributes(json, *level.attributes);
    }
    add_result(json, level.senders, level.rates, level.limit);
    return json;
}

Json element_json(const SimulatedElement& element)
{
    Json json{{"path", element.path.text()}};
    if (!element.path.is_root()) {
        json["parent"] = element.parent.text();
    }
    json["kind"] = std::string(to_string(element.kind));
    if (!element.level.empty()) {
        json["level"] = element.level;
    }
    if (!element.path.is_root()) {
        add_attributes(json, element.attributes);
    }
    add_result(json, element.senders, element.rates, element.limit);
    return json;
}

Json deviation_json(const Deviation& deviation)
{
    Json json{{"compared", deviation.compared}, {"too-slow", deviation.too_slow}};
    if (deviation.compared > 0) {
        json["path"] = deviation.path.text();
        json["gets"] = whole(deviation.solver);
        json["packets"] = whole(deviation.packets);
        json["percent"] = std::round(deviation.percent * 1000) / 1000;
    }
    return json;
}

Json step_json(const SimulatedStep& step, bool over_time)
{
    Json json = Json::object();
    if (over_time) {
        json["at"] = step.at.count();
        json["until"] = step.until.count();
        json["use"] = step.use;
    }
    json["used"] = whole(step.used);
    json["levels"] = Json::array();
    for (const auto& level : step.levels) {
        json["levels"].push_back(level_json(level));
    }
    json["not-simulated"] = Json::array();
    for (const auto& outside : step.outside) {
        json["not-simulated"].push_back({{"level", outside.level}, {"why", outside.why}});
    }
    json["elements"] = Json::array();
    for (const auto& element : step.elements) {
        json["elements"].push_back(element_json(element));
    }
    if (step.deviation) {
        json["check"] = deviation_json(*step.deviation);
    }
    return json;
}

}    // namespace

Json simulation_json(const SimulationReport& report)
{
    Json devices = Json::array();
    for (const auto& port : report.ports) {
        Json steps = Json::array();
        for (const auto& step : port.steps) {
            steps.push_back(step_json(step, report.over_time));
        }
        devices.push_back({{"device", port.device},
                           {"link-speed", port.link_speed.kbps()},
                           {"notes", port.notes},
                           {"steps", std::move(steps)}});
    }
    return {{"mode", report.offline ? "offline" : "daemon"},
            {"note", report.note},
            {"over-time", report.over_time},
            {"devices", std::move(devices)}};
}

}    // namespace rdmaqos::ctl
