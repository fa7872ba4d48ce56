// What rdma-qosctl sees of a Service, without a bus between the two: for tests that compare what is told with what is.
#pragma once

#include "daemon/bus/convert_out.h"
#include "daemon/bus/convert_report.h"
#include "daemon/service/device_table.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/service.h"
#include "daemon/service/session_reports.h"
#include "policy/model/policy.h"
#include "tests/support/bus_pair.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::test {

template <typename Write>
bus::Dict told(const Write& write)
{
    const LoneBus bus;
    const auto message = bus.written(write);
    auto dict = bus::read_dict(message.get());
    return dict ? std::move(*dict) : throw std::runtime_error("no dictionary");
}

template <typename Write>
std::vector<bus::Dict> told_list(const Write& write)
{
    const LoneBus bus;
    const auto message = bus.written(write);
    auto dicts = bus::read_dicts(message.get());
    return dicts ? std::move(*dicts) : throw std::runtime_error("no list");
}

inline ctl::DeviceView view_of(const DeviceStatus& status)
{
    bus::Dict properties;
    properties.set("Name", status.info.name);
    properties.set("Port", status.info.port);
    properties.set("LinkUp", status.info.link_up);
    properties.set("LinkSpeed", status.info.link_speed.kbps());
    properties.set("State", std::string(to_string(status.state)));
    properties.set("Reason", status.reason);
    properties.set("AttachMode", std::string(to_string(status.attach.mode)));
    properties.set("LeavesFree", leaves_free(status));
    properties.set("Capabilities", told([&](bus::Writer& writer) { write(writer, status.capabilities); }));
    properties.set("Tree", told_list([&](bus::Writer& writer) { write_tree(writer, status); }));
    properties.set("Findings", told_list([&](bus::Writer& writer) { write_findings(writer, status); }));
    return ctl::to_device(properties);
}

inline ctl::World world_of(const Service& service)
{
    ctl::World world;
    world.manager.mode = "enforce";
    world.manager.policy_revision = "some";
    for (const auto& level : service.in_force().policy()->levels) {
        world.manager.levels.push_back(api::read<api::Level>(
            told([&](bus::Writer& writer) { write(writer, *service.in_force().policy(), level, LevelUse{}); })));
    }
    for (const auto& key : service.devices().keys()) {
        world.devices.push_back(view_of(*service.devices().status(key)));
    }
    for (const auto id : service.sessions().ids()) {
        const SessionInfo info = *service.sessions().with_queue_pairs(id);
        ctl::SessionView session;
        session.id = static_cast<std::uint64_t>(id);
        session.state = std::string(to_string(info.state));
        session.level = info.grant.level;
        session.owner = api::read<api::Owner>(told([&](bus::Writer& writer) { write(writer, info.owner); }));
        session.grant = api::read<api::Grant>(told([&](bus::Writer& writer) { write(writer, info.grant); }));
        session.queue_pairs = api::read_list<std::vector<api::QueuePair>>(
            told_list([&](bus::Writer& writer) { write(writer, info.queue_pairs); }));
        world.sessions.push_back(std::move(session));
    }
    return world;
}

}    // namespace rdmaqos::test
