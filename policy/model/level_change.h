// What becomes of a QoS level when one policy follows another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rdmaqos {

enum class LevelChangeKind : std::uint8_t { New, Changed, Renamed, Removed };

struct LevelChange {
    std::string level;
    LevelChangeKind kind = LevelChangeKind::Changed;
    std::string words;    // "sl 3 -> 4", "new (sl 5)", "renamed from old: sl 3 -> 4", "removed"

    friend bool operator==(const LevelChange&, const LevelChange&) = default;
};

constexpr std::string_view to_string(LevelChangeKind kind)
{
    switch (kind) {
    case LevelChangeKind::New:
        return "new";
    case LevelChangeKind::Changed:
        return "changed";
    case LevelChangeKind::Renamed:
        return "renamed";
    case LevelChangeKind::Removed:
        return "removed";
    }
    return "";
}

}    // namespace rdmaqos
