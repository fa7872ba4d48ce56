// Every message the readers can give, as people see it. A case is tests/golden/diagnostics/NAME.yaml; "# file: NAME"
// lines divide it into the files that are read together, "# kind: settings" (fabric, simulation, loads) names another
// reader.
#include <algorithm>
#include <filesystem>
#include <sstream>

#include "policy/load/host_files.h"
#include "policy/load/transient_files.h"
#include "policy/match/hidden_rules.h"
#include "policy/match/resolve.h"
#include "policy/yaml/fabric_reader.h"
#include "policy/yaml/settings_reader.h"
#include "policy/yaml/simulation_reader.h"
#include "policy/yaml/yaml_reader.h"
#include "tests/support/golden.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/policy/reader_support.h"
#include "tools/rdma-qosctl/simulate/loads.h"

namespace rdmaqos::test {
namespace {

std::vector<std::string> cases()
{
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/tests/golden/diagnostics")) {
        if (entry.path().extension() == ".yaml") {
            names.push_back(entry.path().stem().string());
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<std::shared_ptr<const SourceFile>> split(const std::string& name, const std::string& text)
{
    constexpr std::string_view kMarker = "# file: ";
    std::vector<std::shared_ptr<const SourceFile>> files;
    SourceFile file{name, {}};
    bool named = false;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(kMarker)) {
            if (named) {
                files.push_back(std::make_shared<const SourceFile>(std::move(file)));
            }
            file = {line.substr(kMarker.size()), {}};
            named = true;
            continue;
        }
        file.text += line + '\n';
    }
    files.push_back(std::make_shared<const SourceFile>(std::move(file)));
    return files;
}

// And, of a policy that is read, the rules that can never match: with one port of this host, in an unknown fabric.
std::string with_hidden_rules(ReadResult<Policy> read)
{
    if (read.value) {
        const Matcher matcher(*read.value, resolve(*read.value, {}, {LocalPort{}}));
        read.diagnostics.append(warnings_of_hidden_rules(matcher));
    }
    return shown(read);
}

std::string diagnostics_of(const std::string& name)
{
    const std::string text = read_text(source_dir() + "/tests/golden/diagnostics/" + name + ".yaml");
    if (text.starts_with("# kind: settings\n")) {
        return shown(read_settings(source(name + ".yaml", text), fake_names()));
    }
    if (text.starts_with("# kind: fabric\n")) {
        return shown(read_fabric(source(name + ".yaml", text)));
    }
    if (text.starts_with("# kind: simulation\n")) {
        return shown(read_simulation(source(name + ".yaml", text), Capabilities{}));
    }
    if (text.starts_with("# kind: loads\n")) {
        return shown(read_loads(source(name + ".yaml", text)));
    }
    return with_hidden_rules(read_policy(split(name + ".yaml", text), fake_names()));
}

class GoldenDiagnostics : public testing::TestWithParam<std::string> {};

TEST_P(GoldenDiagnostics, AreAsAccepted)
{
    const std::string actual = diagnostics_of(GetParam());
    EXPECT_FALSE(actual.empty());
    expect_golden("diagnostics/" + GetParam() + ".txt", actual);
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenDiagnostics, testing::ValuesIn(cases()), [](const auto& test) {
    std::string name = test.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

// What cannot be kept as a text file.
TEST(GoldenDiagnosticsOfBytes, AreAsAccepted)
{
    std::string text;
    const auto add = [&](const std::string& name, const std::string& content) {
        text += shown(read_policy({source(name, content)}, fake_names()));
    };
    add("nul.yaml", std::string("version: 1\nqos-levels:\0", 23));
    add("utf-16.yaml", std::string("v\0e\0r\0s\0", 8));
    add("escape.yaml", "version: 1 # \x1b[31m\n");
    add("latin-1.yaml", "version: 1\nqos-levels: [{name: caf\xe9}]\n");
    add("overlong.yaml", "version: \xc0\xb1\n");
    add("bom.yaml", "\xef\xbb\xbfversion: 1\n");
    add("look-ahead.yaml", "version: 1\nqos-levels: [" + std::string(1U << 20U, '[') + "\n");
    expect_golden("diagnostics/bytes.txt", text);
}

TEST(GoldenDiagnosticsOfLimits, AreAsAccepted)
{
    reader::YamlLimits limits;
    limits.nodes = 10;
    limits.text_size = 100;
    std::string text;
    for (const std::string body : {"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n", "[1, 2, 3, 4, 5, 6, 7, 8, 9]\n"}) {
        Diagnostics diagnostics;
        reader::Context context({source("nodes.yaml", body)}, diagnostics);
        static_cast<void>(reader::read_yaml(context, 0, limits));
        text += render(diagnostics, Colour::Off);
    }
    Diagnostics diagnostics;
    reader::Context context({source("large.yaml", std::string(101, ' '))}, diagnostics);
    static_cast<void>(reader::read_yaml(context, 0, limits));
    expect_golden("diagnostics/limits.txt", text + render(diagnostics, Colour::Off));
}

// The files of a host, by directories that are there or not.
TEST(GoldenDiagnosticsOfHosts, AreAsAccepted)
{
    std::string text;
    const auto add = [&](const TempDir& root) { text += shown(read_host_policy(root.path(), fake_names())); };
    const TempDir empty;
    add(empty);
    const TempDir odd;
    odd.write("etc/rdma-qos/policy.yaml", "version: 1\nqos-levels: [{name: DEFAULT}]\n");
    odd.write("etc/rdma-qos/policy.d", "a file where a directory is expected");
    std::filesystem::create_directories(odd.path() / "usr/lib/rdma-qos/policy.d/40-directory.yaml");
    add(odd);
    const TempDir misnamed;
    misnamed.write("etc/rdma-qos/policy.yaml", "version: 1\nqos-levels: [{name: DEFAULT}]\n");
    misnamed.write("etc/rdma-qos/policy.d/60-night.yml", "version: 1\n");
    add(misnamed);
    text += "error: " + to_string(place_of("60-night.yaml").error()) + '\n';
    const TempDir transient;
    transient.write("sys/fs/cgroup/cgroup.controllers", "");
    transient.write("run/rdma-qos/policy.d/10-a.yaml", "version: 1\ntransient: {until: 2020-01-01T00:00:00Z}\n");
    transient.write("run/rdma-qos/policy.d/20-b.yaml", "version: 1\ntransient: {cgroup: /job}\n");
    for (const SkippedFile& file : skipped_policy_files(transient.path())) {
        text += file.path.string() + ": " + file.ended + '\n';
    }
    const auto lock = TransientLock::try_now(transient.path());
    text += "error: " + to_string(TransientLock::try_now(transient.path()).error()) + '\n';
    const TempDir blocked;
    std::filesystem::create_directories(blocked.path() / "var/lib/rdma-qos/policy.lock");
    text += "error: " + to_string(TransientLock::try_now(blocked.path()).error()) + '\n';
    const TempDir file;
    file.write("run", "a file where a directory is expected");
    text += "error: " + to_string(TransientLock::try_now(file.path()).error()) + '\n';
    expect_golden("diagnostics/hosts.txt", text);
}

TEST(GoldenDiagnosticsOfLongNames, AreAsAccepted)
{
    std::string nodes = "scheduling-nodes:\n  - {name: n1}\n";
    for (int i = 2; i <= 34; ++i) {
        nodes += "  - {name: n" + std::to_string(i) + ", parent: n" + std::to_string(i - 1) + "}\n";
    }
    const auto deep = read_body(nodes + "qos-levels: [{name: DEFAULT, schedule: {parent: n34}}]\n");
    const auto use = read_body("qos-levels: [{name: DEFAULT, use: " + std::string(5000, 'x') + "}]\n");
    expect_golden("diagnostics/too-much.txt", shown(deep) + shown(use));
}

TEST(GoldenDiagnosticsOfLoads, AreAsAccepted)
{
    std::string many = "version: 1\nsteps:\n";
    for (std::size_t i = 0; i <= kMostLoadSteps; ++i) {
        many += "  - {at: " + std::to_string(i) + "s, loads: {rpc: 1Gbps}}\n";
    }
    const auto steps = read_loads(source("many.yaml", many));
    const auto loads = read_loads(source("levels.yaml", "version: 1\nloads: {rcp: inf, elsewhere: 1Gbps}\n"));
    ASSERT_TRUE(loads.value);
    const std::vector<std::string> levels{"rpc", "bulk"};
    expect_golden("diagnostics/loads-by-themselves.txt",
                  shown(steps) + render(check_levels(*loads.value, levels), Colour::Off));
}

}    // namespace
}    // namespace rdmaqos::test
