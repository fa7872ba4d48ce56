// Reading a policy, beside a bare yaml-cpp event parse of the same text: what our tree, checks and names cost.
#include <memory>
#include <sstream>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "policy/load/policy_reader.h"
#include "policy/model/name_service.h"

namespace rdmaqos {
namespace {

// Rules of mixed criteria, 100 groups of 100 port GUIDs, 20 levels.
std::string policy_text(std::int64_t rules)
{
    std::string text = "version: 1\nport-groups:\n";
    for (int group = 0; group < 100; ++group) {
        text += fmt::format("  - {{name: group{}, port-guid: [0x{:x}-0x{:x}]}}\n", group, 0x10000 + group * 100,
                            0x10000 + group * 100 + 99);
    }
    text += "qos-levels:\n  - {name: DEFAULT, sl: 0}\n";
    for (int level = 0; level < 20; ++level) {
        text += fmt::format("  - {{name: level{}, sl: {}, schedule: {{share: {}}}}}\n", level, level % 16, level + 1);
    }
    text += "qos-match-rules:\n";
    for (std::int64_t rule = 0; rule < rules; ++rule) {
        text += fmt::format("  - use: rule {}\n", rule);
        switch (rule % 4) {
        case 0:
            text += fmt::format("    service-id: [0x{:x}-0x{:x}]\n", 0x100000 + rule * 16, 0x100000 + rule * 16 + 7);
            break;
        case 1:
            text += fmt::format("    pkey: [0x{:x}]\n    qos-class: [{}-{}]\n", rule % 0x7fff + 1, rule % 4000,
                                rule % 4000 + 9);
            break;
        case 2:
            text += fmt::format("    source: [group{}]\n    destination: [group{}]\n", rule % 100, (rule + 7) % 100);
            break;
        default:
            text += fmt::format("    client: {{unit: [\"job-{}-*.scope\"]}}\n", rule);
        }
        text += fmt::format("    qos-level-name: level{}\n", rule % 20);
    }
    return text;
}

class NoEvents final : public YAML::EventHandler {
public:
    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark&, YAML::anchor_t) override { ++events; }
    void OnAlias(const YAML::Mark&, YAML::anchor_t) override { ++events; }
    void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override { ++events; }
    void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override
    {
        ++events;
    }
    void OnSequenceEnd() override {}
    void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override
    {
        ++events;
    }
    void OnMapEnd() override {}

    std::size_t events = 0;
};

void BareEventParse(benchmark::State& state)
{
    const std::string text = policy_text(state.range(0));
    for (auto _ : state) {
        std::istringstream in(text);
        YAML::Parser parser(in);
        NoEvents events;
        while (parser.HandleNextDocument(events)) {
        }
        benchmark::DoNotOptimize(events.events);
    }
}

void ReadPolicy(benchmark::State& state)
{
    const auto source = std::make_shared<SourceFile>(SourceFile{"policy.yaml", policy_text(state.range(0))});
    const NameService names{[](const std::string&) { return std::optional<std::uint32_t>(1); },
                            [](const std::string&) { return std::optional<std::uint32_t>(1); }};
    for (auto _ : state) {
        auto read = read_policy({source}, names);
        if (!read.value) {
            state.SkipWithError("the generated policy is refused");
        }
        benchmark::DoNotOptimize(read.value);
    }
}

BENCHMARK(BareEventParse)->Arg(100)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);
BENCHMARK(ReadPolicy)->Arg(100)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

}    // namespace
}    // namespace rdmaqos
