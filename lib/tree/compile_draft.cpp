#include "lib/tree/compile_draft.h"

#include <unordered_set>
#include <utility>

#include <fmt/format.h>

namespace rdmaqos::compiling {
namespace {

class Layout {
public:
    Layout(const CompileInput& input, std::vector<Finding>& findings)
        : capabilities_(input.capabilities), spec_(input.spec), link_speed_(input.link_speed), findings_(findings)
    {
    }

    Draft run()
    {
        for (const auto& element : spec_.elements) {
            taken_.insert(element.path.text());
        }
        draft_.elements.reserve(1 + 2 * spec_.elements.size());
        draft_.add(ElementPath::root(), ElementKind::Node, kNone, kOneShare);
        for (const auto& element : spec_.elements) {
            element.is_class ? add_class(element) : add_node(element);
        }
        // After the classes: where leaves are scarce every class has one before responses get theirs.
        for (auto& one : draft_.classes) {
            add_responder(one);
        }
        return std::move(draft_);
    }

private:
    [[nodiscard]] bool has_room(std::uint32_t leaves, std::uint32_t elements) const
    {
        return draft_.leaves + leaves <= capabilities_.max_leaves &&
               draft_.kept + elements <= capabilities_.max_elements;
    }

    [[nodiscard]] Index nearest_node(ElementPath path) const
    {
        for (path = path.parent(); !path.empty(); path = path.parent()) {
            const auto found = draft_.by_path.find(path.text());
            if (found != draft_.by_path.end()) {
                return found->second;
            }
        }
        return kRoot;
    }

    void add_node(const SpecElement& element)
    {
        if (!has_room(0, 1)) {
            report_no_room(element.path, "a node of its own");
            return;
        }
        add_from_policy(element.path, ElementKind::Node, nearest_node(element.path), element.rate);
    }

    void add_class(const SpecElement& element)
    {
        draft_.class_by_path.emplace(element.path.text(), draft_.classes.size());
        ClassDraft& one = draft_.classes.emplace_back();
        one.spec = &element;
        const bool is_fair = element.fair_by != FairBy::None;
        if (!has_room(1, is_fair ? 2 : 1)) {
            report_no_room(element.path, "a leaf for the class");
            return;
        }
        const Index parent = nearest_node(element.path);
        one.element = add_from_policy(element.path, is_fair ? ElementKind::Node : ElementKind::Leaf, parent,
                                      element.rate);
        one.shared_leaf = one.element;
        if (is_fair) {
            draft_.elements[one.element].has_principals = true;
            one.shared_leaf = draft_.add(element.path.child(kOthers), ElementKind::Leaf, one.element,
                                         element.principal);
            report_cap_above_link(element);
        }
    }

    void report_cap_above_link(const SpecElement& element)
    {
        const auto& cap = element.principal.max_rate;
        if (cap && capabilities_.rate_caps && !link_speed_.is_zero() && *cap > link_speed_) {
            findings_.push_back({FindingKind::CapAboveLink, false, element.path,
                                 fmt::format("max-rate-each {}", to_string(*cap)), to_string(link_speed_),
                                 "the port is slower than the cap, which has no effect"});
        }
    }

    void add_responder(ClassDraft& one)
    {
        if (!one.spec->responder || one.element == kNone) {
            return;
        }
        const ElementPath path = responder_path(one.spec->path);
        if (!capabilities_.responder_leaf || !has_room(1, 1)) {
            report_no_responder(path);
            return;
        }
        one.responder = add_from_policy(path, ElementKind::Leaf, draft_.elements[one.element].parent,
                                        *one.spec->responder);
    }

    // Another class may be called as this one's responder would be.
    [[nodiscard]] ElementPath responder_path(const ElementPath& path)
    {
        std::string text = path.text() + ".responder";
        while (!taken_.insert(text).second) {
            text += "'";
        }
        return ElementPath(std::move(text));
    }

    Index add_from_policy(const ElementPath& path, ElementKind kind, Index parent, const RateSpec& rate)
    {
        const Index index = draft_.add(path, kind, parent, rate);
        draft_.elements[index].from_policy = true;
        return index;
    }

    void report_no_room(const ElementPath& path, const char* requested)
    {
        findings_.push_back({FindingKind::NoLeaf, true, path, requested, "it is not enforced",
                             fmt::format("the device's {} leaves and {} elements are used by what comes before it",
                                         capabilities_.max_leaves, capabilities_.max_elements)});
    }

    void report_no_responder(const ElementPath& path)
    {
        const auto kind = capabilities_.responder_leaf ? FindingKind::NoLeaf : FindingKind::NotSupported;
        findings_.push_back({kind, true, path, "a leaf of its own for RDMA READ responses",
                             "they use the leaf of the queue pair's requests",
                             capabilities_.responder_leaf
                                 ? fmt::format("the device's {} leaves are used by classes", capabilities_.max_leaves)
                                 : std::string("the device schedules responses together with requests")});
    }

    const Capabilities& capabilities_;
    const TreeSpec& spec_;
    const Bandwidth link_speed_;
    std::vector<Finding>& findings_;
    Draft draft_;
    std::unordered_set<std::string> taken_;
};

}    // namespace

Index Draft::add(ElementPath path, ElementKind kind, Index parent, const RateSpec& rate)
{
    const Index index = elements.size();
    by_path.emplace(path.text(), index);
    DraftElement& element = elements.emplace_back();
    element.path = std::move(path);
    element.kind = kind;
    element.parent = parent;
    element.rate = rate;
    if (parent != kNone) {
        elements[parent].children.push_back(index);
    }
    ++kept;
    leaves += kind == ElementKind::Leaf ? 1 : 0;
    return index;
}

Index Draft::kept_parent(Index element) const
{
    Index parent = elements[element].parent;
    while (parent != kNone && elements[parent].folded) {
        parent = elements[parent].parent;
    }
    return parent;
}

std::uint32_t Draft::level_of(Index element) const
{
    std::uint32_t level = 0;
    for (; element != kNone; element = elements[element].parent) {
        level += elements[element].folded ? 0 : 1;
    }
    return level;
}

std::vector<Index> Draft::kept_children(Index node) const
{
    std::vector<Index> result;
    std::vector<Index> open(elements[node].children.rbegin(), elements[node].children.rend());
    while (!open.empty()) {
        const Index child = open.back();
        open.pop_back();
        if (elements[child].folded) {
            open.insert(open.end(), elements[child].children.rbegin(), elements[child].children.rend());
        } else {
            result.push_back(child);
        }
    }
    return result;
}

Draft lay_out_policy(const CompileInput& input, std::vector<Finding>& findings)
{
    return Layout(input, findings).run();
}

}    // namespace rdmaqos::compiling
