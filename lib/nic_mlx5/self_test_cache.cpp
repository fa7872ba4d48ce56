#include "lib/nic_mlx5/self_test_cache.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>

#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/nic_mlx5/self_test.h"

namespace rdmaqos::mlx5 {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostBytes = 65536;
constexpr int kVersion = 4;    // of the file; a step that means something else now wants another number

std::filesystem::path path_of(const std::filesystem::path& folder, std::string key)
{
    std::ranges::replace_if(
        key, [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-' && c != '_'; }, '_');
    return folder / (key + ".json");
}

std::optional<AttachMode> mode_of(const std::string& text)
{
    const auto* const found = std::ranges::find(kAttachModes, text, [](AttachMode mode) { return to_string(mode); });
    return found == kAttachModes.end() ? std::nullopt : std::optional(*found);
}

// A number that its field holds; the conversions of the library cut off what it does not.
template <typename T>
T number_of(const Json& json)
{
    const bool fits = json.is_number_unsigned()  ? std::in_range<T>(json.get<std::uint64_t>())
                      : json.is_number_integer() ? std::in_range<T>(json.get<std::int64_t>())
                                                 : false;
    if (!fits) {
        throw Json::out_of_range::create(406, "a number out of range", &json);
    }
    return static_cast<T>(json.get<std::int64_t>());
}

// Nothing if it is not what save_self_test() writes.
std::optional<AttachReport> parse(const std::string& text, const std::string& key)
{
    const Json json = Json::parse(text, nullptr, false);
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
                                    number_of<int>(each.at("errno")), number_of<std::uint8_t>(each.at("status")),
                                    number_of<std::uint32_t>(each.at("syndrome")), each.at("remark").get<std::string>(),
                                    each.at("row").get<std::string>()});
        }
        report.unreadable = why_unreadable(report.steps);
        report.devx_refused = why_devx_refused(report.steps);
        return report;
    } catch (const Json::exception&) {
        return std::nullopt;    // the test runs again
    }
}

}    // namespace

std::string self_test_key(const DeviceInfo& port)
{
    utsname kernel{};
    uname(&kernel);
    return fmt::format("{} {} {}", port.board_id.empty() ? "unknown" : port.board_id, port.firmware, kernel.release);
}

Result<std::optional<AttachReport>> load_self_test(const std::filesystem::path& folder, const std::string& key)
{
    if (folder.empty()) {
        return std::nullopt;
    }
    const auto path = path_of(folder, key);
    const auto text = read_regular_file(path, kMostBytes);
    if (!text && is_shortage(text.error().sys_errno)) {
        return fail(
            Error{ErrorCode::Busy, text.error().sys_errno, fmt::format("{}: {}", path.string(), text.error().message)});
    }
    if (!text && text.error().sys_errno != ENOENT) {
        log(LogLevel::Warning, "{}: {}; the self-test runs again, and its result replaces the file", path.string(),
            to_string(text.error()));
    }
    if (!text) {
        return std::nullopt;
    }
    auto report = parse(*text, key);
    if (!report) {
        log(LogLevel::Notice, "{}: not a result of this version's self-test, which runs again", path.string());
    }
    return report;
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
                                 {"remark", each.remark},
                                 {"row", each.row}});
    }
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
        return fail(
            error_from_errno(ErrorCode::Io, error.value(), fmt::format("{}: cannot be created", folder.string())));
    }
    return write_file_atomically(path_of(folder, key), json.dump(2) + "\n");
}

}    // namespace rdmaqos::mlx5
