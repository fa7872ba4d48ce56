#include "tools/emulator/link.h"

#include <fmt/format.h>

namespace rdmaqos::emulator {
namespace {

struct Signalling {
    std::uint8_t code;
    const char* name;
    double gbps;    // of a lane, as the kernel rounds it
};

constexpr Signalling kSignalling[] = {
    {1, "SDR", 2.5}, {2, "DDR", 5},   {4, "QDR", 10},    {16, "FDR", 14},
    {32, "EDR", 25}, {64, "HDR", 50}, {128, "NDR", 100},
};

struct Width {
    std::uint8_t code;
    unsigned lanes;
};

constexpr Width kWidths[] = {{1, 1}, {2, 4}, {16, 2}};

LinkEncoding encoding(const Width& width, const Signalling& signalling)
{
    return {width.code, signalling.code,
            fmt::format("{} Gb/sec ({}X {})", width.lanes * signalling.gbps, width.lanes, signalling.name)};
}

}    // namespace

LinkEncoding encode_link(Bandwidth speed)
{
    const double gbps = static_cast<double>(speed.kbps()) / 1e6;
    for (const auto& width : {kWidths[1], kWidths[0], kWidths[2]}) {
        for (const auto& signalling : kSignalling) {
            if (width.lanes * signalling.gbps == gbps) {
                return encoding(width, signalling);
            }
        }
    }
    // No real link is as slow as this; sysfs can say it nevertheless, and the one attribute that is left is the
    // slowest.
    const Signalling& slowest = kSignalling[0];
    if (gbps < 4 * slowest.gbps) {
        return {kWidths[0].code, slowest.code, fmt::format("{} Gb/sec (1X {})", gbps, slowest.name)};
    }
    const Signalling* best = &slowest;
    for (const auto& signalling : kSignalling) {
        if (4 * signalling.gbps <= gbps) {
            best = &signalling;
        }
    }
    return encoding(kWidths[1], *best);
}

}    // namespace rdmaqos::emulator
