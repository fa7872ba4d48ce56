#include "policy/keys/policy_keys.h"

#include "policy/keys/choices.h"
#include "policy/keys/objects.h"
#include "policy/model/client_keys.h"
#include "policy/model/ib.h"

namespace rdmaqos::keys {
namespace {

constexpr Count kSome = Count::OneOrSome;

// Those of rdmaqos::kClientKeys: in `allow` some are refused.
template <bool IsAllow>
constexpr auto kClientRows = [] {
    std::array<Key, rdmaqos::kClientKeys.size()> rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const ClientKey& key = rdmaqos::kClientKeys[i];
        const bool is_account = std::holds_alternative<AccountKind>(key.kind);
        rows[i] = IsAllow && !key.gives_permission()
                      ? Key{key.name(), of(Kind::Refused), key.no_permission}
                      : Key{key.name(),   of(is_account ? Kind::Account : Kind::Pattern, kSome),
                            key.sentence, "",
                            false,        key.name() == "group" ? "hpc" : ""};
    }
    return rows;
}();

// ---- what traffic gets ----

constexpr std::array kDeviceConditionsKeys{
    Key{"link-layer", one_of(kWordsOf<kLinkLayers>), "`infiniband` or `ethernet`."},
    Key{"netdev", of(Kind::Pattern), "A shell glob over the names of network interfaces."},
    Key{"pci", of(Kind::Pattern), "A shell glob over PCI addresses.", "", false, "'0000:17:00.*'"},
    Key{"speed", of(Kind::Speed), "Of the link: `400Gbps`, `>=200Gbps`; with <, <=, > or >= in quotes."},
};

constexpr std::array kSchedulingNodeKeys{
    Key{"name", of(Kind::Name), "A part of the path of everything below: without `/`, not `others`, not `*.responder`.",
        "", true},
    kUse,
    kRemove,
    kParent,
    kShare,
    Key{"min-rate", of(Kind::Part),
        "Guarantee among registered traffic: `10Gbps`, at least 1Mbps, or a part of the link: `10%`."},
    Key{"max-rate", kMaxPart,
        "Cap of everything below together: `80Gbps`, at least 1Mbps, a part of the link (`80%`), or `unlimited`.",
        "unlimited"},
    kStrict,
    Key{"devices", kDeviceList, "Devices that have it and all below it: names, or conditions; absent: all."},
};

constexpr std::array kLevelOverrideKeys{
    Key{"name", of(Kind::Name),
        "The level, ignoring case. One that is not there is not overridden, which is a warning.", "", true},
    Key{"max-rate", kMaxPart,
        "Cap of its class: `10Gbps`, at least 1Mbps, a part of the link (`25%`), or `unlimited`."},
    Key{"min-rate", of(Kind::Part), "Guarantee of its class: `5Gbps`, at least 1Mbps, or a part of the link: `10%`."},
    Key{"share", of(Kind::Share), "Weight of its class among siblings, or `device-default`."},
    Key{"per-queue-pair-max-rate", kMaxRate,
        "Cap of each of its queue pairs: `1Gbps`, at least 1Mbps, or `unlimited`."},
};

// ---- which traffic gets it ----

constexpr std::array kPortGroupKeys{
    Key{"name", of(Kind::Name), "Compared ignoring case.", "", true},
    kUse,
    kRemove,
    Key{"port-guid", ranges(), "Ports by GUID; a range may be of any size."},
    Key{"port-name", of(Kind::PortName, kSome),
        "Ports by node description and number: `vs1 HCA-1/P1`; looked up in the fabric file."},
    Key{"pkey", of(Kind::PKeyRange, kSome), "Members of partitions, by number."},
    Key{"partition", kTexts, "Members of partitions, by name (case matters); looked up in the fabric file."},
    Key{"node-type", one_of(kGroupNodeTypes, kSome), "Ports of nodes of a type; SELF: the ports of this host."},
    Key{"gid", of(Kind::AddressPrefix, kSome),
        "[host] RoCE and IP addresses and prefixes: `fd00:10::/32`, `10.1.0.0/16`. Bits behind the prefix are 0."},
};

constexpr std::array kPartitionKeys{
    Key{"name", of(Kind::Name), "Case matters.", "", true},
    kRemove,
    Key{"pkey", of(Kind::PKey), "Number of 16 bits, of which 15 count; not 0. Two partitions cannot have the same."},
    Key{"qos-level-name", kText, "The level of requests with this P_Key that no rule matches."},
};

constexpr std::array kUlpPortKeys{
    Key{"space", one_of(kPortSpaces), "Port space of rdma_cm.", "", true, "tcp"},
    Key{"port", ranges(kHighestUlpPort), "", "", true, "4420"},
};

constexpr std::array kMatchRuleKeys{
    kUse,
    Key{"source", kTexts, "port-groups: the path starts in any of them.", "", false, "storage-nodes"},
    Key{"destination", kTexts, "port-groups: the path ends in any of them.", "", false, "storage-nodes"},
    Key{"qos-class", of(Kind::QosClass, kSome), "Classes of 12 bits: numbers, ranges, names of qos-class-names."},
    Key{"service-id", ranges(), "Service ids: numbers and ranges."},
    Key{"ulp-port", mapping(kUlpPort), "[host] Adds the service ids that rdma_cm forms."},
    Key{"pkey", of(Kind::PKeyRange, kSome), "P_Keys without membership: numbers and ranges."},
    Key{"client", mapping(kClient), "[host] Who asks, as the kernel says; several keys must all hold.", "", false,
        "{user: alice}"},
    Key{"device", kDeviceList, "[host] The same as `devices`."},
    Key{"devices", kDeviceList, "[host] Devices that the traffic leaves by: names, or conditions."},
    Key{"qos-level-name", kText, "The level of what matches.", "", true},
    Key{"adopt", of(Kind::Flag), "[host] Also takes in programs that do not register, if the daemon adopts any.",
        "yes"},
};

constexpr std::array kUlpKeys{
    Key{"ulp", one_of(kWordsOf<kUlps>), "The upper layer protocol; `default` states the default level.", "", true},
    kUse,
    Key{"port-num", ranges(kHighestUlpPort),
        "Of sdp, rds, iser, lustre, nvme-of, nfs-rdma and ceph: ports of rdma_cm."},
    Key{"service-id", ranges(), "Of any."},
    Key{"pkey", of(Kind::PKeyRange, kSome), "Of ipoib and any."},
    Key{"target-port-guid", ranges(), "Of srp and any: GUIDs of destinations."},
    Key{"source-port-guid", ranges(), "Of any: GUIDs of sources."},
    Key{"source-target-port-guid", ranges(), "Of any: GUIDs that both ends are among."},
    Key{"sl", integer(0, kHighestSl), "The service level: makes the level SimpleQoSLevel_SL<n>."},
    Key{"qos-level-name", kText, "[host] A level instead of an SL."},
};

// ---- the rest of a file ----

constexpr Value kSetupPorts = or_word(ranges(127), kAnyPort);
constexpr Value kVlWeights = of(Kind::VlWeight, kSome);

constexpr std::array kVlarbTableKeys{
    Key{"group", kTexts, "port-groups."},
    Key{"across", kTexts, "port-groups: the ports of switches towards these."},
    Key{"vlarb-high", kVlWeights, "`VL:weight`, VL 0 to 15, weight 0 to 255: `0:64`."},
    Key{"vlarb-low", kVlWeights, "As vlarb-high."},
    Key{"vl-high-limit", integer(0, 255)},
};

constexpr std::array kSl2vlTableKeys{
    Key{"group", kTexts},
    Key{"across", kTexts},
    Key{"across-from", kTexts},
    Key{"across-to", kTexts},
    Key{"from", kSetupPorts, "\"*\" or ports from 0 to 127."},
    Key{"to", kSetupPorts, "\"*\" or ports from 0 to 127."},
    Key{"sl2vl-table", integer(0, 15, Count::EachSl), "The VLs of SL 0 to 15.", "", true,
        "[0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]"},
};

constexpr std::array kQosSetupKeys{
    Key{"vlarb-tables", mapping(kVlarbTable, Count::ListInSetup)},
    Key{"sl2vl-tables", mapping(kSl2vlTable, Count::ListInSetup)},
};

constexpr std::array kTransientKeys{
    Key{"until", of(Kind::Time),
        "The file is not used from this time on, and removed: 2026-11-23T22:00:00Z, or with an offset instead of Z."},
    Key{"owner", of(Kind::Name), "For whom it is: a name for `rdma-qosctl rule remove --owner` and `rule list`."},
    Key{"cgroup", of(Kind::Cgroup), "The file ends when this cgroup (of cgroup v2) is gone: /system.slice/job.scope."},
};

constexpr std::array kPolicyKeys{
    kVersion,
    Key{"port-groups", list(kPortGroup), "Named sets of ends of paths."},
    Key{"partitions", list(kPartition),
        "[host] Levels for requests with the P_Key of a partition that no rule matches."},
    Key{"qos-class-names", between(Kind::QosClassNames, 0, kHighestQosClass),
        "[host] Names for the 12-bit QoS-Class numbers; null takes an earlier file's name back."},
    Key{"scheduling-nodes", list(kSchedulingNode), "[host] Inner nodes of the tree."},
    Key{"qos-levels", list(kQosLevel), "What traffic gets."},
    Key{"qos-match-rules", list(kMatchRule),
        "Which traffic gets which level; the first rule whose criteria all hold decides."},
    Key{"qos-ulps", list(kUlp), "OpenSM's simplified rules, tried after the match rules."},
    Key{"qos-setup", mapping(kQosSetup), "Accepted and checked, without effect: the subnet manager's business."},
    Key{"transient", mapping(kTransient), "[host] Of a file in /run/rdma-qos: when it ends by itself."},
    Key{"qos-level-overrides", list(kLevelOverride),
        "[host] Of a file with `transient`: other rates for levels until the file ends."},
};

}    // namespace

