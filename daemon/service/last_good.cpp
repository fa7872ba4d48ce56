#include "daemon/service/last_good.h"

#include <nlohmann/json.hpp>

#include "daemon/service/state_file.h"
#include "lib/base/file.h"
#include "lib/base/try.h"

namespace rdmaqos {
namespace {

// JSON escapes can make a text several times as long as its files were.
constexpr StateFile kLastGoodPolicy{kLastGoodFile, "files", "a saved policy", 4 * kMaxConfigFileSize};

}    // namespace

Result<void> save_last_good(const std::filesystem::path& root, const Sources& sources)
{
    auto files = nlohmann::json::array();
    for (const auto& source : sources) {
        files.push_back({{"name", source->name}, {"text", source->text}});
    }
    return save_state(root, kLastGoodPolicy, files);
}

Result<Sources> load_last_good(const std::filesystem::path& root)
{
    const auto files = TRY(load_state(root, kLastGoodPolicy));
    Sources sources;
    for (std::size_t i = 0; i < files.size(); ++i) {
        const auto& file = files[i];
        if (!file.is_object() || !file.contains("name") || !file.contains("text") || !file["name"].is_string() ||
            !file["text"].is_string()) {
            return fail(damaged_state(root, kLastGoodPolicy, i, "is not a name and a text"));
        }
        sources.push_back(
            std::make_shared<SourceFile>(SourceFile{file["name"].get<std::string>(), file["text"].get<std::string>()}));
    }
    return sources;
}

}    // namespace rdmaqos
