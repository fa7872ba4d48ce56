#include "tests/unit/layering/layering.h"

#include <fstream>
#include <iterator>
#include <map>
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

TEST(Layering, ProjectKeepsItsEdges)
{
    Violations violations;
    std::size_t sources = 0;
    for (const std::string& path : project_files(kRoot)) {
        const std::string text = read(kRoot / path);
        const Violations found = is_source(path)  ? check_source(path, text)
                                 : is_cmake(path) ? check_cmake(path, text)
                                                  : Violations{};
        sources += is_source(path) && !folder_of(path).empty() ? 1 : 0;
        violations.insert(violations.end(), found.begin(), found.end());
    }
    EXPECT_EQ(violations, Violations{}) << fmt::format("{}", fmt::join(violations, "\n"));
    EXPECT_GT(sources, 50U) << "the project's sources were not found below " << kRoot;
}

TEST(Layering, TableHasNoArrowUpwards)
{
    EXPECT_EQ(check_table(), Violations{});
}

TEST(Layering, EveryFolderIsThereAndInTheDocument)
{
    const std::string document = read(kRoot / "docs/architecture.md");
    for (const std::string_view folder : table_folders()) {
        EXPECT_TRUE(std::filesystem::exists(kRoot / folder / "CMakeLists.txt")) << folder;
        EXPECT_THAT(document, HasSubstr(fmt::format("\n| `{}` | ", folder)));
    }
}

