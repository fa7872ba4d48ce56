#include "policy/explain/explain_render.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/overloaded.h"
#include "lib/base/text.h"
#include "policy/match/client.h"
#include "policy/match/criteria.h"
#include "policy/model/traffic_class.h"

namespace rdmaqos {
namespace {

using Json = nlohmann::ordered_json;

std::string_view to_string(LevelSource source)
{
    switch (source) {
    case LevelSource::Requested:
        return "requested";
    case LevelSource::Rule:
        return "rule";
    case LevelSource::Partition:
        return "partition";
    case LevelSource::Default:
        return "default";
    }
    return "";
}

std::string hex(std::uint64_t value)
{
    return fmt::format("{:#x}", value);
}

std::string words_of(const Identity& identity)
{
    std::string text = fmt::format("pid {}", identity.pid);
    if (!identity.command.empty()) {
        text += fmt::format(" ({})", identity.command);
    }
    for (const ClientKey& key : kClientKeys) {
        const auto* name = std::get_if<NameKind>(&key.kind);
        const bool is_said = name != nullptr && name->name == &Identity::command;
        if (!is_said && !has(identity, key).empty()) {
            text += ", " + has_in_words(identity, key);
        }
    }
    return text;
}

template <typename T, typename Format>
void add_selected(std::string& text, std::string_view name, const std::optional<Selected<T>>& asked, Format format)
{
    if (!asked) {
        return;
    }
    text += text.empty() ? "" : ", ";
    if (asked->selector == Selector::Largest) {
        text += fmt::format("{} largest", name);
        return;
    }
    static constexpr std::array<std::string_view, 3> kSigns{">", "<", "="};
    text += fmt::format("{} {} {}", name, kSigns.at(static_cast<std::size_t>(asked->selector)), format(asked->value));
}

std::string words_of(const Request& request)
{
    std::string text;
    const auto add = [&text](std::string_view name, const std::string& value) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
    };
    if (request.level) {
        add("level", printable(*request.level));
    }
    for (const Criterion& criterion : kRequestCriteria) {
        std::visit(Overloaded{
                       [&](const EndKind& kind) {
                           if (const auto& end = request.*kind.end) {
                               add(criterion.key, rdmaqos::to_string(*end));
                           }
                       },
                       [&](const NumberKind& kind) {
                           if (const auto number = kind.number(request)) {
                               add(criterion.key, in_words(*number, kind.base));
                           }
                       },
                       [&](const DeviceKind& kind) {
                           if (const auto& device = request.*kind.device) {
                               add(criterion.key, fmt::format("{}/{}", printable(device->device), device->port));
                           }
                       },
                       [](const ClientKey*) {},    // not of the request
                   },
                   criterion.kind);
    }
    if (request.sl) {
        add("sl", fmt::format("{}", *request.sl));
    }
    add_selected(text, "mtu", request.mtu, [](IbMtu mtu) {
        const bool is_one = mtu >= IbMtu::Mtu256 && mtu <= IbMtu::Mtu4096;    // a client may claim any number
        return is_one ? in_words(mtu) : fmt::format("{}", static_cast<unsigned>(mtu));
    });
    add_selected(text, "rate", request.rate, [](IbRate rate) { return in_words(rate); });
    add_selected(text, "packet-life", request.packet_life, packet_life_in_words);
    return text.empty() ? "nothing in particular" : text;
}

// Of a column: what is longer pushes what is right of it, and nothing is cut. Who reads it may be a program.
template <typename Rows, typename Cell>
std::size_t column_of(const Rows& rows, Cell cell)
{
    constexpr std::size_t kWidest = 56;
    return std::min(kWidest, widest(rows, cell));
}

// A list of hundreds of ranges is for the policy file; names and paths are shorter.
std::string without_tail(const std::string& text)
{
    constexpr std::size_t kLongest = 512;
    return text.size() <= kLongest ? text : shortened(text, kLongest);
}

std::string criteria_table(const std::vector<CriterionResult>& criteria)
{
    const std::size_t key_width = widest(criteria, &CriterionResult::key);
    const auto asked = [](const CriterionResult& criterion) { return without_tail(criterion.asked); };
    const std::size_t asked_width = column_of(criteria, asked);
    const std::size_t has_width = column_of(criteria, &CriterionResult::has);
    std::string text;
    for (const auto& criterion : criteria) {
        text += fmt::format("      {:<3}  {}  asks {}  has {}  {}\n", criterion.holds ? "yes" : "no",
                            padded(criterion.key, key_width), padded(asked(criterion), asked_width),
                            padded(criterion.has, has_width), to_string(criterion.trust));
    }
    return text;
}

std::string verdict(bool matched, const std::string& refused)
{
    if (!matched) {
        return "does not match";
    }
    return refused.empty() ? "matches" : fmt::format("skipped: {}", refused);
}

std::string words_of(const Policy& policy, const RuleResult& result)
{
    const MatchRule& rule = *result.rule;
    std::string text = fmt::format("  {} -> level {}: {}\n", policy.describe_rule(rule), policy.levels[rule.level].name,
                                   verdict(result.matched, result.refused));
    if (!rule.use.empty()) {
        text += fmt::format("      {}\n", rule.use);
    }
    return text +
           (result.criteria.empty() ? "      no criterion: matches everything\n" : criteria_table(result.criteria));
}

std::string words_of(const PathAnswer& answer, const PathReasons& reasons, const QosLevel& level)
{
    struct Line {
        std::string_view field;
        std::string value;
        std::string reason;
    };
    std::vector<Line> lines{
        {"MTU", in_words(answer.mtu), reasons.mtu},
        {"rate", in_words(answer.rate), reasons.rate},
        {"packet life", packet_life_in_words(answer.packet_life), reasons.packet_life},
        {"P_Key", answer.pkey ? hex(*answer.pkey) : "not known", reasons.pkey},
        {"SL", answer.sl ? fmt::format("{}", *answer.sl) : "left alone", reasons.sl},
    };
    if (const auto& mark = level.traffic_class) {
        lines.push_back({"DSCP", fmt::format("{}", dscp_of(*mark)),
                         fmt::format("traffic class {} of the level; of packets on Ethernet", *mark)});
    }
    const std::size_t width = widest(lines, &Line::value);
    std::string text;
    for (const auto& line : lines) {
        text += fmt::format("  {:<11}  {}  {}\n", line.field, padded(line.value, width), line.reason);
    }
    return text;
}

// What says `adopt: no`: "rule", "level"; "" for neither.
std::string_view closed_by(const Match& match)
{
    return match.rule != nullptr && !match.rule->adopt ? "rule" : !match.level->adopt ? "level" : "";
}

Json json_of(const Identity& identity)
{
    return {{"pid", identity.pid},
            {"start-time", identity.start_time},
            {"uid", identity.uid},
            {"gids", identity.gids},
            {"cgroup", identity.cgroup},
            {"unit", identity.unit},
            {"slurm-job", identity.slurm_job},
            {"kubernetes-pod", identity.kubernetes_pod},
            {"executable", identity.executable},
            {"command", identity.command}};
}

template <typename T>
void add_selected(Json& json, const char* key, const std::optional<Selected<T>>& asked)
{
    if (asked) {
        json[key] = Json{{"selector", to_string(asked->selector)}, {"value", static_cast<std::uint8_t>(asked->value)}};
    }
}

Json json_of(const Request& request)
{
    Json json = Json::object();
    if (request.level) {
        json["level"] = *request.level;
    }
    if (request.qos_class) {
        json["qos-class"] = *request.qos_class;
    }
    if (request.service_id) {
        json["service-id"] = hex(*request.service_id);
    }
    if (request.pkey) {
        json["pkey"] = hex(*request.pkey);
    }
    if (request.source) {
        json["source"] = rdmaqos::to_string(*request.source);
    }
    if (request.destination) {
        json["destination"] = rdmaqos::to_string(*request.destination);
    }
    if (request.device) {
        json["device"] = Json{{"name", request.device->device},
                              {"port", request.device->port},
                              {"netdev", request.device->netdev},
                              {"pci-address", request.device->pci_address}};
    }
    if (request.sl) {
        json["sl"] = *request.sl;
    }
    add_selected(json, "mtu", request.mtu);
    add_selected(json, "rate", request.rate);
    add_selected(json, "packet-life", request.packet_life);
    return json;
}

Json json_of(const Policy& policy, const RuleResult& result)
{
    const MatchRule& rule = *result.rule;
    Json json{{"number", rule.number}, {"rule", policy.describe_rule(rule)}};
    if (!rule.use.empty()) {
        json["use"] = rule.use;
    }
    json["level"] = policy.levels[rule.level].name;
    json["matched"] = result.matched;
    if (!result.refused.empty()) {
        json["refused"] = result.refused;
    }
    json["criteria"] = Json::array();
    for (const auto& criterion : result.criteria) {
        json["criteria"].push_back({{"key", criterion.key},
                                    {"asked", criterion.asked},
                                    {"has", criterion.has},
                                    {"holds", criterion.holds},
                                    {"verified", criterion.trust == Trust::Verified}});
    }
    return json;
}

Json json_of(const FallbackResult& result)
{
    Json json{{"source", to_string(result.source)},
              {"name", result.name},
              {"level", result.level->name},
              {"taken", result.taken}};
    if (!result.refused.empty()) {
        json["refused"] = result.refused;
    }
    return json;
}

Json json_of(const Match& match, const std::string& why)
{
    Json json{{"level", match.level->name}, {"source", to_string(match.source)}};
    if (match.rule != nullptr) {
        json["rule"] = match.rule->number;
    }
    json["verified"] = match.verified;
    json["allow"] = allowed_in_words(*match.level);
    json["mode"] = to_string(match.level->mode);
    json["adopt"] = closed_by(match).empty();
    json["why"] = why;
    return json;
}

Json json_of(const PathAnswer& answer, const PathReasons& reasons, const QosLevel& level)
{
    Json json{{"mtu", static_cast<std::uint8_t>(answer.mtu)},
              {"rate", number(answer.rate)},
              {"packet-life", answer.packet_life}};
    if (answer.pkey) {
        json["pkey"] = hex(*answer.pkey);
    }
    if (answer.sl) {
        json["sl"] = *answer.sl;
    }
    if (answer.sl && level.sl && level.sl_source == SlSource::Host) {
        json["sl-source"] = "host";
    }
    if (level.traffic_class) {
        json["traffic-class"] = *level.traffic_class;
        json["dscp"] = dscp_of(*level.traffic_class);
    }
    json["reasons"] = Json{{"mtu", reasons.mtu},
                           {"rate", reasons.rate},
                           {"packet-life", reasons.packet_life},
                           {"pkey", reasons.pkey},
                           {"sl", reasons.sl}};
    return json;
}

Json json_of(const Error& error)
{
    return {{"name", dbus_name(error.code)}, {"message", rdmaqos::to_string(error)}};
}

template <typename T>
Json or_null(const std::optional<T>& value)
{
    return value ? json_of(*value) : Json(nullptr);
}

}    // namespace

