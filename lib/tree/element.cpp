#include "lib/tree/element.h"

#include <algorithm>

namespace rdmaqos {

std::string_view to_string(ElementKind kind)
{
    return kind == ElementKind::Leaf ? "leaf" : "node";
}

ElementPath ElementPath::child(std::string_view segment) const
{
    std::string text = is_root() ? std::string() : text_;
    text.reserve(text.size() + 1 + segment.size());
    text.push_back('/');
    text.append(segment);
    return ElementPath(std::move(text));
}

ElementPath ElementPath::parent() const
{
    if (empty() || is_root()) {
        return {};
    }
    const auto slash = text_.rfind('/');
    return slash == 0 ? root() : ElementPath(text_.substr(0, slash));
}

std::string_view ElementPath::name() const
{
    if (is_root()) {
        return text_;
    }
    const std::string_view text = text_;
    return text.substr(text.rfind('/') + 1);
}

Bandwidth part_of_cap(Bandwidth cap, std::size_t processes)
{
    return Bandwidth::from_mbps(std::max<std::uint64_t>(1, cap.mbps() / processes));
}

std::uint32_t depth(const Tree& tree)
{
    // A parent's path is a prefix of its children's, so parents come first.
    std::map<ElementPath, std::uint32_t> depths;
    std::uint32_t deepest = 0;
    for (const auto& [path, element] : tree) {
        const auto parent = depths.find(element.parent);
        const std::uint32_t own = parent == depths.end() ? 1 : parent->second + 1;
        depths.emplace(path, own);
        deepest = std::max(deepest, own);
    }
    return deepest;
}

std::uint32_t leaf_count(const Tree& tree)
{
    return static_cast<std::uint32_t>(std::count_if(
        tree.begin(), tree.end(), [](const auto& entry) { return entry.second.kind == ElementKind::Leaf; }));
}

}    // namespace rdmaqos