TEST(Layering, SourcesInRoomsNameTheirHeaders)
{
    const Violations violations = in_project(is_source, check_named_header);
    EXPECT_EQ(violations, Violations{}) << fmt::format("{}", fmt::join(violations, "\n"));
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

TEST(Layering, NoFileIsTooLong)
{
    const auto is_written_by_us = [](std::string_view path) {
        return is_source(path) || is_cmake(path) || path.ends_with(".sh");
    };
    const Violations violations = in_project(is_written_by_us, check_length);
    EXPECT_EQ(violations, Violations{}) << fmt::format("{}", fmt::join(violations, "\n"));
}

TEST(Layering, SignalsAreSentToOneProcess)
{
    const Violations violations = in_project(is_source, check_signals);
    EXPECT_EQ(violations, Violations{}) << fmt::format("{}", fmt::join(violations, "\n"));
    const std::string found = "tests/a.cpp:1: kill(): signal_process() takes no group for a process";
    EXPECT_THAT(check_signals("tests/a.cpp", "    kill(pid_, SIGKILL);\n"), ElementsAre(found));
    EXPECT_THAT(check_signals("tests/a.cpp", "if (::kill(parent(pid), 0) == 0) {\n"), ElementsAre(found));
    EXPECT_THAT(check_signals("tests/a.cpp", "daemon.kill(pid, 9); kill(); void kill(int pid);\n"), IsEmpty());
}

TEST(Layering, NoTypeIsDefinedTwice)
{
    std::map<std::string, std::string> places;
    for (const std::string& path : project_files(kRoot)) {
        if (!is_source(path) || folder_of(path).empty()) {
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

struct Planted {
    std::string path;
    std::string text;
    std::string violation;    // part of the message; empty: allowed
};

class PlantedSource : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedSource, IsFoundOrAllowed)
{
    const auto& [path, text, violation] = GetParam();
    const Violations found = is_cmake(path) ? check_cmake(path, text) : check_source(path, text);
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
        Planted{"lib/base/a.cpp", "\n#include \"lib/tree/b.h\"\n",
                "lib/base/a.cpp:2: lib/base may not include lib/tree"},
        Planted{"lib/tree/a.h", "  #  include \"policy/model/policy.h\"", "lib/tree may not include policy/model"},
        Planted{"lib/bus/a.cpp", "#include \"lib/tree/element.h\"", "lib/bus may not include lib/tree"},
        Planted{"lib/reconcile/a.cpp", "#include \"lib/nic/backend.h\"", ""},
        Planted{"lib/reconcile/a.cpp", "#include \"lib/nic_model/model_backend.h\"", "may not include lib/nic_model"},
        Planted{"policy/path/a.cpp", "#include \"lib/nic/backend.h\"", "policy/path may not include lib/nic"},
        Planted{"policy/load/a.cpp", "#include \"daemon/model/session.h\"", "policy/load may not include daemon/model"},
        Planted{"daemon/a.cpp", "#include \"tools/rdma-qosctl/a.h\"", "daemon may not include tools/rdma-qosctl"},
        Planted{"tools/rdma-qosctl/a.cpp", "#include \"lib/reconcile/reconciler.h\"", "may not include lib/reconcile"},
        Planted{"lib/base/a.cpp", "#include \"error.h\"", "not given from the project's root"},
        Planted{"lib/base/a.cpp", "#include \"tests/support/golden.h\"", "of the tests"},
        Planted{"lib/a.cpp", "", "lies in no folder of the table"},
        Planted{"tests/unit/a.cpp", "#include \"lib/nic/backend.h\"\n#include <yaml-cpp/yaml.h>", ""}));

// What the rooms of the policy, and those who use it, may know.
INSTANTIATE_TEST_SUITE_P(
    Rooms, PlantedSource,
    ::testing::Values(
        Planted{"policy/model/a.cpp", "#include \"policy/model/policy.h\"\n#include \"lib/tree/compile.h\"", ""},
        Planted{"policy/model/a.cpp", "#include \"policy/text/context.h\"", "policy/model may not include policy/text"},
        Planted{"policy/model/a.cpp", "#include \"policy/match/matcher.h\"",
                "policy/model may not include policy/match"},
        Planted{"policy/text/a.cpp", "#include \"policy/model/policy.h\"", "policy/text may not include policy/model"},
        Planted{"policy/yaml/a.cpp", "#include \"policy/model/policy.h\"\n#include \"policy/text/ast.h\"", ""},
        Planted{"policy/yaml/a.cpp", "#include \"policy/load/policy_reader.h\"",
                "policy/yaml may not include policy/load"},
        Planted{"policy/assembly/a.cpp", "#include \"policy/text/context.h\"", ""},
        Planted{"policy/assembly/a.cpp", "#include \"policy/yaml/fields.h\"",
                "policy/assembly may not include policy/yaml"},
        Planted{"policy/yaml/a.cpp", "#include \"policy/opensm/file.h\"", "policy/yaml may not include policy/opensm"},
        Planted{"policy/opensm/a.cpp", "#include \"policy/yaml/build.h\"", "policy/opensm may not include policy/yaml"},
        Planted{"policy/load/a.cpp", "#include \"policy/opensm/reader.h\"", ""},
        Planted{"policy/load/a.cpp", "#include \"policy/match/matcher.h\"", "policy/load may not include policy/match"},
        Planted{"policy/match/a.cpp", "#include \"policy/path/path.h\"", "policy/match may not include policy/path"},
        Planted{"policy/match/a.cpp", "#include \"policy/yaml/fields.h\"", "policy/match may not include policy/yaml"},
        Planted{"policy/path/a.cpp", "#include \"policy/match/matcher.h\"", "policy/path may not include policy/match"},
        Planted{"policy/path/a.cpp", "#include \"policy/explain/explain.h\"",
                "policy/path may not include policy/explain"},
        Planted{"policy/explain/a.cpp", "#include \"policy/match/matcher.h\"\n#include \"policy/path/path.h\"", ""},
        Planted{"policy/explain/a.cpp", "#include \"policy/load/policy_reader.h\"",
                "policy/explain may not include policy/load"},
        Planted{"policy/a.cpp", "#include \"policy/model/policy.h\"", "lies in no folder of the table"},
        Planted{"policy/yaml/a.cpp", "#include \"policy/a.h\"", "policy/yaml may not include policy (policy/a.h)"},
        Planted{"daemon/a.cpp", "#include \"daemon/bus/transports.h\"", ""},
        Planted{"daemon/a.cpp", "#include \"policy/opensm/file.h\"", "daemon may not include policy/opensm"},
        Planted{"daemon/loop/a.cpp", "#include \"daemon/model/session.h\"", "daemon/loop may not include daemon/model"},
        Planted{"daemon/model/a.cpp", "#include \"policy/path/path.h\"", ""},
        Planted{"daemon/model/a.cpp", "#include \"policy/explain/explain.h\"",
                "daemon/model may not include policy/explain"},
        Planted{"daemon/model/a.cpp", "#include \"daemon/device/managed_device.h\"",
                "daemon/model may not include daemon/device"},
        Planted{"daemon/device/a.cpp", "#include \"daemon/model/session.h\"\n#include \"daemon/loop/gathering.h\"", ""},
        Planted{"daemon/device/a.cpp", "#include \"daemon/service/session_table.h\"",
                "daemon/device may not include daemon/service"},
        Planted{"daemon/device/a.cpp", "#include \"policy/match/matcher.h\"",
                "daemon/device may not include policy/match"},
        Planted{"daemon/service/a.cpp", "#include \"daemon/device/managed_device.h\"", ""},
        Planted{"daemon/service/a.cpp", "#include \"daemon/bus/call.h\"", "daemon/service may not include daemon/bus"},
        Planted{"daemon/service/a.cpp", "#include \"lib/bus/message.h\"", "daemon/service may not include lib/bus"},
        Planted{"daemon/metrics/a.cpp", "#include \"daemon/bus/call.h\"", "daemon/metrics may not include daemon/bus"},
        Planted{"daemon/bus/a.cpp", "#include \"daemon/service/service.h\"\n#include \"lib/bus/message.h\"", ""},
        Planted{"daemon/bus/a.cpp", "#include \"daemon/device/managed_device.h\"",
                "daemon/bus may not include daemon/device"},
        Planted{"daemon/bus/a.cpp", "#include \"daemon/discovery.h\"", "daemon/bus may not include daemon (daemon"},
        Planted{"daemon/a.cpp", "#include \"tools/rdma-qosctl/import/fabric.h\"",
                "daemon may not include tools/rdma-qosctl/import"},
        Planted{"tools/emulator/a.cpp", "#include \"policy/load/policy_reader.h\"",
                "tools/emulator may not include policy/load"}));

// And those of rdma-qosctl.
INSTANTIATE_TEST_SUITE_P(
    RoomsOfTheCommand, PlantedSource,
    ::testing::Values(Planted{"tools/rdma-qosctl/output/a.cpp", "#include \"lib/bus/value.h\"", ""},
                      Planted{"tools/rdma-qosctl/output/a.cpp", "#include \"tools/rdma-qosctl/world/views.h\"",
                              "tools/rdma-qosctl/output may not include tools/rdma-qosctl/world"},
                      Planted{"tools/rdma-qosctl/world/a.cpp", "#include \"tools/rdma-qosctl/output/context.h\"", ""},
                      Planted{"tools/rdma-qosctl/world/a.cpp", "#include \"tools/rdma-qosctl/rendering/why.h\"",
                              "tools/rdma-qosctl/world may not include tools/rdma-qosctl/rendering"},
                      Planted{"tools/rdma-qosctl/world/a.cpp", "#include \"policy/match/matcher.h\"",
                              "tools/rdma-qosctl/world may not include policy/match"},
                      Planted{"tools/rdma-qosctl/request/a.cpp",
                              "#include \"tools/rdma-qosctl/offline/offline_world.h\"",
                              "tools/rdma-qosctl/request may not include tools/rdma-qosctl/offline"},
                      Planted{"tools/rdma-qosctl/offline/a.cpp", "#include \"tools/rdma-qosctl/output/terminal.h\"",
                              "tools/rdma-qosctl/offline may not include tools/rdma-qosctl/output"},
                      Planted{"tools/rdma-qosctl/import/a.cpp", "#include \"tools/rdma-qosctl/output/terminal.h\"",
                              "tools/rdma-qosctl/import may not include tools/rdma-qosctl/output"},
                      Planted{"tools/rdma-qosctl/import/a.cpp", "#include \"policy/match/matcher.h\"",
                              "tools/rdma-qosctl/import may not include policy/match"},
                      Planted{"tools/rdma-qosctl/simulate/a.cpp", "#include \"tools/rdma-qosctl/verbs/verb.h\"",
                              "tools/rdma-qosctl/simulate may not include tools/rdma-qosctl/verbs"},
                      Planted{"tools/rdma-qosctl/simulate/a.cpp", "#include \"policy/opensm/file.h\"",
                              "tools/rdma-qosctl/simulate may not include policy/opensm"},
                      Planted{"tools/rdma-qosctl/rendering/a.cpp",
                              "#include \"tools/rdma-qosctl/changes/daemon_calls.h\"",
                              "tools/rdma-qosctl/rendering may not include tools/rdma-qosctl/changes"},
                      Planted{"tools/rdma-qosctl/rendering/a.cpp", "#include \"tools/rdma-qosctl/offline/files.h\"",
                              "tools/rdma-qosctl/rendering may not include tools/rdma-qosctl/offline"},
                      Planted{"tools/rdma-qosctl/changes/a.cpp", "#include \"tools/rdma-qosctl/verbs/verb.h\"",
                              "tools/rdma-qosctl/changes may not include tools/rdma-qosctl/verbs"},
                      Planted{"tools/rdma-qosctl/verbs/a.cpp", "#include \"tools/rdma-qosctl/import/fabric.h\"", ""},
                      Planted{"tools/rdma-qosctl/verbs/a.cpp", "#include \"policy/opensm/reader.h\"",
                              "tools/rdma-qosctl/verbs may not include policy/opensm"},
                      Planted{"tools/rdma-qosctl/verbs/a.cpp", "#include \"tools/rdma-qosctl/command_line.h\"",
                              "tools/rdma-qosctl/verbs may not include tools/rdma-qosctl (tools"},
                      Planted{"tools/rdma-qosctl/a.cpp", "#include \"tools/rdma-qosctl/verbs/verb.h\"", ""},
                      Planted{"tools/rdma-qosctl/a.cpp", "#include \"policy/match/matcher.h\"",
                              "tools/rdma-qosctl may not include policy/match"}));

INSTANTIATE_TEST_SUITE_P(
    Libraries, PlantedSource,
    ::testing::Values(Planted{"policy/yaml/yaml_reader.cpp", "#include <yaml-cpp/parser.h>", ""},
                      Planted{"policy/load/policy_reader.cpp", "#include <yaml-cpp/yaml.h>",
                              "may only stand in policy/yaml/yaml_reader.cpp"},
                      Planted{"lib/bus/server.cpp", "#include <systemd/sd-bus.h>", ""},
                      Planted{"lib/client/engine.cpp", "#include <systemd/sd-bus.h>", ""},
                      Planted{"lib/client/engine.cpp", "#include \"lib/bus/client.h\"",
                              "lib/client may not include lib/bus"},
                      Planted{"lib/base/log.cpp", "#include <systemd/sd-journal.h>", "may only stand in lib/bus/"},
                      Planted{"policy/path/a.cpp", "#include <infiniband/verbs.h>", "may only stand in lib/nic_mlx5/"},
                      Planted{"lib/nic_model/a.cpp", "#include <rdma/rdma_cma.h>", "may only stand in lib/mlx5/"},
                      Planted{"lib/base/log.h", "#include <spdlog/spdlog.h>", "may only stand in daemon/"},
                      Planted{"daemon/main.cpp", "#include <gtest/gtest.h>", "may only stand in tests/"}));

INSTANTIATE_TEST_SUITE_P(
    Links, PlantedSource,
    ::testing::Values(
        Planted{"policy/yaml/CMakeLists.txt",
                "rdmaqos_library(policy_yaml LINK PUBLIC rdmaqos_policy_model PRIVATE yaml-cpp)", ""},
        Planted{"policy/CMakeLists.txt", "target_link_libraries(rdmaqos_policy INTERFACE rdmaqos_policy_model)", ""},
        Planted{"policy/model/CMakeLists.txt", "rdmaqos_library(policy_model LINK PUBLIC rdmaqos_policy_text)",
                "policy/model may not link policy/text"},
        Planted{"policy/match/CMakeLists.txt", "LINK PRIVATE yaml-cpp", "may only be linked in policy/yaml/"},
        Planted{"daemon/CMakeLists.txt", "LINK PUBLIC rdmaqos_policy", "daemon may not link policy"},
        Planted{"lib/tree/CMakeLists.txt", "rdmaqos_library(tree\n LINK PUBLIC rdmaqos_policy_model)",
                "lib/tree/CMakeLists.txt:2: lib/tree may not link policy/model"},
        Planted{"lib/tree/CMakeLists.txt", "# rdmaqos_policy is above us\n", ""},
        Planted{"lib/reconcile/CMakeLists.txt", "LINK PUBLIC rdmaqos_nic_model", "may not link lib/nic_model"},
        Planted{"lib/base/CMakeLists.txt", "LINK PUBLIC PkgConfig::systemd", "may only be linked in lib/bus/"},
        Planted{"daemon/CMakeLists.txt", "LINK PRIVATE yaml-cpp", "may only be linked in policy/"},
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
    EXPECT_EQ(folder_of("lib/nic_model/model_backend.cpp"), "lib/nic_model");
    EXPECT_EQ(folder_of("lib/nic/backend.h"), "lib/nic");
    EXPECT_EQ(folder_of("policy/yaml/fields.h"), "policy/yaml");
    EXPECT_EQ(folder_of("policy/CMakeLists.txt"), "policy");
    EXPECT_EQ(folder_of("daemon/bus/call.cpp"), "daemon/bus");
    EXPECT_EQ(folder_of("daemon/main.cpp"), "daemon");
    EXPECT_EQ(folder_of("tools/rdma-qosctl/import/fabric.h"), "tools/rdma-qosctl/import");
    EXPECT_EQ(folder_of("tools/rdma-qosctl/command_line.h"), "tools/rdma-qosctl");
    EXPECT_EQ(folder_of("tests/unit/base/error_test.cpp"), "");
    EXPECT_EQ(folder_of("libra/base.cpp"), "");
}

}    // namespace
}    // namespace rdmaqos::layering
