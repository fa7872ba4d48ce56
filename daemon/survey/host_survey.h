// Looks at all queue pairs of the host: asks the kernel by RDMA netlink, and reads from /proc whose they are.
#pragma once

#include <cstddef>
#include <filesystem>

#include "daemon/model/host_survey.h"

namespace rdmaqos {

// Of one device: beyond, queue pairs are counted only.
inline constexpr std::size_t kMostSurveyed = 32'768;

// Waits for the kernel and for firmware: not for the main loop. 4,000 queue pairs take some tens of milliseconds.
[[nodiscard]] HostSurvey survey_host(const std::filesystem::path& proc, std::size_t most_of_device = kMostSurveyed);

}    // namespace rdmaqos
