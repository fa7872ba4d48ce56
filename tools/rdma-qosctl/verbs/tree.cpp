#include "tools/rdma-qosctl/verbs/verb.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "lib/api/json.h"
#include "lib/base/try.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/devices.h"
#include "tools/rdma-qosctl/rendering/marks.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/world/busy_rates.h"
#include "tools/rdma-qosctl/world/chosen.h"
#include "tools/rdma-qosctl/world/marks.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::size_t kPrincipalsShown = 16;

struct TreeOptions {
    std::vector<std::string> devices;    // none: all
    bool busy = false;
    bool all = false;    // every principal of every class
};

void add_options(CLI::App& command, TreeOptions& options)
{
    command.add_option("DEVICE", options.devices, "Name, name/port, netdev or PCI address; none: all");
    command.add_flag("--busy", options.busy, "Add what each leaf gets when all that hold queue pairs send");
    command.add_flag("--all", options.all, "Draw every process of a class, not only the first 16");
}

// To the entry of each device those of its levels.
void add_marks(Json& trees, const std::vector<api::MarkCount>& marks)
{
    for (auto& tree : trees.at("trees")) {
        const std::string device = tree.at("device");
        std::vector<api::MarkCount> here;
        std::ranges::copy_if(marks, std::back_inserter(here),
                             [&](const api::MarkCount& each) { return each.device == device; });
        tree["marks"] = api::to_json(here);
    }
}

Result<ExitStatus> tree(const Context& context, const TreeOptions& options)
{
    const auto chosen = TRY(
        fetch_chosen(context, options.devices, options.busy ? Sessions::Needed : Sessions::NotNeeded));
    std::vector<BusyRates> rates;
    for (const auto* each : chosen.devices) {
        if (options.busy) {
            rates.push_back(busy_rates(chosen.world, *each));
        }
    }
    auto client = TRY(connect(context));
    const auto marks = fetch_marks(client);
    if (context.json) {
        Json json = trees_json(chosen.devices, rates);
        add_marks(json, marks);
        print(to_text(json));
        return ExitStatus::Ok;
    }
    std::vector<DeviceTree> trees;
    for (std::size_t i = 0; i < chosen.devices.size(); ++i) {
        trees.push_back({chosen.devices[i], options.busy ? &rates[i] : nullptr});
    }
    std::string text = render_device_trees(trees, options.all ? 0 : kPrincipalsShown, context.screen);
    for (const auto* each : chosen.devices) {
        text += render_wrong_marks(marks, each->key(), context.screen);
    }
    print(text);
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kTreeVerb{
    .name = "tree",
    .summary = "Draw the scheduling tree of each device",
    .examples = "  rdma-qosctl tree\n"
                "  rdma-qosctl tree --busy mlx5_0 mlx5_1          with what each leaf gets when all send",
    .paged = true,
    .prepare = with_options<TreeOptions, add_options, tree>,
};

}    // namespace rdmaqos::ctl
