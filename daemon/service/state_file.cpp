#include "daemon/service/state_file.h"

#include <cerrno>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/file.h"

namespace rdmaqos {
namespace {

using Json = nlohmann::json;

constexpr int kSchema = 1;

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
