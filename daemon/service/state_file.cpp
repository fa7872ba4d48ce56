#include "daemon/service/state_file.h"

#include <cerrno>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/base/temporary_name.h"

namespace rdmaqos {
namespace {

using Json = nlohmann::json;

constexpr int kSchema = 1;
constexpr int kMostAside = 9;
constexpr const char* kStateFolder = "/var/lib/rdma-qos";

// "…/port-classes.json.unusable", then "…unusable2".
std::string aside(const StateFile& file, int number)
{
    return fmt::format("{}.unusable{}", file.path, number == 1 ? "" : std::to_string(number));
}

bool is_there(const std::filesystem::path& path)
{
    std::error_code none;
    return std::filesystem::symlink_status(path, none).type() != std::filesystem::file_type::not_found;
}

}    // namespace

Result<void> save_state(const std::filesystem::path& root, const StateFile& file, const Json& list)
{
    const auto path = below_root(root, file.path);
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error) {
        return fail(error_from_errno(ErrorCode::Io, error.value(),
                                     fmt::format("{}: cannot be created", path.parent_path().string())));
    }
    const Json document{{"schema", kSchema}, {file.list, list}};
    return write_state_file(path, document.dump(1, ' ', false, Json::error_handler_t::replace) + '\n');
}

Result<Json> load_state(const std::filesystem::path& root, const StateFile& file)
{
    const auto path = below_root(root, file.path);
    const auto text = read_regular_file(path, file.max_size);
    if (!text && text.error().sys_errno == ENOENT) {
        return Json::array();
    }
    if (!text) {
        return fail(text.error().with_context(path.string()));
    }
    auto document = Json::parse(*text, nullptr, false);
    const bool known = document.is_object() && document.contains("schema") && document["schema"] == kSchema &&
                       document.contains(file.list) && document[file.list].is_array();
    if (!known) {
        return fail(ErrorCode::Io, fmt::format("{}: is not {} of this version", path.string(), file.what));
    }
    return std::move(document[file.list]);
}

void remove_temporaries(const std::filesystem::path& root)
{
    constexpr std::size_t kRandom = 6;
    std::error_code error;
    std::vector<std::filesystem::path> left;
    for (std::filesystem::directory_iterator at(below_root(root, kStateFolder), error), end; !error && at != end;
         at.increment(error)) {
        const std::string name = at->path().filename().string();
        const auto mark = name.rfind(kTemporary);
        const bool is_ours = mark != std::string::npos && name.size() == mark + kTemporary.size() + kRandom &&
                             name.substr(0, mark).ends_with(".json") &&
                             at->symlink_status(error).type() == std::filesystem::file_type::regular;
        if (is_ours) {
            left.push_back(at->path());
        }
    }
    for (const auto& path : left) {
        if (std::filesystem::remove(path, error)) {
            log(LogLevel::Info, "{} was removed: rdma-qosd ended while it wrote it", path.string());
        }
    }
}

Result<std::string> keep_aside(const std::filesystem::path& root, const StateFile& file)
{
    int number = 1;
    while (number < kMostAside && is_there(below_root(root, aside(file, number)))) {
        ++number;
    }
    std::error_code error;
    std::filesystem::rename(below_root(root, file.path), below_root(root, aside(file, number)), error);
    if (error) {
        return fail(error_from_errno(ErrorCode::Io, error.value(), fmt::format("{}: cannot be renamed", file.path)));
    }
    return aside(file, number);
}

std::vector<std::string> kept_aside(const std::filesystem::path& root, const StateFile& file)
{
    std::vector<std::string> kept;
    for (int number = 1; number <= kMostAside; ++number) {
        if (is_there(below_root(root, aside(file, number)))) {
            kept.push_back(aside(file, number));
        }
    }
    return kept;
}

Error damaged_state(const std::filesystem::path& root, const StateFile& file, std::size_t entry, std::string_view why)
{
    return {ErrorCode::Io, 0,
            fmt::format("{}: entry {} of `{}`: {}", below_root(root, file.path).string(), entry + 1, file.list, why)};
}

std::string text_of(const Json& entry, const char* key)
{
    const auto found = entry.find(key);
    return found != entry.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

}    // namespace rdmaqos
