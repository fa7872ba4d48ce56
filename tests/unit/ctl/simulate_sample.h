// Policies and loads for simulations, in few words.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "policy/load/policy_reader.h"
#include "policy/model/name_service.h"
#include "tools/rdma-qosctl/simulate/loaded_tree.h"
#include "tools/rdma-qosctl/simulate/simulation.h"

namespace rdmaqos::ctl::test {

// In the unit of rates, kbit/s.
constexpr double kGigabit = 1e6;

inline std::shared_ptr<const Policy> policy_of(const std::string& text)
{
    auto read = read_policy({std::make_shared<SourceFile>(SourceFile{"policy.yaml", "version: 1\n" + text})},
                            NameService::host());
    EXPECT_TRUE(read.value) << render(read.diagnostics, Colour::Off);
    return read.value ? read.value : std::make_shared<const Policy>();
}

// `--load` of a command line.
inline LoadStep loads_of(const std::vector<std::string>& options)
{
    const auto read = parse_loads(options);
    EXPECT_TRUE(read.value) << render(read.diagnostics, Colour::Off);
    return read.value ? read.value->steps.front() : LoadStep{};
}

inline LoadedTree loaded_policy(const std::string& policy, const std::vector<std::string>& loads,
                                const Target& target = default_target())
{
    return load_policy_tree(*policy_of(policy), target, 4, loads_of(loads));
}

inline SimulatedStep simulated(const std::string& policy, const std::vector<std::string>& loads,
                               const Target& target = default_target())
{
    return simulate_step(loaded_policy(policy, loads, target), target.link_speed);
}

inline const SimulatedLevel& level_of(const SimulatedStep& step, const std::string& name)
{
    static const SimulatedLevel kNone;
    for (const auto& level : step.levels) {
        if (level.level == name) {
            return level;
        }
    }
    ADD_FAILURE() << "no level " << name;
    return kNone;
}

inline const SimulatedElement& element_of(const SimulatedStep& step, const std::string& path)
{
    static const SimulatedElement kNone;
    for (const auto& element : step.elements) {
        if (element.path.text() == path) {
            return element;
        }
    }
    ADD_FAILURE() << "no element " << path;
    return kNone;
}

inline constexpr const char* kTenants = R"(scheduling-nodes:
  - {name: tenants, share: 70, max-rate: 80Gbps}
qos-levels:
  - {name: DEFAULT}
  - {name: rpc, use: calls, schedule: {parent: tenants, share: 3, fair-by: process}}
  - {name: bulk, schedule: {parent: tenants, max-rate: 30Gbps}}
  - {name: storage, schedule: {share: 30, responder: {share: 10}}}
)";

}    // namespace rdmaqos::ctl::test
