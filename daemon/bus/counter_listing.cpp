#include "daemon/bus/counter_listing.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/bus/convert_out.h"
#include "daemon/service/program_traffic.h"
#include "lib/api/counter.h"

namespace rdmaqos {
namespace {

using bus::Writer;

api::ProgramCounter record_of(const std::string& device, const ProgramCounter& of)
{
    const auto& counter = of.counter;
    api::ProgramCounter record{.device = device,
                               .counter = counter.number,
                               .queue_pairs = static_cast<std::uint32_t>(counter.queue_pairs.size()),
                               .level = of.level,
                               .leaf = of.leaf,
                               .sent_bytes = counter.sent_bytes,
                               .sent_packets = counter.sent_packets,
                               .received_bytes = counter.received_bytes,
                               .received_packets = counter.received_packets};
    if (of.session) {
        record.session = static_cast<std::uint64_t>(*of.session);
    }
    if (of.owner) {
        record.pid = static_cast<std::uint32_t>(of.owner->pid);
        record.uid = of.owner->uid;
        record.unit = of.owner->unit;
        record.command = of.owner->command;
    }
    return record;
}

}    // namespace

void on_list_counters(BusEndpoint& endpoint, const Call& call, const Peer& /*peer*/)
{
    endpoint.context.service.traffic().read([call](const Result<std::vector<CountersOfPort>>& ports) {
        if (!ports) {
            call.refuse(ports.error());
            return;
        }
        std::vector<api::ProgramCounter> counters;
        std::vector<api::CountedPort> counted;
        for (const auto& port : *ports) {
            for (const auto& each : port.counters) {
                counters.push_back(record_of(port.key, each));
            }
            counted.push_back({port.key, static_cast<std::uint32_t>(port.queue_pairs),
                               static_cast<std::uint32_t>(port.counted), port.reason, to_microseconds(port.taken_at)});
        }
        call.reply([&](Writer& writer) {
            api::write(writer, counters);
            api::write(writer, counted);
        });
    });
}

}    // namespace rdmaqos
