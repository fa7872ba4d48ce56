#include "tools/rdma-qosctl/verbs/verb.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "lib/base/file.h"
#include "lib/base/try.h"
#include "lib/port_lint/lint.h"
#include "lib/port_lint/rdma_facts.h"
#include "lib/shapers/shapers.h"
#include "policy/load/host_files.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/offline/notifications.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/rendering/world_text.h"
#include "tools/rdma-qosctl/world/marks.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/port_levels.h"
#include "tools/rdma-qosctl/world/problems.h"

namespace rdmaqos::ctl {
namespace {

struct StatusOptions {
    bool fail_on_problems = false;
};

void add_options(CLI::App& command, StatusOptions& options)
{
    command.add_flag("--check", options.fail_on_problems, "Exit with status 3 if there is a problem");
}

std::optional<FilesView> files_on_disk(const std::string& root)
{
    for (const auto& path : host_policy_files(root)) {
        if (const auto text = read_regular_file(below_root(root, path), kMaxConfigFileSize);
            !text && text.error().sys_errno == EACCES) {
            return std::nullopt;
        }
    }
    const auto read = load_policy({}, root);
    return FilesView{read.value ? read.value->revision : ""};
}

// Simulated devices are on no host.
void find_other_shapers(World& world)
{
    for (auto& device : world.devices) {
        if (device.driver == "mlx5") {
            device.shapers = shapers::find_shapers(device.netdev, device.pci_address, "/sys");
        }
    }
}

// What concerns several ports is said of the first of them.
void lint_ports(World& world, const std::filesystem::path& root)
{
    std::vector<port_lint::Interface> ports;
    std::map<std::string, DeviceView*> device_of;
    for (auto& device : world.devices) {
        if (auto port = interface_of(device, world.manager.levels)) {
            if (device.driver == "mlx5") {
                port->rdma = port_lint::read_rdma_facts(root, device.name, device.port, port->name, device.pci_address);
            }
            device_of.emplace(port->name, &device);
            ports.push_back(std::move(*port));
        }
    }
    for (auto& finding : port_lint::lint(ports)) {
        const auto found = device_of.find(finding.interface);
        DeviceView* device = found == device_of.end() ? &world.devices.front() : found->second;
        device->lint.push_back(std::move(finding));
    }
    for (auto& port : ports) {
        port.is_kept = false;    // what the daemon could not set, it tells itself
    }
    world.unchecked = port_lint::unchecked(ports);
}

Result<ExitStatus> status(const Context& context, const StatusOptions& options)
{
    auto client = TRY(connect(context));
    auto world = TRY(fetch_summary(client));
    world.marks = fetch_marks(client);
    world.files = files_on_disk(context.root);
    find_other_shapers(world);
    find_notifications(world, context.root);
    lint_ports(world, "/");
    const auto problems = find_problems(world);
    print(context.json ? to_text(status_json(world, problems)) : render_status(world, problems, context.screen));
    const bool wrong = std::any_of(problems.begin(), problems.end(),
                                   [](const Problem& problem) { return problem.is_error; });
    return options.fail_on_problems && wrong ? ExitStatus::Found : ExitStatus::Ok;
}

}    // namespace

extern const Verb kStatusVerb{
    .name = "status",
    .summary = "Show whether anything is wrong, and what to do about it",
    .examples = "  rdma-qosctl status\n"
                "  rdma-qosctl status --check                     for scripts: status 3 if there is a problem",
    .paged = true,
    .prepare = with_options<StatusOptions, add_options, status>,
};

}    // namespace rdmaqos::ctl
