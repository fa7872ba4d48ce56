#include "tests/unit/layering/layers.h"

#include <algorithm>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace rdmaqos::layering {
namespace {

bool lies_in(std::string_view path, std::string_view folder)
{
    return path == folder || (path.starts_with(folder) && path.substr(folder.size()).starts_with('/'));
}

std::string parent_of(std::string_view path)
{
    const auto slash = path.rfind('/');
    return std::string(slash == std::string_view::npos ? "" : path.substr(0, slash));
}

std::string without_comments(std::string_view text)
{
    static const std::regex comment("#[^\n]*");
    return std::regex_replace(std::string(text), comment, "");
}

template <typename Function>
void for_each_match(const std::string& text, const std::regex& regex, const Function& function)
{
    for (std::sregex_iterator it(text.begin(), text.end(), regex); it != std::sregex_iterator(); ++it) {
        function(*it);
    }
}

// The targets that the file defines, and whether one has sources.
std::vector<std::string> targets_of(const std::string& text, bool& has_sources)
{
    static const std::regex definition(R"((\w*(?:library|executable))\(\s*([\w-]+)\s+(\w+))");
    std::vector<std::string> targets;
    for_each_match(text, definition, [&](const std::smatch& match) {
        targets.push_back((match.str(1) == "rdmaqos_library" ? "rdmaqos_" : "") + match.str(2));
        has_sources = has_sources || match.str(3) != "INTERFACE";
    });
    return targets;
}

// What `folder` reaches, through other folders too.
void add_reached(const Layers& layers, const std::string& folder, std::set<std::string>& reached)
{
    for (const std::string& used : layers.at(folder).uses) {
        if (reached.insert(used).second) {
            add_reached(layers, used, reached);
        }
    }
}

// A cycle among `folders`, each of which uses another of them.
std::vector<std::string> find_cycle(const Layers& layers, const std::set<std::string>& folders)
{
    std::vector<std::string> path{*folders.begin()};
    while (true) {
        const auto& uses = layers.at(path.back()).uses;
        const std::string next = *std::ranges::find_if(uses,
                                                       [&](const std::string& used) { return folders.contains(used); });
        const auto seen = std::ranges::find(path, next);
        if (seen != path.end()) {
            path.erase(path.begin(), seen);
            path.push_back(next);
            return path;
        }
        path.push_back(next);
    }
}

// The last column: neighbours and rooms of the folder's own by their names, the others by the folder that they are in.
std::string draw_uses(const std::string& folder, const std::vector<std::string>& uses)
{
    std::vector<std::string> cells;
    std::vector<std::pair<std::string, std::vector<std::string>>> groups;
    for (const std::string& used : uses) {
        const std::string parent = parent_of(used);
        const std::string name = used.substr(parent.empty() ? 0 : parent.size() + 1);
        if (parent == parent_of(folder) || parent == folder) {
            cells.push_back(name);
            continue;
        }
        auto group = std::ranges::find(groups, parent, [](const auto& each) { return each.first; });
        if (group == groups.end()) {
            group = groups.insert(group, {parent, {}});
        }
        group->second.push_back(name);
    }
    for (const auto& [parent, names] : groups) {
        cells.push_back(names.size() == 1 ? fmt::format("{}/{}", parent, names.front())
                                          : fmt::format("{}/{{{}}}", parent, fmt::join(names, ", ")));
    }
    return cells.empty() ? "nothing" : fmt::format("{}", fmt::join(cells, ", "));
}

}    // namespace

Layers read_layers(const std::map<std::string, std::string>& cmake_files)
{
    static const std::regex name(R"(\brdmaqos[\w-]*)");
    static const std::regex sources(R"(\$\{PROJECT_SOURCE_DIR\}/([\w/-]+))");
    Layers layers;
    std::map<std::string, std::string> folders;    // by target
    std::map<std::string, std::string> texts;
    for (const auto& [path, text] : cmake_files) {
        const std::string folder = parent_of(path);
        const std::string code = texts[folder] = without_comments(text);
        bool has_sources = false;
        for (const std::string& target : targets_of(code, has_sources)) {
            folders.emplace(target, folder);
            layers[folder].has_sources = has_sources;
        }
    }
    for (auto& [path, folder] : layers) {
        for_each_match(texts[path], name, [&](const std::smatch& match) {
            const auto used = folders.find(match.str());
            if (used != folders.end() && used->second != path) {
                folder.uses.insert(used->second);
            }
        });
        for_each_match(texts[path], sources, [&](const std::smatch& match) {
            const std::string_view used = folder_of(layers, match.str(1));
            if (!used.empty() && used != path) {
                folder.uses.emplace(used);
            }
        });
    }
    return layers;
}

std::string_view folder_of(const Layers& layers, std::string_view path)
{
    std::string_view found;
    for (const auto& [folder, _] : layers) {
        if (path != folder && lies_in(path, folder) && folder.size() > found.size()) {
            found = folder;
        }
    }
    return found;
}

Violations check_names(std::string_view path, std::string_view text)
{
    static const std::regex composed(R"(rdmaqos_\w*\$\{\w+\})");
    Violations violations;
    for_each_match(without_comments(text), composed, [&](const std::smatch& match) {
        violations.push_back(fmt::format("{}: write out {}, so that the edge can be read", path, match.str()));
    });
    return violations;
}

Violations check_cycles(const Layers& layers)
{
    std::set<std::string> above;    // of no height yet
    for (const auto& [path, _] : layers) {
        above.insert(path);
    }
    const auto stands = [&](const std::string& path) {
        return std::ranges::none_of(layers.at(path).uses, [&](const auto& used) { return above.contains(used); });
    };
    for (auto it = std::ranges::find_if(above, stands); it != above.end(); it = std::ranges::find_if(above, stands)) {
        above.erase(it);
    }
    if (above.empty()) {
        return {};
    }
    return {fmt::format("folders use each other: {}", fmt::join(find_cycle(layers, above), " -> "))};
}

