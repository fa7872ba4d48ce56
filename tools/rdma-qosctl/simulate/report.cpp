#include "tools/rdma-qosctl/simulate/report.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;
using Fit = Table::Fit;

std::string leaf_names(const std::vector<SimulatedElement>& elements, const LeafRun& run)
{
    const auto name = [&](std::size_t index) { return std::string(elements[index].path.name()); };
    const std::string first = name(run.first);
    return run.count == 1 ? first : fmt::format("{} ... {}", first, name(run.first + run.count - 1));
}

std::string each(const std::string& text, std::size_t count)
{
    return text.empty() || count == 1 ? text : text + " each";
}

std::string render_levels_of(const SimulatedStep& step, Bandwidth link_speed, const Screen& screen)
{
    Table table({{"LEVEL", Align::Left, Fit::Shorten},
                 {"SENDERS"},
                 {"DEMANDS"},
                 {"GETS"},
                 {"GUARANTEED", Align::Left, Fit::Drop},
                 {"SHARE", Align::Right, Fit::DropSoon},
                 {"MAX-RATE", Align::Left, Fit::DropSoon},
                 {"LIMITED-BY", Align::Left, Fit::Shorten}});
    for (const auto& level : step.levels) {
        const auto& attributes = level.attributes;
        const bool is_short = level.limit.kind != Limit::Kind::Idle && level.limit.kind != Limit::Kind::Demand;
        table.add(
            {level.level, senders_in_words(level.senders, level.fair_by), asked_in_words(level.rates.asked),
             level.senders == 0 ? "" : rate_in_words(level.rates.gets), rate_in_words(level.rates.guaranteed),
             attributes ? attributes->share == 0 ? "default" : std::to_string(attributes->share) : "",
             attributes && attributes->max_rate ? to_string(*attributes->max_rate) : "",
             Cell(limit_in_words(level.limit, level.path, link_speed), is_short ? Style::Warning : Style::Plain)});
    }
    return table.empty() ? "no level is in the tree\n" : table.render(screen);
}

// Who gets what inside of the classes that have a leaf for each sender.
std::string render_leaves(const SimulatedStep& step, Bandwidth link_speed, const Screen& screen)
{
    Table table({{"LEVEL", Align::Left, Fit::Shorten},
                 {"LEAF", Align::Left, Fit::ShortenPath},
                 {"SENDERS", Align::Right},
                 {"DEMANDS"},
                 {"GETS"},
                 {"LIMITED-BY", Align::Left, Fit::Shorten}});
    for (const auto& run : leaf_runs(step.elements)) {
        const SimulatedElement& leaf = step.elements[run.first];
        if (leaf.senders == 0) {
            continue;
        }
        table.add({leaf.level, leaf_names(step.elements, run), std::to_string(leaf.senders * run.count),
                   each(asked_in_words(leaf.rates.asked), run.count), each(rate_in_words(leaf.rates.gets), run.count),
                   limit_in_words(leaf.limit, leaf.path, link_speed)});
    }
    return table.empty() ? "" : "\n" + table.render(screen);
}

// What is above the tree.
std::string render_classes(const SimulatedStep& step, Bandwidth link_speed, const Screen& screen)
{
    Table table({{"PORT-CLASS", Align::Right},
                 {"SERVED"},
                 {"LEVELS", Align::Left, Fit::Shorten},
                 {"DEMANDS"},
                 {"GETS"},
                 {"GUARANTEED", Align::Left, Fit::Drop},
                 {"MAX-RATE", Align::Left, Fit::DropSoon},
                 {"LIMITED-BY", Align::Left, Fit::Shorten}});
    for (const auto& one : step.classes) {
        std::string levels;
        for (const auto& level : one.levels) {
            levels += (levels.empty() ? "" : ", ") + level;
        }
        const auto& max_rate = one.port_class.max_rate;
        table.add(
            {std::to_string(one.number), service_in_words(one.port_class), levels, asked_in_words(one.rates.asked),
             one.rates.asked > 0 ? rate_in_words(one.rates.gets) : "", rate_in_words(one.rates.guaranteed),
             max_rate ? to_string(*max_rate) : "",
             one.limit.kind == Limit::Kind::PortClass ? "its max-rate" : limit_in_words(one.limit, {}, link_speed)});
    }
    return table.empty() ? "" : table.render(screen) + "\n";
}

std::string render_step(const SimulatedStep& step, Bandwidth link_speed, bool over_time, const Screen& screen)
{
    std::string text = over_time ? labelled(step_in_words(step, true) + ":", Style::Heading,
                                            used_in_words(step, link_speed), screen)
                                 : used_in_words(step, link_speed) + "\n";
    text += render_classes(step, link_speed, screen) + render_levels_of(step, link_speed, screen) +
            render_leaves(step, link_speed, screen);
    for (const auto& outside : step.outside) {
        text += labelled("not simulated:", Style::Warning, outside_in_words(outside), screen);
    }
    if (step.deviation) {
        text += labelled("check:", step.deviation->percent > 1 ? Style::Warning : Style::Good,
                         deviation_in_words(*step.deviation), screen);
    }
    return text;
}

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
    case Limit::Kind::PortClass: {
        Json json{{"kind", "port-class"}, {"port-class", limit.port_class}};
        if (limit.rate) {
            json["max-rate"] = limit.rate->kbps();
        }
        return json;
    }
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

