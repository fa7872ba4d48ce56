#include "tools/rdma-qosctl/rendering/sessions.h"

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;

std::string rate_text(const bus::Dict& dict, std::string_view key)
{
    const auto rate = rate_of(dict, key);
    return rate ? to_string(*rate) : "";
}

// "5 Gbit/s; burst: device default, packet: 1 KiB" of a queue pair's own limit; empty: it has none.
std::string limit_text(const bus::Dict& dict, const std::string& prefix, std::string_view rate_key)
{
    const std::string rate = rate_text(dict, prefix + std::string(rate_key));
    return rate.empty()
               ? rate
               : fmt::format("{}; {}", rate, pacing_text(dict, prefix + "max-burst", prefix + "typical-packet"));
}

std::string number_text(const bus::Dict& dict, std::string_view key)
{
    const auto number = find_number(dict, key);
    return number ? std::to_string(*number) : "";
}

std::string hex_text(const bus::Dict& dict, std::string_view key)
{
    const auto number = find_number(dict, key);
    return number ? fmt::format("{:#06x}", *number) : "";
}

// The OpenSM part of a level: what it does to a path.
std::string path_limits_text(const bus::Dict& level)
{
    std::string text;
    const auto add = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
        }
    };
    add("mtu", number_text(level, "mtu-limit"));
    add("rate", rate_text(level, "rate-limit"));
    add("life", number_text(level, "packet-life"));
    return text;
}

Cell enforced_cell(const bus::Dict& queue_pair)
{
    if (!text_of(queue_pair, "error").empty()) {
        return {"refused", Style::Bad};
    }
    return flag_of(queue_pair, "enforced") ? Cell("yes", Style::Good) : Cell("no", Style::Warning);
}

// Why not, or what to know; of a refused one the error.
std::string reason_text(const bus::Dict& queue_pair)
{
    const std::string message = text_of(queue_pair, "message");
    return message.empty() ? text_of(queue_pair, "reason") : message;
}

void add_queue_pairs(const std::vector<bus::Dict>& queue_pairs, const std::string& session, Table& table)
{
    for (const auto& queue_pair : queue_pairs) {
        table.add({session, text_of(queue_pair, "device"), number_text(queue_pair, "number"),
                   text_of(queue_pair, "level"), text_of(queue_pair, "leaf"), limit_text(queue_pair, "", "rate"),
                   enforced_cell(queue_pair), text_of(queue_pair, "rule"), reason_text(queue_pair)});
    }
}

Table queue_pair_table()
{
    return Table({{"SESSION", Align::Right},
                  {"DEVICE"},
                  {"QP", Align::Right},
                  {"LEVEL"},
                  {"LEAF"},
                  {"RATE"},
                  {"ENFORCED"},
                  {"RULE"},
                  {"REASON"}});
}

std::string signal_subject(const bus::Signal& signal)
{
    const auto slash = signal.path.rfind('/');
    return slash == std::string::npos ? signal.path : signal.path.substr(slash + 1);
}

std::string argument_text(const bus::Signal& signal, std::size_t index)
{
    if (index >= signal.arguments.size()) {
        return {};
    }
    const bus::Value& value = signal.arguments[index];
    if (const auto* text = value.as<std::string>()) {
        return *text;
    }
    if (const auto* path = value.as<bus::ObjectPath>()) {
        return path->text;
    }
    const auto number = value.as_unsigned();
    return number ? std::to_string(*number) : "";
}

std::string changed_properties_text(const bus::Signal& signal)
{
    std::string text;
    const auto add = [&](const std::string& name) { text += (text.empty() ? "" : ", ") + name; };
    if (signal.arguments.size() > 1) {
        if (const auto* changed = signal.arguments[1].as<bus::Dict>()) {
            for (const auto& [name, value] : changed->entries()) {
                add(name);
            }
        }
    }
    if (signal.arguments.size() > 2) {
        if (const auto* invalidated = signal.arguments[2].as<std::vector<std::string>>()) {
            for (const auto& name : *invalidated) {
                add(name);
            }
        }
    }
    return text;
}

}    // namespace

std::string owner_text(const bus::Dict& owner)
{
    const std::string user = text_of(owner, "user");
    return user.empty() ? std::to_string(number_of(owner, "uid")) : user;
}

