#include "tools/rdma-qosctl/rendering/world_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/base/net.h"
#include "tools/rdma-qosctl/rendering/devices.h"
#include "tools/rdma-qosctl/rendering/marks.h"
#include "tools/rdma-qosctl/rendering/port_classes.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

// As the daemon has them, with the name of the errno.
Json self_test_json(const std::vector<api::SelfTestStep>& steps)
{
    Json list = Json::array();
    for (const auto& step : steps) {
        Json json = Json::object();
        const Json plain = api::to_json(step);
        for (const auto& [key, value] : plain.items()) {
            json[key] = value;
            if (key == "errno") {
                json["errno-name"] = errno_name(step.sys_errno);
            }
        }
        list.push_back(std::move(json));
    }
    return list;
}

Json attributes_json(const std::vector<AttributeView>& attributes)
{
    Json list = Json::array();
    for (const auto& attribute : attributes) {
        Json json{{"name", attribute.name}, {"value", attribute.value}};
        set_text(json, "meaning", attribute.meaning);
        list.push_back(std::move(json));
    }
    return list;
}

Json report_json(const HardwareReport& report, const DeviceView& device)
{
    Json json{{"device", device.key()}};
    set_text(json, "driver", device.driver);
    set_text(json, "board-id", device.board_id);
    set_text(json, "firmware", device.firmware);
    set_text(json, "pci-address", device.pci_address);
    json["virtual-function"] = device.virtual_function;
    json["in-bond"] = !device.bond.empty();
    json["node-guid"] = report.guid(device.node_guid);
    json["port-guid"] = report.guid(device.port_guid);
    set_text(json, "link-layer", device.link_layer);
    json["link-up"] = device.link_up;
    json["link-speed"] = device.link_speed.kbps();
    json["state"] = device.state;
    json["attach-mode"] = device.attach_mode;
    set_text(json, "attach-reason", device.attach_reason);
    json["self-test"] = self_test_json(device.self_test);
    json["capabilities"] = api::to_json(device.capabilities);
    json["attributes"] = attributes_json(device.attributes);
    return json;
}

Json busy_class_json(const BusyClass& busy)
{
    Json json{{"port-class", busy.number}, {"strict", busy.port_class.is_strict}};
    if (!busy.port_class.is_strict) {
        json["weight"] = busy.port_class.weight;
    }
    if (busy.port_class.max_rate) {
        json["max-rate"] = busy.port_class.max_rate->kbps();
    }
    json["levels"] = busy.levels;
    json["gets"] = busy.gets.kbps();
    return json;
}

Json tree_json(const DeviceView& device, const BusyRates* busy)
{
    Json elements = Json::array();
    for (const auto& element : device.tree) {
        Json json = api::to_json(element);
        if (busy != nullptr) {
            if (const auto rate = busy->leaves.find(element.path); rate != busy->leaves.end()) {
                json["gets"] = rate->second.kbps();
            }
        }
        elements.push_back(std::move(json));
    }
    Json json{{"device", device.key()}, {"state", device.state}, {"elements", std::move(elements)}};
    if (busy != nullptr) {
        json["queue-pairs-outside"] = device.queue_pairs_outside;
        for (const auto& each : busy->classes) {
            json["port-classes"].push_back(busy_class_json(each));
        }
    }
    return json;
}

}    // namespace

Json unchecked_json(const std::vector<port_lint::Unchecked>& unchecked)
{
    Json list = Json::array();
    for (const auto& [interface, what, why] : unchecked) {
        list.push_back({{"interface", interface}, {"what", what}, {"why", why}});
    }
    return list;
}

