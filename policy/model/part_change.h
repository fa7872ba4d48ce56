// What becomes of a rule, a port group or a partition when one policy follows another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rdmaqos {

enum class PolicyPart : std::uint8_t { MatchRule, UlpRule, PortGroup, Partition };
enum class PartChangeKind : std::uint8_t { New, Changed, Moved, Removed };

struct PartChange {
    PolicyPart part = PolicyPart::MatchRule;
    std::string name;    // the number of a rule, in the old policy if it is removed
    PartChangeKind kind = PartChangeKind::Changed;
    std::string words;    // "new (pkey 0x1: level rpc)", "level bulk -> level rpc (pkey 0x1)"

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

constexpr std::string_view to_string(PartChangeKind kind)
{
    switch (kind) {
    case PartChangeKind::New:
        return "new";
    case PartChangeKind::Changed:
        return "changed";
    case PartChangeKind::Moved:
        return "moved";
    case PartChangeKind::Removed:
        return "removed";
    }
    return "";
}

}    // namespace rdmaqos
