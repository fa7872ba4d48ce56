// What `ctl top` and `trace --summary` make of a running emulator's answers.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace rdmaqos::emulator {

using Json = nlohmann::ordered_json;

// ---- ctl top ----

// What moved between two answers of `state --json`: ports, elements as a tree, queue pairs by what they move. `owners`:
// of `resource qp`. Lines for people.
[[nodiscard]] std::string describe_rates(const Json& before, const Json& after, std::chrono::duration<double> between,
                                         const std::vector<Json>& owners);
// Every `interval`, `count` times (0: until the emulator ends). An exit status.
int show_rates(const std::filesystem::path& directory, std::chrono::milliseconds interval, unsigned count);

// ---- trace --summary ----

// Calls by method, from the lines of `trace --json`.
class CallSummary {
public:
    void add(const Json& call);
    // A table; the method that took longest in all comes first.
    [[nodiscard]] std::string text() const;

private:
    struct Method {
        std::uint64_t calls = 0;
        std::uint64_t errors = 0;
        double microseconds = 0;
        double longest = 0;
    };
    std::map<std::string, Method> methods_;
};
// Until the emulator ends, or this process gets SIGINT or SIGTERM. An exit status.
int show_summary(const std::filesystem::path& directory);

}    // namespace rdmaqos::emulator
