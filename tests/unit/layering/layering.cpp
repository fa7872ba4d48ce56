#include "tests/unit/layering/layering.h"

#include <algorithm>
#include <array>
#include <regex>

#include <fmt/format.h>

#include "lib/base/text.h"

namespace rdmaqos::layering {
namespace {

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
         {"lib/mlx5/", "lib/rdma_netlink/", "lib/nic_mlx5/", "lib/smp/", "lib/client/", "tools/emulator/",
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

std::string check_own_header(const Layers& layers, std::string_view user, std::string_view path,
                             const std::string& header)
{
    const std::string_view used = folder_of(layers, header);
    if (header.starts_with("tests/")) {
        return path.starts_with("tests/") ? "" : fmt::format("includes {} of the tests", header);
    }
    if (used.empty()) {
        return fmt::format("includes \"{}\", which is not given from the project's root or lies in no folder", header);
    }
    if (!user.empty() && used != user && !layers.find(user)->second.uses.contains(used)) {
        return fmt::format("{} may not include {} ({}): its CMakeLists.txt does not link it", user, used, header);
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

std::vector<Include> includes_of(std::string_view text)
{
    static const std::regex include(R"re(^\s*#\s*include\s*([<"])([^>"]+)[>"])re");
    std::vector<Include> includes;
    for_each_line(text, [&](std::size_t number, std::string_view line) {
        std::match_results<std::string_view::const_iterator> match;
        const auto first = line.find_first_not_of(" \t");
        if (first != std::string_view::npos && line[first] == '#' &&
            std::regex_search(line.begin(), line.end(), match, include)) {
            includes.push_back({number, match.str(1) == "\"", match.str(2)});
        }
    });
    return includes;
}

Violations check_source(const Layers& layers, std::string_view path, std::string_view text)
{
    const std::string_view user = folder_of(layers, path);
    const bool is_test = path.starts_with("tests/");
    Violations violations;
    if (!is_test && (user.empty() || !layers.find(user)->second.has_sources)) {
        violations.push_back(fmt::format("{}: lies in no folder that has a target with sources", path));
    }
    for (const auto& [line, is_own, header] : includes_of(text)) {
        std::string problem;
        if (is_own) {
            problem = check_own_header(layers, user, path, header);
        } else if (!is_test) {
            problem = check_foreign_header(path, header);
        }
        if (!problem.empty()) {
            violations.push_back(fmt::format("{}:{}: {}", path, line, problem));
        }
    }
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

Violations check_libraries(std::string_view path, std::string_view text)
{
    static const std::regex word(R"([A-Za-z_][A-Za-z0-9_:.-]*)");
    Violations violations;
    for_each_line(text, [&](std::size_t number, std::string_view line) {
        const std::string code(line.substr(0, line.find('#')));
        for (std::sregex_iterator it(code.begin(), code.end(), word); it != std::sregex_iterator(); ++it) {
            for (const Home& home : homes()) {
                if (it->str() == home.library && !lives_in(path, home)) {
                    violations.push_back(fmt::format("{}:{}: {} may only be linked in {}", path, number, it->str(),
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
