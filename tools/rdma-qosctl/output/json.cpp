#include "tools/rdma-qosctl/output/json.h"

#include <optional>
#include <variant>

#include <nlohmann/json.hpp>

#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {
namespace {

struct ToJson {
    Json operator()(bool value) const { return value; }
    Json operator()(std::uint8_t value) const { return value; }
    Json operator()(std::uint16_t value) const { return value; }
    Json operator()(std::uint32_t value) const { return value; }
    Json operator()(std::uint64_t value) const { return value; }
    Json operator()(std::int32_t value) const { return value; }
    Json operator()(std::int64_t value) const { return value; }
    Json operator()(double value) const { return value; }
    Json operator()(const std::string& value) const { return value; }
    Json operator()(const bus::ObjectPath& value) const { return value.text; }
    Json operator()(const bus::FileDescriptor&) const { return nullptr; }
    Json operator()(const std::vector<std::string>& value) const { return value; }
    Json operator()(const bus::Dict& value) const { return to_json(value); }
    Json operator()(const std::vector<bus::Dict>& value) const { return to_json(value); }
    Json operator()(const bus::Counts& value) const { return to_json(value); }
    Json operator()(const bus::Triples& value) const { return value; }
    Json operator()(const bus::Unsupported&) const { return nullptr; }
};

}    // namespace

std::string to_text(const Json& json)
{
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_line(const Json& json)
{
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void set_text(Json& json, const char* key, const std::string& value)
{
    if (!value.empty()) {
        json[key] = value;
    }
}

void set_rate(Json& json, const char* key, const std::optional<Bandwidth>& rate)
{
    if (rate) {
        json[key] = rate->kbps();
    }
}

Json to_json(const bus::Value& value)
{
    return std::visit(ToJson{}, value.data);
}

Json to_json(const bus::Dict& dict)
{
    Json json = Json::object();
    for (const auto& [key, value] : dict.entries()) {
        json[key] = to_json(value);
    }
    return json;
}

Json to_json(const std::vector<bus::Dict>& dicts)
{
    Json json = Json::array();
    for (const auto& dict : dicts) {
        json.push_back(to_json(dict));
    }
    return json;
}

Json to_json(const bus::Counts& counts)
{
    Json json = Json::object();
    for (const auto& [name, count] : counts) {
        json[name] = count;
    }
    return json;
}

Json to_json(const Diagnostics& diagnostics)
{
    Json json = Json::array();
    for (const auto& diagnostic : diagnostics.all()) {
        Json entry{{"severity", std::string(to_string(diagnostic.severity))}};
        if (diagnostic.location.file) {
            entry["file"] = diagnostic.location.file->name;
            if (diagnostic.location.line != 0) {
                entry["line"] = diagnostic.location.line;
                entry["column"] = diagnostic.location.column;
                entry["length"] = diagnostic.location.length;
            }
        }
        entry["message"] = diagnostic.message;
        set_text(entry, "hint", diagnostic.hint);
        json.push_back(std::move(entry));
    }
    return json;
}

Json error_json(const Error& error)
{
    Json json{{"name", std::string(dbus_name(error.code))}, {"message", to_string(error)}};
    set_text(json, "hint", advice(error));
    json["exit-status"] = static_cast<int>(exit_status(error.code));
    return {{"error", std::move(json)}};
}

}    // namespace rdmaqos::ctl
