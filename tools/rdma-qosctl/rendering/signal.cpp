#include "tools/rdma-qosctl/rendering/signal.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/text.h"

namespace rdmaqos::ctl {
namespace {

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

Json signal_json(const bus::Signal& signal, const std::string& time)
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
            {"text", render_signal(signal)}};
}

}    // namespace rdmaqos::ctl