constexpr Object kAllow{"allow", "`allow`", kClientRows<true>};
constexpr Object kDeviceConditions{"device-conditions", "an entry of `devices`", kDeviceConditionsKeys, Merge::Whole,
                                   "A device by what it is: all of it."};
constexpr Object kSchedulingNode{"scheduling-node", "a scheduling-node", kSchedulingNodeKeys, Merge::ByName};
constexpr Object kLevelOverride{"level-override", "an entry of `qos-level-overrides`", kLevelOverrideKeys};
constexpr Object kPortGroup{"port-group", "a port-group", kPortGroupKeys, Merge::ByName};
constexpr Object kPartition{"partition", "a partition", kPartitionKeys, Merge::ByName};
constexpr Object kClient{"client", "`client`", kClientRows<false>};
constexpr Object kUlpPort{"ulp-port", "`ulp-port`", kUlpPortKeys};
constexpr Object kMatchRule{"match-rule", "a match rule", kMatchRuleKeys};
constexpr Object kUlp{"ulp", "an ulp", kUlpKeys};
constexpr Object kVlarbTable{"vlarb-table", "a vlarb-table", kVlarbTableKeys};
constexpr Object kSl2vlTable{"sl2vl-table", "an sl2vl-table", kSl2vlTableKeys};
constexpr Object kQosSetup{"qos-setup", "`qos-setup`", kQosSetupKeys};
constexpr Object kTransient{"transient", "`transient`", kTransientKeys};
constexpr Object kPolicy{"policy", "a policy", kPolicyKeys};

}    // namespace rdmaqos::keys
