#include "tools/rdma-qosctl/rendering/world_text.h"

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/devices.h"

namespace rdmaqos::ctl {
namespace {

std::string full_link_of(const DeviceView& device)
{
    return fmt::format("{}, {}, {}", device.link_layer, device.link_up ? "up" : "down", to_string(device.link_speed));
}

std::string render(const HardwareReport& report, const DeviceView& device, const Screen& screen)
{
    Fields fields;
    fields.add("driver", device.driver);
    fields.add("board id", device.board_id.empty() ? "not known" : device.board_id);
    fields.add("firmware", device.firmware);
    fields.add("PCI address", device.pci_address);
    fields.add("function", device.virtual_function ? "virtual" : "physical");
    fields.add("bond", device.bond.empty() ? "none" : "its port is in one");
    fields.add("node GUID", report.guid(device.node_guid));
    fields.add("port GUID", report.guid(device.port_guid));
    fields.add("link", full_link_of(device));
    fields.add("state", device.state, style_of_state(device.state));
    fields.add("attach mode", device.attach_mode);
    fields.add("because", device.attach_reason);
    fields.add("scheduling", describe_scheduling(device.capabilities));
    fields.add("attachable", describe_attachable(device.capabilities));
    fields.add("pacing", describe_pacing(device.capabilities.pacing));
    std::string text = styled("device " + printable(device.key()), Style::Heading, screen) + "\n" +
                       fields.render(screen);
    text += fmt::format("\n{}\n", styled("self-test", Style::Heading, screen));
    text += device.self_test.empty() ? "  nothing was tried\n" : render_self_test(device.self_test, screen);
    if (!device.attributes.empty()) {
        text += "\n" + render_attributes(device.attributes, screen);
    }
    return text;
}

}    // namespace

std::string render_hardware_report(const HardwareReport& report, const Screen& screen)
{
    Fields fields;
    fields.add("rdma-qosd", report.daemon);
    fields.add("rdma-qosctl", report.host.program);
    fields.add("kernel", fmt::format("{} {}", report.host.kernel, report.host.machine));
    fields.add("GUIDs", report.masked ? "only the vendor's part is shown; `--guids` shows all of them" : "shown");
    std::string text = styled("hardware report", Style::Heading, screen) + "\n" + fields.render(screen);
    for (const auto& device : report.devices) {
        text += "\n" + render(report, device, screen);
    }
    return report.devices.empty() ? text + "\nno device: the daemon waits for one\n" : text;
}

}    // namespace rdmaqos::ctl
