#include "tools/rdma-qosctl/offline/dcb_export.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "lib/dcb/driver.h"
#include "lib/port_classes/commands.h"
#include "lib/port_classes/render.h"
#include "lib/port_classes/rules.h"
#include "policy/model/port_class_requests.h"

namespace rdmaqos::ctl {
namespace {

// Every line of a text as a comment of the shell.
std::string commented(std::string_view text)
{
    std::string result;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        result += fmt::format("# {}\n", text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return result;
}

}    // namespace

PortExport export_port(const Policy& policy, const Settings& settings, const DeviceNames& device,
                       const std::string& driver, const dcb::PortSettings& before)
{
    const port_classes::Rules rules = port_classes::rules_of(dcb::find_driver(driver));
    port_classes::Options options;
    if (!device.link_speed.is_zero()) {
        options.link_speed = device.link_speed;
    }
    options.cnp_dscp = settings.cnp_dscp;
    PortExport port{device.netdev, before, {}, {}, false};
    port.plan = port_classes::plan(port_class_requests(policy, device, options.link_speed), before, rules, options);
    port.steps = port_classes::difference(before, port.plan.wanted, rules);
    return port;
}

std::string to_script(const PortExport& port)
{
    std::string text = fmt::format("# {}\n", port.interface);
    if (port.is_kept) {
        text += commented(
            "rdma-qosd keeps the traffic classes of this port and puts back what others set, so do not run "
            "this:\n`rdma-qosctl plan` shows what a reload of the daemon would set, and the reload sets "
            "it");
    }
    text += commented(port_classes::render_classes(port.before, port.plan));
    for (const Finding& finding : port.plan.findings) {
        text += commented(to_string(finding));
    }
    auto notes = port.plan.notes;
    std::ranges::move(port_classes::notes_of_change(port.before, port.plan.wanted), std::back_inserter(notes));
    for (const std::string& note : notes) {
        text += commented("note: " + note);
    }
    if (port.steps.empty()) {
        return text + "# nothing to set\n";
    }
    text += "#\n" + commented(port_classes::render_steps(port.steps));
    for (const std::string& command : port_classes::dcb_commands(port.interface, port.steps)) {
        text += command + "\n";
    }
    return text;
}

}    // namespace rdmaqos::ctl