std::string render_levels(const std::vector<bus::Dict>& levels, Colour colour)
{
    if (levels.empty()) {
        return "no level: no policy is running\n";
    }
    Table table({{"LEVEL"},
                 {"CLASS"},
                 {"SHARE", Align::Right},
                 {"MIN-RATE"},
                 {"MAX-RATE"},
                 {"FAIR-BY"},
                 {"QP-MAX-RATE"},
                 {"SL", Align::Right},
                 {"TRAFFIC-CLASS", Align::Right},
                 {"ACCESS"},
                 {"SESSIONS", Align::Right},
                 {"QPS", Align::Right},
                 {"PATH-LIMITS"},
                 {"USE"}});
    for (const auto& level : levels) {
        table.add({text_of(level, "name"), text_of(level, "class"), number_text(level, "share"),
                   rate_text(level, "min-rate"), rate_text(level, "max-rate"), text_of(level, "fair-by"),
                   rate_text(level, "per-queue-pair-max-rate"), number_text(level, "sl"),
                   number_text(level, "traffic-class"), flag_of(level, "restricted") ? "restricted" : "everyone",
                   number_text(level, "sessions"), number_text(level, "queue-pairs"), path_limits_text(level),
                   text_of(level, "use")});
    }
    return table.render(colour);
}

std::string render_sessions(const std::vector<SessionView>& sessions, Colour colour)
{
    if (sessions.empty()) {
        return "no session: no process has registered\n";
    }
    Table owners({{"SESSION", Align::Right},
                  {"PID", Align::Right},
                  {"USER"},
                  {"UNIT"},
                  {"COMMAND"},
                  {"STATE"},
                  {"LEVEL"},
                  {"QPS", Align::Right},
                  {"RULE"}});
    Table queue_pairs = queue_pair_table();
    for (const auto& session : sessions) {
        owners.add({std::to_string(session.id), number_text(session.owner, "pid"), owner_text(session.owner),
                    text_of(session.owner, "unit"), text_of(session.owner, "command"),
                    Cell(session.state, style_of_state(session.state)), session.level,
                    std::to_string(session.queue_pairs.size()), text_of(session.grant, "rule")});
        add_queue_pairs(session.queue_pairs, std::to_string(session.id), queue_pairs);
    }
    std::string text = owners.render(colour);
    if (!queue_pairs.empty()) {
        text += "\n" + queue_pairs.render(colour);
    }
    return text;
}

std::string render_answers(const std::vector<bus::Dict>& answers, Colour colour)
{
    Table table({{"LEVEL"},
                 {"SOURCE"},
                 {"DESTINATION"},
                 {"MTU", Align::Right},
                 {"RATE"},
                 {"LIFE", Align::Right},
                 {"PKEY"},
                 {"SL", Align::Right},
                 {"RULE"}});
    for (const auto& answer : answers) {
        if (const std::string why = text_of(answer, "message"); !text_of(answer, "error").empty()) {
            table.add({{"no path", Style::Bad},
                       text_of(answer, "source"),
                       text_of(answer, "destination"),
                       "",
                       "",
                       "",
                       "",
                       "",
                       why});
            continue;
        }
        table.add({text_of(answer, "level"), text_of(answer, "source"), text_of(answer, "destination"),
                   number_text(answer, "mtu"), rate_text(answer, "rate"), number_text(answer, "packet-life"),
                   hex_text(answer, "pkey"), number_text(answer, "sl"), text_of(answer, "rule")});
    }
    return table.render(colour);
}

