#include "lib/tree/described_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/tree/drawing.h"

namespace rdmaqos {
namespace {

using drawing::rate_text;
using drawing::share_text;

constexpr std::array kOperationNames{
    std::pair{DescribedOperation::Kind::Create, std::string_view("create")},
    std::pair{DescribedOperation::Kind::Modify, std::string_view("modify")},
    std::pair{DescribedOperation::Kind::Destroy, std::string_view("destroy")},
    std::pair{DescribedOperation::Kind::Move, std::string_view("move")},
    std::pair{DescribedOperation::Kind::Limit, std::string_view("limit")},
};

// Carries a plan out on paper, one operation after the other.
class Description {
public:
    explicit Description(const ActualState& before) : now_(before)
    {
        for (const auto& [id, element] : before.elements) {
            all_.emplace(id, Fate{element, element.attributes, element.attributes});
        }
        for (const auto& [queue_pair, placement] : before.queue_pairs) {
            if (placement.requester) {
                Fate& fate = all_.at(*placement.requester);
                ++fate.queue_pairs_before;
                ++fate.queue_pairs_after;
            }
        }
    }

    DescribedOperation take(const CreateElement& create)
    {
        const ActualElement& element = create.element;
        all_.insert_or_assign(create.id, Fate{element, std::nullopt, element.attributes});
        DescribedOperation operation;
        operation.path = element.path;
        operation.parent = path(element.parent);
        operation.element_kind = element.kind;
        operation.share = element.attributes.share;
        operation.max_rate = element.attributes.max_rate;
        return operation;
    }

    DescribedOperation take(const ModifyElement& modify)
    {
        auto& after = *all_.at(modify.id).after;
        DescribedOperation operation;
        operation.kind = DescribedOperation::Kind::Modify;
        operation.path = modify.path;
        if (modify.share) {
            operation.share_before = std::exchange(after.share, *modify.share);
            operation.share = modify.share;
        }
        if (modify.max_rate) {
            operation.max_rate_before = std::exchange(after.max_rate, *modify.max_rate);
            operation.max_rate = *modify.max_rate;
        }
        return operation;
    }

    DescribedOperation take(const DestroyElement& destroy)
    {
        all_.at(destroy.id).after.reset();
        DescribedOperation operation;
        operation.kind = DescribedOperation::Kind::Destroy;
        operation.path = destroy.path;
        return operation;
    }

    DescribedOperation take(const MoveQueuePair& move)
    {
        auto& placement = now_.queue_pairs[move.queue_pair];
        DescribedOperation operation;
        operation.kind = DescribedOperation::Kind::Move;
        operation.queue_pair = move.queue_pair.number;
        operation.leaf_before = path(placement.requester);
        operation.responder_leaf_before = path(placement.responder);
        operation.leaf = path(move.requester);
        operation.responder_leaf = path(move.responder);
        if (placement.requester) {
            --all_.at(*placement.requester).queue_pairs_after;
        }
        if (move.requester) {
            ++all_.at(*move.requester).queue_pairs_after;
        }
        placement.requester = move.requester;
        placement.responder = move.responder;
        return operation;
    }

    DescribedOperation take(const SetQueuePairRate& set)
    {
        DescribedOperation operation;
        operation.kind = DescribedOperation::Kind::Limit;
        operation.queue_pair = set.queue_pair.number;
        operation.limit_before = std::exchange(now_.queue_pairs[set.queue_pair].rate, set.rate);
        operation.limit = set.rate;
        return operation;
    }

    [[nodiscard]] std::vector<DescribedElement> tree() const
    {
        std::map<std::optional<ElementId>, std::vector<ElementId>> children;
        for (const auto& [id, fate] : all_) {
            children[fate.element.parent].push_back(id);
        }
        for (auto& [parent, below] : children) {
            std::stable_sort(below.begin(), below.end(), [this](ElementId a, ElementId b) {
                return drawing::comes_before(all_.at(a).element.path.name(), all_.at(b).element.path.name());
            });
        }
        std::vector<DescribedElement> tree;
        std::vector<ElementId> waiting(children[std::nullopt].rbegin(), children[std::nullopt].rend());
        while (!waiting.empty()) {
            const ElementId id = waiting.back();
            waiting.pop_back();
            const Fate& fate = all_.at(id);
            tree.push_back({fate.element.path,
                            path(fate.element.parent),
                            fate.element.kind,
                            fate.before,
                            fate.after,
                            fate.queue_pairs_before,
                            fate.queue_pairs_after,
                            {},
                            {}});
            const auto& below = children[id];
            waiting.insert(waiting.end(), below.rbegin(), below.rend());
        }
        return tree;
    }

private:
    struct Fate {
        ActualElement element;
        std::optional<ElementAttributes> before;
        std::optional<ElementAttributes> after;
        std::uint32_t queue_pairs_before = 0;
        std::uint32_t queue_pairs_after = 0;
    };

