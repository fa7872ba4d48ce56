#include "daemon/metrics/metrics_text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <utility>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/fake_ports.h"
#include "tests/support/golden.h"

namespace rdmaqos {
namespace {

using namespace std::chrono_literals;
using test::expect_golden;
using test::read_text;
using test::source_dir;

constexpr const char* kGolden = "/tests/golden/metrics/all.prom";
constexpr const char* kAlerts = "/docs/examples/rdma-qos-alerts.yaml";
constexpr const char* kAlertsTest = "/tests/unit/daemon/rdma_qos_alerts_test.yaml";

WallTime at(std::chrono::milliseconds since_1970)
{
    return WallTime(since_1970);
}

Histogram histogram(std::initializer_list<Duration> times)
{
    Histogram result;
    for (const auto time : times) {
        result.observe(time);
    }
    return result;
}

DeviceMetrics busy_device()
{
    DeviceMetrics device;
    device.device = "mlx5_0/1";
    device.up = true;
    device.degraded = true;
    device.disabled = true;
    device.findings = 1;
    device.link_up = true;
    device.link_speed = Bandwidth::from_gbps(100);
    device.port = PortCounters{15'000'000'000, 2'000'000};
    device.queue_pairs_inside = 300;
    device.queue_pairs_outside = 2;
    device.queue_pairs_enforced = 299;
    device.queue_pairs_unenforced = 2;
    device.unenforced_by_cause = {{"no-leaf", 1}, {"pacing-type", 1}};
    device.queue_pairs_without_level = 1;
    device.queue_pairs_unscheduled = 1;
    device.elements_used = 260;
    device.elements_free = 7932;
    device.leaves_used = 252;
    device.leaves_free = 4;
    device.leaves_draining = 1;
    device.open_failures = 2;
    device.counters = {700, 3, 4, 2, 1};
    device.operations.at(static_cast<std::size_t>(OperationKind::Create)) = {histogram({40us, 60us, 2ms}), 1};
    device.operations.at(static_cast<std::size_t>(OperationKind::Place)) = {histogram({20us, 12s}), 2};
    device.passes = histogram({300us, 13s});
    device.queue_depth = 7;
    device.queue_limit = 1024;
    device.levels = {{"bulk", {1, 2, 1}}, {"rpc", {298, 300, 251}}};
    device.levels.at("rpc").marks = LevelMarks{26, {{0, 3}, {10, 1}, {26, 290}}, {{kMarkOfEachMessage, 6}}};
    device.levels.at("rpc").traffic = LevelTraffic{7'000'000'000, 12};
    device.queue_pairs_counted = 290;
    device.traffic.emplace();
    device.traffic->sent = {4000, 0, 0, 9000};
    device.traffic->received = {10, 0, 0, 20};
    device.traffic->rdma_sent = 8500;
    device.traffic->rdma_received = 25;
    device.port_settings = test::three_classes();
    device.port_settings->ets->classes = 4;
    device.port_keeping = PortKeepingMetrics{.is_kept = true, .is_failed = false, .is_stopped = false, .repairs = 2};
    return device;
}

Metrics everything()
{
    Metrics metrics;
    metrics.version = "1.2.3";
    metrics.started_at = at(1'700'000'000'250ms);
    metrics.policy = PolicyMetrics{"8f1c0de5", 3, 12, 40'960, {{"rpc", "max-rate"}}, {"new"}};
    metrics.last_reload_good = false;
    metrics.refused_devices = {"mlx5_3/1"};
    metrics.state_failures = 1;
    metrics.sessions = {{"DEFAULT", 0}, {"bulk", 1}, {"rpc", 299}};
    metrics.sessions_without_level = 1;
    metrics.sessions_detached = 2;
    metrics.service.sessions = 412;
    metrics.service.reloads_accepted = 5;
    metrics.service.reloads_refused = 1;
    metrics.service.last_good_reload = at(1'700'000'600'500ms);
    metrics.service.register_calls = histogram({90us, 110us, 4ms});
    metrics.service.attach_calls = histogram({2ms});
    metrics.service.reloads = histogram({35ms, 8s});
    metrics.transports.calls = 1000;
    metrics.transports.connections = 420;
    metrics.transports.connections_now = 301;
    metrics.transports.refusals = {{ErrorCode::UnknownLevel, 4}, {ErrorCode::Busy, 1}};
    metrics.transports.queue_pair_refusals = {{ErrorCode::BadQueuePair, 2}};
    DeviceMetrics idle;
    idle.device = "mlx5_1/1";
    idle.link_speed = Bandwidth::from_gbps(25);
    idle.elements_free = 8192;
    idle.leaves_free = 256;
    idle.queue_limit = 1024;
    idle.levels = {{"bulk", {}}, {"rpc", {}}};
    metrics.devices = {busy_device(), idle};
    metrics.adoption = {
        Unregistered::Adopt, "", 12, 96, {400, {{kExcluded, 3}, {kNotAdoptable, 7}}, histogram({4ms, 37ms})}};
    metrics.host = {{{"mlx5_0", ""}, 5}, {{"mlx5_0", kOfKernel}, 2}, {{"mlx5_1", kUnregistered}, 38}};
    return metrics;
}

// Names of the families of a text.
std::vector<std::string> families(const std::string& text)
{
    std::vector<std::string> names;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# TYPE ")) {
            names.push_back(line.substr(7, line.find(' ', 7) - 7));
        }
    }
    return names;
}

TEST(MetricsText, IsAsAccepted)
{
    expect_golden("metrics/all.prom", to_prometheus(everything()));
}

TEST(MetricsText, OfADaemonWithNothing)
{
    const std::string text = to_prometheus({});
    EXPECT_NE(text.find("rdmaqos_last_reload_successful 0\n"), std::string::npos);
    EXPECT_NE(text.find("rdmaqos_refusals_total{error=\"UnknownLevel\"} 0\n"), std::string::npos);
    // No policy, no device, no good reload: nothing is said of them.
    for (const char* absent :
         {"rdmaqos_policy_", "match_index", "timestamp", "{device=", "rdmaqos_port_", "rdmaqos_level_"}) {
        EXPECT_EQ(text.find(absent), std::string::npos) << absent;
    }
}

TEST(MetricsText, MonitorModeAndAGoodReload)
{
    Metrics metrics;
    metrics.enforcing = false;
    metrics.last_reload_good = true;
    const std::string text = to_prometheus(metrics);
    EXPECT_NE(text.find("rdmaqos_enforcing 0\n"), std::string::npos);
    EXPECT_NE(text.find("rdmaqos_last_reload_successful 1\n"), std::string::npos);
}

TEST(MetricsText, AdoptionIsAvailableOnlyWhereItIsAskedFor)
{
    Metrics metrics;
    const auto available = [&] {
        const std::string text = to_prometheus(metrics);
        const std::string_view name = "\nrdmaqos_adoption_available ";
        const auto at = text.find(name);
        return at == std::string::npos ? std::string() : text.substr(at + name.size(), 1);
    };
    EXPECT_EQ(available(), "");
    metrics.adoption.setting = Unregistered::Ignore;
    EXPECT_EQ(available(), "");
    metrics.adoption.setting = Unregistered::Adopt;
    EXPECT_EQ(available(), "1");
    metrics.adoption.unavailable = "the helper is not there";
    EXPECT_EQ(available(), "0");
}

TEST(MetricsText, EveryReasonNotToAdoptIsCountedFromZero)
{
    Metrics metrics;
    metrics.adoption.counters.refused = {{kNotReady, 2}};
    const std::string text = to_prometheus(metrics);
    for (const char* sample :
         {"no-rule\"} 0", "no-schedule\"} 0", "excluded\"} 0", "not-adoptable\"} 0", "not-ready\"} 2"}) {
        EXPECT_NE(text.find(std::string("rdmaqos_adoption_refused_total{reason=\"") + sample), std::string::npos)
            << sample;
    }
}

TEST(MetricsText, LabelsAreEscaped)
{
    EXPECT_EQ(escape_label(R"(a"b\c)"), R"(a\"b\\c)");
    EXPECT_EQ(escape_label("a\nb"), R"(a\nb)");
    EXPECT_EQ(escape_label("café {x=\"1\"}"), R"(café {x=\"1\"})");
    Metrics metrics;
    metrics.sessions = {{"quo\"te\\", 1}};
    EXPECT_NE(to_prometheus(metrics).find(R"(rdmaqos_sessions{level="quo\"te\\"} 1)"), std::string::npos);
}

// Nothing that grows with what users do may become a label.
TEST(MetricsText, LabelsAreOfABoundedSet)
{
    const std::set<std::string> allowed{"device", "level",    "error",    "operation", "result",
                                        "le",     "version",  "revision", "cause",     "place",
                                        "reason", "property", "class",    "mark",      "priority"};
    std::set<std::string> used;
    const std::string text = to_prometheus(everything());
    const std::regex label("[{,]([a-z_]+)=\"");
    for (auto it = std::sregex_iterator(text.begin(), text.end(), label); it != std::sregex_iterator(); ++it) {
        used.insert((*it)[1]);
    }
    EXPECT_EQ(used, allowed);
}

TEST(MetricsText, EveryFamilyComesOnceWithItsSamplesBehindIt)
{
    const std::string text = to_prometheus(everything());
    const auto names = families(text);
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
    std::string current;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# HELP ")) {
            current = line.substr(7, line.find(' ', 7) - 7);
            EXPECT_GT(line.size(), current.size() + 8) << line;
        } else if (!line.starts_with('#')) {
            EXPECT_TRUE(line.starts_with(current)) << line << " below " << current;
        }
    }
}

// ---- documents ----

// The table of docs/metrics.md: metric, type and labels, as the rows have them.
std::vector<std::string> documented()
{
    std::vector<std::string> rows;
    std::istringstream lines(read_text(source_dir() + "/docs/metrics.md"));
    const std::regex row("^\\| `(rdmaqos_[a-z_]+)` \\| ([a-z]+) \\|((?: `[a-z]+`,?)*) \\| ");
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (std::regex_search(line, found, row)) {
            rows.push_back(found[1].str() + " " + found[2].str() + found[3].str());
        }
    }
    return rows;
}

// The same of metrics as they are written.
std::vector<std::string> written()
{
    std::vector<std::string> rows;
    std::istringstream lines(read_text(source_dir() + kGolden));
    const std::regex type("^# TYPE ([a-z_]+ [a-z]+)");
    const std::regex label("[{,]([a-z]+)=\"");
    bool labelled = true;
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (std::regex_search(line, found, type)) {
            rows.push_back(found[1]);
            labelled = false;
        } else if (!line.starts_with('#') && !std::exchange(labelled, true)) {
            const char* between = " ";
            for (auto it = std::sregex_iterator(line.begin(), line.end(), label); it != std::sregex_iterator(); ++it) {
                if (const std::string name = (*it)[1]; name != "le") {
                    rows.back() += std::exchange(between, ", ") + ("`" + name + "`");
                }
            }
        }
    }
    return rows;
}

