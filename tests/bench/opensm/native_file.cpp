#include "tests/bench/opensm/native_file.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace rdmaqos::bench {
namespace {

constexpr std::uint64_t kLevels = 20;

struct Criterion {
    std::string_view key;
    std::string value;    // a list, without brackets
};

std::uint64_t service_id_for(std::uint64_t rule)
{
    return 0x100000 + rule * 16;
}

// A pair of groups of its own for each rule that asks for groups.
std::uint64_t source_group(std::uint64_t rule)
{
    return rule / 4 % kGroups;
}
std::uint64_t destination_group(std::uint64_t rule)
{
    return (rule / 4 / kGroups + rule / 4) % kGroups;
}

// What a rule asks for; the criteria of a rule are written in this order.
void for_each_criterion(std::uint64_t rule, const std::function<void(const Criterion&)>& write)
{
    switch (rule % 4) {
    case 0:
        write({"service-id", fmt::format("0x{:x}-0x{:x}", service_id_for(rule), service_id_for(rule) + 7)});
        break;
    case 1:
        write({"qos-class", fmt::format("{}", rule / 4 % 4096)});
        write({"pkey", fmt::format("0x{:04x}", rule % 0x7ffe + 1)});
        break;
    case 2:
        write({"source", fmt::format("group{}", source_group(rule))});
        write({"destination", fmt::format("group{}", destination_group(rule))});
        break;
    default:
        write({"service-id", fmt::format("0x{:x}", 0x1000000 + rule)});
        write({"pkey", fmt::format("0x{:04x}", rule % 0x7ffe + 1)});
        break;
    }
}

std::string guids_of(std::uint64_t group)
{
    std::string text;
    for (std::uint64_t port = 0; port < kPortsPerGroup; ++port) {
        text += fmt::format("{}0x{:016x}", port == 0 ? "" : ", ", guid_of(group, port));
    }
    return text;
}

}    // namespace

std::string native_policy(std::uint64_t rules)
{
    std::string text = "# generated\nport-groups\n";
    for (std::uint64_t group = 0; group < kGroups; ++group) {
        text += fmt::format(
            "    port-group\n        name: group{}\n        use: generated group {}\n        port-guid: {}\n"
            "    end-port-group\n",
            group, group, guids_of(group));
    }
    text += "end-port-groups\nqos-levels\n    qos-level\n        name: DEFAULT\n        sl: 0\n    end-qos-level\n";
    for (std::uint64_t level = 0; level < kLevels; ++level) {
        text += fmt::format(
            "    qos-level\n        name: level{}\n        sl: {}\n        mtu-limit: 4\n    end-qos-level\n", level,
            level % 16);
    }
    text += "end-qos-levels\nqos-match-rules\n";
    for (std::uint64_t rule = 0; rule < rules; ++rule) {
        text += fmt::format("    qos-match-rule\n        use: rule {}\n", rule);
        for_each_criterion(rule, [&](const Criterion& criterion) {
            text += fmt::format("        {}: {}\n", criterion.key, criterion.value);
        });
        text += fmt::format("        qos-level-name: level{}\n    end-qos-match-rule\n", rule % kLevels);
    }
    return text + "end-qos-match-rules\n";
}

std::string yaml_policy(std::uint64_t rules)
{
    std::string text = "version: 1\nport-groups:\n";
    for (std::uint64_t group = 0; group < kGroups; ++group) {
        text += fmt::format("  - name: group{}\n    use: generated group {}\n    port-guid: [{}]\n", group, group,
                            guids_of(group));
    }
    text += "qos-levels:\n  - {name: DEFAULT, sl: 0}\n";
    for (std::uint64_t level = 0; level < kLevels; ++level) {
        text += fmt::format("  - {{name: level{}, sl: {}, mtu-limit: 4}}\n", level, level % 16);
    }
    text += "qos-match-rules:\n";
    for (std::uint64_t rule = 0; rule < rules; ++rule) {
        text += fmt::format("  - use: rule {}\n", rule);
        for_each_criterion(rule, [&](const Criterion& criterion) {
            text += fmt::format("    {}: [{}]\n", criterion.key, criterion.value);
        });
        text += fmt::format("    qos-level-name: level{}\n", rule % kLevels);
    }
    return text;
}

Fabric fabric_of_all_ports()
{
    Fabric fabric;
    for (std::uint64_t group = 0; group < kGroups; ++group) {
        for (std::uint64_t port = 0; port < kPortsPerGroup; ++port) {
            FabricPort known;
            known.guid = Guid{guid_of(group, port)};
            known.description = fmt::format("node {}", group * kPortsPerGroup + port);
            known.pkeys = {0xffff};
            fabric.ports.push_back(std::move(known));
        }
    }
    return fabric;
}

Request request_for(std::uint64_t rule)
{
    Request request;
    switch (rule % 4) {
    case 0:
        request.service_id = service_id_for(rule) + 3;
        break;
    case 1:
        request.qos_class = static_cast<std::uint16_t>(rule / 4 % 4096);
        request.pkey = static_cast<std::uint16_t>((rule % 0x7ffe + 1) | 0x8000);
        break;
    case 2:
        request.source = Guid{guid_of(source_group(rule), 7)};
        request.destination = Guid{guid_of(destination_group(rule), 11)};
        break;
    default:
        request.service_id = 0x1000000 + rule;
        request.pkey = static_cast<std::uint16_t>(rule % 0x7ffe + 1);
        break;
    }
    return request;
}

Request request_for_none()
{
    Request request;
    request.service_id = 0xfff;
    request.qos_class = 4095;
    request.pkey = 0x7fff;
    request.source = Guid{guid_of(3, 7) + 1};
    request.destination = Guid{guid_of(4, 7) + 1};
    return request;
}

}    // namespace rdmaqos::bench
