// Asks a running emulator: `ctl`, `trace`, and what is made of their answers here.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lib/base/result.h"

namespace rdmaqos::emulator {

using Json = nlohmann::ordered_json;

// Of control.sock in `directory`. The answer is given to `show` as it comes. InvalidArgument: it was refused, and why.
// Throws std::runtime_error: there is no emulator.
Result<void> ask(const std::filesystem::path& directory, const std::vector<std::string>& words,
                 const std::function<void(std::string_view)>& show);

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
