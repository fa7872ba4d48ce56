#include "lib/model/process_trees.h"

#include <string>
#include <vector>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

// Of one process: the elements from its leaves up to the root.
std::map<ElementPath, const Element*> needed_by(const Senders& senders, const Tree& tree)
{
    std::map<ElementPath, const Element*> needed;
    for (const auto& [leaf, rate] : senders.demands()) {
        for (auto at = tree.find(leaf); at != tree.end(); at = tree.find(at->second.parent)) {
            needed.emplace(at->first, &at->second);
        }
    }
    return needed;
}

}    // namespace

ElementPath path_in_process(std::uint64_t process, const ElementPath& path)
{
    return ElementPath(fmt::format("/pid:{}{}", process, path.is_root() ? std::string() : path.text()));
}

Tree trees_of_processes(const Tree& tree, const ProcessSenders& senders, CapMode caps)
{
    std::map<ElementPath, std::size_t> processes;    // that have the element
    for (const auto& [process, its] : senders) {
        for (const auto& [path, element] : needed_by(its, tree)) {
            ++processes[path];
        }
    }
    Tree all{{ElementPath::root(), Element{ElementKind::Node, {}, {}}}};
    for (const auto& [process, its] : senders) {
        for (const auto& [path, element] : needed_by(its, tree)) {
            Element mirror = *element;
            mirror.parent = path.is_root() ? ElementPath::root() : path_in_process(process, element->parent);
            if (path.is_root()) {
                mirror.attributes.share = 1;
            }
            if (caps == CapMode::Divide && mirror.attributes.max_rate) {
                mirror.attributes.max_rate = part_of_cap(*mirror.attributes.max_rate, processes.at(path));
            }
            all.emplace(path_in_process(process, path), std::move(mirror));
        }
    }
    return all;
}

ElementPath path_of_copy(std::uint64_t process, const ElementPath& leaf)
{
    return leaf.child(fmt::format("pid:{}", process));
}

bool add_copy(Tree& tree, std::uint64_t process, const ElementPath& leaf)
{
    const auto found = tree.find(leaf);
    if (found == tree.end()) {
        return false;
    }
    found->second.kind = ElementKind::Node;
    tree.emplace(path_of_copy(process, leaf), Element{ElementKind::Leaf, leaf, {1, std::nullopt}});
    return true;
}

Tree tree_with_copies(Tree tree, const ProcessSenders& senders)
{
    std::map<ElementPath, std::vector<std::uint64_t>> processes;
    for (const auto& [process, its] : senders) {
        for (const auto& [leaf, rate] : its.demands()) {
            processes[leaf].push_back(process);
        }
    }
    for (const auto& [leaf, in_it] : processes) {
        for (const std::uint64_t process : in_it.size() > 1 ? in_it : std::vector<std::uint64_t>()) {
            add_copy(tree, process, leaf);
        }
    }
    return tree;
}

}    // namespace rdmaqos