TEST(MetricsDocuments, TheTableIsWhatIsWrittenInItsOrder)
{
    EXPECT_EQ(documented(), written());
}

// Alert rules, the dashboard and examples speak of metrics that are there.
TEST(MetricsDocuments, EveryNameInTheDocumentsExists)
{
    std::set<std::string> known;
    for (const auto& name : families(read_text(source_dir() + kGolden))) {
        for (const char* suffix : {"", "_bucket", "_sum", "_count"}) {
            known.insert(name + suffix);
        }
    }
    std::size_t seen = 0;
    const std::regex word("rdmaqos_[a-z0-9_]+");
    for (const char* file :
         {"metrics.md", "examples/rdma-qos-alerts.yaml", "examples/rdma-qos-dashboard.json", "tutorial.md", "how-to.md",
          "settings-reference.md", "rdma-qosctl-json.md", "dbus.md", "man/rdma-qosctl.8", "man/rdma-qosd.8"}) {
        const std::string text = read_text(source_dir() + "/docs/" + file);
        for (auto it = std::sregex_iterator(text.begin(), text.end(), word); it != std::sregex_iterator(); ++it) {
            EXPECT_TRUE(known.contains(it->str())) << it->str() << " in " << file;
            ++seen;
        }
    }
    EXPECT_GT(seen, 50U);
}

