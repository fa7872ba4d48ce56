// A simulation as text and as JSON, and the words that they share with the page.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "lib/base/diagnostic.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/simulate/simulation.h"

namespace rdmaqos::ctl {

[[nodiscard]] std::string render_simulation(const SimulationReport& report, const Screen& screen);
[[nodiscard]] Json simulation_json(const SimulationReport& report);

// Rates from 1 Gbit/s in whole Mbit/s: "33.333 Gbit/s".
[[nodiscard]] std::string rate_in_words(double kbps);
[[nodiscard]] std::string asked_in_words(double kbps);                      // "unlimited"; nothing: ""
[[nodiscard]] std::string time_in_words(std::chrono::milliseconds time);    // "90 s", "2 min"
// "its demand", "its max-rate", "max-rate 80 Gbit/s of /tenants", "link 100 Gbit/s"; `path`: whose limit it is.
[[nodiscard]] std::string service_in_words(const PortClass& port_class);    // "weight 70", "strict"
[[nodiscard]] std::string limit_in_words(const Limit& limit, const ElementPath& path, Bandwidth link_speed);
// "8 processes"
[[nodiscard]] std::string senders_in_words(std::size_t senders, FairBy fair_by);
[[nodiscard]] std::string outside_in_words(const OutsideLevel& outside);
[[nodiscard]] std::string deviation_in_words(const Deviation& deviation);
// "from 1 min to 2 min: the jobs begin"; the text of `step` alone for loads without a time.
[[nodiscard]] std::string step_in_words(const SimulatedStep& step, bool over_time);
[[nodiscard]] std::string used_in_words(const SimulatedStep& step, Bandwidth link_speed);

}    // namespace rdmaqos::ctl
