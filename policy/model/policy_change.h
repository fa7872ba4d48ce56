// What becomes of a QoS level, a rule, a port group or a partition when one policy follows another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rdmaqos {

enum class PolicyChangeKind : std::uint8_t { New, Changed, Renamed, Moved, Removed };

struct LevelChange {
    std::string level;
    PolicyChangeKind kind = PolicyChangeKind::Changed;    // never Moved: the order of levels says nothing
    std::string words;    // "sl 3 -> 4", "new (sl 5)", "renamed from old: sl 3 -> 4", "removed"

    friend bool operator==(const LevelChange&, const LevelChange&) = default;
};

enum class PolicyPart : std::uint8_t { MatchRule, UlpRule, PortGroup, Partition };

struct PartChange {
    PolicyPart part = PolicyPart::MatchRule;
    std::string name;                                     // the number of a rule, in the old policy if it is removed
    PolicyChangeKind kind = PolicyChangeKind::Changed;    // never Renamed
    std::string words;                                    // "new (pkey 0x1: level rpc)", "level bulk -> level rpc"

    friend bool operator==(const PartChange&, const PartChange&) = default;
};

constexpr std::string_view to_string(PolicyPart part)
{
    switch (part) {
    case PolicyPart::MatchRule:
        return "match rule";
    case PolicyPart::UlpRule:
        return "ulp rule";
    case PolicyPart::PortGroup:
        return "port-group";
    case PolicyPart::Partition:
        return "partition";
    }
    return "";
}

constexpr std::string_view to_string(PolicyChangeKind kind)
{
    switch (kind) {
    case PolicyChangeKind::New:
        return "new";
    case PolicyChangeKind::Changed:
        return "changed";
    case PolicyChangeKind::Renamed:
        return "renamed";
    case PolicyChangeKind::Moved:
        return "moved";
    case PolicyChangeKind::Removed:
        return "removed";
    }
    return "";
}

}    // namespace rdmaqos
