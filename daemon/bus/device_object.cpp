#include "daemon/bus/device_object.h"

#include "daemon/bus/endpoint.h"
#include "daemon/bus/object_paths.h"

namespace rdmaqos {
namespace {

using bus::Writer;

// What a getter writes when the device has just gone: empty values.
const DeviceStatus& device_at(BusEndpoint& endpoint, const char* path)
{
    static const DeviceStatus kGone = [] {
        DeviceStatus status;
        status.state = DeviceState::Gone;
        return status;
    }();
    const auto key = device_of_path(path);
    const auto* status = key ? endpoint.context.device(*key) : nullptr;
    return status == nullptr ? kGone : *status;
}

// One getter per property: `read(const DeviceStatus&)` gives what is written.
template <auto read>
void get(BusEndpoint& endpoint, sd_bus* /*bus*/, const char* path, Writer& writer)
{
    writer.put(read(device_at(endpoint, path)));
}

std::vector<std::string> findings(const DeviceStatus& status)
{
    std::vector<std::string> texts;
    for (const auto& finding : status.findings) {
        texts.push_back(to_string(finding));
    }
    texts.insert(texts.end(), status.attach_notes.begin(), status.attach_notes.end());
    return texts;
}

std::vector<std::string> failures(const DeviceStatus& status)
{
    std::vector<std::string> texts;
    if (status.snapshot) {
        for (const auto& failure : status.snapshot->failures) {
            texts.push_back(to_sentence(failure));
        }
        for (const auto& unreachable : status.snapshot->unreachable) {
            texts.push_back(unreachable.path.text() + ": " + unreachable.why);
        }
    }
    return texts;
}

bus::Counts statistics(const DeviceStatus& status)
{
    const Counters counters = status.snapshot ? status.snapshot->counters : Counters{};
    return {{"operations", counters.operations},
            {"failed", counters.failed},
            {"retries", counters.retries},
            {"drift-found", counters.drift_found},
            {"drift-repaired", counters.drift_repaired},
            {"queue-depth", status.queue_depth}};
}

void on_counters(BusEndpoint& endpoint, const Call& call, const Peer& /*peer*/)
{
    const auto key = device_of_path(sd_bus_message_get_path(call.message()));
    endpoint.context.service.counters(key.value_or(""), [call](const Result<CounterReading>& reading) {
        if (reading) {
            call.reply([&](Writer& writer) { write(writer, *reading); });
        } else {
            call.refuse(reading.error());
        }
    });
}

void get_capabilities(BusEndpoint& endpoint, sd_bus* /*bus*/, const char* path, Writer& writer)
{
    write(writer, device_at(endpoint, path).capabilities);
}

void get_self_test(BusEndpoint& endpoint, sd_bus* /*bus*/, const char* path, Writer& writer)
{
    write(writer, device_at(endpoint, path).attach.steps);
}

void get_attributes(BusEndpoint& endpoint, sd_bus* /*bus*/, const char* path, Writer& writer)
{
    const auto& attributes = device_at(endpoint, path).attributes;
    write(writer, attributes ? *attributes : std::vector<DeviceAttribute>());
}

void get_tree(BusEndpoint& endpoint, sd_bus* /*bus*/, const char* path, Writer& writer)
{
    write_tree(writer, device_at(endpoint, path));
}

constexpr auto kChanges = SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE;
constexpr auto kConst = SD_BUS_VTABLE_PROPERTY_CONST;
constexpr auto kInvalidates = SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION;

using Status = const DeviceStatus&;
constexpr auto kName = [](Status status) { return status.info.name; };
constexpr auto kPort = [](Status status) { return status.info.port; };
constexpr auto kNodeGuid = [](Status status) { return status.info.node_guid.value; };
constexpr auto kPortGuid = [](Status status) { return status.info.port_guid.value; };
constexpr auto kNetDev = [](Status status) { return status.info.netdev; };
constexpr auto kPciAddress = [](Status status) { return status.info.pci_address; };
constexpr auto kDriver = [](Status status) { return status.info.driver; };
constexpr auto kFirmware = [](Status status) { return status.info.firmware; };
constexpr auto kBoardId = [](Status status) { return status.info.board_id; };
constexpr auto kVirtualFunction = [](Status status) { return status.info.virtual_function; };
constexpr auto kBond = [](Status status) { return status.info.bond; };
constexpr auto kLinkLayer = [](Status status) { return to_string(status.info.link_layer); };
constexpr auto kLinkUp = [](Status status) { return status.info.link_up; };
constexpr auto kLinkSpeed = [](Status status) { return status.info.link_speed.kbps(); };
constexpr auto kState = [](Status status) { return to_string(status.state); };
constexpr auto kReason = [](Status status) { return status.reason; };
constexpr auto kAttachMode = [](Status status) { return to_string(status.attach.mode); };
constexpr auto kAttachReason = [](Status status) { return status.attach.reason; };
constexpr auto kInside = [](Status status) { return status.queue_pairs_inside; };
constexpr auto kOutside = [](Status status) { return status.queue_pairs_outside; };

const sd_bus_vtable kVtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD_WITH_ARGS("Counters", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", counters), method<on_counters>,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_PROPERTY("Name", "s", property<get<kName>>, 0, kConst),
    SD_BUS_PROPERTY("Port", "u", property<get<kPort>>, 0, kConst),
    SD_BUS_PROPERTY("NodeGUID", "t", property<get<kNodeGuid>>, 0, kConst),
    SD_BUS_PROPERTY("PortGUID", "t", property<get<kPortGuid>>, 0, kConst),
    SD_BUS_PROPERTY("NetDev", "s", property<get<kNetDev>>, 0, kChanges),
    SD_BUS_PROPERTY("PCIAddress", "s", property<get<kPciAddress>>, 0, kConst),
    SD_BUS_PROPERTY("Driver", "s", property<get<kDriver>>, 0, kConst),
    SD_BUS_PROPERTY("Firmware", "s", property<get<kFirmware>>, 0, kConst),
    SD_BUS_PROPERTY("BoardId", "s", property<get<kBoardId>>, 0, kConst),
    SD_BUS_PROPERTY("VirtualFunction", "b", property<get<kVirtualFunction>>, 0, kConst),
    SD_BUS_PROPERTY("Bond", "s", property<get<kBond>>, 0, kChanges),
    SD_BUS_PROPERTY("LinkLayer", "s", property<get<kLinkLayer>>, 0, kChanges),
    SD_BUS_PROPERTY("LinkUp", "b", property<get<kLinkUp>>, 0, kChanges),
    SD_BUS_PROPERTY("LinkSpeed", "t", property<get<kLinkSpeed>>, 0, kChanges),
    SD_BUS_PROPERTY("State", "s", property<get<kState>>, 0, kChanges),
    SD_BUS_PROPERTY("Reason", "s", property<get<kReason>>, 0, kChanges),
    SD_BUS_PROPERTY("AttachMode", "s", property<get<kAttachMode>>, 0, kChanges),
    SD_BUS_PROPERTY("AttachReason", "s", property<get<kAttachReason>>, 0, kChanges),
    SD_BUS_PROPERTY("SelfTest", "aa{sv}", property<get_self_test>, 0, kInvalidates),
    SD_BUS_PROPERTY("Attributes", "a(sss)", property<get_attributes>, 0, kConst),
    SD_BUS_PROPERTY("Capabilities", "a{sv}", property<get_capabilities>, 0, kConst),
    SD_BUS_PROPERTY("ElementsUsed", "u", property<get<elements_used>>, 0, kChanges),
    SD_BUS_PROPERTY("ElementsFree", "u", property<get<elements_free>>, 0, kChanges),
    SD_BUS_PROPERTY("LeavesUsed", "u", property<get<leaves_used>>, 0, kChanges),
    SD_BUS_PROPERTY("LeavesFree", "u", property<get<leaves_free>>, 0, kChanges),
    SD_BUS_PROPERTY("QueuePairsInside", "u", property<get<kInside>>, 0, kChanges),
    SD_BUS_PROPERTY("QueuePairsOutside", "u", property<get<kOutside>>, 0, kChanges),
    SD_BUS_PROPERTY("Tree", "aa{sv}", property<get_tree>, 0, kInvalidates),
    SD_BUS_PROPERTY("Findings", "as", property<get<findings>>, 0, kChanges),
    SD_BUS_PROPERTY("Failures", "as", property<get<failures>>, 0, kChanges),
    SD_BUS_PROPERTY("Statistics", "a{st}", property<get<statistics>>, 0, 0),
    SD_BUS_VTABLE_END,
};

}    // namespace

const sd_bus_vtable* device_vtable()
{
    return kVtable;
}

}    // namespace rdmaqos
