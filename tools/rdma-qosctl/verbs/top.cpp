#include "tools/rdma-qosctl/verbs/verb.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/base/try.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/program_rates.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/program_rates.h"

namespace rdmaqos::ctl {
namespace {

struct TopOptions {
    std::string device;    // empty: all
    RatesBy by = RatesBy::Session;
    std::uint32_t interval_ms = 1000;
    std::uint32_t times = 0;    // 0: until interrupted on a terminal, else once
};

void add_options(CLI::App& command, TopOptions& options)
{
    static const std::map<std::string, RatesBy> kBy{
        {"session", RatesBy::Session}, {"leaf", RatesBy::Leaf}, {"level", RatesBy::Level}, {"unit", RatesBy::Unit}};
    command.add_option("--device", options.device, "Only what this device sends and receives")->type_name("DEVICE");
    command.add_option("--by", options.by, "A line for each session, leaf, level or unit")
        ->transform(CLI::CheckedTransformer(kBy).description(""))
        ->type_name("session|leaf|level|unit");
    command.add_option("--interval", options.interval_ms, "Milliseconds between two readings of the counters")
        ->type_name("MS")
        ->check(CLI::Range(300, 60'000));
    command.add_option("--times", options.times, "How often; else until interrupted, or once if nobody looks")
        ->type_name("N");
}

// Of a device that has no object any more, nothing is known.
std::map<std::string, Bandwidth> link_speeds_of(bus::Client& client)
{
    std::map<std::string, Bandwidth> speeds;
    const auto world = fetch_devices(client);
    for (const auto& device : world ? world->devices : std::vector<DeviceView>()) {
        speeds[device.key()] = device.link_speed;
    }
    return speeds;
}

Result<ExitStatus> top(const Context& context, const TopOptions& options)
{
    constexpr const char* kClear = "\x1b[H\x1b[2J\x1b[3J";
    auto client = TRY(connect(context));
    const auto speeds = link_speeds_of(client);
    auto before = TRY(fetch_counters(client));
    const std::uint32_t times = options.times == 0 && !context.on_terminal ? 1 : options.times;
    for (std::uint32_t time = 0; times == 0 || time < times; ++time) {
        std::this_thread::sleep_for(std::chrono::milliseconds(options.interval_ms));
        auto after = TRY(fetch_counters(client));
        const auto rates = rates_between(before, after, options.by, options.device);
        if (context.json) {
            const Json json{{"ports", api::to_json(rates)}};
            print(times == 1 ? to_text(json) : to_line(json));
        } else {
            const bool is_redrawn = context.on_terminal && times != 1;
            print((is_redrawn ? kClear : "") + render_rates(rates, options.by, speeds, context.screen));
        }
        before = std::move(after);
    }
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kTopVerb{
    .name = "top",
    .summary = "Show what each program sends and receives, by the kernel's counters of its queue pairs",
    .examples = "  rdma-qosctl top                                each second, until interrupted\n"
                "  rdma-qosctl top --by level --device mlx5_0\n"
                "  rdma-qosctl top --json --times 60",
    .prepare = with_options<TopOptions, add_options, top>,
};

}    // namespace rdmaqos::ctl
