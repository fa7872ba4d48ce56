#include "policy/model/ulp_forms.h"

namespace rdmaqos {
namespace {

constexpr Interval kSdpServiceIds{0x10000, 0x1FFFF};
constexpr std::uint64_t kTcpServiceIds = 0x1060000;    // the rdma_cm's TCP port space
constexpr std::uint64_t kRdsServiceId = 0x10648CA;
constexpr std::uint64_t kIserServiceId = 0x1060CBC;
constexpr std::uint64_t kDefaultPartition = 0x7FFF;
constexpr Interval kLustrePort{987, 987};
constexpr Interval kNvmePort{4420, 4420};
constexpr Interval kNfsPort{20049, 20049};
constexpr Interval kCephMonitorPort{3300, 3300};
constexpr Interval kOldCephMonitorPort{6789, 6789};
constexpr Interval kCephPorts{6800, 7568};

IntervalSet shifted(const IntervalSet& set, std::uint64_t base)
{
    std::vector<Interval> intervals;
    for (const Interval& interval : set.intervals()) {
        intervals.push_back({base + interval.first, base + interval.last});
    }
    return IntervalSet(std::move(intervals));
}

// Without a criterion.
UlpMeaning meaning_of(Ulp ulp)
{
    UlpMeaning meaning;
    switch (ulp) {
    case Ulp::Sdp:
        meaning.service_id = IntervalSet({kSdpServiceIds});
        break;
    case Ulp::Rds:
        meaning.service_id = IntervalSet({{kRdsServiceId, kRdsServiceId}});
        break;
    case Ulp::Iser:
        meaning.service_id = IntervalSet({{kIserServiceId, kIserServiceId}});
        break;
    case Ulp::Ipoib:
        meaning.pkey = IntervalSet({{kDefaultPartition, kDefaultPartition}});
        break;
    case Ulp::Lustre:
        meaning.service_id = shifted(IntervalSet({kLustrePort}), kTcpServiceIds);
        break;
    case Ulp::NvmeOf:
        meaning.service_id = shifted(IntervalSet({kNvmePort}), kTcpServiceIds);
        break;
    case Ulp::NfsRdma:
        meaning.service_id = shifted(IntervalSet({kNfsPort}), kTcpServiceIds);
        break;
    case Ulp::Ceph:
        meaning.service_id = shifted(IntervalSet({kCephMonitorPort, kOldCephMonitorPort, kCephPorts}), kTcpServiceIds);
        break;
    case Ulp::Default:
    case Ulp::Srp:
    case Ulp::Any:
        break;
    }
    return meaning;
}

}    // namespace

const std::array<UlpForm, 11>& ulp_forms()
{
    using enum UlpCriterion;
    static const std::array<UlpForm, 11> kForms{
        {{Ulp::Default, "default", {}, false},
         {Ulp::Sdp, "sdp", {PortNum}, false},
         {Ulp::Rds, "rds", {PortNum}, false},
         {Ulp::Iser, "iser", {PortNum}, false},
         {Ulp::Srp, "srp", {TargetPortGuid}, true},
         {Ulp::Ipoib, "ipoib", {PKey}, false},
         {Ulp::Any, "any", {ServiceId, PKey, TargetPortGuid, SourcePortGuid, SourceTargetPortGuid}, true},
         {Ulp::Lustre, "lustre", {PortNum}, false, true},
         {Ulp::NvmeOf, "nvme-of", {PortNum}, false, true},
         {Ulp::NfsRdma, "nfs-rdma", {PortNum}, false, true},
         {Ulp::Ceph, "ceph", {PortNum}, false, true}}};
    return kForms;
}

const UlpForm& form_of(Ulp ulp)
{
    return ulp_forms().at(static_cast<std::size_t>(ulp));
}

std::string_view to_string(UlpCriterion criterion)
{
    switch (criterion) {
    case UlpCriterion::PortNum:
        return "port-num";
    case UlpCriterion::ServiceId:
        return "service-id";
    case UlpCriterion::PKey:
        return "pkey";
    case UlpCriterion::TargetPortGuid:
        return "target-port-guid";
    case UlpCriterion::SourcePortGuid:
        return "source-port-guid";
    case UlpCriterion::SourceTargetPortGuid:
        return "source-target-port-guid";
    }
    return {};
}

UlpMeaning meaning_of(Ulp ulp, std::optional<UlpCriterion> criterion, const IntervalSet& ranges)
{
    if (!criterion) {
        return meaning_of(ulp);
    }
    UlpMeaning meaning;
    switch (*criterion) {
    case UlpCriterion::PortNum:
        meaning.service_id = shifted(ranges, ulp == Ulp::Sdp ? kSdpServiceIds.first : kTcpServiceIds);
        break;
    case UlpCriterion::ServiceId:
        meaning.service_id = ranges;
        break;
    case UlpCriterion::PKey:
        meaning.pkey = ranges;
        break;
    case UlpCriterion::TargetPortGuid:
        meaning.group_name = ulp == Ulp::Srp ? "_SRP_Targets_" : "_ULP_Targets_";
        break;
    case UlpCriterion::SourcePortGuid:
        meaning.group_name = "_ULP_Sources_";
        break;
    case UlpCriterion::SourceTargetPortGuid:
        meaning.group_name = "_ULP_Sources_Targets_";
        break;
    }
    if (!meaning.group_name.empty()) {
        meaning.port_guids = ranges;
        meaning.group_is_source = *criterion != UlpCriterion::TargetPortGuid;
        meaning.group_is_destination = *criterion != UlpCriterion::SourcePortGuid;
    }
    return meaning;
}

}    // namespace rdmaqos