const std::vector<Rule>& rules()
{
    static const std::vector<Rule> table{
        {"lib", {"policy", "daemon", "tools"}, "libraries serve every program"},
        {"lib/tree", {"lib/bus", "lib/netlink"}, "pure functions"},
        {"lib/bus", {"lib/tree"}, "it carries values, whatever they mean"},
        {"lib/nic", {"lib/mlx5", "lib/netlink"}, "free of any vendor's terms"},
        {"lib/reconcile", {"lib/nic_model", "lib/nic_mlx5"}, "it knows the interface to a NIC only"},
        {"policy", {"daemon", "tools", "lib/nic", "lib/mlx5", "lib/netlink", "lib/model", "lib/bus"}, "a language"},
        {"policy/model", {"policy/text"}, "values are free of their syntax"},
        {"policy/text", {"policy/model"}, "a place in a file has no meaning"},
        {"policy/match", {"policy/path", "policy/yaml", "policy/opensm"}, "it works on values"},
        {"policy/path", {"policy/match", "policy/yaml", "policy/opensm"}, "it works on values"},
        {"policy/yaml", {"policy/opensm", "policy/match", "policy/path"}, "a reader only reads"},
        {"policy/opensm", {"policy/yaml", "policy/match", "policy/path"}, "a reader only reads"},
        {"policy/load", {"policy/match", "policy/path"}, "it only reads"},
        {"policy/explain", {"policy/load", "policy/opensm"}, "it is about values, wherever they are from"},
        {"daemon", {"tools"}, "tools use the daemon, not it them"},
        {"daemon/metrics", {"lib/bus"}, "only the transports know D-Bus; it stands on all other rooms"},
        {"daemon/bus", {"lib/nic_mlx5", "lib/nic_model"}, "main() chooses the backend"},
        {"daemon/device", {"policy/match", "policy/load"}, "the service decides about leaves"},
        {"tools", {"daemon"}, "tools use the daemon by its bus"},
        {"tools/rdma-qosctl", {"lib/nic", "lib/mlx5"}, "only the daemon touches a NIC"},
        {"tools/rdma-qosctl/world", {"policy/match"}, "the running daemon answers"},
        {"tools/rdma-qosctl/import", {"tools/rdma-qosctl/output", "policy/match"}, "it only converts"},
        {"tools/emulator", {"policy/load", "policy/match", "lib/nic"}, "a NIC knows no policy of a host"},
        {"tools/rdma-qos-run", {"policy"}, "the daemon decides"},
    };
    return table;
}

Violations check_rules(const Layers& layers)
{
    Violations violations;
    for (const auto& [path, folder] : layers) {
        std::set<std::string> reached;
        add_reached(layers, path, reached);
        for (const auto& [user, never, reason] : rules()) {
            for (const std::string& used : reached) {
                if (lies_in(path, user) && std::ranges::any_of(never, [&](auto each) { return lies_in(used, each); })) {
                    violations.push_back(fmt::format("{} reaches {}: {}", path, used, reason));
                }
            }
        }
        for (const std::string& used : folder.uses) {
            if (!layers.at(used).has_sources) {
                violations.push_back(fmt::format("{} links {}, which gathers others for the tests", path, used));
            }
        }
    }
    return violations;
}

Violations check_unused(const Layers& layers, const std::set<Edge>& included)
{
    Violations violations;
    for (const auto& [path, folder] : layers) {
        for (const std::string& used : folder.uses) {
            if (folder.has_sources && !included.contains({path, used})) {
                violations.push_back(
                    fmt::format("{}/CMakeLists.txt links {}, which no source there includes", path, used));
            }
        }
    }
    return violations;
}

std::string draw_document(const Layers& layers, std::string_view document, Violations& violations)
{
    constexpr std::string_view kHead = "\n| folder | contains | may use |\n|---|---|---|\n";
    const auto head = document.find(kHead);
    const auto begin = head + kHead.size();
    const auto end = head == std::string_view::npos ? head : document.find("\n\n", begin);
    if (end == std::string_view::npos) {
        violations.emplace_back("docs/architecture.md has no table of folders with text behind it");
        return std::string(document);
    }
    const std::string rows(document.substr(begin, end + 1 - begin));
    static const std::regex row("\\| `([^`]+)` \\|(.*)\\|[^|\n]*\\|\n");
    std::vector<std::string> order;    // of the rows, and of the names in each
    for_each_match(rows, row, [&](const std::smatch& match) { order.insert(order.begin(), match.str(1)); });
    for (const auto& [path, _] : layers) {
        if (std::ranges::find(order, path) == order.end()) {
            violations.push_back(fmt::format("docs/architecture.md has no row for {}", path));
        }
    }
    std::string drawn;
    for_each_match(rows, row, [&](const std::smatch& match) {
        const auto folder = layers.find(match.str(1));
        if (folder == layers.end()) {
            violations.push_back(
                fmt::format("docs/architecture.md has a row for {}, which has no target", match.str(1)));
            return;
        }
        std::vector<std::string> uses;
        std::ranges::copy_if(order, std::back_inserter(uses),
                             [&](const std::string& each) { return folder->second.uses.contains(each); });
        drawn += fmt::format("| `{}` |{}| {} |\n", match.str(1), match.str(2), draw_uses(match.str(1), uses));
    });
    return fmt::format("{}{}{}", document.substr(0, begin), drawn, document.substr(end + 1));
}

}    // namespace rdmaqos::layering