std::string render_grant(const std::string& session, const bus::Dict& grant, Colour colour)
{
    Fields fields;
    fields.add("session", session);
    fields.add("level", text_of(grant, "level"));
    fields.add("rule", text_of(grant, "rule"));
    fields.add("verified", flag_of(grant, "verified") ? "yes: the kernel's word alone decided"
                                                      : "no: the level rests on a claim of the client");
    fields.add("leaf", text_of(grant, "leaf"));
    fields.add("enforced", flag_of(grant, "enforced") ? "yes" : "no",
               flag_of(grant, "enforced") ? Style::Good : Style::Warning);
    fields.add("reason", text_of(grant, "reason"));
    fields.add("share", number_text(grant, "share"));
    fields.add("max-rate", rate_text(grant, "max-rate"));
    fields.add("max-rate now", rate_text(grant, "max-rate-now"));
    fields.add("per queue pair", limit_text(grant, "per-queue-pair-", "max-rate"));
    fields.add("message model", text_of(grant, "message-model"));
    fields.add("SL", number_text(grant, "sl"));
    fields.add("traffic class", number_text(grant, "traffic-class"));
    fields.add("MTU limit", number_text(grant, "mtu"));
    fields.add("path rate limit", rate_text(grant, "rate"));
    fields.add("packet life", number_text(grant, "packet-life"));
    fields.add("P_Key", hex_text(grant, "pkey"));
    std::string text = fields.render(colour);
    Table table = queue_pair_table();
    add_queue_pairs(dicts_of(grant, "queue-pairs"), session, table);
    if (!table.empty()) {
        text += "\n" + table.render(colour);
    }
    return text;
}

namespace {

// A line for each device, `done` says what was done, and one for each failure.
template <typename Done>
std::string render_results(const std::vector<bus::Dict>& results, Colour colour, Done done)
{
    if (results.empty()) {
        return "no device: nothing to do\n";
    }
    std::string text;
    for (const auto& result : results) {
        text += fmt::format("{}: {}\n", printable(text_of(result, "device")), done(result));
        for (const auto& failure : list_of(result, "failures")) {
            text += fmt::format("  {} {}\n", styled("failure:", Style::Bad, colour), printable(failure));
        }
    }
    return text;
}

}    // namespace

std::string render_reconciled(const std::vector<bus::Dict>& results, Colour colour)
{
    return render_results(results, colour, [](const bus::Dict& result) {
        const std::uint64_t operations = number_of(result, "operations");
        const std::size_t failures = list_of(result, "failures").size();
        return (operations == 0 ? "was as it should be" : counted(operations, "operation")) +
               (failures == 0 ? "" : ", " + counted(failures, "failure"));
    });
}

std::string render_switched(const std::vector<bus::Dict>& results, std::string_view done, Colour colour)
{
    return render_results(results, colour, [done](const bus::Dict& result) {
        return fmt::format("{}, {}", done, counted(number_of(result, "operations"), "operation"));
    });
}

std::string render_drift(const std::vector<bus::Dict>& drifts, Colour colour)
{
    if (drifts.empty()) {
        return styled("no drift: every element is as it should be", Style::Good, colour) + "\n";
    }
    Table table({{"DEVICE"}, {"ELEMENT"}, {"DRIFT"}, {"EXPECTED"}, {"FOUND"}});
    for (const auto& drift : drifts) {
        table.add({text_of(drift, "device"), text_of(drift, "path"), Cell(text_of(drift, "kind"), Style::Bad),
                   text_of(drift, "expected"), text_of(drift, "found")});
    }
    return table.render(colour);
}

std::string render_signal(const bus::Signal& signal)
{
    std::string text;
    if (signal.member == "PolicyChanged") {
        text = fmt::format("policy changed: revision {}", argument_text(signal, 0));
    } else if (signal.member == "DriftRepaired") {
        const auto elements = signal.arguments.size() > 1 ? signal.arguments[1].as_unsigned() : std::nullopt;
        text = fmt::format("drift repaired on {}: {}", argument_text(signal, 0),
                           counted(elements.value_or(0), "element"));
    } else if (signal.member == "DeviceChanged") {
        text = fmt::format("device {} is {}", argument_text(signal, 0), argument_text(signal, 1));
    } else if (signal.member == "GrantChanged") {
        text = fmt::format("grant of session {} changed", signal_subject(signal));
    } else if (signal.member == "InterfacesAdded") {
        text = fmt::format("added {}", argument_text(signal, 0));
    } else if (signal.member == "InterfacesRemoved") {
        text = fmt::format("removed {}", argument_text(signal, 0));
    } else if (signal.member == "PropertiesChanged") {
        text = fmt::format("{} changed: {}", signal.path, changed_properties_text(signal));
    } else {
        text = fmt::format("{} {}.{}", signal.path, signal.interface, signal.member);
    }
    return printable(text);
}

}    // namespace rdmaqos::ctl