// ---- promtool ----

// The standard output and error of a command, and its exit status.
std::pair<std::string, int> run(const std::string& command)
{
    std::string output;
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");    // NOLINT(cert-env33-c): the test's own words
    if (pipe == nullptr) {
        return {"popen", -1};
    }
    std::array<char, 4096> buffer{};
    while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
        output.append(buffer.data(), size);
    }
    const int status = pclose(pipe);
    return {output, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

bool has_promtool()
{
    return run("command -v promtool").second == 0;
}

constexpr const char* kNoPromtool = "promtool is not installed (Debian package prometheus)";

TEST(MetricsPromtool, HasNothingToSayOfTheMetrics)
{
    if (!has_promtool()) {
        GTEST_SKIP() << kNoPromtool;
    }
    const auto [output, status] = run("promtool check metrics < '" + source_dir() + kGolden + "'");
    EXPECT_EQ(status, 0) << output;
    EXPECT_EQ(output, "");
}

// Of all lines of a file: what the expression's first group finds.
std::vector<std::string> found_in(const std::string& name, const std::string& expression)
{
    std::vector<std::string> found;
    const std::string text = read_text(source_dir() + name);
    const std::regex wanted(expression);
    for (auto it = std::sregex_iterator(text.begin(), text.end(), wanted); it != std::sregex_iterator(); ++it) {
        found.push_back((*it)[1]);
    }
    return found;
}

TEST(MetricsAlerts, EachIsTriedFiringAndNot)
{
    const auto alerts = found_in(kAlerts, "alert: (\\w+)");
    EXPECT_GE(alerts.size(), 14U);
    const auto firing = found_in(kAlertsTest, "- alertname: (\\w+)\n +eval_time: \\w+\n +exp_alerts:");
    const auto quiet = found_in(kAlertsTest, "- \\{alertname: (\\w+), eval_time: \\w+\\}");
    for (const auto& alert : alerts) {
        EXPECT_GE(std::count(firing.begin(), firing.end(), alert), 1) << alert;
        EXPECT_GE(std::count(quiet.begin(), quiet.end(), alert), 1) << alert;
    }
}

TEST(MetricsPromtool, TakesTheAlertRules)
{
    if (!has_promtool()) {
        GTEST_SKIP() << kNoPromtool;
    }
    const auto [output, status] = run("promtool check rules '" + source_dir() + kAlerts + "'");
    EXPECT_EQ(status, 0) << output;
    const auto [tried, tried_status] = run("promtool test rules '" + source_dir() + kAlertsTest + "'");
    EXPECT_EQ(tried_status, 0) << tried;
}

}    // namespace
}    // namespace rdmaqos
