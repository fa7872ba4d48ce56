#include "tests/unit/layering/layering.h"

#include <algorithm>
#include <array>
#include <regex>
#include <set>
#include <span>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos::layering {
namespace {

struct Folder {
    std::string_view path;
    std::string_view target;                  // of CMake; empty: nobody links it
    std::vector<std::string_view> may_use;    // folders, besides itself
};

// Lower ones first: a folder uses none that stands behind it.
const std::vector<Folder>& folders()
{
    static const std::vector<Folder> table{
        {"lib/base", "rdmaqos_base", {}},
        {"lib/tree", "rdmaqos_tree", {"lib/base"}},
        {"lib/model", "rdmaqos_model", {"lib/tree", "lib/base"}},
        {"lib/nic", "rdmaqos_nic", {"lib/tree", "lib/base"}},
        {"lib/nic_model", "rdmaqos_nic_model", {"lib/nic", "lib/model", "lib/tree", "lib/base"}},
        {"lib/mlx5", "rdmaqos_mlx5", {"lib/base"}},
        {"lib/netlink", "rdmaqos_netlink", {"lib/base"}},
        {"lib/rdma_netlink", "rdmaqos_rdma_netlink", {"lib/netlink", "lib/tree", "lib/base"}},
        {"lib/nic_mlx5", "rdmaqos_nic_mlx5", {"lib/nic", "lib/mlx5", "lib/rdma_netlink", "lib/tree", "lib/base"}},
        {"lib/reconcile", "rdmaqos_reconcile", {"lib/nic", "lib/tree", "lib/base"}},
        {"lib/bus", "rdmaqos_bus", {"lib/base"}},
        {"lib/api", "rdmaqos_api", {"lib/bus", "lib/model", "lib/tree", "lib/base"}},
        {"lib/shapers", "rdmaqos_shapers", {"lib/netlink", "lib/base"}},
        {"lib/client", "rdmaqos_client", {}},
        {"policy/model", "rdmaqos_policy_model", {"lib/tree", "lib/base"}},
        {"policy/text", "rdmaqos_policy_text", {"lib/base"}},
        {"policy/assembly", "rdmaqos_policy_assembly", {"policy/model", "policy/text", "lib/base"}},
        {"policy/yaml",
         "rdmaqos_policy_yaml",
         {"policy/assembly", "policy/model", "policy/text", "lib/tree", "lib/base"}},
        {"policy/opensm", "rdmaqos_policy_opensm", {"policy/assembly", "policy/model", "policy/text", "lib/base"}},
        {"policy/load",
         "rdmaqos_policy_load",
         {"policy/yaml", "policy/opensm", "policy/model", "policy/text", "lib/base"}},
        {"policy/match", "rdmaqos_policy_match", {"policy/model", "lib/base"}},
        {"policy/path", "rdmaqos_policy_path", {"policy/model", "lib/base"}},
        {"policy/explain",
         "rdmaqos_policy_explain",
         {"policy/match", "policy/path", "policy/yaml", "policy/model", "policy/text", "lib/base"}},
        // Without sources of its own: the rooms together, for the tests.
        {"policy",
         "rdmaqos_policy",
         {"policy/assembly", "policy/explain", "policy/load", "policy/match", "policy/model", "policy/opensm",
          "policy/path", "policy/text", "policy/yaml"}},
        {"daemon/loop", "rdmaqos_daemon_loop", {"lib/reconcile", "lib/base"}},
        {"daemon/model",
         "rdmaqos_daemon_model",
         {"policy/path", "policy/model", "lib/rdma_netlink", "lib/reconcile", "lib/nic", "lib/model", "lib/tree",
          "lib/base"}},
        {"daemon/adoption",
         "rdmaqos_daemon_adoption",
         {"daemon/loop", "policy/model", "lib/reconcile", "lib/nic", "lib/base"}},
        {"daemon/survey",
         "rdmaqos_daemon_survey",
         {"daemon/loop", "daemon/model", "policy/model", "lib/rdma_netlink", "lib/reconcile", "lib/base"}},
        {"daemon/handover", "rdmaqos_daemon_handover", {"lib/reconcile", "lib/nic", "lib/tree", "lib/base"}},
        {"daemon/device",
         "rdmaqos_daemon_device",
         {"daemon/handover", "daemon/loop", "daemon/model", "policy/model", "lib/reconcile", "lib/nic", "lib/tree",
          "lib/base"}},
        {"daemon/service",
         "rdmaqos_daemon_service",
         {"daemon/adoption", "daemon/device", "daemon/handover", "daemon/survey", "daemon/loop", "daemon/model",
          "policy/explain", "policy/load", "policy/match", "policy/path", "policy/yaml", "policy/model", "policy/text",
          "lib/nic", "lib/model", "lib/tree", "lib/base"}},
        {"daemon/metrics",
         "rdmaqos_daemon_metrics",
         {"daemon/service", "daemon/loop", "daemon/model", "policy/model", "lib/reconcile", "lib/base"}},
        {"daemon/bus",
         "rdmaqos_daemon_bus",
         {"daemon/metrics", "daemon/service", "daemon/model", "policy/explain", "policy/match", "policy/path",
          "policy/model", "lib/api", "lib/bus", "lib/tree", "lib/base"}},
        {"daemon",
         "rdmaqos_daemon",
         {"daemon/bus", "daemon/metrics", "daemon/service", "daemon/survey", "daemon/adoption", "daemon/device",
          "daemon/handover", "daemon/loop", "daemon/model", "policy/yaml", "lib/reconcile", "lib/nic_mlx5",
          "lib/nic_model", "lib/nic", "lib/model", "lib/bus", "lib/base"}},
        {"tools/rdma-qosctl/output", "rdmaqos_ctl_output", {"lib/bus", "lib/base"}},
        {"tools/rdma-qosctl/world",
         "rdmaqos_ctl_world",
         {"tools/rdma-qosctl/output", "policy/model", "lib/shapers", "lib/api", "lib/tree", "lib/model", "lib/bus",
          "lib/base"}},
        {"tools/rdma-qosctl/request", "rdmaqos_ctl_request", {"policy/path", "policy/model", "lib/bus", "lib/base"}},
        {"tools/rdma-qosctl/offline",
         "rdmaqos_ctl_offline",
         {"tools/rdma-qosctl/request", "tools/rdma-qosctl/world", "policy/explain", "policy/load", "policy/match",
          "policy/path", "policy/yaml", "policy/model", "policy/text", "lib/tree", "lib/model", "lib/bus", "lib/base"}},
        {"tools/rdma-qosctl/import",
         "rdmaqos_ctl_import",
         {"policy/opensm", "policy/yaml", "policy/model", "policy/text", "lib/base"}},
        {"tools/rdma-qosctl/simulate",
         "rdmaqos_ctl_simulate",
         {"tools/rdma-qosctl/offline", "tools/rdma-qosctl/world", "tools/rdma-qosctl/output", "policy/yaml",
          "policy/model", "policy/text", "lib/tree", "lib/model", "lib/bus", "lib/base"}},
        {"tools/rdma-qosctl/rendering",
         "rdmaqos_ctl_rendering",
         {"tools/rdma-qosctl/world", "tools/rdma-qosctl/output", "policy/explain", "policy/load", "lib/api", "lib/tree",
          "lib/bus", "lib/base"}},
        {"tools/rdma-qosctl/changes",
         "rdmaqos_ctl_changes",
         {"tools/rdma-qosctl/rendering", "tools/rdma-qosctl/offline", "tools/rdma-qosctl/world",
          "tools/rdma-qosctl/output", "policy/load", "policy/model", "lib/bus", "lib/base"}},
        {"tools/rdma-qosctl/verbs",
         "rdmaqos_ctl_verbs",
         {"tools/rdma-qosctl/changes", "tools/rdma-qosctl/rendering", "tools/rdma-qosctl/simulate",
          "tools/rdma-qosctl/import", "tools/rdma-qosctl/offline", "tools/rdma-qosctl/request",
          "tools/rdma-qosctl/world", "tools/rdma-qosctl/output", "policy/explain", "policy/load", "policy/match",
          "policy/yaml", "policy/model", "lib/shapers", "lib/bus", "lib/base"}},
        {"tools/rdma-qosctl",
         "rdmaqos_ctl",
         {"tools/rdma-qosctl/verbs", "tools/rdma-qosctl/changes", "tools/rdma-qosctl/output", "lib/base"}},
        {"tools/emulator",
         "rdmaqos_emulator",
         {"policy/yaml", "policy/model", "lib/tree", "lib/model", "lib/mlx5", "lib/base"}},
        {"tools/rdma-qos-sample", "", {"lib/client", "lib/bus", "lib/base"}},
        {"tools/rdma-qos-run", "rdmaqos_run", {"lib/client", "lib/bus", "lib/base"}},
    };
    return table;
}

// Third-party headers that have a home. Elsewhere they are a violation; a header that is not named here may stand
// anywhere outside of tests.
struct Home {
    std::string_view header_prefix;
    std::string_view library;                  // of CMake
    std::vector<std::string_view> prefixes;    // of paths
};

const std::vector<Home>& homes()
{
    static const std::vector<Home> table{
        {"yaml-cpp/", "yaml-cpp", {"policy/yaml/yaml_reader.cpp", "policy/yaml/CMakeLists.txt"}},
        {"systemd/",
         "PkgConfig::systemd",
         {"lib/bus/", "lib/client/", "daemon/", "tools/rdma-qosctl/", "tools/rdma-qos-run/preload/"}},
        {"infiniband/",
         "PkgConfig::ibverbs",
         {"lib/nic_mlx5/", "lib/client/", "tools/emulator/", "tools/rdma-qos-sample/", "tools/rdma-qos-run/preload/"}},
        {"rdma/",
         "PkgConfig::rdmacm",
         {"lib/mlx5/", "lib/rdma_netlink/", "lib/nic_mlx5/", "lib/client/", "tools/emulator/",
          "tools/rdma-qos-run/preload/"}},
        {"libudev.h", "PkgConfig::udev", {"lib/nic_mlx5/"}},
        {"spdlog/", "spdlog::spdlog", {"daemon/"}},
        {"CLI/", "CLI11::CLI11", {"daemon/", "tools/"}},
        {"gtest/", "GTest::gtest", {"tests/"}},
        {"gmock/", "GTest::gmock", {"tests/"}},
        {"rapidcheck", "rapidcheck", {"tests/"}},
        {"benchmark/", "benchmark::benchmark", {"tests/"}},
    };
    return table;
}

// Of two folders that a path lies in, the inner one.
const Folder* find_folder(std::string_view path)
{
    const Folder* found = nullptr;
    for (const Folder& folder : folders()) {
        if (path.starts_with(folder.path) && path.substr(folder.path.size()).starts_with('/') &&
            (found == nullptr || folder.path.size() > found->path.size())) {
            found = &folder;
        }
    }
    return found;
}

bool may_use(const Folder& user, const Folder& used)
{
    return &user == &used || std::find(user.may_use.begin(), user.may_use.end(), used.path) != user.may_use.end();
}

bool lives_in(std::string_view path, const Home& home)
{
    return std::any_of(home.prefixes.begin(), home.prefixes.end(),
                       [&](std::string_view prefix) { return path.starts_with(prefix); });
}

template <typename Function>
void for_each_line(std::string_view text, const Function& function)
{
    std::size_t number = 1;
    while (!text.empty()) {
        const auto end = text.find('\n');
        function(number++, text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
}

std::string check_own_header(const Folder* user, std::string_view path, const std::string& header)
{
    const Folder* used = find_folder(header);
    if (header.starts_with("tests/")) {
        return path.starts_with("tests/") ? "" : fmt::format("includes {} of the tests", header);
    }
    if (used == nullptr) {
        return fmt::format("includes \"{}\", which is not given from the project's root or has no folder in the table",
                           header);
    }
    if (user != nullptr && !may_use(*user, *used)) {
        return fmt::format("{} may not include {} ({})", user->path, used->path, header);
    }
    return "";
}

std::string check_foreign_header(std::string_view path, const std::string& header)
{
    for (const Home& home : homes()) {
        if (header.starts_with(home.header_prefix) && !lives_in(path, home)) {
            return fmt::format("<{}> may only stand in {}", header, fmt::join(home.prefixes, ", "));
        }
    }
    return "";
}

}    // namespace

std::string_view folder_of(std::string_view path)
{
    const Folder* folder = find_folder(path);
    return folder == nullptr ? std::string_view{} : folder->path;
}

std::vector<std::string_view> table_folders()
{
    std::vector<std::string_view> paths;
    for (const Folder& folder : folders()) {
        paths.push_back(folder.path);
    }
    return paths;
}

Violations check_table()
{
    Violations violations;
    std::set<std::string_view> below;
    for (const Folder& folder : folders()) {
        for (const std::string_view used : folder.may_use) {
            if (!below.contains(used)) {
                violations.push_back(fmt::format("{} uses {}, which is not below it", folder.path, used));
            }
        }
        below.insert(folder.path);
    }
    return violations;
}

Violations check_source(std::string_view path, std::string_view text)
{
    static const std::regex include(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"])re");
    const Folder* user = find_folder(path);
    const bool is_test = path.starts_with("tests/");
    Violations violations;
    if (!is_test && (user == nullptr || user->path == "policy")) {
        violations.push_back(fmt::format("{}: lies in no folder of the table that has sources", path));
    }
    for_each_line(text, [&](std::size_t number, std::string_view line) {
        std::match_results<std::string_view::const_iterator> match;
        if (!std::regex_search(line.begin(), line.end(), match, include)) {
            return;
        }
        std::string problem;
        if (match.str(1) == "\"") {
            problem = check_own_header(user, path, match.str(2));
        } else if (!is_test) {
            problem = check_foreign_header(path, match.str(2));
        }
        if (!problem.empty()) {
            violations.push_back(fmt::format("{}:{}: {}", path, number, problem));
        }
    });
    return violations;
}

Violations check_named_header(std::string_view path, std::string_view text)
{
    constexpr std::string_view kSource = ".cpp";
    static constexpr std::array<std::string_view, 3> kRooms{"policy/", "daemon/", "tools/rdma-qosctl/"};
    const bool in_rooms = std::ranges::any_of(kRooms, [&](std::string_view room) { return path.starts_with(room); });
    if (!in_rooms || path.ends_with("/main.cpp") || !path.ends_with(kSource)) {
        return {};
    }
    const auto header = fmt::format("#include \"{}.h\"\n", path.substr(0, path.size() - kSource.size()));
    if (text.starts_with(header)) {
        return {};
    }
    if (!path.starts_with("tools/")) {
        return {fmt::format("{}: does not begin with the header of its name", path)};
    }
    if (!text.starts_with(fmt::format("#include \"{}/", path.substr(0, path.rfind('/'))))) {
        return {fmt::format("{}: does not begin with a header of its folder", path)};
    }
    return {};
}

Violations check_cmake(std::string_view path, std::string_view text)
{
    static const std::regex word(R"([A-Za-z_][A-Za-z0-9_:.-]*)");
    const Folder* user = find_folder(path);
    if (user == nullptr) {
        return {};
    }
    Violations violations;
    for_each_line(text, [&](std::size_t number, std::string_view line) {
        const std::string code(line.substr(0, line.find('#')));
        for (std::sregex_iterator it(code.begin(), code.end(), word); it != std::sregex_iterator(); ++it) {
            const std::string name = it->str();
            for (const Folder& used : folders()) {
                if (name == used.target && !may_use(*user, used)) {
                    violations.push_back(fmt::format("{}:{}: {} may not link {}", path, number, user->path, used.path));
                }
            }
            for (const Home& home : homes()) {
                if (name == home.library && !lives_in(path, home)) {
                    violations.push_back(fmt::format("{}:{}: {} may only be linked in {}", path, number, name,
                                                     fmt::join(home.prefixes, ", ")));
                }
            }
        }
    });
    return violations;
}

Violations check_length(std::string_view path, std::string_view text)
{
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    if (lines <= kMaxLines) {
        return {};
    }
    return {fmt::format("{}: {} lines, more than {}", path, lines, kMaxLines)};
}

Violations check_signals(std::string_view path, std::string_view text)
{
    if (path == "lib/base/signal_process.h" || path.starts_with("tests/unit/layering/")) {
        return {};
    }
    // With two arguments: functions of that name have others.
    static const std::regex call(R"(^[^/"]*(?:^|[^\w.>]|[^\w]::)killp?g?\([^",;]+, )");
    Violations violations;
    std::size_t number = 0;
    for (const auto line : lines_of(text)) {
        ++number;
        if (line.find("kill") != line.npos && std::regex_search(line.begin(), line.end(), call)) {
            violations.push_back(
                fmt::format("{}:{}: kill(): signal_process() takes no group for a process", path, number));
        }
    }
    return violations;
}

std::vector<TypeDefinition> types_of(std::string_view path, std::string_view text)
{
    static const std::regex space(R"(^(?:inline )?namespace ?([\w:]*) ?\{$)");
    static const std::regex type(R"(^(?:class|struct|enum class|enum|union) (\w+)(?: final)?(?: :[^;]*)?(?: \{.*)?$)");
    std::vector<std::string> spaces;
    std::vector<TypeDefinition> types;
    for_each_line(text, [&](std::size_t number, std::string_view line) {
        std::match_results<std::string_view::const_iterator> match;
        if (std::regex_match(line.begin(), line.end(), match, space)) {
            spaces.push_back(match.str(1));
        } else if (line.starts_with('}') && line.find("// namespace") != std::string_view::npos && !spaces.empty()) {
            spaces.pop_back();
        } else if (std::find(spaces.begin(), spaces.end(), "") == spaces.end() &&
                   std::regex_match(line.begin(), line.end(), match, type)) {
            types.push_back(
                {fmt::format("{}::{}", fmt::join(spaces, "::"), match.str(1)), fmt::format("{}:{}", path, number)});
        }
    });
    return types;
}

std::vector<std::string> project_files(const std::filesystem::path& root)
{
    static constexpr std::array<std::string_view, 7> kFolders{"lib",   "policy", "daemon", "tools",
                                                              "tests", "config", "systemd"};
    std::vector<std::string> files;
    for (const std::string_view folder : kFolders) {
        for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
            if (entry.is_regular_file()) {
                files.push_back(entry.path().lexically_relative(root).string());
            }
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

}    // namespace rdmaqos::layering
