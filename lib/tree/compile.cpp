#include "lib/tree/compile.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/tree/compile_draft.h"

namespace rdmaqos {
namespace {

using compiling::Draft;
using compiling::Index;
using compiling::kNone;
using compiling::kRoot;

// A root, one leaf and a level for each is the least that schedules anything.
bool can_schedule(const Capabilities& capabilities)
{
    return capabilities.scheduling && capabilities.max_depth >= 2 && capabilities.max_leaves >= 1 &&
           capabilities.max_elements >= 2;
}

Compiled without_scheduling(const CompileInput& input)
{
    Compiled compiled;
    compiled.principal_leaves.resize(input.principals.size());
    for (const auto& element : input.spec.elements) {
        if (element.is_class) {
            compiled.classes.emplace(element.path, ClassLeaves{});
            compiled.findings.push_back({FindingKind::NoScheduling, true, element.path, "its queue pairs scheduled",
                                         "the class is not enforced",
                                         "the device has no scheduling elements for queue pairs"});
        }
    }
    Draft nothing;
    compiling::report_limits(nothing, input, compiled.findings);
    return compiled;
}

bool is_relative(const SpecElement& element)
{
    bool found = false;
    for_each_rate(element, [&found](const RateSpec& rate) { found = found || rate.is_relative(); });
    return found;
}

ElementPath path_of(const Draft& draft, Index index)
{
    return index == kNone ? ElementPath() : draft.elements[index].path;
}

void write_tree(const Draft& draft, Compiled& compiled)
{
    for (Index index = 0; index < draft.elements.size(); ++index) {
        const auto& element = draft.elements[index];
        if (element.folded) {
            continue;
        }
        Element result{element.kind, path_of(draft, draft.kept_parent(index)), {}};
        if (index != kRoot) {
            result.attributes = {element.share, element.max_rate};
        }
        if (element.from_policy) {
            const RateSpec& rate = element.rate;
            compiled.requested.emplace(element.path,
                                       RequestedRate{rate.min_rate ? std::nullopt : rate.share, rate.min_rate});
        }
        compiled.tree.emplace(element.path, std::move(result));
    }
}

}    // namespace

std::string_view to_string(FairBy fair_by)
{
    switch (fair_by) {
    case FairBy::None:
        return "none";
    case FairBy::QueuePair:
        return "queue-pair";
    case FairBy::Process:
        return "process";
    case FairBy::User:
        return "user";
    case FairBy::Unit:
        return "unit";
    case FairBy::Cgroup:
        return "cgroup";
    case FairBy::SlurmJob:
        return "slurm-job";
    case FairBy::KubernetesPod:
        return "kubernetes-pod";
    }
    return "none";
}

std::string_view to_string(FindingKind kind)
{
    switch (kind) {
    case FindingKind::NoScheduling:
        return "no-scheduling";
    case FindingKind::Folded:
        return "folded";
    case FindingKind::CapLost:
        return "cap-lost";
    case FindingKind::ShareError:
        return "share-error";
    case FindingKind::MinRateMissed:
        return "min-rate-missed";
    case FindingKind::BudgetExceeded:
        return "budget-exceeded";
    case FindingKind::NoLeaf:
        return "no-leaf";
    case FindingKind::CapAboveLink:
        return "cap-above-link";
    case FindingKind::QueuePairLimit:
        return "queue-pair-limit";
    case FindingKind::NotSupported:
        return "not-supported";
    case FindingKind::TrafficClass:
        return "traffic-class";
    }
    return "unknown";
}

std::string to_string(const Finding& finding)
{
    switch (finding.kind) {
    case FindingKind::NoScheduling:
    case FindingKind::Folded:
    case FindingKind::NoLeaf:
    case FindingKind::NotSupported:
        return fmt::format("{}: cannot have {}: {}; {}", finding.path.text(), finding.requested, finding.why,
                           finding.achievable);
    case FindingKind::CapLost:
    case FindingKind::ShareError:
    case FindingKind::MinRateMissed:
    case FindingKind::BudgetExceeded:
    case FindingKind::CapAboveLink:
    case FindingKind::QueuePairLimit:
    case FindingKind::TrafficClass:
        break;
    }
    return fmt::format("{}: requested {}, achievable {}: {}", finding.path.text(), finding.requested,
                       finding.achievable, finding.why);
}

Compiled compile(const CompileInput& input)
{
    if (std::ranges::any_of(input.spec.elements, is_relative)) {
        CompileInput absolute = input;
        absolute.spec = with_absolute_rates(std::move(absolute.spec), input.link_speed);
        return compile(absolute);
    }
    if (input.spec.elements.empty() || !can_schedule(input.capabilities)) {
        return without_scheduling(input);
    }
    Compiled compiled;
    Draft draft = compiling::lay_out_policy(input, compiled.findings);
    compiling::fold(draft, input.capabilities.max_depth);
    compiling::report_limits(draft, input, compiled.findings);
    compiled.fixed_findings = compiled.findings.size();
    compiling::add_principals(draft, input, compiled.findings);
    compiling::assign_rates(draft, input, compiled.findings);
    compiling::report_folding(draft, input, compiled.findings);
    write_tree(draft, compiled);
    for (const auto& one : draft.classes) {
        compiled.classes.emplace(one.spec->path,
                                 ClassLeaves{path_of(draft, one.shared_leaf), path_of(draft, one.responder)});
    }
    compiled.principal_leaves = std::move(draft.principal_leaves);
    return compiled;
}

}    // namespace rdmaqos
