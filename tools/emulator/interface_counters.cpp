#include "tools/emulator/interface_counters.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include <fmt/format.h>

#include "tools/emulator/datapath/hardware.h"
#include "tools/emulator/device.h"

namespace rdmaqos::emulator {
namespace {

InterfaceCounter counter(const std::string& name, std::uint64_t value)
{
    InterfaceCounter each;
    std::copy_n(name.begin(), std::min(name.size(), sizeof(each.name) - 1), each.name);
    each.value = value;
    return each;
}

std::uint64_t sum(const std::array<std::uint64_t, kPortPriorities>& bytes)
{
    std::uint64_t all = 0;
    for (const std::uint64_t each : bytes) {
        all += each;
    }
    return all;
}

}    // namespace

std::vector<InterfaceCounter> interface_counters(const PortTraffic& traffic)
{
    std::vector<InterfaceCounter> counters{
        counter("rx_vport_rdma_unicast_bytes", sum(traffic.received_with)),
        counter("tx_vport_rdma_unicast_bytes", sum(traffic.sent_with)),
        counter("rx_vport_rdma_multicast_bytes", 0),
        counter("tx_vport_rdma_multicast_bytes", 0),
    };
    for (std::size_t priority = 0; priority < kPortPriorities; ++priority) {
        counters.push_back(counter(fmt::format("rx_prio{}_bytes", priority), traffic.received_with.at(priority)));
        counters.push_back(counter(fmt::format("tx_prio{}_bytes", priority), traffic.sent_with.at(priority)));
    }
    return counters;
}

NetlinkDatagram interface_answer(const Request& request, std::span<const std::uint8_t> name,
                                 const std::vector<std::shared_ptr<Device>>& devices)
{
    const std::string wanted(name.begin(), std::ranges::find(name, 0));
    for (const auto& device : devices) {
        const auto& ports = device->ports();
        const bool is_here = device->firmware().presence() == DevicePresence::Present;
        for (std::size_t i = 0; i < ports.size(); ++i) {
            if (wanted.empty() || !is_here || ports[i].infiniband || ports[i].netdev != wanted) {
                continue;
            }
            const auto moved = device->hardware() == nullptr ? std::vector<PortTraffic>()
                                                             : device->hardware()->traffic_of_ports(*device);
            const auto counters = interface_counters(i < moved.size() ? moved[i] : PortTraffic{});
            Writer writer(kInterfaceCounters, 0, request);
            writer.append(counters.data(), counters.size() * sizeof(InterfaceCounter));
            return writer.finish();
        }
    }
    return error_answer(request, ENODEV);
}

}    // namespace rdmaqos::emulator
