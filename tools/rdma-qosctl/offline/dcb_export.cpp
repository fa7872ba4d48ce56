#include "tools/rdma-qosctl/offline/dcb_export.h"

#include <algorithm>
#include <string_view>
#include <variant>

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

bool sets_rates(const PortExport& port)
{
    return std::ranges::any_of(port.steps, [](const port_classes::Step& step) {
        return std::holds_alternative<dcb::SetMaxRates>(step.write);
    });
}

}    // namespace

PortExport export_port(const Policy& policy, const DeviceNames& device, const std::string& driver,
                       const dcb::PortSettings& before)
{
    const port_classes::Rules rules = port_classes::rules_of(dcb::find_driver(driver));
    port_classes::Options options;
    if (!device.link_speed.is_zero()) {
        options.link_speed = device.link_speed;
    }
    options.notifications = port_classes::Notifications{};
    PortExport port{device.netdev, before, {}, {}};
    port.plan = port_classes::plan(port_class_requests(policy, device, options.link_speed), before, rules, options);
    port.steps = port_classes::difference(before, port.plan.wanted, rules);
    return port;
}

std::string to_script(const PortExport& port)
{
    std::string text = fmt::format("# {}\n", port.interface);
    text += commented(port_classes::render_classes(port.before, port.plan));
    for (const Finding& finding : port.plan.findings) {
        text += commented(to_string(finding));
    }
    for (const std::string& note : port.plan.notes) {
        text += commented("note: " + note);
    }
    if (port.steps.empty()) {
        return text + "# nothing to set\n";
    }
    text += "#\n" + commented(port_classes::render_steps(port.steps));
    if (sets_rates(port)) {
        text += "# dcb of iproute2 before the end of 2025 sets another maximum rate than it is given, and shows it "
                "wrongly:\n# compare with `rdma-qosctl devices`\n";
    }
    for (const std::string& command : port_classes::dcb_commands(port.interface, port.steps)) {
        text += command + "\n";
    }
    return text;
}

}    // namespace rdmaqos::ctl
