#include "lib/tree/render.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/tree/drawing.h"

namespace rdmaqos {
namespace {

struct InLeaf {
    std::size_t requests = 0;
    std::size_t responses = 0;    // of queue pairs whose requests are elsewhere
};

std::string occupants_text(const InLeaf& in_leaf)
{
    if (in_leaf.requests == 0 && in_leaf.responses == 0) {
        return {};
    }
    if (in_leaf.requests == 0) {
        return "responses of " + counted(in_leaf.responses, "queue pair");
    }
    return counted(in_leaf.requests, "queue pair");
}

class TreeDrawing {
public:
    TreeDrawing(const DesiredState& state, const std::function<std::string(const ElementPath&)>& note,
                const RequestedRates& requested)
        : state_(state), note_(note), requested_(requested)
    {
        for (const auto& [queue_pair, placement] : state.queue_pairs) {
            ++in_leaf_[placement.requester].requests;
            in_leaf_[placement.responder].responses += placement.responder == placement.requester ? 0 : 1;
        }
        for (const auto& [path, element] : state.tree) {
            children_[element.parent].push_back(path);
            weights_[element.parent] += drawing::counted_weight(element.attributes.share);
        }
        for (auto& [parent, children] : children_) {
            std::sort(children.begin(), children.end(), [](const ElementPath& a, const ElementPath& b) {
                return a.parent() == b.parent() ? drawing::comes_before(a.name(), b.name())
                                                : drawing::comes_before(a.text(), b.text());
            });
        }
    }

    std::string draw(std::size_t principals_shown)
    {
        shown_ = principals_shown;
        const auto roots = children_.find(ElementPath());
        if (roots == children_.end()) {
            return "(no elements)\n";
        }
        std::string result;
        for (const auto& root : roots->second) {
            nodes_.clear();
            add(root);
            result += drawing::draw(nodes_, 0);
        }
        return result;
    }

private:
    std::size_t add(const ElementPath& path)
    {
        const std::size_t index = nodes_.size();
        const Element& element = state_.tree.at(path);
        drawing::Node& node = nodes_.emplace_back();
        node.label = drawing::label_below(element.parent.text(), path.text());
        node.cells = cells_of(path, element);
        const auto children = children_.find(path);
        if (children == children_.end()) {
            return index;
        }
        const std::size_t hidden_after = first_hidden(path, children->second);
        std::vector<ElementPath> hidden;
        std::vector<std::size_t> below;
        std::size_t leaves = 0;
        for (const auto& child : children->second) {
            const bool is_principal = state_.tree.at(child).kind == ElementKind::Leaf && child.name() != "others";
            leaves += is_principal ? 1 : 0;
            if (is_principal && leaves > hidden_after) {
                hidden.push_back(child);
                continue;
            }
            if (!hidden.empty() && child.name() == "others") {
                below.push_back(add_hidden(hidden));
            }
            below.push_back(add(child));
        }
        nodes_[index].children = std::move(below);
        return index;
    }

    // How many leaves of a class are drawn; only where folding them saves lines.
    [[nodiscard]] std::size_t first_hidden(const ElementPath& path, const std::vector<ElementPath>& children) const
    {
        const bool is_class = state_.tree.contains(path.child("others"));
        return shown_ == 0 || !is_class || children.size() <= shown_ + 2 ? children.size() : shown_;
    }

    std::size_t add_hidden(const std::vector<ElementPath>& hidden)
    {
        InLeaf total;
        for (const auto& path : hidden) {
            const auto found = in_leaf_.find(path);
            if (found != in_leaf_.end()) {
                total.requests += found->second.requests;
                total.responses += found->second.responses;
            }
        }
        nodes_.push_back({"", fmt::format("... {} more", hidden.size()), {"", "", occupants_text(total), ""}, {}});
        return nodes_.size() - 1;
    }

    [[nodiscard]] std::vector<std::string> cells_of(const ElementPath& path, const Element& element) const
    {
        std::vector<std::string> cells(4);
        if (!path.is_root()) {
            cells[0] = drawing::rate_request_text(requested_of(requested_, path), element.attributes.share,
                                                  weights_.at(element.parent));
        }
        if (element.attributes.max_rate) {
            cells[1] = "max " + to_string(*element.attributes.max_rate);
        }
        const auto found = in_leaf_.find(path);
        if (found != in_leaf_.end()) {
            cells[2] = occupants_text(found->second);
        }
        cells[3] = note_ ? note_(path) : std::string();
        return cells;
    }

    const DesiredState& state_;
    const std::function<std::string(const ElementPath&)>& note_;
    const RequestedRates& requested_;
    std::map<ElementPath, InLeaf> in_leaf_;
    std::map<ElementPath, std::vector<ElementPath>> children_;
    std::map<ElementPath, std::uint64_t> weights_;    // of all children of a node
    std::vector<drawing::Node> nodes_;
    std::size_t shown_ = 0;
};

}    // namespace

std::string render_tree(const DesiredState& state, const std::function<std::string(const ElementPath&)>& note,
                        std::size_t principals_shown, const RequestedRates& requested)
{
    return TreeDrawing(state, note, requested).draw(principals_shown);
}

}    // namespace rdmaqos