Json device_json(const DeviceView& device)
{
    Json json{{"device", device.key()}, {"name", device.name}, {"port", device.port}, {"state", device.state}};
    set_text(json, "reason", device.reason);
    json["node-guid"] = to_string(Guid{device.node_guid});
    json["port-guid"] = to_string(Guid{device.port_guid});
    set_text(json, "netdev", device.netdev);
    set_text(json, "pci-address", device.pci_address);
    set_text(json, "driver", device.driver);
    set_text(json, "firmware", device.firmware);
    set_text(json, "board-id", device.board_id);
    json["virtual-function"] = device.virtual_function;
    set_text(json, "bond", device.bond);
    set_text(json, "link-layer", device.link_layer);
    json["link-up"] = device.link_up;
    json["link-speed"] = device.link_speed.kbps();
    json["attach-mode"] = device.attach_mode;
    set_text(json, "attach-reason", device.attach_reason);
    if (device.attach_mode == "per-process") {
        set_text(json, "cap-mode", device.cap_mode);
        set_text(json, "cap-reason", device.cap_reason);
    }
    json["capabilities"] = api::to_json(device.capabilities);
    json["elements"] = {{"used", device.elements_used}, {"free", device.elements_free}};
    json["leaves"] = {{"used", device.leaves_used}, {"free", device.leaves_free}};
    json["queue-pairs"] = {{"inside", device.queue_pairs_inside}, {"outside", device.queue_pairs_outside}};
    json["findings"] = api::to_json(device.findings);
    json["failures"] = api::to_json(device.failures);
    json["statistics"] = to_json(device.statistics);
    return json;
}

Json reload_json(const ReloadView& reload)
{
    return {{"accepted", reload.accepted},
            {"diagnostics", to_json(reload.diagnostics)},
            {"findings", api::to_json(reload.findings)},
            {"left-out", api::to_json(reload.left_out)},
            {"unanswered", reload.unanswered},
            {"lost-levels", api::to_json(reload.lost_levels)},
            {"failures", api::to_json(reload.failures)}};
}

Json session_json(const SessionView& session)
{
    return {{"session", session.id},
            {"adopted", session.adopted},
            {"state", session.state},
            {"level", session.level},
            {"owner", api::to_json(session.owner)},
            {"grant", api::to_json(session.grant)},
            {"queue-pairs", api::to_json(session.queue_pairs)}};
}

Json devices_json(const std::vector<const DeviceView*>& devices, const ManagerView* absent,
                  const std::vector<api::Level>& levels)
{
    Json list = Json::array();
    for (const auto* device : devices) {
        Json json = device_json(*device);
        set_port_classes(json, *device, levels);
        set_traffic(json, *device, levels);
        json["self-test"] = self_test_json(device->self_test);
        json["attributes"] = attributes_json(device->attributes);
        list.push_back(std::move(json));
    }
    if (absent != nullptr) {
        for (const auto& device : absent->refused_devices) {
            Json json = api::to_json(device);
            json["state"] = "refused";
            list.push_back(std::move(json));
        }
        for (const auto& key : absent->released_devices) {
            list.push_back({{"device", key}, {"state", "released"}});
        }
    }
    return {{"devices", std::move(list)}};
}

Json hardware_report_json(const HardwareReport& report)
{
    Json list = Json::array();
    for (const auto& device : report.devices) {
        list.push_back(report_json(report, device));
    }
    return {{"rdma-qosd", report.daemon},     {"rdma-qosctl", report.host.program}, {"kernel", report.host.kernel},
            {"machine", report.host.machine}, {"guids-masked", report.masked},      {"devices", std::move(list)}};
}

Json sessions_json(const std::vector<SessionView>& sessions)
{
    Json list = Json::array();
    for (const auto& session : sessions) {
        list.push_back(session_json(session));
    }
    return {{"sessions", std::move(list)}};
}

Json trees_json(const std::vector<const DeviceView*>& devices, const std::vector<BusyRates>& busy)
{
    Json list = Json::array();
    for (std::size_t i = 0; i < devices.size(); ++i) {
        list.push_back(tree_json(*devices[i], i < busy.size() ? &busy[i] : nullptr));
    }
    return {{"trees", std::move(list)}};
}

}    // namespace rdmaqos::ctl
