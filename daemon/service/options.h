// What a service is given once, when it is made.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>

#include "daemon/model/host_survey.h"
#include "daemon/model/metrics.h"
#include "policy/model/name_service.h"

namespace rdmaqos {

struct ServiceOptions {
    std::filesystem::path root;    // prefix of every path; "" for the host
    NameService names = NameService::host();
    bool simulated = false;
    std::function<WallTime()> wall_clock = std::chrono::system_clock::now;
    std::function<HostSurvey()> survey_host = {};    // waits for the kernel; null: there is nothing but sessions
};

}    // namespace rdmaqos
