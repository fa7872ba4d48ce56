// The words of values that are one of several, and what they stand for.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "lib/base/net.h"
#include "lib/tree/attach_mode.h"
#include "lib/tree/capabilities.h"
#include "lib/tree/compile.h"
#include "policy/keys/key.h"
#include "policy/model/fabric.h"
#include "policy/model/mode.h"
#include "policy/model/policy.h"
#include "policy/model/settings.h"
#include "policy/model/ulp_forms.h"

namespace rdmaqos::keys {

inline constexpr std::array<std::string_view, 1> kUnlimited{"unlimited"};
inline constexpr std::array<std::string_view, 1> kAnyPort{"*"};
inline constexpr std::array<std::string_view, 5> kGroupNodeTypes{"CA", "SWITCH", "ROUTER", "ALL", "SELF"};
// Of rdma_cm.
inline constexpr std::array<std::string_view, 4> kPortSpaces{"tcp", "udp", "ipoib", "ib"};

// Of the settings and of a level.
inline constexpr std::array<Choice<Mode>, 2> kModes{
    {{to_string(Mode::Enforce), Mode::Enforce}, {to_string(Mode::Monitor), Mode::Monitor}}};
inline constexpr std::array<Choice<FairBy>, 7> kFairBy{{{"none", FairBy::None},
                                                        {"queue-pair", FairBy::QueuePair},
                                                        {"process", FairBy::Process},
                                                        {"user", FairBy::User},
                                                        {"unit", FairBy::Unit},
                                                        {"slurm-job", FairBy::SlurmJob},
                                                        {"kubernetes-pod", FairBy::KubernetesPod}}};
inline constexpr std::array<Choice<MessageModel>, 4> kMessageModels{
    {{"default", MessageModel::Default},
     {"low-latency", MessageModel::LowLatency},
     {"high-bandwidth", MessageModel::HighBandwidth},
     {"force-low-latency", MessageModel::ForceLowLatency}}};
inline constexpr std::array<Choice<SlSource>, 2> kSlSources{
    {{"subnet-manager", SlSource::SubnetManager}, {"host", SlSource::Host}}};
inline constexpr std::array<Choice<LinkLayer>, 2> kLinkLayers{
    {{"infiniband", LinkLayer::InfiniBand}, {"ethernet", LinkLayer::Ethernet}}};
// Of a simulated port: whether it is InfiniBand.
inline constexpr std::array<Choice<bool>, 2> kSimulatedLinkLayers{{{"ethernet", false}, {"infiniband", true}}};
inline constexpr std::array<Choice<NodeType>, 3> kNodeTypes{
    {{"CA", NodeType::Ca}, {"SWITCH", NodeType::Switch}, {"ROUTER", NodeType::Router}}};
inline constexpr std::array<Choice<QueuePairType>, 5> kQueuePairTypes{{{"rc", QueuePairType::Rc},
                                                                       {"uc", QueuePairType::Uc},
                                                                       {"ud", QueuePairType::Ud},
                                                                       {"raw-packet", QueuePairType::RawPacket},
                                                                       {"devx", QueuePairType::Devx}}};
inline constexpr std::array<Choice<Ulp>, 11> kUlps{{{"default", Ulp::Default},
                                                    {"sdp", Ulp::Sdp},
                                                    {"rds", Ulp::Rds},
                                                    {"iser", Ulp::Iser},
                                                    {"srp", Ulp::Srp},
                                                    {"ipoib", Ulp::Ipoib},
                                                    {"any", Ulp::Any},
                                                    {"lustre", Ulp::Lustre},
                                                    {"nvme-of", Ulp::NvmeOf},
                                                    {"nfs-rdma", Ulp::NfsRdma},
                                                    {"ceph", Ulp::Ceph}}};
inline constexpr std::array<Choice<OnUnsupported>, 2> kOnUnsupported{
    {{"error", OnUnsupported::Error}, {"degrade", OnUnsupported::Degrade}}};
inline constexpr std::array<Choice<std::optional<AttachMode>>, 6> kAttachModes{
    {{"auto", std::nullopt},
     {to_string(AttachMode::Shared), AttachMode::Shared},
     {to_string(AttachMode::SharedLegacy), AttachMode::SharedLegacy},
     {to_string(AttachMode::SharedNodes), AttachMode::SharedNodes},
     {to_string(AttachMode::PerProcess), AttachMode::PerProcess},
     {to_string(AttachMode::None), AttachMode::None}}};
inline constexpr std::array<Choice<CapMode>, 3> kCapModes{{{to_string(CapMode::Whole), CapMode::Whole},
                                                           {to_string(CapMode::Divide), CapMode::Divide},
                                                           {to_string(CapMode::Adaptive), CapMode::Adaptive}}};
inline constexpr std::array<Choice<Unregistered>, 3> kUnregistered{
    {{"ignore", Unregistered::Ignore}, {"count", Unregistered::Count}, {"adopt", Unregistered::Adopt}}};
inline constexpr std::array<Choice<PortClassesSetting>, 3> kPortClasses{
    {{"off", PortClassesSetting::Off}, {"report", PortClassesSetting::Report}, {"manage", PortClassesSetting::Manage}}};
inline constexpr std::array<Choice<QueuePairCountersSetting>, 2> kQueuePairCounters{
    {{"read", QueuePairCountersSetting::Read}, {"bind", QueuePairCountersSetting::Bind}}};

}    // namespace rdmaqos::keys
