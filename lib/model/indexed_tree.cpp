#include "lib/model/indexed_tree.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace rdmaqos {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

struct Entry {
    const ElementPath* path;
    const Element* element;
    std::vector<std::size_t> children;
};

IndexedElement indexed(const Entry& entry, std::size_t parent)
{
    IndexedElement result;
    result.path = entry.path;
    result.kind = entry.element->kind;
    result.parent = parent;
    result.weight = std::max<std::uint64_t>(entry.element->attributes.share, 1);
    if (entry.element->attributes.max_rate) {
        result.cap_kbps = static_cast<double>(entry.element->attributes.max_rate->kbps());
    }
    return result;
}

}    // namespace

std::vector<IndexedElement> index_tree(const Tree& tree)
{
    std::vector<Entry> entries;
    entries.reserve(tree.size());
    std::unordered_map<std::string_view, std::size_t> numbers;
    numbers.reserve(tree.size());
    std::size_t root = kNone;
    for (const auto& [path, element] : tree) {
        if (element.parent.empty()) {
            root = entries.size();
        }
        numbers.emplace(path.text(), entries.size());
        entries.push_back({&path, &element, {}});
    }
    std::vector<IndexedElement> result;
    if (root == kNone) {
        return result;
    }
    for (std::size_t at = 0; at < entries.size(); ++at) {
        const auto parent = numbers.find(entries[at].element->parent.text());
        if (at != root && parent != numbers.end()) {
            entries[parent->second].children.push_back(at);
        }
    }
    result.reserve(entries.size());
    std::vector<std::size_t> source{root};    // source[i]: the entry behind result[i]
    source.reserve(entries.size());
    result.push_back(indexed(entries[root], 0));
    for (std::size_t at = 0; at < result.size(); ++at) {
        const Entry& entry = entries[source[at]];
        result[at].first_child = result.size();
        result[at].child_count = entry.children.size();
        for (const std::size_t child : entry.children) {
            source.push_back(child);
            result.push_back(indexed(entries[child], at));
        }
    }
    return result;
}

}    // namespace rdmaqos