    // Also of one that is gone by now.
    [[nodiscard]] ElementPath path(const std::optional<ElementId>& id) const
    {
        return id ? all_.at(*id).element.path : ElementPath();
    }

    std::map<ElementId, Fate> all_;
    ActualState now_;    // of the queue pairs
};

std::string name(const ElementPath& path)
{
    return path.empty() ? "no leaf" : printable(path.text());
}

std::string sides(const ElementPath& leaf, const ElementPath& responder_leaf)
{
    if (leaf == responder_leaf || responder_leaf.empty()) {
        return name(leaf);
    }
    return fmt::format("{} (responses {})", name(leaf), name(responder_leaf));
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

std::string creation(const DescribedOperation& operation)
{
    if (operation.parent.empty()) {
        return "create root /";
    }
    auto text = fmt::format("create {} {}", to_string(operation.element_kind.value_or(ElementKind::Node)),
                            name(operation.path));
    if (operation.parent != operation.path.parent()) {
        text += " below " + name(operation.parent);
    }
    text += ": share " + share_text(operation.share.value_or(0));
    if (operation.max_rate) {
        text += ", max " + rate_text(operation.max_rate);
    }
    return text;
}

std::string modification(const DescribedOperation& operation)
{
    std::string text = "modify " + name(operation.path) + ":";
    if (operation.share) {
        text += fmt::format(" share {} -> {}", share_text(operation.share_before.value_or(0)),
                            share_text(*operation.share));
    }
    if (operation.max_rate || operation.max_rate_before) {
        text += fmt::format("{} max {} -> {}", operation.share ? "," : "", rate_text(operation.max_rate_before),
                            rate_text(operation.max_rate));
    }
    return text;
}

std::string movement(const DescribedOperation& operation, const std::string& subject)
{
    const auto& from = operation.leaf_before;
    const auto& to = operation.leaf;
    const auto& responder_from = operation.responder_leaf_before;
    const auto& responder_to = operation.responder_leaf;
    if (to.empty() && responder_to.empty()) {
        return fmt::format("detach {} from {}", subject, sides(from, responder_from));
    }
    if (from.empty() && responder_from.empty()) {
        return fmt::format("attach {} to {}", subject, sides(to, responder_to));
    }
    const bool same_responses = responder_from == responder_to;
    return fmt::format("move {} from {} to {}", subject, sides(from, same_responses ? ElementPath() : responder_from),
                       sides(to, same_responses ? ElementPath() : responder_to));
}

}    // namespace

std::string_view to_string(DescribedOperation::Kind kind)
{
    return std::ranges::find(kOperationNames, kind, [](const auto& entry) { return entry.first; })->second;
}

std::string to_string(const DescribedOperation& operation, std::size_t queue_pairs)
{
    const std::string subject = queue_pairs == 1 ? fmt::format("queue pair {}", operation.queue_pair.value_or(0))
                                                 : fmt::format("{} queue pairs", queue_pairs);
    switch (operation.kind) {
    case DescribedOperation::Kind::Create:
        return creation(operation);
    case DescribedOperation::Kind::Modify:
        return modification(operation);
    case DescribedOperation::Kind::Destroy:
        return "destroy " + name(operation.path);
    case DescribedOperation::Kind::Move:
        return movement(operation, subject);
    case DescribedOperation::Kind::Limit:
        return fmt::format("limit {}: {} -> {}", subject, limit_text(operation.limit_before),
                           limit_text(operation.limit));
    }
    return {};
}

DescribedPlan describe(const ActualState& before, const Plan& plan, const RequestedRates& requested_before,
                       const RequestedRates& requested_after)
{
    Description description(before);
    DescribedPlan described;
    described.operations.reserve(plan.operations.size());
    for (const auto& operation : plan.operations) {
        described.operations.push_back(
            std::visit([&description](const auto& one) { return description.take(one); }, operation));
    }
    described.tree = description.tree();
    for (auto& element : described.tree) {
        element.requested_before = element.before ? requested_of(requested_before, element.path) : RequestedRate{};
        element.requested_after = element.after ? requested_of(requested_after, element.path) : RequestedRate{};
    }
    described.unreachable = plan.unreachable;
    return described;
}

}    // namespace rdmaqos
