#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/tree/drawing.h"
#include "lib/tree/render.h"

namespace rdmaqos {
namespace {

using drawing::rate_text;

std::string arrow(const std::string& from, const std::string& to)
{
    return from == to ? to : from + " -> " + to;
}

std::string mark_of(const DescribedElement& element)
{
    if (!element.before) {
        return "+";
    }
    if (!element.after) {
        return "-";
    }
    return element.before == element.after ? " " : "~";
}

// Of the weights of a node's children.
struct Sums {
    std::uint64_t before = 0;
    std::uint64_t after = 0;
};

std::map<ElementPath, Sums> sums_of(const DescribedPlan& plan)
{
    std::map<ElementPath, Sums> sums;
    for (const auto& element : plan.tree) {
        auto& [before, after] = sums[element.parent];
        before += element.before ? drawing::counted_weight(element.before->share) : 0;
        after += element.after ? drawing::counted_weight(element.after->share) : 0;
    }
    return sums;
}

// "share 60 -> 40", "min-rate 10 Gbit/s (weight 1 of 10 -> 2 of 13)". That siblings came or went is no change.
std::string shares_of(const DescribedElement& element, const Sums& sums)
{
    if (!element.after || !element.before) {
        return element.after ? drawing::rate_request_text(element.requested_after, element.after->share, sums.after)
                             : drawing::rate_request_text(element.requested_before, element.before->share, sums.before);
    }
    auto to = drawing::rate_request_text(element.requested_after, element.after->share, sums.after);
    const bool is_same = element.requested_before == element.requested_after ||
                         element.requested_before == RequestedRate{};    // not known
    if (is_same && element.before->share == element.after->share) {
        return to;
    }
    const auto from = drawing::rate_request_text(element.requested_before, element.before->share, sums.before);
    const auto parenthesis = to.find('(');
    if (parenthesis != std::string::npos && from.starts_with(to.substr(0, parenthesis + 1))) {
        constexpr std::string_view kWeight = "weight ";
        return from.substr(0, from.size() - 1) + " -> " + to.substr(parenthesis + 1 + kWeight.size());
    }
    constexpr std::string_view kShare = "share ";
    const bool is_plain = parenthesis == std::string::npos && from.find('(') == std::string::npos;
    return arrow(from, is_plain ? to.substr(kShare.size()) : to);
}

drawing::Node node_of(const DescribedElement& element, const Sums& sums)
{
    drawing::Node node;
    node.mark = mark_of(element);
    node.label = drawing::label_below(element.parent.text(), element.path.text());
    node.cells.resize(3);
    const auto to = element.after ? *element.after : element.before.value_or(ElementAttributes{});
    const auto from = element.before.value_or(to);
    if (!element.parent.empty()) {
        node.cells[0] = shares_of(element, sums);
    }
    if (from.max_rate || to.max_rate) {
        node.cells[1] = "max " + arrow(rate_text(from.max_rate), rate_text(to.max_rate));
    }
    if (element.queue_pairs_before != element.queue_pairs_after && element.before) {
        node.cells[2] = fmt::format("{} -> {}", element.queue_pairs_before,
                                    counted(element.queue_pairs_after, "queue pair"));
    } else if (element.queue_pairs_after != 0) {
        node.cells[2] = counted(element.queue_pairs_after, "queue pair");
    }
    return node;
}

// Where the device's own share competes with shares that are known.
std::string default_share_remark(const DescribedPlan& plan)
{
    std::map<ElementPath, std::pair<bool, bool>> children;    // by parent: has a default, has a known share
    for (const auto& element : plan.tree) {
        if (element.after && !element.parent.empty()) {
            auto& [is_default, is_known] = children[element.parent];
            (element.after->share == 0 ? is_default : is_known) = true;
        }
    }
    const bool guessed = std::any_of(children.begin(), children.end(),
                                     [](const auto& entry) { return entry.second.first && entry.second.second; });
    return guessed ? "the device does not tell its default share; wherever rates are computed it counts as 1\n" : "";
}

std::string summary(const DescribedPlan& plan)
{
    if (plan.operations.empty() && plan.unreachable.empty()) {
        return "no changes\n";
    }
    std::map<DescribedOperation::Kind, std::size_t> counts;
    std::set<std::uint32_t> moved;
    for (const auto& operation : plan.operations) {
        ++counts[operation.kind];
        if (operation.kind == DescribedOperation::Kind::Move) {
            moved.insert(operation.queue_pair.value_or(0));
        }
    }
    auto text = fmt::format("{}: {} created, {} changed, {} destroyed", counted(plan.operations.size(), "operation"),
                            counts[DescribedOperation::Kind::Create], counts[DescribedOperation::Kind::Modify],
                            counts[DescribedOperation::Kind::Destroy]);
    if (!moved.empty()) {
        text += fmt::format("; {} {}", counted(moved.size(), "queue pair"), moved.size() == 1 ? "moves" : "move");
    }
    if (const std::size_t limits = counts[DescribedOperation::Kind::Limit]; limits != 0) {
        text += fmt::format("; {} set", counted(limits, "queue pair rate"));
    }
    if (!plan.unreachable.empty()) {
        text += fmt::format("; {} out of reach", plan.unreachable.size());
    }
    return text + "\n";
}

}    // namespace

std::string render_plan(const DescribedPlan& plan)
{
    const auto sums = sums_of(plan);
    std::vector<drawing::Node> nodes;
    std::vector<std::size_t> roots;
    std::map<ElementPath, std::size_t> last;    // of each path
    for (const auto& element : plan.tree) {
        const auto parent = last.find(element.parent);
        (parent == last.end() ? roots : nodes[parent->second].children).push_back(nodes.size());
        last[element.path] = nodes.size();
        nodes.push_back(node_of(element, sums.at(element.parent)));
    }
    std::string text;
    for (const std::size_t root : roots) {
        text += drawing::draw(nodes, root);
    }
    for (const auto& unreachable : plan.unreachable) {
        text += fmt::format("! {}: {}\n", printable(unreachable.path.text()), unreachable.why);
    }
    return text + default_share_remark(plan) + summary(plan);
}

std::string render_plan(const ActualState& before, const Plan& plan)
{
    return render_plan(describe(before, plan));
}

std::string render_operations(const ActualState& before, const Plan& plan)
{
    std::string text;
    for (const auto& operation : describe(before, plan).operations) {
        text += to_string(operation) + "\n";
    }
    return text;
}

}    // namespace rdmaqos
