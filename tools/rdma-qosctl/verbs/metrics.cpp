#include "tools/rdma-qosctl/verbs/verb.h"

#include <nlohmann/json.hpp>

#include "lib/base/try.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/metrics.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

Result<ExitStatus> metrics(const Context& context)
{
    auto client = TRY(connect(context));
    const auto text = TRY(call_manager<std::string>(client, "Metrics", {}));
    if (!context.json) {
        print(printable_lines(text));
        return ExitStatus::Ok;
    }
    const auto families = TRY(parse_metrics(text));
    print(to_text(metrics_json(families)));
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kMetricsVerb{
    .name = "metrics",
    .summary = "Print the daemon's metrics in the text format of Prometheus",
    .examples = "  rdma-qosctl metrics\n"
                "  rdma-qosctl metrics | grep port_transmit\n"
                "  rdma-qosctl metrics --json                     taken apart, for scripts",
    .paged = true,
    .prepare = without_options<metrics>,
};

}    // namespace rdmaqos::ctl
