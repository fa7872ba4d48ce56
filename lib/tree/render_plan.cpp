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
using drawing::share_text;

std::string attributes_text(const ElementAttributes& attributes)
{
    auto text = "share " + share_text(attributes.share);
    if (attributes.max_rate) {
        text += ", max " + to_string(*attributes.max_rate);
    }
    return text;
}

std::string limit_text(const std::optional<RateLimit>& limit)
{
    if (!limit) {
        return "unlimited";
    }
    auto text = to_string(limit->rate);
    if (limit->max_burst) {
        text += ", burst " + bytes_to_string(*limit->max_burst);
    }
    if (limit->typical_packet) {
        text += ", packets of " + bytes_to_string(*limit->typical_packet);
    }
    return text;
}

// What a plan does to one element.
struct Fate {
    const ActualElement* before = nullptr;
    const ActualElement* created = nullptr;
    ElementAttributes after;
    bool destroyed = false;
    std::size_t queue_pairs_before = 0;
    std::size_t queue_pairs_after = 0;

    [[nodiscard]] const ActualElement& element() const { return before != nullptr ? *before : *created; }
    [[nodiscard]] bool is_changed() const { return before != nullptr && !destroyed && before->attributes != after; }
};

std::string arrow(const std::string& from, const std::string& to)
{
    return from == to ? to : from + " -> " + to;
}

class PlanDrawing {
public:
    PlanDrawing(const ActualState& before, const Plan& plan) : plan_(plan)
    {
        for (const auto& [id, element] : before.elements) {
            fates_[id] = {&element, nullptr, element.attributes, false, 0, 0};
        }
        for (const auto& [queue_pair, placement] : before.queue_pairs) {
            if (placement.requester) {
                ++fates_[*placement.requester].queue_pairs_before;
                ++fates_[*placement.requester].queue_pairs_after;
            }
            requester_of_[queue_pair] = placement.requester;
        }
        for (const auto& operation : plan.operations) {
            std::visit([this](const auto& one) { note(one); }, operation);
        }
    }

    std::string draw()
    {
        std::map<std::optional<ElementId>, std::vector<ElementId>> children;
        for (const auto& [id, fate] : fates_) {
            children[fate.element().parent].push_back(id);
        }
        std::string text;
        for (const ElementId root : children[std::nullopt]) {
            nodes_.clear();
            add(root, children);
            text += drawing::draw(nodes_, 0);
        }
        for (const auto& unreachable : plan_.unreachable) {
            text += fmt::format("! {}: {}\n", printable(unreachable.path.text()), unreachable.why);
        }
        return text + default_share_remark() + summary();
    }

private:
    void note(const CreateElement& create)
    {
        fates_[create.id] = {nullptr, &create.element, create.element.attributes, false, 0, 0};
    }

    void note(const ModifyElement& modify)
    {
        auto& after = fates_[modify.id].after;
        after.share = modify.share.value_or(after.share);
        after.max_rate = modify.max_rate.value_or(after.max_rate);
    }

    void note(const DestroyElement& destroy) { fates_[destroy.id].destroyed = true; }

    void note(const MoveQueuePair& move)
    {
        moved_.insert(move.queue_pair);
        auto& now = requester_of_[move.queue_pair];
        if (now) {
            --fates_[*now].queue_pairs_after;
        }
        if (move.requester) {
            ++fates_[*move.requester].queue_pairs_after;
        }
        now = move.requester;
    }

    void note(const SetQueuePairRate& /*set*/) { ++rates_; }

    std::size_t add(ElementId id, std::map<std::optional<ElementId>, std::vector<ElementId>>& children)
    {
        const std::size_t index = nodes_.size();
        nodes_.push_back(node_of(fates_.at(id)));
        auto& below = children[id];
        std::stable_sort(below.begin(), below.end(), [this](ElementId a, ElementId b) {
            return drawing::comes_before(fates_.at(a).element().path.name(), fates_.at(b).element().path.name());
        });
        std::vector<std::size_t> indexes;
        indexes.reserve(below.size());
        for (const ElementId child : below) {
            indexes.push_back(add(child, children));
        }
        nodes_[index].children = std::move(indexes);
        return index;
    }

    [[nodiscard]] drawing::Node node_of(const Fate& fate) const
    {
        drawing::Node node;
        node.mark = mark_of(fate);
        const ActualElement& element = fate.element();
        const auto parent = element.parent ? fates_.at(*element.parent).element().path : ElementPath();
        node.label = drawing::label_below(parent.text(), element.path.text());
        node.cells.resize(3);
        const auto& from = fate.before != nullptr ? fate.before->attributes : fate.after;
        if (element.parent) {
            node.cells[0] = "share " + arrow(share_text(from.share), share_text(fate.after.share));
        }
        if (from.max_rate || fate.after.max_rate) {
            node.cells[1] = "max " + arrow(rate_text(from.max_rate), rate_text(fate.after.max_rate));
        }
        if (fate.queue_pairs_before != fate.queue_pairs_after && fate.before != nullptr) {
            node.cells[2] = fmt::format("{} -> {}", fate.queue_pairs_before,
                                        counted(fate.queue_pairs_after, "queue pair"));
        } else if (fate.queue_pairs_after != 0) {
            node.cells[2] = counted(fate.queue_pairs_after, "queue pair");
        }
        return node;
    }

    static std::string mark_of(const Fate& fate)
    {
        if (fate.before == nullptr) {
            return "+";
        }
        if (fate.destroyed) {
            return "-";
        }
        return fate.is_changed() ? "~" : " ";
    }

