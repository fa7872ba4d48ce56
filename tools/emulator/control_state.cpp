#include "tools/emulator/control_state.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <rdma/ib_user_ioctl_verbs.h>

#include "lib/base/try.h"
#include "tools/emulator/controlled.h"

namespace rdmaqos::emulator {
namespace {

using Json = nlohmann::ordered_json;

std::string type_name(std::uint8_t verbs_type)
{
    switch (verbs_type) {
    case IB_UVERBS_QPT_RC:
        return "rc";
    case IB_UVERBS_QPT_UC:
        return "uc";
    case IB_UVERBS_QPT_UD:
        return "ud";
    case IB_UVERBS_QPT_RAW_PACKET:
        return "raw-packet";
    default:
        return std::to_string(verbs_type);
    }
}

Json element_json(const ElementRecord& record, const std::optional<DeviceTraffic>& traffic)
{
    Json json{{"id", static_cast<std::uint32_t>(record.id)},
              {"element", record.kind == ElementKind::Leaf ? "queue-group" : "tsar"}};
    if (record.parent) {
        json["parent"] = static_cast<std::uint32_t>(*record.parent);
    }
    json["context"] = static_cast<std::uint32_t>(record.context);
    if (record.form == ElementForm::Legacy) {
        json["legacy"] = true;
    }
    json["bw-share"] = record.share;
    json["max-average-bw"] = record.max_rate_mbps;
    json["queue-pairs"] = record.queue_pairs;
    if (traffic) {
        const auto sent = traffic->elements.find(static_cast<std::uint32_t>(record.id));
        json["bytes"] = sent == traffic->elements.end() ? 0 : sent->second;
    }
    return json;
}

Json queue_pair_json(const QueuePairRecord& record, const std::optional<DeviceTraffic>& traffic)
{
    Json json{{"qpn", record.number},
              {"type", to_string(record.type)},
              {"state", to_string(record.state)},
              {"requester", static_cast<std::uint32_t>(record.requester)},
              {"responder", static_cast<std::uint32_t>(record.responder)}};
    if (record.rate) {
        json["rate-kbps"] = record.rate->rate.kbps();
        json["max-burst"] = record.rate->max_burst.value_or(0);
        json["typical-packet"] = record.rate->typical_packet.value_or(0);
    }
    if (traffic) {
        const auto moved = traffic->queue_pairs.find(record.number);
        const TrafficCount count = moved == traffic->queue_pairs.end() ? TrafficCount{} : moved->second;
        json["bytes"] = count.bytes;
        json["packets"] = count.packets;
    }
    return json;
}

Json device_json(ControlledDevice& device)
{
    const FirmwareUsage usage = device.firmware().usage();
    const bool present = device.firmware().presence() == DevicePresence::Present;
    Json json{{"name", device.name()}, {"present", present}};
    if (const auto uverbs = device.uverbs()) {
        json["uverbs"] = *uverbs;
    }
    json["files"] = device.files();
    json["elements"] = usage.elements;
    json["leaves"] = usage.leaves;
    json["pacing-entries"] = usage.pacing_entries;
    json["leaked"] = device.leaked();
    json["queue-groups"] = to_string(device.firmware().isolation());
    if (const auto objects = device.objects()) {
        json["objects"] = *objects;
    }
    const auto traffic = device.traffic();
    if (traffic) {
        json["ports"] = Json::array();
        for (const auto& port : traffic->ports) {
            json["ports"].push_back({{"port", json["ports"].size() + 1},
                                     {"sent-bytes", port.sent.bytes},
                                     {"sent-packets", port.sent.packets},
                                     {"received-bytes", port.received.bytes},
                                     {"received-packets", port.received.packets}});
        }
    }
    if (const auto writes = device.dcb_writes()) {
        json["dcb-writes"] = *writes;
    }
    if (const auto classes = device.port_classes(); classes && *classes != PortClasses()) {
        json["port-classes"] = Json::array();
        json["class-bytes"] = traffic ? Json(traffic->classes) : Json::array();
        for (const auto& word : words_of(*classes)) {
            json["port-classes"].push_back(word);
        }
    }
    json["tree"] = Json::array();
    for (const auto& element : device.firmware().elements()) {
        json["tree"].push_back(element_json(element, traffic));
    }
    json["queue-pairs"] = Json::array();
    for (const auto& queue_pair : device.firmware().queue_pairs()) {
        json["queue-pairs"].push_back(queue_pair_json(queue_pair, traffic));
    }
    return json;
}

}    // namespace

Result<std::string> describe_state(Controlled& host, const std::vector<std::string>& words)
{
    Json all{{"calls", host.calls()}, {"internal-errors", host.internal_errors()}};
    all["devices"] = Json::array();
    for (const auto& device : host.devices()) {
        all["devices"].push_back(device_json(*device));
    }
    if (!words.empty() && words.front() == "--json") {
        return all.dump(2) + "\n";
    }
    std::string text;
    for (const auto& device : all["devices"]) {
        text += fmt::format("{}  {}  {} open, {} elements ({} leaves), {} queue pairs, {} pacing entries, {} leaked\n",
                            device["name"].get<std::string>(),
                            device["present"].get<bool>() ? device.value("uverbs", "present") : "away",
                            device["files"].dump(), device["elements"].dump(), device["leaves"].dump(),
                            device["queue-pairs"].size(), device["pacing-entries"].dump(), device["leaked"].dump());
        if (device.contains("port-classes")) {
            text += fmt::format("    port-classes={} class-bytes={}\n", device["port-classes"].dump(),
                                device["class-bytes"].dump());
        }
        if (device.value("dcb-writes", 0) > 0) {
            text += fmt::format("    dcb-writes={}\n", device["dcb-writes"].dump());
        }
        for (const char* list : {"ports", "tree", "queue-pairs"}) {
            for (const auto& entry : device.value(list, Json::array())) {
                text += "   ";
                for (const auto& [name, value] : entry.items()) {
                    text += fmt::format(" {}={}", name, value.is_string() ? value.get<std::string>() : value.dump());
                }
                text += "\n";
            }
        }
    }
    return text + fmt::format("{} calls\n", host.calls());
}

Result<std::string> describe_resource(Controlled& host, const std::vector<std::string>& words)
{
    if (words.empty() || words.front() != "qp") {
        return fail(ErrorCode::InvalidArgument, "which resource? there is: resource qp");
    }
    std::string text;
    for (const auto& device : host.devices()) {
        const auto owners = TRY(device->owners());
        for (const auto& owner : owners) {
            text += Json{{"device", device->name()},
                         {"qpn", owner.number},
                         {"pid", owner.process},
                         {"type", type_name(owner.verbs_type)},
                         {"state", to_string(owner.state)}}
                        .dump() +
                    "\n";
        }
    }
    return text;
}

}    // namespace rdmaqos::emulator
