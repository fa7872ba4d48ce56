#include "tools/rdma-qosctl/verbs/verb.h"

#include <array>

namespace rdmaqos::ctl {

// Each in the file of its name.
extern const Verb kCheckVerb, kEditVerb, kPlanVerb, kReloadVerb, kTryVerb, kConfirmVerb, kRevertVerb, kRuleVerb,
    kOverrideVerb, kSimulateVerb, kShowConfigVerb, kImportFabricVerb, kImportOpensmVerb, kExportVerb, kWhyVerb,
    kStatusVerb, kTreeVerb, kLevelsVerb, kEnvVerb, kDevicesVerb, kSessionsVerb, kQpsVerb, kTopVerb, kMetricsVerb,
    kMonitorVerb, kNamesVerb, kHardwareReportVerb, kReconcileVerb, kVerifyVerb, kDisableVerb, kEnableVerb, kReleaseVerb,
    kExplainVerb, kQueryPathVerb, kRequestVerb;

std::span<const Verb* const> all_verbs()
{
    static constexpr std::array kVerbs{
        &kCheckVerb,        &kEditVerb,       &kPlanVerb,
        &kReloadVerb,       &kTryVerb,        &kConfirmVerb,
        &kRevertVerb,       &kRuleVerb,       &kOverrideVerb,
        &kSimulateVerb,     &kShowConfigVerb, &kImportFabricVerb,
        &kImportOpensmVerb, &kExportVerb,     &kWhyVerb,
        &kStatusVerb,       &kTreeVerb,       &kLevelsVerb,
        &kEnvVerb,          &kDevicesVerb,    &kSessionsVerb,
        &kQpsVerb,          &kTopVerb,        &kMetricsVerb,
        &kMonitorVerb,      &kNamesVerb,      &kHardwareReportVerb,
        &kReconcileVerb,    &kVerifyVerb,     &kDisableVerb,
        &kEnableVerb,       &kReleaseVerb,    &kExplainVerb,
        &kQueryPathVerb,    &kRequestVerb,
    };
    return kVerbs;
}

}    // namespace rdmaqos::ctl
