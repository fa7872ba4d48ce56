// What a service is given once, when it is made.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "daemon/adoption/program_files.h"
#include "daemon/model/counted_traffic.h"
#include "daemon/model/host_survey.h"
#include "daemon/model/metrics.h"
#include "daemon/port_classes/byte_reader.h"
#include "daemon/port_classes/port_kernel.h"
#include "daemon/survey/queue_pair_watch.h"
#include "policy/model/name_service.h"

namespace rdmaqos {

struct ServiceOptions {
    std::filesystem::path root;    // prefix of every path; "" for the host
    NameService names = NameService::host();
    bool simulated = false;
    std::function<WallTime()> wall_clock = std::chrono::system_clock::now;
    // Adoption; null: there is nothing to adopt.
    std::function<std::unique_ptr<HostWatch>(HostNewsHandler)> watch_host = {};
    std::shared_ptr<ProgramFiles> program_files = {};
    // Calls `ended` on the loop, after it has returned, when a process ends or if it has ended; not once what it
    // returned is destroyed. That is null if the process cannot be watched.
    std::function<std::shared_ptr<void>(std::shared_ptr<const Identity>, std::function<void()> ended)> watch_end = {};
    std::function<HostSurvey()> survey_host = {};    // waits for the kernel; null: there is nothing but sessions
    // Binds and reads counters of queue pairs; waits for the kernel. Null: there are none.
    std::function<CountedTraffic(const std::vector<PortToCount>&)> count_traffic = {};
    // Traffic classes of ports; null: they have none.
    std::shared_ptr<PortKernel> port_kernel = {};
    WatchPorts watch_ports = {};
    // What their network interfaces count; empty: nothing.
    ReadInterface read_interface = {};
    // Why traffic classes of ports cannot be set (`port-classes: manage`): a sentence; empty: they can.
    std::function<std::string()> why_ports_cannot_be_set = {};
};

}    // namespace rdmaqos
