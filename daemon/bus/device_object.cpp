#include "daemon/bus/device_object.h"

#include "daemon/bus/authorize.h"
#include "daemon/bus/convert_report.h"
#include "daemon/bus/endpoint.h"
#include "daemon/bus/object_paths.h"
#include "daemon/service/device_control.h"
#include "daemon/service/managed_ports.h"
#include "lib/api/device.h"

namespace rdmaqos {
namespace {

using bus::Writer;

// What a getter writes when the device has just gone: empty values.
const DeviceStatus& device_at(BusContext& context, const char* path)
{
    static const DeviceStatus kGone = [] {
        DeviceStatus status;
        status.state = DeviceState::Gone;
        return status;
    }();
    const auto key = device_of_path(path);
    const auto* status = key ? context.device(*key) : nullptr;
    return status == nullptr ? kGone : *status;
}

// One getter per property: `read(const DeviceStatus&)` gives what is written.
template <auto read>
void get(BusContext& context, const char* path, Writer& writer)
{
    writer.put(read(device_at(context, path)));
}

bus::Counts statistics(const DeviceStatus& status)
{
    const Counters counters = status.snapshot ? status.snapshot->counters : Counters{};
    return api::to_counts(api::DeviceStatistics{counters.operations, counters.failed, counters.retries,
                                                counters.drift_found, counters.drift_repaired, status.queue_depth});
}

void on_counters(BusEndpoint& endpoint, const Call& call, const Peer& /*peer*/)
{
    const auto key = device_of_path(sd_bus_message_get_path(call.message()));
    endpoint.context.service.device_control().counters(
        key.value_or(""), [call](const Result<CounterReading>& reading) { call.answer(reading); });
}

// `ask`: for devices by name.
template <auto ask>
void on_this(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    const auto key = device_of_path(sd_bus_message_get_path(call.message()));
    auto& service = endpoint.context.service;
    when_authorized(endpoint, call, peer, Action::Manage, [&service, call, key = key.value_or("")] {
        (service.device_control().*ask)(key, call.reply_of_device());
    });
}

void on_verify(BusEndpoint& endpoint, const Call& call, const Peer& peer)
{
    const auto key = device_of_path(sd_bus_message_get_path(call.message()));
    auto& service = endpoint.context.service;
    when_authorized(endpoint, call, peer, Action::Manage, [&service, call, key = key.value_or("")] {
        service.device_control().verify(key,
                                        [call](const Result<std::vector<DeviceDrift>>& drift) { call.answer(drift); });
    });
}

constexpr Handler kReconcile = on_this<&DeviceControl::reconcile>;
constexpr Handler kDisable = on_this<&DeviceControl::disable>;
constexpr Handler kEnable = on_this<&DeviceControl::enable>;
constexpr Handler kRelease = on_this<&DeviceControl::release>;

void get_capabilities(BusContext& context, const char* path, Writer& writer)
{
    write(writer, device_at(context, path).capabilities);
}

void get_self_test(BusContext& context, const char* path, Writer& writer)
{
    write(writer, device_at(context, path).attach.steps);
}

void get_attributes(BusContext& context, const char* path, Writer& writer)
{
    const auto& attributes = device_at(context, path).attributes;
    write(writer, attributes ? *attributes : std::vector<DeviceAttribute>());
}

void get_findings(BusContext& context, const char* path, Writer& writer)
{
    write_findings(writer, device_at(context, path));
}

void get_failures(BusContext& context, const char* path, Writer& writer)
{
    write_failures(writer, device_at(context, path));
}

// Told to nobody: it changes with every reading.
void get_port_traffic(BusContext& context, const char* path, Writer& writer)
{
    const auto traffic = context.service.ports().traffic(device_of_path(path).value_or(""));
    api::write(writer, traffic ? to_record(*traffic) : api::PortTraffic());
}

void get_port_classes(BusContext& context, const char* path, Writer& writer)
{
    api::Port port = to_record(context.service.ports().status(device_of_path(path).value_or("")));
    if (writer.digests()) {
        port.read_at.reset();    // that it was read again, and is the same, is no change
    }
    api::write(writer, port);
}

void get_tree(BusContext& context, const char* path, Writer& writer)
{
    const DeviceStatus& status = device_at(context, path);
    if (writer.digests()) {
        // Thousands of elements are not gone through to see whether they differ.
        writer.put(status.snapshot ? status.snapshot->tree_revision : std::uint64_t{0});
        // Those of the policy's elements, of which there are few.
        for (const auto& [element, requested] : status.requested) {
            writer.put(element.text());
            writer.put(std::uint64_t{requested.share.value_or(0)});
            writer.put(requested.min_rate.value_or(Bandwidth{}).kbps());
        }
        return;
    }
    write_tree(writer, status);
}

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
constexpr auto kCapMode = [](Status status) { return to_string(status.attach.caps_now()); };
constexpr auto kCapReason = [](Status status) { return status.attach.not_adaptive; };
constexpr auto kInside = [](Status status) { return status.queue_pairs_inside; };
constexpr auto kOutside = [](Status status) { return status.queue_pairs_outside; };

const sd_bus_vtable kDeviceMethods[] = {
    SD_BUS_METHOD_WITH_ARGS("Counters", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", counters), method<on_counters>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Reconcile", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", result), method<kReconcile>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Verify", SD_BUS_NO_ARGS, SD_BUS_RESULT("aa{sv}", drift), method<on_verify>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Disable", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", result), method<kDisable>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Enable", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", result), method<kEnable>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("Release", SD_BUS_NO_ARGS, SD_BUS_RESULT("a{sv}", result), method<kRelease>, kOpen),
};

constexpr Property kDeviceProperties[] = {
    property<get<kName>>("Name", "s", kConst),
    property<get<kPort>>("Port", "u", kConst),
    property<get<kNodeGuid>>("NodeGUID", "t", kConst),
    property<get<kPortGuid>>("PortGUID", "t", kChanges),
    property<get<kNetDev>>("NetDev", "s", kChanges),
    property<get<kPciAddress>>("PCIAddress", "s", kConst),
    property<get<kDriver>>("Driver", "s", kConst),
    property<get<kFirmware>>("Firmware", "s", kConst),
    property<get<kBoardId>>("BoardId", "s", kConst),
    property<get<kVirtualFunction>>("VirtualFunction", "b", kConst),
    property<get<kBond>>("Bond", "s", kChanges),
    property<get<kLinkLayer>>("LinkLayer", "s", kChanges),
    property<get<kLinkUp>>("LinkUp", "b", kChanges),
    property<get<kLinkSpeed>>("LinkSpeed", "t", kChanges),
    property<get<kState>>("State", "s", kChanges),
    property<get<kReason>>("Reason", "s", kChanges),
    property<get<kAttachMode>>("AttachMode", "s", kChanges),
    property<get<kAttachReason>>("AttachReason", "s", kChanges),
    property<get<kCapMode>>("CapMode", "s", kChanges),
    property<get<kCapReason>>("CapReason", "s", kChanges),
    property<get_self_test>("SelfTest", "aa{sv}", kChanges),
    property<get_attributes>("Attributes", "a(sss)", kConst),
    property<get_capabilities>("Capabilities", "a{sv}", kChanges),
    property<get<elements_used>>("ElementsUsed", "u", kChanges),
    property<get<elements_free>>("ElementsFree", "u", kChanges),
    property<get<leaves_used>>("LeavesUsed", "u", kChanges),
    property<get<leaves_free>>("LeavesFree", "u", kChanges),
    property<get<kInside>>("QueuePairsInside", "u", kChanges),
    property<get<kOutside>>("QueuePairsOutside", "u", kChanges),
    property<get_port_classes>("PortClasses", "a{sv}", kChanges),
    property<get_port_traffic>("PortTraffic", "a{sv}", 0),
    property<get_tree>("Tree", "aa{sv}", kInvalidates),
    property<get_findings>("Findings", "aa{sv}", kChanges),
    property<get_failures>("Failures", "aa{sv}", kChanges),
    property<get<statistics>>("Statistics", "a{st}", 0),
};

}    // namespace

std::span<const Property> device_properties()
{
    return kDeviceProperties;
}

const sd_bus_vtable* device_vtable()
{
    static const auto kVtable = make_vtable(kDeviceMethods, kDeviceProperties, {});
    return kVtable.data();
}

}    // namespace rdmaqos
