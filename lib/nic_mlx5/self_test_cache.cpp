#include "lib/nic_mlx5/self_test_cache.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>

#include "lib/base/file.h"

namespace rdmaqos::mlx5 {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = 65536;
constexpr int kVersion = 1;    // of the file; a step that means something else now wants another number

std::filesystem::path path_of(const std::filesystem::path& folder, std::string key)
{
    std::ranges::replace_if(
        key, [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-' && c != '_'; }, '_');
    return folder / (key + ".json");
}

std::optional<AttachMode> mode_of(const std::string& text)
{
    for (const auto mode : {AttachMode::Shared, AttachMode::PerProcess, AttachMode::None}) {
        if (to_string(mode) == text) {
            return mode;
        }
    }
    return std::nullopt;
}

}    // namespace

std::string self_test_key(const DeviceInfo& port)
{
    utsname kernel{};
    uname(&kernel);
    return fmt::format("{} {} {}", port.board_id.empty() ? "unknown" : port.board_id, port.firmware, kernel.release);
}

std::optional<AttachReport> load_self_test(const std::filesystem::path& folder, const std::string& key)
{
    if (folder.empty()) {
        return std::nullopt;
    }
    const auto text = read_regular_file(path_of(folder, key), kMostBytes);
    const Json json = Json::parse(text ? *text : std::string(), nullptr, false);
    try {
        if (json.is_discarded() || json.at("version") != kVersion || json.at("key") != key) {
            return std::nullopt;
        }
        const auto mode = mode_of(json.at("mode").get<std::string>());
        if (!mode) {
            return std::nullopt;
        }
        AttachReport report{*mode, json.at("reason").get<std::string>(), {}};
        for (const auto& each : json.at("steps")) {
            report.steps.push_back({each.at("name").get<std::string>(), each.at("passed").get<bool>(),
                                    each.at("errno").get<int>(), each.at("status").get<std::uint8_t>(),
                                    each.at("syndrome").get<std::uint32_t>(), each.at("remark").get<std::string>()});
        }
        return report;
    } catch (const Json::exception&) {
        return std::nullopt;    // the test runs again
    }
}

Result<void> save_self_test(const std::filesystem::path& folder, const std::string& key, const AttachReport& report)
{
    if (folder.empty()) {
        return {};
    }
    Json json{{"version", kVersion},
              {"key", key},
              {"mode", to_string(report.mode)},
              {"reason", report.reason},
              {"steps", Json::array()}};
    for (const auto& each : report.steps) {
        json["steps"].push_back({{"name", each.name},
                                 {"passed", each.passed},
                                 {"errno", each.sys_errno},
                                 {"status", each.status},
                                 {"syndrome", each.syndrome},
                                 {"remark", each.remark}});
    }
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    return write_file_atomically(path_of(folder, key), json.dump(2) + "\n");
}

}    // namespace rdmaqos::mlx5
