#include "policy/model/level_index.h"

#include "lib/base/text.h"

namespace rdmaqos {

LevelIndex::LevelIndex(const Policy& policy)
{
    by_name_.reserve(policy.levels.size());
    for (const auto& level : policy.levels) {
        if (!level.from_ulp) {
            by_name_.try_emplace(to_lower(level.name), &level);
        }
        for (const auto& name : level.renamed_from) {
            by_former_name_.try_emplace(to_lower(name), &level);
        }
    }
}

const QosLevel* LevelIndex::among(const Levels& levels, std::string_view name)
{
    const auto found = levels.find(to_lower(name));
    return found == levels.end() ? nullptr : found->second;
}

}    // namespace rdmaqos