    // Where the device's own share competes with shares that are known.
    [[nodiscard]] std::string default_share_remark() const
    {
        std::map<ElementId, std::pair<bool, bool>> children;    // by parent: has a default, has a known share
        for (const auto& [id, fate] : fates_) {
            if (!fate.destroyed && fate.element().parent) {
                auto& [is_default, is_known] = children[*fate.element().parent];
                (fate.after.share == 0 ? is_default : is_known) = true;
            }
        }
        const bool guessed = std::any_of(children.begin(), children.end(),
                                         [](const auto& entry) { return entry.second.first && entry.second.second; });
        return guessed ? "the device does not tell its default share; wherever rates are computed it counts as 1\n"
                       : "";
    }

    [[nodiscard]] std::string summary() const
    {
        if (plan_.empty()) {
            return "no changes\n";
        }
        std::size_t created = 0;
        std::size_t changed = 0;
        std::size_t destroyed = 0;
        for (const auto& operation : plan_.operations) {
            created += std::holds_alternative<CreateElement>(operation) ? 1 : 0;
            changed += std::holds_alternative<ModifyElement>(operation) ? 1 : 0;
            destroyed += std::holds_alternative<DestroyElement>(operation) ? 1 : 0;
        }
        auto text = fmt::format("{}: {} created, {} changed, {} destroyed",
                                counted(plan_.operations.size(), "operation"), created, changed, destroyed);
        if (!moved_.empty()) {
            text += fmt::format("; {} {}", counted(moved_.size(), "queue pair"), moved_.size() == 1 ? "moves" : "move");
        }
        if (rates_ != 0) {
            text += fmt::format("; {} set", counted(rates_, "queue pair rate"));
        }
        if (!plan_.unreachable.empty()) {
            text += fmt::format("; {} out of reach", plan_.unreachable.size());
        }
        return text + "\n";
    }

    const Plan& plan_;
    std::map<ElementId, Fate> fates_;
    std::map<QueuePairId, std::optional<ElementId>> requester_of_;
    std::set<QueuePairId> moved_;
    std::size_t rates_ = 0;
    std::vector<drawing::Node> nodes_;
};

// Describes operations one after the other, each against the state the ones before it left.
class Narration {
public:
    explicit Narration(const ActualState& before) : elements_(before.elements), queue_pairs_(before.queue_pairs) {}

    std::string line(const CreateElement& create)
    {
        elements_[create.id] = create.element;
        const ActualElement& element = create.element;
        if (!element.parent) {
            return "create root /";
        }
        auto text = fmt::format("create {} {}", element.kind == ElementKind::Node ? "node" : "leaf", name(create.id));
        if (const auto parent = path(*element.parent); parent != element.path.parent()) {
            text += " below " + printable(parent.text());
        }
        return text + ": " + attributes_text(element.attributes);
    }

    std::string line(const ModifyElement& modify)
    {
        auto& now = elements_[modify.id].attributes;
        std::string text = "modify " + printable(modify.path.text()) + ":";
        const char* separator = " ";
        if (modify.share) {
            text += fmt::format("{}share {} -> {}", separator, share_text(now.share), share_text(*modify.share));
            now.share = *modify.share;
            separator = ", ";
        }
        if (modify.max_rate) {
            text += fmt::format("{}max {} -> {}", separator, rate_text(now.max_rate), rate_text(*modify.max_rate));
            now.max_rate = *modify.max_rate;
        }
        return text;
    }

    std::string line(const DestroyElement& destroy)
    {
        elements_.erase(destroy.id);
        return "destroy " + printable(destroy.path.text());
    }

    std::string line(const MoveQueuePair& move)
    {
        auto& now = queue_pairs_[move.queue_pair];
        std::string text;
        if (!move.requester && !move.responder) {
            text = fmt::format("detach queue pair {} from {}", move.queue_pair.number,
                               sides(now.requester, now.responder));
        } else if (!now.requester && !now.responder) {
            text = fmt::format("attach queue pair {} to {}", move.queue_pair.number,
                               sides(move.requester, move.responder));
        } else {
            const bool same_responses = now.responder == move.responder;
            text = fmt::format("move queue pair {} from {} to {}", move.queue_pair.number,
                               sides(now.requester, same_responses ? std::nullopt : now.responder),
                               sides(move.requester, same_responses ? std::nullopt : move.responder));
        }
        now.requester = move.requester;
        now.responder = move.responder;
        return text;
    }

    std::string line(const SetQueuePairRate& set)
    {
        auto& now = queue_pairs_[set.queue_pair].rate;
        auto text = fmt::format("limit queue pair {}: {} -> {}", set.queue_pair.number, limit_text(now),
                                limit_text(set.rate));
        now = set.rate;
        return text;
    }

private:
    [[nodiscard]] ElementPath path(ElementId id) const
    {
        const auto found = elements_.find(id);
        return found == elements_.end() ? ElementPath("?") : found->second.path;
    }

    [[nodiscard]] std::string name(std::optional<ElementId> id) const
    {
        return id ? printable(path(*id).text()) : "no leaf";
    }

    [[nodiscard]] std::string sides(std::optional<ElementId> requester, std::optional<ElementId> responder) const
    {
        if (requester == responder || !responder) {
            return name(requester);
        }
        return fmt::format("{} (responses {})", name(requester), name(responder));
    }

    std::map<ElementId, ActualElement> elements_;
    std::map<QueuePairId, ActualPlacement> queue_pairs_;
};

}    // namespace

std::string render_plan(const ActualState& before, const Plan& plan)
{
    return PlanDrawing(before, plan).draw();
}

std::string render_operations(const ActualState& before, const Plan& plan)
{
    Narration narration(before);
    std::string text;
    for (const auto& operation : plan.operations) {
        text += std::visit([&narration](const auto& one) { return narration.line(one); }, operation) + "\n";
    }
    return text;
}

}    // namespace rdmaqos
