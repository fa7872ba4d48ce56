// A native policy file of OpenSM: what reading it and asking it costs. The load is stated as a multiple of reading the
// same file line by line with std::getline, which is what any reader of it has to do at least.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "policy/load/policy_reader.h"
#include "policy/match/matcher.h"
#include "policy/model/name_service.h"
#include "policy/opensm/reader.h"
#include "tests/bench/opensm/native_file.h"

namespace rdmaqos {
namespace {

using Clock = std::chrono::steady_clock;

// The generated file on disk, gone at the end.
class File {
public:
    // `extension` tells a native policy (.conf) from one in YAML.
    File(const std::string& text, std::string_view extension)
        : path_(std::filesystem::temp_directory_path() /
                fmt::format("opensm-bench-{}-{}{}", getpid(), text.size(), extension))
    {
        std::ofstream(path_, std::ios::binary) << text;
    }
    ~File()
    {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

std::size_t count_lines(const std::filesystem::path& path)
{
    std::ifstream in(path);
    std::string line;
    std::size_t lines = 0;
    while (std::getline(in, line)) {
        ++lines;
    }
    return lines;
}

// The shortest of some times, in seconds.
double getline_seconds(const std::filesystem::path& path)
{
    double best = 1e9;
    for (int round = 0; round < 25; ++round) {
        const auto start = Clock::now();
        benchmark::DoNotOptimize(count_lines(path));
        best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
    }
    return best;
}

std::shared_ptr<const SourceFile> source_of(const std::filesystem::path& path)
{
    auto text = read_regular_file(path, kMaxConfigFileSize);
    return text ? std::make_shared<const SourceFile>(SourceFile{path.string(), std::move(*text)}) : nullptr;
}

// Runs `load` on the file and states how many times as long as getline it took.
template <typename Load>
void compare_with_getline(benchmark::State& state, const std::string& text, std::string_view extension, Load load)
{
    const File file(text, extension);
    const double base = getline_seconds(file.path());
    double spent = 0;
    for (auto _ : state) {
        const auto start = Clock::now();
        const bool loaded = load(source_of(file.path()));
        spent += std::chrono::duration<double>(Clock::now() - start).count();
        if (!loaded) {
            state.SkipWithError("the generated policy is refused");
            return;
        }
    }
    state.counters["times_getline"] = spent / static_cast<double>(state.iterations()) / base;
    state.counters["KiB"] = static_cast<double>(text.size()) / 1024;
}

std::uint64_t rules_of(const benchmark::State& state)
{
    return static_cast<std::uint64_t>(state.range(0));
}

void GetLine(benchmark::State& state)
{
    const File file(bench::native_policy(rules_of(state)), ".conf");
    for (auto _ : state) {
        benchmark::DoNotOptimize(count_lines(file.path()));
    }
}

void NativeRead(benchmark::State& state)
{
    const Fabric fabric = bench::fabric_of_all_ports();
    compare_with_getline(state, bench::native_policy(rules_of(state)), ".conf",
                         [&](std::shared_ptr<const SourceFile> source) {
                             auto read = read_opensm_policy(std::move(source), OpensmMode::Default, fabric);
                             benchmark::DoNotOptimize(read.value);
                             return read.value != nullptr;
                         });
}

// Up to the first answer: OpenSM looks up the members of groups when it reads, and has no index of rules.
void NativeLoad(benchmark::State& state)
{
    const Fabric fabric = bench::fabric_of_all_ports();
    compare_with_getline(state, bench::native_policy(rules_of(state)), ".conf",
                         [&](std::shared_ptr<const SourceFile> source) {
                             const auto read = read_opensm_policy(std::move(source), OpensmMode::Default, fabric);
                             if (!read.value) {
                                 return false;
                             }
                             const Matcher matcher(*read.value, resolve(*read.value, fabric, {}));
                             return matcher.match(bench::request_for(0), Identity{}).has_value();
                         });
}

void YamlRead(benchmark::State& state)
{
    const NameService names{[](const std::string&) { return std::optional<std::uint32_t>(1); },
                            [](const std::string&) { return std::optional<std::uint32_t>(1); }};
    compare_with_getline(state, bench::yaml_policy(rules_of(state)), ".yaml",
                         [&](std::shared_ptr<const SourceFile> source) {
                             auto read = read_policy({std::move(source)}, names);
                             benchmark::DoNotOptimize(read.value);
                             return read.value != nullptr;
                         });
}

std::shared_ptr<const Policy> native(const std::string& text, const Fabric& fabric)
{
    return read_opensm_policy(std::make_shared<const SourceFile>(SourceFile{"policy.conf", text}), OpensmMode::Default,
                              fabric)
        .value;
}

// Requests spread over all rules, each met by its own.
void MatchHit(benchmark::State& state)
{
    const Fabric fabric = bench::fabric_of_all_ports();
    const auto policy = native(bench::native_policy(rules_of(state)), fabric);
    const Matcher matcher(*policy, resolve(*policy, fabric, {}));
    std::vector<Request> requests;
    for (std::uint64_t i = 0; i < 256; ++i) {
        const std::uint64_t rule = i * 7919 % rules_of(state);
        requests.push_back(bench::request_for(rule));
        const auto found = matcher.match(requests.back(), Identity{});
        if (!found || found->rule == nullptr) {
            state.SkipWithError("a request met no rule");
            return;
        }
    }
    std::size_t next = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(matcher.match(requests[next], Identity{}));
        next = (next + 1) % requests.size();
    }
    state.counters["index_KiB"] = static_cast<double>(matcher.memory()) / 1024;
}

void MatchMiss(benchmark::State& state)
{
    const Fabric fabric = bench::fabric_of_all_ports();
    const auto policy = native(bench::native_policy(rules_of(state)), fabric);
    const Matcher matcher(*policy, resolve(*policy, fabric, {}));
    const Request request = bench::request_for_none();
    const auto found = matcher.match(request, Identity{});
    if (!found || found->source != LevelSource::Default) {
        state.SkipWithError("the request met a rule");
        return;
    }
    for (auto _ : state) {
        benchmark::DoNotOptimize(matcher.match(request, Identity{}));
    }
}

// 64 million GUIDs in one range, of which the fabric knows 10,000: OpenSM visits each of them.
constexpr const char* kWide = R"(port-groups
    port-group
        name: wide
        port-guid: 0x2c90300000000-0x2c90303ffffff
    end-port-group
end-port-groups
qos-levels
    qos-level
        name: DEFAULT
        sl: 0
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule
        destination: wide
        qos-level-name: DEFAULT
    end-qos-match-rule
end-qos-match-rules
)";

void WideRangeLoad(benchmark::State& state)
{
    const Fabric fabric = bench::fabric_of_all_ports();
    for (auto _ : state) {
        const auto policy = native(kWide, fabric);
        const Matcher matcher(*policy, resolve(*policy, fabric, {}));
        benchmark::DoNotOptimize(matcher.memory());
    }
}

void WideRangeMatch(benchmark::State& state)
{
    const Fabric fabric = bench::fabric_of_all_ports();
    const auto policy = native(kWide, fabric);
    const Matcher matcher(*policy, resolve(*policy, fabric, {}));
    Request request;
    request.destination = Guid{bench::guid_of(50, 50)};
    const auto found = matcher.match(request, Identity{});
    if (!found || found->rule == nullptr) {
        state.SkipWithError("a port of the range is not in the group");
        return;
    }
    for (auto _ : state) {
        benchmark::DoNotOptimize(matcher.match(request, Identity{}));
    }
    state.counters["index_KiB"] = static_cast<double>(matcher.memory()) / 1024;
}

BENCHMARK(GetLine)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK(NativeRead)->RangeMultiplier(10)->Range(10, 10'000)->Unit(benchmark::kMillisecond);
BENCHMARK(NativeLoad)->RangeMultiplier(10)->Range(10, 10'000)->Unit(benchmark::kMillisecond);
BENCHMARK(YamlRead)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK(MatchHit)->RangeMultiplier(10)->Range(10, 10'000);
BENCHMARK(MatchMiss)->RangeMultiplier(10)->Range(10, 10'000);
BENCHMARK(WideRangeLoad)->Unit(benchmark::kMillisecond);
BENCHMARK(WideRangeMatch);

}    // namespace
}    // namespace rdmaqos

BENCHMARK_MAIN();
