#include "lib/nic_model/traffic_meter.h"

#include <chrono>

namespace rdmaqos {
namespace {

std::uint64_t bytes_in(Bandwidth rate, Duration time)
{
    constexpr std::uint64_t kBytesPerKbit = 125;
    constexpr std::uint64_t kMicroseconds = 1'000'000;
    const auto microseconds = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(time).count());
    const std::uint64_t bytes_per_second = rate.kbps() * kBytesPerKbit;
    // Whole seconds apart from the rest, so that years at 800 Gbit/s do not overflow.
    return bytes_per_second * (microseconds / kMicroseconds) +
           bytes_per_second * (microseconds % kMicroseconds) / kMicroseconds;
}

}    // namespace

void TrafficMeter::change(const PortTraffic& traffic, TimePoint now)
{
    before_ = read(now);
    traffic_ = traffic;
    since_ = now;
}

void TrafficMeter::restart(TimePoint now)
{
    before_ = {};
    since_ = now;
}

PortCounters TrafficMeter::read(TimePoint now) const
{
    const Duration passed = now - since_;
    return {before_.transmit_bytes + bytes_in(traffic_.transmit, passed),
            before_.receive_bytes + bytes_in(traffic_.receive, passed)};
}

}    // namespace rdmaqos
