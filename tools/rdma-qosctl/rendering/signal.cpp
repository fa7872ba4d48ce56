#include "tools/rdma-qosctl/rendering/signal.h"

#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"
#include "lib/bus/device_path.h"
#include "lib/bus/names.h"
#include "tools/rdma-qosctl/rendering/port_classes.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

template <typename T>
const T* argument(const bus::Signal& signal, std::size_t index)
{
    return index < signal.arguments.size() ? signal.arguments[index].as<T>() : nullptr;
}

std::string text_argument(const bus::Signal& signal, std::size_t index)
{
    const auto* text = argument<std::string>(signal, index);
    return text == nullptr ? "" : *text;
}

std::string path_argument(const bus::Signal& signal, std::size_t index)
{
    const auto* path = argument<bus::ObjectPath>(signal, index);
    return path == nullptr ? "" : path->text;
}

std::string last_part(const std::string& path)
{
    return path.substr(path.rfind('/') + 1);
}

bool is_session(const std::string& path)
{
    return path.find("/session/") != std::string::npos;
}

// What a grant comes to: "level rpc, enforced", "level rpc, not enforced: the link is down".
std::string grant_in_words(const api::Grant& grant)
{
    const std::string named = grant.level.empty() ? "no level" : "level " + grant.level;
    return grant.enforced ? named + ", enforced"
                          : fmt::format("{}, not enforced{}{}", named, grant.reason.empty() ? "" : ": ", grant.reason);
}

std::string trial_in_words(const std::string& step, const std::string& revision)
{
    if (step == "begun") {
        return fmt::format("policy revision {} is being tried", revision);
    }
    if (step == "confirmed") {
        return fmt::format("policy revision {}, which was tried, is confirmed", revision);
    }
    const std::string_view why = step == "timeout"  ? "nobody has confirmed it in time"
                                 : step == "revert" ? "it was reverted"
                                 : step == "reload" ? "a reload has taken the files"
                                                    : std::string_view(step);
    return fmt::format("the trial is over, {}: back to policy revision {}", why, revision);
}

// The properties that changed, and what they are now; those that are only known to have changed are null.
using Changed = std::map<std::string, const bus::Value*>;

Changed changed_properties(const bus::Signal& signal)
{
    Changed changed;
    if (const auto* values = argument<bus::Dict>(signal, 1)) {
        for (const auto& [name, value] : values->entries()) {
            changed.emplace(name, &value);
        }
    }
    if (const auto* names = argument<std::vector<std::string>>(signal, 2)) {
        for (const auto& name : *names) {
            changed.emplace(name, nullptr);
        }
    }
    return changed;
}

// Takes the property out; null: it is not there, or of another type.
template <typename T>
const T* take_value(Changed& changed, const char* name)
{
    const auto found = changed.find(name);
    const bus::Value* value = found == changed.end() ? nullptr : found->second;
    const T* typed = value == nullptr ? nullptr : value->as<T>();
    if (typed != nullptr) {
        changed.erase(found);
    }
    return typed;
}

// Takes the property out; its text or number in words.
std::optional<std::string> take(Changed& changed, const char* name)
{
    const auto found = changed.find(name);
    if (found == changed.end()) {
        return std::nullopt;
    }
    const bus::Value* value = found->second;
    changed.erase(found);
    if (value == nullptr) {
        return std::nullopt;
    }
    if (const auto* text = value->as<std::string>()) {
        return *text;
    }
    if (const auto* flag = value->as<bool>()) {
        return *flag ? "yes" : "no";
    }
    const auto number = value->as_unsigned();
    return number ? std::optional(std::to_string(*number)) : std::nullopt;
}

// Other signals say these, or they follow from others.
constexpr std::array kSaidElsewhere{"State",         "Reason", "Grant",        "Level",      "PolicyRevision",
                                    "PolicySources", "Tree",   "ElementsFree", "LeavesFree", "Statistics"};

std::vector<std::string> facts_of(Changed& changed)
{
    std::vector<std::string> facts;
    const auto add = [&](const char* name, std::string_view format) {
        if (const auto value = take(changed, name)) {
            facts.push_back(fmt::format(fmt::runtime(format), *value));
        }
    };
    if (const auto up = take(changed, "LinkUp")) {
        facts.emplace_back(*up == "yes" ? "the link is up" : "the link is down");
    }
    if (const auto speed = take(changed, "LinkSpeed")) {
        facts.push_back("link speed " + to_string(Bandwidth::from_kbps(parse_number(*speed).value_or(0))));
    }
    add("QueuePairsInside", "{} queue pairs in leaves");
    add("QueuePairsOutside", "{} in none");
    add("ElementsUsed", "{} elements");
    add("LeavesUsed", "{} leaves");
    add("Mode", "mode {}");
    if (const auto* reload = take_value<bus::Dict>(changed, "LastReload")) {
        facts.emplace_back(api::read<api::Reload>(*reload).accepted
                               ? "the last reload was accepted"
                               : "the last reload was refused (`rdma-qosctl status`)");
    }
    if (const auto* diagnostics = take_value<std::vector<bus::Dict>>(changed, "FabricDiagnostics")) {
        facts.emplace_back(diagnostics->empty() ? "the fabric file is in use"
                                                : "the fabric file cannot be used (`rdma-qosctl status`)");
    }
    for (const char* name : kSaidElsewhere) {
        changed.erase(name);
    }
    if (!changed.empty()) {
        std::vector<std::string> rest;
        for (const auto& [name, value] : changed) {
            rest.push_back(name);
        }
        facts.push_back(fmt::format("new {}", fmt::join(rest, ", ")));
    }
    return facts;
}

}    // namespace

