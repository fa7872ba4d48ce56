#include "tools/rdma-qosctl/verbs/verb.h"

#include <chrono>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/try.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/signal.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

struct Now {
    std::time_t seconds;
    std::int64_t milliseconds;
};

Now now()
{
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
    return {static_cast<std::time_t>(milliseconds / 1000), milliseconds % 1000};
}

Result<ExitStatus> monitor(const Context& context)
{
    auto client = TRY(connect(context));
    // What is said of a signal is asked on a connection of its own: this one is busy listening.
    auto asking = TRY(connect(context));
    Narrator narrator([&](const std::string& path, const char* interface) -> std::optional<bus::Dict> {
        auto properties = asking.properties(path, interface);
        return properties ? std::optional(std::move(*properties)) : std::nullopt;
    });
    const auto end = client.monitor([&](const bus::Signal& signal) {
        const auto [seconds, milliseconds] = now();
        const std::string sentence = narrator.sentence(signal);
        if (context.json) {
            const auto time = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), milliseconds);
            print(to_line(signal_json(signal, time, sentence)));
        } else if (!sentence.empty()) {
            const auto time = fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03}", fmt::localtime(seconds), milliseconds);
            print(render_change(time, sentence, context.screen));
        }
        return true;
    });
    if (!end) {
        return fail(end.error());
    }
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kMonitorVerb{
    .name = "monitor",
    .summary = "Print each change as one sentence, until interrupted",
    .examples = "  rdma-qosctl monitor\n"
                "  rdma-qosctl monitor --json | jq .text",
    .prepare = without_options<monitor>,
};

}    // namespace rdmaqos::ctl
