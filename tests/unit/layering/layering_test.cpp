#include "tests/unit/layering/layering.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rdmaqos::layering {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::filesystem::path kRoot = RDMAQOS_SOURCE_DIR;

std::string read(const std::filesystem::path& path)
{
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

bool is_source(std::string_view path)
{
    return path.ends_with(".cpp") || path.ends_with(".h");
}

bool is_cmake(std::string_view path)
{
    return path.ends_with("CMakeLists.txt");
}

// What `check` finds in those files of the project that are `wanted` by their paths.
template <typename Wanted, typename Check>
Violations in_project(Wanted wanted, Check check)
{
    Violations violations;
    for (const std::string& path : project_files(kRoot)) {
        if (wanted(path)) {
            const Violations found = check(path, read(kRoot / path));
            violations.insert(violations.end(), found.begin(), found.end());
        }
    }
    return violations;
}

bool is_included(std::string_view path)
{
    return is_source(path) || (path.ends_with(".c") && !path.starts_with("tests/"));
}

const Layers& layers()
{
    static const Layers kLayers = [] {
        std::map<std::string, std::string> files;
        for (const std::string& path : project_files(kRoot)) {
            if (is_cmake(path) && !path.starts_with("tests/")) {
                files.emplace(path, read(kRoot / path));
            }
        }
        return read_layers(files);
    }();
    return kLayers;
}

void expect_none(const Violations& violations)
{
    EXPECT_TRUE(violations.empty()) << fmt::format("{}", fmt::join(violations, "\n"));
}

TEST(Layering, SourcesIncludeWhatTheirFolderLinks)
{
    expect_none(in_project(is_included, [](std::string_view path, const std::string& text) {
        return check_source(layers(), path, text);
    }));
}

TEST(Layering, FoldersLinkWhatTheirSourcesInclude)
{
    std::set<Edge> included;
    for (const std::string& path : project_files(kRoot)) {
        if (is_included(path)) {
            for (const Include& include : includes_of(read(kRoot / path))) {
                included.emplace(folder_of(layers(), path), folder_of(layers(), include.header));
            }
        }
    }
    EXPECT_GT(included.size(), 100U) << "the project's sources were not found below " << kRoot;
    expect_none(check_unused(layers(), included));
}

TEST(Layering, FoldersHaveAnOrder)
{
    EXPECT_GT(layers().size(), 40U) << "the project's CMakeLists.txt files were not found below " << kRoot;
    expect_none(check_cycles(layers()));
}

TEST(Layering, CMakeFilesCanBeReadAndLinkLibrariesWhereTheyBelong)
{
    expect_none(in_project([](std::string_view path) { return is_cmake(path) && !path.starts_with("tests/"); },
                           [](std::string_view path, const std::string& text) {
                               Violations violations = check_names(path, text);
                               std::ranges::copy(check_libraries(path, text), std::back_inserter(violations));
                               return violations;
                           }));
}

TEST(Layering, ProjectKeepsItsRules)
{
    expect_none(check_rules(layers()));
}

// Each rule by an edge that breaks it, so that none names a folder that is gone.
TEST(Layering, EachRuleCanBeBroken)
{
    const auto first_of = [](std::string_view path) {
        const auto found = std::ranges::find_if(layers(), [&](const auto& each) {
            return each.first == path || each.first.starts_with(std::string(path) + "/");
        });
        return found == layers().end() ? std::string() : found->first;
    };
    for (const auto& [user, never, reason] : rules()) {
        for (const std::string_view used : never) {
            Layers broken = layers();
            const std::string from = first_of(user);
            const std::string to = first_of(used);
            ASSERT_FALSE(from.empty() || to.empty()) << user << " never " << used << ": there is no such folder";
            broken.at(from).uses.insert(to);
            EXPECT_THAT(check_rules(broken), testing::Contains(fmt::format("{} reaches {}: {}", from, to, reason)));
        }
    }
}

TEST(Layering, DocumentShowsTheEdges)
{
    const auto path = kRoot / "docs/architecture.md";
    const std::string document = read(path);
    Violations violations;
    const std::string expected = draw_document(layers(), document, violations);
    expect_none(violations);
    if (std::getenv("RDMAQOS_UPDATE_GOLDEN") != nullptr && violations.empty()) {
        std::ofstream(path, std::ios::binary) << expected;
    } else {
        EXPECT_TRUE(document == expected)
            << "docs/architecture.md differs; see with git diff what RDMAQOS_UPDATE_GOLDEN=1 draws";
    }
}

TEST(Layering, SourcesInRoomsNameTheirHeaders)
{
    const Violations violations = in_project(is_source, check_named_header);
    expect_none(violations);
}

TEST(Layering, PlantedSourceWithoutItsHeaderIsFound)
{
    const std::string path = "policy/path/a.cpp";
    EXPECT_THAT(check_named_header(path, "#include \"policy/path/a.h\"\n"), IsEmpty());
    EXPECT_THAT(check_named_header(path, "#include \"policy/path/path.h\"\n"),
                ElementsAre("policy/path/a.cpp: does not begin with the header of its name"));
    EXPECT_THAT(check_named_header("tools/rdma-qosctl/rendering/a.cpp", "#include \"lib/base/text.h\"\n"),
                ElementsAre("tools/rdma-qosctl/rendering/a.cpp: does not begin with a header of its folder"));
    EXPECT_THAT(check_named_header("tools/rdma-qosctl/verbs/a.cpp", "#include \"tools/rdma-qosctl/verbs/verb.h\"\n"),
                IsEmpty());
    EXPECT_THAT(check_named_header("tools/rdma-qosctl/verbs/a.cpp", "#include \"lib/base/text.h\"\n"),
                testing::SizeIs(1));
    EXPECT_THAT(check_named_header("tools/rdma-qosctl/main.cpp", ""), IsEmpty());
    EXPECT_THAT(check_named_header("daemon/a.cpp", "#include \"daemon/b.h\"\n"), testing::SizeIs(1));
    EXPECT_THAT(check_named_header("lib/base/a.cpp", "#include \"lib/base/b.h\"\n"), IsEmpty());
}

// Reviewers decide whether a long file is one whole.
TEST(Layering, LongFilesAreShown)
{
    const auto is_written_by_us = [](std::string_view path) {
        return is_source(path) || is_cmake(path) || path.ends_with(".sh");
    };
    for (const std::string& hint : in_project(is_written_by_us, check_length)) {
        std::printf("[   HINT   ] %s\n", hint.c_str());
    }
}

TEST(Layering, SignalsAreSentToOneProcess)
{
    const Violations violations = in_project(is_source, check_signals);
    expect_none(violations);
    const std::string found = "tests/a.cpp:1: kill(): signal_process() takes no group for a process";
    EXPECT_THAT(check_signals("tests/a.cpp", "    kill(pid_, SIGKILL);\n"), ElementsAre(found));
    EXPECT_THAT(check_signals("tests/a.cpp", "if (::kill(parent(pid), 0) == 0) {\n"), ElementsAre(found));
    EXPECT_THAT(check_signals("tests/a.cpp", "daemon.kill(pid, 9); kill(); void kill(int pid);\n"), IsEmpty());
}

TEST(Layering, NoTypeIsDefinedTwice)
{
    std::map<std::string, std::string> places;
    for (const std::string& path : project_files(kRoot)) {
        if (!is_source(path) || folder_of(layers(), path).empty()) {
            continue;
        }
        for (const auto& [name, place] : types_of(path, read(kRoot / path))) {
            const auto [first, is_new] = places.emplace(name, place);
            EXPECT_TRUE(is_new) << name << " is defined at " << first->second << " and " << place;
        }
    }
    EXPECT_GT(places.size(), 300U) << "the project's types were not found";
}

TEST(Layering, TypesAreFoundWithTheirNamespaces)
{
    std::vector<std::string> found;
    for (const auto& [name, place] :
         types_of("a.h", "namespace rdmaqos {\nclass Later;\nstruct One {\n    struct Inner {};\n};\n"
                         "namespace {\nclass Mine {\n};\n}    // namespace\n"
                         "namespace ctl {\nenum class Two : int { A };\n}    // namespace ctl\n"
                         "class Three final : public One {\n};\n}    // namespace rdmaqos\n")) {
        found.push_back(place + " " + name);
    }
    EXPECT_THAT(found, ElementsAre("a.h:3 rdmaqos::One", "a.h:11 rdmaqos::ctl::Two", "a.h:13 rdmaqos::Three"));
}

// Headers of the project are included in quotes, everything else in angle brackets.
TEST(Layering, QuotedIncludesExist)
{
    for (const std::string& path : project_files(kRoot)) {
        if (!is_source(path)) {
            continue;
        }
        const std::string text = read(kRoot / path);
        constexpr std::string_view kInclude = "\n#include \"";
        for (auto at = text.find(kInclude); at != std::string::npos; at = text.find(kInclude, at + 1)) {
            const auto begin = at + kInclude.size();
            const std::string header = text.substr(begin, text.find('"', begin) - begin);
            EXPECT_TRUE(std::filesystem::exists(kRoot / header)) << path << " includes " << header;
        }
    }
}

// A small project.
const std::map<std::string, std::string>& planted_files()
{
    static const std::map<std::string, std::string> kFiles{
        {"lib/base/CMakeLists.txt", "rdmaqos_library(base SOURCES a.cpp)"},
        {"lib/tree/CMakeLists.txt",
         "rdmaqos_library(tree SOURCES a.cpp\n    LINK PUBLIC rdmaqos_base) # rdmaqos_policy"},
        {"lib/client/CMakeLists.txt", "add_library(rdmaqos SHARED a.cpp)\nadd_library(rdmaqos_client INTERFACE)"},
        {"policy/CMakeLists.txt", "add_library(rdmaqos_policy INTERFACE)\n"
                                  "target_link_libraries(rdmaqos_policy INTERFACE rdmaqos_policy_model)"},
        {"policy/model/CMakeLists.txt", "rdmaqos_library(policy_model SOURCES a.cpp LINK PUBLIC rdmaqos_tree)"},
        {"tools/run/CMakeLists.txt", "rdmaqos_executable(run SOURCES main.cpp LINK rdmaqos_base CLI11::CLI11)"},
        {"tools/run/preload/CMakeLists.txt", "rdmaqos_preload_library(rdmaqos-preload a.c "
                                             "${PROJECT_SOURCE_DIR}/lib/client/a.cpp)"},
        {"config/CMakeLists.txt", "install(FILES rdmaqos_base)"},
    };
    return kFiles;
}

const Layers& planted_layers()
{
    static const Layers kLayers = read_layers(planted_files());
    return kLayers;
}

TEST(Layering, LayersAreThoseOfCMake)
{
    std::vector<std::string> found;
    for (const auto& [path, folder] : planted_layers()) {
        found.push_back(
            fmt::format("{}{} uses {}", path, folder.has_sources ? "" : " (no sources)", fmt::join(folder.uses, " ")));
    }
    EXPECT_THAT(found, ElementsAre("lib/base uses ", "lib/client uses ", "lib/tree uses lib/base",
                                   "policy (no sources) uses policy/model", "policy/model uses lib/tree",
                                   "tools/run uses lib/base", "tools/run/preload uses lib/client"));
    EXPECT_THAT(check_names("a", "foreach(room a)\n    link(rdmaqos_policy_${room} rdmaqos_base ${b})\n"),
                ElementsAre("a: write out rdmaqos_policy_${room}, so that the edge can be read"));
}

TEST(Layering, PlantedCycleIsFound)
{
    expect_none(check_cycles(planted_layers()));
    auto files = planted_files();
    files["lib/base/CMakeLists.txt"] = "rdmaqos_library(base SOURCES a.cpp LINK PRIVATE rdmaqos_policy_model)";
    EXPECT_THAT(check_cycles(read_layers(files)),
                ElementsAre("folders use each other: lib/base -> policy/model -> lib/tree -> lib/base"));
    files = planted_files();
    files["lib/tree/CMakeLists.txt"] = "rdmaqos_library(tree SOURCES a.cpp LINK PUBLIC rdmaqos_policy_model)";
    EXPECT_THAT(check_cycles(read_layers(files)),
                ElementsAre("folders use each other: lib/tree -> policy/model -> lib/tree"));
}

TEST(Layering, PlantedBreakOfARuleIsFound)
{
    expect_none(check_rules(planted_layers()));
    auto files = planted_files();
    files["lib/base/CMakeLists.txt"] = "rdmaqos_library(base SOURCES a.cpp LINK PRIVATE rdmaqos_client)";
    files["lib/client/CMakeLists.txt"] = "rdmaqos_library(client SOURCES a.cpp LINK PRIVATE rdmaqos_policy)";
    EXPECT_THAT(check_rules(read_layers(files)),
                testing::IsSupersetOf({"lib/base reaches policy/model: libraries serve every program",
                                       "lib/client reaches policy: libraries serve every program",
                                       "lib/client links policy, which gathers others for the tests"}));
}

TEST(Layering, PlantedEdgeWithoutIncludeIsFound)
{
    std::set<Edge> included{{"lib/tree", "lib/base"}, {"policy/model", "lib/tree"}, {"tools/run", "lib/base"}};
    EXPECT_THAT(check_unused(planted_layers(), included),
                ElementsAre("tools/run/preload/CMakeLists.txt links lib/client, which no source there includes"));
    included.emplace("tools/run/preload", "lib/client");
    expect_none(check_unused(planted_layers(), included));
}

TEST(Layering, DocumentIsDrawn)
{
    auto files = planted_files();
    files["policy/model/CMakeLists.txt"] =
        "rdmaqos_library(policy_model SOURCES a.cpp LINK PUBLIC rdmaqos_tree rdmaqos_base rdmaqos_client)";
    const std::string head = "Text.\n\n| folder | contains | may use |\n|---|---|---|\n";
    Violations violations;
    const std::string drawn = draw_document(read_layers(files),
                                            head + "| `lib/base` | a, `b` | |\n"
                                                   "| `lib/client` | a or b | base |\n"
                                                   "| `lib/tree` | all | of it |\n"
                                                   "| `gone` | | base |\n"
                                                   "| `policy/model` | values | |\n"
                                                   "| `policy` | rooms | |\n\nMore.\n\n",
                                            violations);
    EXPECT_EQ(drawn, head + "| `lib/base` | a, `b` | nothing |\n"
                            "| `lib/client` | a or b | nothing |\n"
                            "| `lib/tree` | all | base |\n"
                            "| `policy/model` | values | lib/{tree, client, base} |\n"
                            "| `policy` | rooms | model |\n\nMore.\n\n");
    EXPECT_THAT(violations, ElementsAre("docs/architecture.md has no row for tools/run",
                                        "docs/architecture.md has no row for tools/run/preload",
                                        "docs/architecture.md has a row for gone, which has no target"));
    violations.clear();
    EXPECT_EQ(draw_document(planted_layers(), "Text.\n", violations), "Text.\n");
    EXPECT_THAT(violations, testing::SizeIs(1));
}

struct Planted {
    std::string path;
    std::string text;
    std::string violation;    // part of the message; empty: allowed
};

class PlantedSource : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedSource, IsFoundOrAllowed)
{
    const auto& [path, text, violation] = GetParam();
    const Violations found = is_cmake(path) ? check_libraries(path, text) : check_source(planted_layers(), path, text);
    if (violation.empty()) {
        EXPECT_THAT(found, IsEmpty());
    } else {
        EXPECT_THAT(found, ElementsAre(HasSubstr(violation)));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Includes, PlantedSource,
    ::testing::Values(
        Planted{"lib/base/a.cpp", "#include \"lib/base/b.h\"\n", ""},
        Planted{"lib/tree/a.h", "  #  include \"lib/base/b.h\"", ""},
        Planted{"lib/base/a.cpp", "\n#include \"lib/tree/b.h\"\n",
                "lib/base/a.cpp:2: lib/base may not include lib/tree (lib/tree/b.h)"},
        Planted{"policy/model/a.cpp", "#include \"lib/tree/b.h\"\n#include \"lib/base/b.h\"",
                "policy/model/a.cpp:2: policy/model may not include lib/base"},
        Planted{"policy/model/a.cpp", "#include \"policy/a.h\"", "policy/model may not include policy (policy/a.h)"},
        Planted{"tools/run/a.cpp", "#include \"tools/run/preload/b.h\"", "may not include tools/run/preload"},
        Planted{"tools/run/preload/a.c", "#include \"lib/client/rdmaqos.h\"", ""},
        Planted{"tools/run/preload/a.c", "#include \"tools/run/b.h\"", "may not include tools/run (tools/run/b.h)"},
        Planted{"lib/base/a.cpp", "#include \"error.h\"", "not given from the project's root"},
        Planted{"lib/base/a.cpp", "#include \"config/a.h\"", "lies in no folder"},
        Planted{"lib/base/a.cpp", "#include \"tests/support/golden.h\"", "of the tests"},
        Planted{"lib/a.cpp", "", "lies in no folder that has a target with sources"},
        Planted{"policy/a.cpp", "#include \"policy/model/a.h\"", "lies in no folder that has a target with sources"},
        Planted{"tests/unit/a.cpp", "#include \"lib/tree/b.h\"\n#include <yaml-cpp/yaml.h>", ""}));

INSTANTIATE_TEST_SUITE_P(
    Libraries, PlantedSource,
    ::testing::Values(Planted{"policy/model/a.cpp", "#include <yaml-cpp/yaml.h>",
                              "may only stand in policy/yaml/yaml_reader.cpp"},
                      Planted{"lib/client/engine.cpp", "#include <systemd/sd-bus.h>", ""},
                      Planted{"lib/base/log.cpp", "#include <systemd/sd-journal.h>", "may only stand in lib/bus/"},
                      Planted{"policy/model/a.cpp", "#include <infiniband/verbs.h>", "may only stand in lib/nic_mlx5/"},
                      Planted{"lib/tree/a.cpp", "#include <rdma/rdma_cma.h>", "may only stand in lib/mlx5/"},
                      Planted{"lib/base/log.h", "#include <spdlog/spdlog.h>", "may only stand in daemon/"},
                      Planted{"tools/run/main.cpp", "#include <CLI/CLI.hpp>", ""},
                      Planted{"tools/run/main.cpp", "#include <gtest/gtest.h>", "may only stand in tests/"}));

INSTANTIATE_TEST_SUITE_P(
    Links, PlantedSource,
    ::testing::Values(
        Planted{"policy/yaml/CMakeLists.txt", "LINK PUBLIC rdmaqos_policy_model PRIVATE yaml-cpp", ""},
        Planted{"policy/match/CMakeLists.txt", "\nLINK PRIVATE yaml-cpp",
                "policy/match/CMakeLists.txt:2: yaml-cpp may only be linked in policy/yaml/"},
        Planted{"policy/match/CMakeLists.txt", "# not yaml-cpp\n", ""},
        Planted{"lib/base/CMakeLists.txt", "LINK PUBLIC PkgConfig::systemd", "may only be linked in lib/bus/"},
        Planted{"lib/bus/CMakeLists.txt", "LINK PUBLIC spdlog::spdlog", "may only be linked in daemon/"}));

TEST(Layering, PlantedLongFileIsFound)
{
    std::string text(kMaxLines, '\n');
    EXPECT_THAT(check_length("lib/base/a.cpp", text), IsEmpty());
    text += '\n';
    EXPECT_THAT(check_length("lib/base/a.cpp", text), ElementsAre("lib/base/a.cpp: 601 lines, more than 600"));
}

TEST(Layering, FoldersAreKnownByTheirFiles)
{
    EXPECT_EQ(folder_of(layers(), "lib/nic_model/model_backend.cpp"), "lib/nic_model");
    EXPECT_EQ(folder_of(layers(), "lib/nic/backend.h"), "lib/nic");
    EXPECT_EQ(folder_of(layers(), "policy/yaml/fields.h"), "policy/yaml");
    EXPECT_EQ(folder_of(layers(), "policy/CMakeLists.txt"), "policy");
    EXPECT_EQ(folder_of(layers(), "daemon/main.cpp"), "daemon");
    EXPECT_EQ(folder_of(layers(), "tools/rdma-qosctl/import/fabric.h"), "tools/rdma-qosctl/import");
    EXPECT_EQ(folder_of(layers(), "tests/unit/base/error_test.cpp"), "");
    EXPECT_EQ(folder_of(layers(), "libra/base.cpp"), "");
}

}    // namespace
}    // namespace rdmaqos::layering
