#include "daemon/last_good.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/file.h"

namespace rdmaqos {
namespace {

constexpr const char* kPath = "/var/lib/rdma-qos/last-good-policy.json";
constexpr int kSchema = 1;
// JSON escapes can make a text several times as long as its files were.
constexpr std::size_t kMaxSize = 4 * kMaxConfigFileSize;

}    // namespace

Result<void> save_last_good(const std::filesystem::path& root, const Sources& sources)
{
    const auto path = below_root(root, kPath);
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) {
        return fail(error_from_errno(ErrorCode::Io, error.value(),
                                     fmt::format("{}: cannot be created", path.parent_path().string())));
    }
    nlohmann::json document{{"schema", kSchema}, {"files", nlohmann::json::array()}};
    for (const auto& source : sources) {
        document["files"].push_back({{"name", source->name}, {"text", source->text}});
    }
    return write_file_atomically(path, document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
}

Result<Sources> load_last_good(const std::filesystem::path& root)
{
    const auto path = below_root(root, kPath);
    if (!std::filesystem::exists(path)) {
        return Sources{};
    }
    const auto text = read_regular_file(path, kMaxSize);
    if (!text) {
        return fail(text.error().with_context(path.string()));
    }
    const auto document = nlohmann::json::parse(*text, nullptr, false);
    if (!document.is_object() || document.value("schema", 0) != kSchema || !document.contains("files") ||
        !document["files"].is_array()) {
        return fail(ErrorCode::Io, fmt::format("{}: is not a saved policy of this version", path.string()));
    }
    Sources sources;
    for (const auto& file : document["files"]) {
        if (!file.is_object() || !file.contains("name") || !file.contains("text") || !file["name"].is_string() ||
            !file["text"].is_string()) {
            return fail(ErrorCode::Io, fmt::format("{}: is damaged", path.string()));
        }
        sources.push_back(std::make_shared<SourceFile>(
            SourceFile{file["name"].get<std::string>(), file["text"].get<std::string>()}));
    }
    return sources;
}

}    // namespace rdmaqos