std::string render_explanation(const Policy& policy, const Explanation& explanation)
{
    std::string text = fmt::format("client   {}\nrequest  {}\n\n", words_of(explanation.identity),
                                   words_of(explanation.request));
    if (!explanation.rules.empty() || !explanation.fallbacks.empty()) {
        text += "rules\n";
        for (const auto& result : explanation.rules) {
            text += words_of(policy, result);
        }
        for (const auto& result : explanation.fallbacks) {
            text += fmt::format("  {} -> level {}: {}\n", result.name, result.level->name,
                                result.taken ? "taken" : verdict(true, result.refused));
        }
        text += '\n';
    }
    if (explanation.match) {
        const Match& match = *explanation.match;
        text += fmt::format("level {}\n  {}{}\n  open to {}\n", match.level->name, explanation.why,
                            match.verified ? " (nothing the client claims took part)" : "",
                            allowed_in_words(*match.level));
        if (!match.level->devices.empty()) {
            text += fmt::format("  its class is on {}\n", rdmaqos::to_string(match.level->devices));
        }
        if (match.level->mode == Mode::Monitor) {
            text += "  only monitored (`mode: monitor`): nothing is written to a device for it\n";
        }
        if (const auto by = closed_by(match); !by.empty()) {
            text += fmt::format("  closed to programs that do not register: `adopt: no` of the {}\n", by);
        }
    } else if (explanation.error) {
        text += fmt::format("no level: {}\n", rdmaqos::to_string(*explanation.error));
    }
    if (explanation.answer) {
        text += fmt::format("\npath answer\n{}",
                            words_of(*explanation.answer, explanation.reasons, *explanation.match->level));
    } else if (explanation.answer_error) {
        text += fmt::format("\nno path: {}\n", rdmaqos::to_string(*explanation.answer_error));
    }
    return text;
}

std::string explanation_to_json(const Policy& policy, const Explanation& explanation)
{
    Json rules = Json::array();
    for (const auto& result : explanation.rules) {
        rules.push_back(json_of(policy, result));
    }
    Json fallbacks = Json::array();
    for (const auto& result : explanation.fallbacks) {
        fallbacks.push_back(json_of(result));
    }
    const Json document{{"client", json_of(explanation.identity)},
                        {"request", json_of(explanation.request)},
                        {"rules", std::move(rules)},
                        {"fallbacks", std::move(fallbacks)},
                        {"match", explanation.match ? json_of(*explanation.match, explanation.why) : Json(nullptr)},
                        {"error", or_null(explanation.error)},
                        {"answer", explanation.answer
                                       ? json_of(*explanation.answer, explanation.reasons, *explanation.match->level)
                                       : Json(nullptr)},
                        {"answer-error", or_null(explanation.answer_error)}};
    // What a client claims may be no UTF-8.
    return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}    // namespace rdmaqos
