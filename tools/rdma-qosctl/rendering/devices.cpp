#include "tools/rdma-qosctl/rendering/devices.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "lib/base/net.h"
#include "lib/base/text.h"
#include "lib/tree/render.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/marks.h"
#include "tools/rdma-qosctl/rendering/port_classes.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

using Align = Table::Align;
using Fit = Table::Fit;

std::string link_of(const DeviceView& device)
{
    return device.link_up ? to_string(device.link_speed) : "down";
}

std::string join_types(const std::set<QueuePairType>& types)
{
    std::vector<std::string_view> names;
    names.reserve(types.size());
    for (const auto type : types) {
        names.push_back(to_string(type));
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

}    // namespace

std::string describe_scheduling(const Capabilities& capabilities)
{
    if (!capabilities.scheduling) {
        return "none: no class can be enforced";
    }
    return fmt::format("{} levels, {} leaves, {} elements; {}; {}{}", capabilities.max_depth, capabilities.max_leaves,
                       capabilities.max_elements,
                       capabilities.shares ? fmt::format("shares 1 to {}", capabilities.max_share) : "no shares",
                       capabilities.rate_caps ? "rate caps" : "no rate caps",
                       capabilities.responder_leaf ? "; own leaf for RDMA READ responses" : "");
}

std::string describe_attachable(const Capabilities& capabilities)
{
    return join_types(capabilities.attachable);
}

std::string describe_pacing(const PacingCapabilities& pacing)
{
    if (pacing.supported_types.empty()) {
        return "none";
    }
    std::string text = join_types(pacing.supported_types);
    if (pacing.table_size > 0) {
        text += fmt::format("; {} distinct rates", pacing.table_size);
    }
    if (pacing.min_rate && pacing.max_rate) {
        text += fmt::format("; {} to {}", to_string(*pacing.min_rate), to_string(*pacing.max_rate));
    }
    if (pacing.burst) {
        text += pacing.typical_packet ? "; burst and packet size" : "; burst size";
    }
    return text;
}

namespace {

// What a function that is not the card's own, or that shares its port, can and cannot promise.
std::string describe_function(const DeviceView& device)
{
    return device.virtual_function ? "virtual function: what the host allows its port holds above this tree" : "";
}

std::string describe_bond(const DeviceView& device)
{
    return device.bond.empty() ? "" : fmt::format("in {}: a queue pair may leave by any port of the bond", device.bond);
}

std::string describe_attach(const DeviceView& device)
{
    return device.attach_reason.empty() ? device.attach_mode
                                        : fmt::format("{}: {}", device.attach_mode, device.attach_reason);
}

// Between processes, each of which has a tree of its own.
std::string describe_caps(const DeviceView& device)
{
    if (!device.cap_reason.empty()) {
        return fmt::format("divided among the processes below them: {}", device.cap_reason);
    }
    return device.cap_mode == "adaptive" ? "follow what is measured, so that shares hold between processes"
           : device.cap_mode == "divide" ? "divided among the processes below them"
                                         : "each process may use the whole of one";
}

// The tree as the renderer takes it: only the number of queue pairs is known, so theirs are made up.
DesiredState to_state(const DeviceView& device)
{
    DesiredState state{to_tree(device), {}};
    std::uint32_t next = 1;
    for (const auto& element : device.tree) {
        const ElementPath path(element.path);
        for (std::uint32_t i = 0; i < element.queue_pairs; ++i) {
            state.queue_pairs[QueuePairId{next++}] = Placement{path, {}, {}};
        }
    }
    return state;
}

RequestedRates requested_on(const DeviceView& device)
{
    RequestedRates requested;
    for (const auto& element : device.tree) {
        requested.emplace(ElementPath(element.path), element.requested);
    }
    return requested;
}

std::function<std::string(const ElementPath&)> make_note(const DeviceView& device, const BusyRates* busy)
{
    std::map<std::string, std::string> notes;
    for (const auto& element : device.tree) {
        if (element.draining) {
            notes[element.path] = "draining";
        }
    }
    if (busy != nullptr) {
        for (const auto& [path, rate] : busy->leaves) {
            std::string& note = notes[path];
            note += (note.empty() ? "" : ", ") + fmt::format("gets {}", to_string(rate));
        }
    }
    return [notes = std::move(notes)](const ElementPath& path) {
        const auto note = notes.find(path.text());
        return note == notes.end() ? std::string() : note->second;
    };
}

}    // namespace

Style style_of_state(std::string_view state)
{
    if (state == "ready" || state == "active") {
        return Style::Good;
    }
    return state == "degraded" || state == "gone" || state == "refused" ? Style::Bad : Style::Warning;
}

std::string render_devices(const World& world, const Screen& screen)
{
    const ManagerView& manager = world.manager;
    if (!has_any_device(world)) {
        return "no device: the daemon waits for one\n";
    }
    Table table({{"DEVICE", Align::Left, Fit::ShortenPath},
                 {"STATE"},
                 {"LINK"},
                 {"ATTACH"},
                 {"LEAVES", Align::Right},
                 {"ELEMENTS", Align::Right, Fit::Drop},
                 {"QPS-INSIDE", Align::Right},
                 {"QPS-OUTSIDE", Align::Right},
                 {"NETDEV", Align::Left, Fit::DropSoon},
                 {"PCI-ADDRESS", Align::Left, Fit::DropSoon}});
    for (const auto& device : world.devices) {
        table.add({device.key(), Cell(device.state, style_of_state(device.state)), link_of(device), device.attach_mode,
                   fmt::format("{}/{}", device.leaves_used, device.capabilities.max_leaves),
                   fmt::format("{}/{}", device.elements_used, device.capabilities.max_elements),
                   std::to_string(device.queue_pairs_inside), std::to_string(device.queue_pairs_outside), device.netdev,
                   device.pci_address});
    }
    const auto add_absent = [&table](const std::string& key, const char* state, const api::RefusedDevice& known) {
        table.add(
            {key, Cell(state, style_of_state(state)), "-", "-", "-", "-", "-", "-", known.netdev, known.pci_address});
    };
    for (const auto& device : manager.refused_devices) {
        add_absent(device.device, "refused", device);
    }
    for (const auto& key : manager.released_devices) {
        add_absent(key, "released", {});
    }
    std::string text = table.render(screen);
    for (const auto& device : manager.refused_devices) {
        text += labelled("refused:", Style::Bad, fmt::format("{}: {}", device.device, device.reason), screen);
    }
    return text;
}

bool has_any_device(const World& world)
{
    return !world.devices.empty() || !world.manager.refused_devices.empty() || !world.manager.released_devices.empty();
}

std::string render_device(const DeviceView& device, const Screen& screen, const std::vector<api::Level>& levels)
{
    Fields fields;
    fields.add("device", device.key());
    fields.add("state", device.state, style_of_state(device.state));
    fields.add("reason", device.reason);
    fields.add("link", fmt::format("{}, {}", device.link_layer, link_of(device)));
    fields.add("netdev", device.netdev);
    fields.add("PCI address", device.pci_address);
    fields.add("driver", device.driver);
    fields.add("firmware", device.firmware);
    fields.add("board id", device.board_id);
    fields.add("function", describe_function(device));
    fields.add("bond", describe_bond(device));
    fields.add("node GUID", to_string(Guid{device.node_guid}));
    fields.add("port GUID", to_string(Guid{device.port_guid}));
    fields.add("attach mode", describe_attach(device));
    if (device.attach_mode == "per-process") {
        fields.add("caps", describe_caps(device));
    }
    fields.add("scheduling", describe_scheduling(device.capabilities));
    fields.add("attachable", describe_attachable(device.capabilities));
    fields.add("pacing", describe_pacing(device.capabilities.pacing));
    fields.add("elements", fmt::format("{} used, {} free", device.elements_used, device.elements_free));
    fields.add("leaves", fmt::format("{} used, {} free", device.leaves_used, device.leaves_free));
    fields.add("queue pairs", fmt::format("{} in a leaf, {} of programs in none", device.queue_pairs_inside,
                                          device.queue_pairs_outside));
    for (const auto& [name, count] : device.statistics) {
        fields.add(printable(name), std::to_string(count));
    }
    std::string text = fields.render(screen);
    for (const auto& finding : device.findings) {
        text += labelled("finding:", Style::Warning, finding.message, screen);
    }
    for (const auto& failure : device.failures) {
        text += labelled("failure:", Style::Bad, failure.message, screen);
    }
    if (const std::string classes = render_port_classes(device, levels, screen); !classes.empty()) {
        text += "\n" + classes;
    }
    text += render_traffic(device, levels, screen);
    if (!device.self_test.empty()) {
        text += fmt::format("\n{}\n{}", styled("self-test", Style::Heading, screen),
                            render_self_test(device.self_test, screen));
    }
    if (!device.attributes.empty()) {
        text += "\n" + render_attributes(device.attributes, screen);
    }
    return text;
}

namespace {

std::string outside_of_tree(const DeviceTree& shown)
{
    const auto outside = shown.device->queue_pairs_outside;
    const bool is_one = outside == 1;
    return fmt::format("{} of programs {} in no leaf and {} with {}: what each gets holds only while they send nothing "
                       "(`rdma-qosctl qps --outside`)",
                       counted(outside, "queue pair"), is_one ? "is" : "are", is_one ? "competes" : "compete",
                       shown.busy->classes.empty()
                           ? "the whole tree"
                           : fmt::format("all that is in the traffic {} of {} packets", is_one ? "class" : "classes",
                                         is_one ? "its" : "their"));
}

// What each class gets, and what is assumed for it.
std::string busy_classes(const BusyRates& busy, const DeviceView& device, const Screen& screen)
{
    std::string text;
    for (const auto& each : busy.classes) {
        const double part = device.link_speed.is_zero() ? 0
                                                        : 100 * static_cast<double>(each.gets.kbps()) /
                                                              static_cast<double>(device.link_speed.kbps());
        text += sentence_on(screen, 0, 2,
                            printable(fmt::format("traffic class {} ({}; {}): gets {}, {:.0f} % of the port",
                                                  each.number, in_words(each.port_class),
                                                  each.levels.empty() ? "no level's DSCP"
                                                                      : fmt::format("{}", fmt::join(each.levels, ", ")),
                                                  to_string(each.gets), part))) +
                "\n";
    }
    if (!busy.classes.empty()) {
        text += sentence_on(screen, 0, 0,
                            "it is assumed that queue pairs are in the traffic class of their level's DSCP (`status` "
                            "names those that carry another one), and that the port divides itself among its classes, "
                            "and a class among what the tree has in it") +
                "\n";
    }
    return text;
}

// What the device's tree looks like, without the device's name.
std::string tree_of(const DeviceTree& shown, std::size_t principals_shown, const Screen& screen)
{
    if (shown.device->tree.empty()) {
        return shown.device->state == "disabled" ? "no element: `rdma-qosctl enable` makes those of the policy\n"
                                                 : "no element: the running policy schedules nothing here\n";
    }
    std::string text = tree_on(screen, render_tree(to_state(*shown.device), make_note(*shown.device, shown.busy),
                                                   principals_shown, requested_on(*shown.device)));
    if (shown.busy != nullptr) {
        text += busy_classes(*shown.busy, *shown.device, screen);
    }
    if (shown.busy != nullptr && shown.device->queue_pairs_outside > 0) {
        text += sentence_on(screen, 0, 0, outside_of_tree(shown)) + "\n";
    }
    if (shown.busy != nullptr && shown.device->has_tree_for_each()) {
        text += sentence_on(screen, 0, 0,
                            fmt::format("attach mode per-process: every process has a tree of its own; what each gets "
                                        "assumes that {} these trees in equal parts",
                                        shown.busy->classes.empty() ? "the port serves" : "a traffic class serves")) +
                "\n";
    }
    return text;
}

std::string facts_of(const DeviceView& device, const Screen& screen)
{
    return fmt::format("{}, {}, {}", styled(printable(device.state), style_of_state(device.state), screen),
                       link_of(device), printable(device.attach_mode));
}

}    // namespace

std::string render_device_trees(const std::vector<DeviceTree>& trees, std::size_t principals_shown,
                                const Screen& screen)
{
    if (trees.empty()) {
        return "no device: the daemon waits for one\n";
    }
    AlikeBlocks blocks;
    for (const auto& shown : trees) {
        blocks.add(printable(shown.device->key()),
                   fmt::format("  {}\n{}", facts_of(*shown.device, screen), tree_of(shown, principals_shown, screen)));
    }
    return fmt::format("{}", fmt::join(blocks.all(screen), "\n"));
}

}    // namespace rdmaqos::ctl
