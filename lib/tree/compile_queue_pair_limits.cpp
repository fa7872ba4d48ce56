#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/tree/compile_draft.h"
#include "lib/tree/queue_pair_limit.h"

namespace rdmaqos::compiling {
namespace {

// Types of queue pairs for which a device does the same with a limit.
struct Outlook {
    std::set<QueuePairType> types;
    HeldLimit held;
};

// A device that schedules takes on what it can schedule, another one everything.
std::set<QueuePairType> types_on(const Capabilities& capabilities)
{
    std::set<QueuePairType> types = capabilities.attachable;
    if (!capabilities.scheduling) {
        types = capabilities.pacing.supported_types;
        types.insert({QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud, QueuePairType::RawPacket});
    }
    return types;
}

std::vector<Outlook> outlooks(const RateLimit& limit, const Capabilities& capabilities,
                              const std::optional<MissingLeaf>& no_leaf)
{
    std::vector<Outlook> result;
    for (const QueuePairType type : types_on(capabilities)) {
        HeldLimit held = hold_limit(limit, type, capabilities, no_leaf);
        const auto same = std::find_if(result.begin(), result.end(),
                                       [&](const Outlook& one) { return one.held == held; });
        if (same == result.end()) {
            result.push_back({{type}, std::move(held)});
        } else {
            same->types.insert(type);
        }
    }
    return result;
}

std::optional<MissingLeaf> missing_leaf(Draft& draft, const CompileInput& input, const LevelLimit& level)
{
    if (level.class_path.empty()) {
        return MissingLeaf{false, no_schedule(level.level)};
    }
    const auto one = draft.class_by_path.find(level.class_path.text());
    if (one == draft.class_by_path.end()) {
        return MissingLeaf{true, "it has no scheduling elements"};
    }
    const char* why = why_no_leaf(draft, input, draft.classes[one->second]);
    return why == nullptr ? std::nullopt : std::optional(MissingLeaf{true, no_leaf_left(why)});
}

std::string requested_of(const RateLimit& limit)
{
    return fmt::format("max-rate {}{} for each queue pair", to_string(limit.rate),
                       limit.max_burst ? fmt::format(" with bursts of {}", bytes_to_string(*limit.max_burst)) : "");
}

std::string achievable_by(const Outlook& outlook)
{
    const std::string types = list_of_types(outlook.types);
    if (outlook.held.by == LimitHolder::Nobody) {
        return fmt::format("no limit for {}", types);
    }
    return fmt::format("{}{} for {}", to_string(outlook.held.limit->rate),
                       outlook.held.gap == LimitGap::None ? "" : " without a burst size", types);
}

std::string reason_of(const HeldLimit& held)
{
    return held.why + (held.why.empty() || held.note.empty() ? "" : "; ") + held.note;
}

void report(const LevelLimit& level, const std::vector<Outlook>& all, Bandwidth link, std::vector<Finding>& findings)
{
    const ElementPath path = level.class_path.empty() ? ElementPath("level " + level.level) : level.class_path;
    const bool is_held = std::any_of(all.begin(), all.end(),
                                     [](const Outlook& one) { return one.held.by != LimitHolder::Nobody; });
    for (const auto& one : all) {
        if (one.held.gap != LimitGap::None || !one.held.note.empty()) {
            findings.push_back({FindingKind::QueuePairLimit, !is_held, path, requested_of(level.limit),
                                achievable_by(one), reason_of(one.held), Gap::between(level.limit.rate, link)});
        }
    }
    const bool beyond_link = std::any_of(all.begin(), all.end(), [&](const Outlook& one) {
        return one.held.limit && !link.is_zero() && one.held.limit->rate > link;
    });
    if (beyond_link) {
        findings.push_back({FindingKind::CapAboveLink, false, path, requested_of(level.limit), to_string(link),
                            "the port is slower than the limit, which has no effect"});
    }
}

}    // namespace

void report_limits(Draft& draft, const CompileInput& input, std::vector<Finding>& findings)
{
    for (const auto& level : input.spec.limits) {
        report(level, outlooks(level.limit, input.capabilities, missing_leaf(draft, input, level)), input.link_speed,
               findings);
    }
}

}    // namespace rdmaqos::compiling
