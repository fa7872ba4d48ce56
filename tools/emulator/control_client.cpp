#include "tools/emulator/control_client.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "tools/emulator/control_socket.h"

namespace rdmaqos::emulator {
namespace {

// The whole answer. Throws std::runtime_error if it is a refusal.
std::string answer_to(const std::filesystem::path& directory, const std::vector<std::string>& words)
{
    std::string text;
    if (const auto answered = ask(directory, words, [&](std::string_view part) { text += part; }); !answered) {
        throw std::runtime_error(answered.error().message);
    }
    return text;
}

std::string rate_text(double bytes, std::chrono::duration<double> between)
{
    const double mbps = bytes * 8 / 1e6 / between.count();
    return mbps >= 10'000 ? fmt::format("{:.1f} Gbit/s", mbps / 1000)
           : mbps >= 10   ? fmt::format("{:.0f} Mbit/s", mbps)
                          : fmt::format("{:.2f} Mbit/s", mbps);
}

// The entry of a list whose `name` is what it is in `like`; null: there is none.
const Json* find_like(const Json& list, const char* name, const Json& like)
{
    const auto found = std::ranges::find_if(list, [&](const Json& entry) { return entry.at(name) == like.at(name); });
    return found == list.end() ? nullptr : &*found;
}

double grown(const Json* before, const Json& after, const char* name)
{
    const auto then = before == nullptr ? 0 : before->value(name, std::uint64_t{0});
    const auto now = after.value(name, std::uint64_t{0});
    return now < then ? 0 : static_cast<double>(now - then);
}

void describe_tree(std::string& text, const Json& before, const Json& device, const Json* parent,
                   std::chrono::duration<double> between, int depth)
{
    for (const auto& element : device.at("tree")) {
        const bool is_below = parent == nullptr
                                  ? !element.contains("parent")
                                  : element.contains("parent") && element.at("parent") == parent->at("id");
        if (!is_below) {
            continue;
        }
        const std::string name = fmt::format("{:{}}{} {}", "", depth * 2, element.at("element").get<std::string>(),
                                             element.at("id").dump());
        const auto cap = element.value("max-average-bw", 0U);
        text += fmt::format("  {:<28} {:<10} {:<16} {:>14}\n", name,
                            fmt::format("share {}", element.at("bw-share").dump()),
                            cap == 0 ? "" : fmt::format("cap {} Mbit/s", cap),
                            rate_text(grown(find_like(before.at("tree"), "id", element), element, "bytes"), between));
        describe_tree(text, before, device, &element, between, depth + 1);
    }
}

std::string program_of(const Json& owner)
{
    const auto process = owner.at("pid").get<int>();
    std::ifstream file(fmt::format("/proc/{}/comm", process));
    std::string name;
    std::getline(file, name);
    return fmt::format("{} {}", process, printable(name));
}

void describe_queue_pairs(std::string& text, const Json& before, const Json& device, const std::vector<Json>& owners,
                          std::chrono::duration<double> between)
{
    struct Line {
        const Json* queue_pair;
        double bytes;
        double packets;
    };
    std::vector<Line> lines;
    for (const auto& queue_pair : device.at("queue-pairs")) {
        const Json* const then = find_like(before.at("queue-pairs"), "qpn", queue_pair);
        lines.push_back({&queue_pair, grown(then, queue_pair, "bytes"), grown(then, queue_pair, "packets")});
    }
    std::ranges::stable_sort(lines, std::greater(), &Line::bytes);
    for (const auto& [queue_pair, bytes, packets] : lines) {
        const auto owner = std::ranges::find_if(owners, [&, each = queue_pair](const Json& one) {
            return one.at("device") == device.at("name") && one.at("qpn") == each->at("qpn");
        });
        const auto leaf = queue_pair->at("requester").get<unsigned>();
        const std::string name = fmt::format("qp {} {} {}", queue_pair->at("qpn").dump(),
                                             queue_pair->at("type").get<std::string>(),
                                             queue_pair->at("state").get<std::string>());
        const std::string packet_rate = fmt::format("{:.0f} packets/s", packets / between.count());
        text += fmt::format("  {:<28} {:<10} {:<16} {:>14} {:>20}\n", name, leaf == 0 ? "" : fmt::format("in {}", leaf),
                            owner == owners.end() ? "" : program_of(*owner), rate_text(bytes, between), packet_rate);
    }
}

volatile std::sig_atomic_t interrupted = 0;

}    // namespace

std::string describe_rates(const Json& before, const Json& after, std::chrono::duration<double> between,
                           const std::vector<Json>& owners)
{
    std::string text;
    for (const auto& device : after.at("devices")) {
        const Json* const then = find_like(before.at("devices"), "name", device);
        if (then == nullptr || !then->contains("ports") || !device.contains("ports")) {
            continue;
        }
        for (const auto& port : device.at("ports")) {
            const Json* const was = find_like(then->at("ports"), "port", port);
            text += fmt::format("{} port {}: sends {}, receives {}\n", device.at("name").get<std::string>(),
                                port.at("port").dump(), rate_text(grown(was, port, "sent-bytes"), between),
                                rate_text(grown(was, port, "received-bytes"), between));
        }
        describe_tree(text, *then, device, nullptr, between, 0);
        describe_queue_pairs(text, *then, device, owners, between);
    }
    return text.empty() ? "no device of this emulator moves data\n" : text;
}

int show_rates(const std::filesystem::path& directory, std::chrono::milliseconds interval, unsigned count)
{
    const bool is_screen = isatty(STDOUT_FILENO) != 0;
    auto before = Json::parse(answer_to(directory, {"state", "--json"}));
    auto started = std::chrono::steady_clock::now();
    for (unsigned shown = 0; count == 0 || shown < count; ++shown) {
        std::this_thread::sleep_for(interval);
        auto after = Json::parse(answer_to(directory, {"state", "--json"}));
        const auto now = std::chrono::steady_clock::now();
        std::vector<Json> owners;
        const std::string lines = answer_to(directory, {"resource", "qp"});
        for (const auto line : lines_of(lines)) {
            owners.push_back(Json::parse(line));
        }
        fmt::print("{}{}{}", is_screen ? "\033[H\033[J" : "", describe_rates(before, after, now - started, owners),
                   is_screen ? "" : "\n");
        std::fflush(stdout);
        before = std::move(after);
        started = now;
    }
    return 0;
}

void CallSummary::add(const Json& call)
{
    Method& method = methods_[call.at("method").get<std::string>()];
    const double time = call.at("microseconds").get<double>();
    ++method.calls;
    method.errors += call.at("result") == "ok" ? 0 : 1;
    method.microseconds += time;
    method.longest = std::max(method.longest, time);
}

std::string CallSummary::text() const
{
    std::vector<std::pair<std::string, Method>> methods(methods_.begin(), methods_.end());
    std::ranges::stable_sort(methods, std::greater(), [](const auto& each) { return each.second.microseconds; });
    std::string text = fmt::format("{:<32} {:>8} {:>8} {:>10} {:>10}\n", "METHOD", "CALLS", "ERRORS", "MEAN us",
                                   "LONGEST us");
    for (const auto& [name, method] : methods) {
        text += fmt::format("{:<32} {:>8} {:>8} {:>10.0f} {:>10.0f}\n", name, method.calls, method.errors,
                            method.microseconds / static_cast<double>(method.calls), method.longest);
    }
    return text;
}

int show_summary(const std::filesystem::path& directory)
{
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };    // without SA_RESTART: it ends the waiting
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    const auto before = Json::parse(answer_to(directory, {"state", "--json"}));
    const auto started = std::chrono::steady_clock::now();
    CallSummary summary;
    std::string rest;
    const auto traced = ask(directory, {"trace", "--json"}, [&](std::string_view part) {
        rest += part;
        std::size_t end = 0;
        while ((end = rest.find('\n')) != std::string::npos) {
            summary.add(Json::parse(std::string_view(rest).substr(0, end)));
            rest.erase(0, end + 1);
        }
    });
    if (!traced) {
        throw std::runtime_error(traced.error().message);
    }
    fmt::print("{}", summary.text());
    if (interrupted != 0) {
        const auto after = Json::parse(answer_to(directory, {"state", "--json"}));
        fmt::print("\n{}", describe_rates(before, after, std::chrono::steady_clock::now() - started, {}));
    }
    return 0;
}

}    // namespace rdmaqos::emulator