std::optional<SessionView> Narrator::ask_session(const std::string& path)
{
    const auto properties = look_up_(path, bus::names::kSession);
    if (!properties) {
        names_.try_emplace(path, "session " + last_part(path));
        return std::nullopt;
    }
    SessionView session = to_session(path, *properties);
    api::Owner& owner = session.owner;
    owner.user = users_.name_of(owner.uid);
    names_[path] = fmt::format("session {} ({}{}pid {}, {})", session.id, owner.command,
                               owner.command.empty() ? "" : ", ", owner.pid, owner_text(owner.user, owner.uid));
    return session;
}

std::optional<DeviceView> Narrator::ask_device(const std::string& path)
{
    const auto properties = look_up_(path, bus::names::kDevice);
    if (!properties) {
        names_.try_emplace(path, bus::device_of_path(path.c_str()).value_or("device " + last_part(path)));
        return std::nullopt;
    }
    DeviceView device = to_device(*properties);
    names_[path] = device.key();
    return device;
}

std::string Narrator::session(const std::string& path)
{
    if (!names_.contains(path)) {
        static_cast<void>(ask_session(path));
    }
    return names_.at(path);
}

std::string Narrator::device(const std::string& path)
{
    if (!names_.contains(path)) {
        static_cast<void>(ask_device(path));
    }
    return names_.at(path);
}

std::string Narrator::name_of(const std::string& path)
{
    return is_session(path) ? session(path) : path == bus::names::kRoot ? "rdma-qosd" : device(path);
}

std::string Narrator::came(const std::string& path)
{
    if (!is_session(path)) {
        return device(path) + " is managed";
    }
    const auto session = ask_session(path);
    const bool has_grant = session && !(session->grant.level.empty() && session->grant.rule.empty());
    return names_.at(path) + (session && session->adopted ? " was adopted" : " registered") +
           (has_grant ? ": " + grant_in_words(session->grant) : "");
}

std::string Narrator::changed_port(const std::string& path, const bus::Dict& port)
{
    auto now = api::read<api::Port>(port);
    const auto known = ports_.find(path);
    std::string words = change_in_words(known == ports_.end() ? std::nullopt : std::optional(known->second), now);
    ports_.insert_or_assign(path, std::move(now));
    return words;
}

std::string Narrator::changed(const bus::Signal& signal)
{
    Changed properties = changed_properties(signal);
    std::vector<std::string> facts;
    if (const auto state = properties.find("State"); is_session(signal.path) && state != properties.end()) {
        facts.push_back(take(properties, "State").value_or("changed"));
    }
    if (const auto* port = take_value<bus::Dict>(properties, "PortClasses")) {
        if (std::string words = changed_port(signal.path, *port); !words.empty()) {
            facts.push_back(std::move(words));
        }
    }
    for (auto& fact : facts_of(properties)) {
        facts.push_back(std::move(fact));
    }
    return facts.empty() ? std::string() : fmt::format("{}: {}", name_of(signal.path), fmt::join(facts, ", "));
}

std::string Narrator::sentence(const bus::Signal& signal)
{
    std::string text;
    if (signal.member == "PolicyChanged") {
        text = fmt::format("policy revision {} is in force", text_argument(signal, 0));
    } else if (signal.member == "TrialChanged") {
        text = trial_in_words(text_argument(signal, 0), text_argument(signal, 1));
    } else if (signal.member == "DriftRepaired") {
        const auto elements = signal.arguments.size() > 1 ? signal.arguments[1].as_unsigned().value_or(0) : 0;
        text = fmt::format("{}: {} had drifted and {} repaired", device(path_argument(signal, 0)),
                           counted(elements, "element"), elements == 1 ? "was" : "were");
    } else if (signal.member == "DeviceChanged") {
        const std::string path = path_argument(signal, 0);
        const auto view = ask_device(path);
        const std::string reason = view ? view->reason : "";
        text = fmt::format("{} is {}{}{}", names_.at(path), text_argument(signal, 1), reason.empty() ? "" : ": ",
                           reason);
    } else if (signal.member == "GrantChanged") {
        const auto* grant = argument<bus::Dict>(signal, 0);
        text = fmt::format("{}: {}", session(signal.path),
                           grant_in_words(grant == nullptr ? api::Grant() : api::read<api::Grant>(*grant)));
    } else if (signal.member == "InterfacesAdded") {
        text = came(path_argument(signal, 0));
    } else if (signal.member == "InterfacesRemoved") {
        const std::string path = path_argument(signal, 0);
        text = fmt::format("{} {}", name_of(path), is_session(path) ? "ended" : "is not managed any more");
        names_.erase(path);
        ports_.erase(path);
    } else if (signal.member == "PropertiesChanged") {
        text = changed(signal);
    } else {
        text = fmt::format("{} {}.{}", signal.path, signal.interface, signal.member);
    }
    return printable(text);
}

std::string render_change(const std::string& time, const std::string& sentence, const Screen& screen)
{
    const std::string head = time + "  ";
    return fmt::format("{}{}\n", head, sentence_on(screen, head.size(), head.size(), sentence));
}

Json signal_json(const bus::Signal& signal, const std::string& time, const std::string& text)
{
    Json arguments = Json::array();
    for (const auto& argument : signal.arguments) {
        arguments.push_back(to_json(argument));
    }
    return {{"time", time},
            {"path", signal.path},
            {"interface", signal.interface},
            {"signal", signal.member},
            {"arguments", std::move(arguments)},
            {"text", text}};
}

}    // namespace rdmaqos::ctl