Json class_json(const SimulatedClass& one)
{
    Json json{{"port-class", one.number}, {"strict", one.port_class.is_strict}};
    if (!one.port_class.is_strict) {
        json["weight"] = one.port_class.weight;
    }
    if (one.port_class.max_rate) {
        json["max-rate"] = one.port_class.max_rate->kbps();
    }
    json["levels"] = one.levels;
    json["unlimited"] = std::isinf(one.rates.asked);
    if (!std::isinf(one.rates.asked)) {
        json["asked"] = whole(one.rates.asked);
    }
    json["gets"] = whole(one.rates.gets);
    json["guaranteed"] = whole(one.rates.guaranteed);
    json["limited-by"] = limit_json(one.limit);
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
    for (const auto& one : step.classes) {
        json["port-classes"].push_back(class_json(one));
    }
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

std::string render_simulation(const SimulationReport& report, const Screen& screen)
{
    std::string text = sentence_on(screen, 0, 2, printable(report.note)) + "\n";
    for (const auto& port : report.ports) {
        text += fmt::format("\n{}\n", styled(printable(port.device), Style::Heading, screen));
        for (std::size_t i = 0; i < port.steps.size(); ++i) {
            text += (i > 0 ? "\n" : "") + render_step(port.steps[i], port.link_speed, report.over_time, screen);
        }
        for (const auto& note : port.notes) {
            text += labelled("note:", Style::Warning, note, screen);
        }
    }
    return text;
}

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

std::string rate_in_words(double kbps)
{
    const auto rate = Bandwidth::from_computed(kbps);
    return to_string(rate < Bandwidth::from_gbps(1) ? rate : Bandwidth::from_mbps(rate.mbps()));
}

std::string asked_in_words(double kbps)
{
    return kbps <= 0 ? "" : std::isinf(kbps) ? "unlimited" : rate_in_words(kbps);
}

std::string time_in_words(std::chrono::milliseconds time)
{
    const auto ms = time.count();
    if (ms % 1000 != 0) {
        return fmt::format("{} ms", ms);
    }
    const auto seconds = ms / 1000;
    if (seconds == 0 || seconds % 60 != 0) {
        return fmt::format("{} s", seconds);
    }
    return seconds % 3600 != 0 ? fmt::format("{} min", seconds / 60) : fmt::format("{} h", seconds / 3600);
}

std::string limit_in_words(const Limit& limit, const ElementPath& path, Bandwidth link_speed)
{
    switch (limit.kind) {
    case Limit::Kind::Idle:
        return {};
    case Limit::Kind::Demand:
        return "its demand";
    case Limit::Kind::Cap:
        return limit.at == path
                   ? "its max-rate"
                   : fmt::format("max-rate {}of {}", limit.rate ? to_string(*limit.rate) + " " : "", limit.at.text());
    case Limit::Kind::Below:
        return "max-rates below";
    case Limit::Kind::Link:
        return fmt::format("link {}", to_string(link_speed));
    case Limit::Kind::PortClass:
        return fmt::format("max-rate {}of port class {}", limit.rate ? to_string(*limit.rate) + " " : "",
                           limit.port_class);
    }
    return {};
}

std::string service_in_words(const PortClass& port_class)
{
    return port_class.is_strict ? "strict" : fmt::format("weight {}", port_class.weight);
}

std::string senders_in_words(std::size_t senders, FairBy fair_by)
{
    if (senders == 0) {
        return {};
    }
    switch (fair_by) {
    case FairBy::Process:
        return senders == 1 ? "1 process" : fmt::format("{} processes", senders);
    case FairBy::User:
        return counted(senders, "user");
    case FairBy::Unit:
        return counted(senders, "unit");
    case FairBy::Cgroup:
        return counted(senders, "cgroup");
    case FairBy::SlurmJob:
        return counted(senders, "job");
    case FairBy::KubernetesPod:
        return counted(senders, "pod");
    case FairBy::None:
    case FairBy::QueuePair:
        break;
    }
    return counted(senders, "queue pair");
}

std::string outside_in_words(const OutsideLevel& outside)
{
    return fmt::format("{} is not in the tree: {}. What it sends competes with the tree, which then gets less than "
                       "shown here",
                       outside.level, outside.why);
}

std::string deviation_in_words(const Deviation& deviation)
{
    if (deviation.compared == 0) {
        return "nothing sends enough packets for a comparison with the packet-level simulation";
    }
    std::string text = fmt::format(
        "simulated packet by packet, the largest deviation is {:.2f} %, at {}: {} instead of {}", deviation.percent,
        deviation.path.text(), rate_in_words(deviation.packets), rate_in_words(deviation.solver));
    if (deviation.too_slow > 0) {
        text += fmt::format(" ({} too slow to be compared)", counted(deviation.too_slow, "element"));
    }
    return text;
}

std::string step_in_words(const SimulatedStep& step, bool over_time)
{
    if (!over_time) {
        return step.use;
    }
    return fmt::format("from {} to {}{}{}", time_in_words(step.at), time_in_words(step.until),
                       step.use.empty() ? "" : ": ", step.use);
}

std::string used_in_words(const SimulatedStep& step, Bandwidth link_speed)
{
    const double link = static_cast<double>(link_speed.kbps());
    return fmt::format("{} of the link's {} in use ({:.0f} %)", rate_in_words(step.used), to_string(link_speed),
                       link > 0 ? 100 * step.used / link : 0);
}

}    // namespace rdmaqos::ctl
