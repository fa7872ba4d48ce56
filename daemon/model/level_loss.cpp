#include "daemon/model/level_loss.h"

#include <fmt/format.h>

#include "policy/model/transient.h"

namespace rdmaqos {
namespace {

std::string what_happened(const LostLevel& lost)
{
    switch (lost.reason) {
    case LossReason::Removed:
        return fmt::format("which removed level {}", lost.level);
    case LossReason::Renamed:
        return fmt::format("which removed level {} (level {} is the same)", lost.level, lost.renamed_to);
    case LossReason::NotAllowed:
        return fmt::format("when `allow` of level {} closed it to the process",
                           lost.renamed_to.empty() ? lost.level : lost.renamed_to);
    case LossReason::NoRule:
        return fmt::format("after which no rule gives it level {} or another one", lost.level);
    }
    return {};
}

}    // namespace

std::string_view to_string(LossReason reason)
{
    switch (reason) {
    case LossReason::Removed:
        return "removed";
    case LossReason::Renamed:
        return "renamed";
    case LossReason::NotAllowed:
        return "not-allowed";
    case LossReason::NoRule:
        return "no-rule";
    }
    return "";
}

std::string to_sentence(const LostLevel& lost)
{
    return fmt::format("it has no level since the {} of {} (revision {}), {}",
                       lost.by_reload ? "reload" : "change of the fabric or of ports", utc_text(lost.at), lost.revision,
                       what_happened(lost));
}

}    // namespace rdmaqos
