#include "policy/keys/settings_keys.h"

#include "policy/keys/choices.h"
#include "policy/keys/objects.h"

namespace rdmaqos::keys {
namespace {

constexpr Value kLimit = integer(1, 10'000'000);

constexpr std::uint64_t kSecond = 1000;
constexpr std::uint64_t kHour = 3600 * kSecond;

constexpr std::array kLimitsKeys{
    Key{"sessions-per-uid", kLimit, "Sessions of one user.", "4096"},
    Key{"queue-pairs-per-uid", kLimit, "Queue pairs of one user.", "65536"},
    Key{"queue-pairs-per-session", kLimit, "Queue pairs of one session.", "16384"},
    Key{"connections-per-uid", kLimit, "Connections of one user to the direct socket.", "2048"},
    Key{"requests-per-second-per-uid", kLimit, "Requests of one user in a second.", "50000"},
    Key{"device-queue", kLimit, "Operations waiting for one device.", "1024"},
};

constexpr std::array kMetricsKeys{
    Key{"textfile", of(Kind::MetricsFile), "Absolute path that ends with .prom; absent: no file is written."},
    Key{"interval", between(Kind::Duration, kSecond, kHour), "How often it is written, 1s to 1h: `15s`, `1min`.",
        "15s"},
};

constexpr std::array kSettingsKeys{
    kVersion,
    Key{"mode", one_of(kWordsOf<kModes>), "monitor matches, grants and reports but never writes to a NIC.", "enforce"},
    Key{"on-unsupported", one_of(kWordsOf<kOnUnsupported>),
        "Whether a policy is refused for what a device cannot give in full, unless the running policy asks for it too.",
        "error"},
    Key{"attach-mode", one_of(kWordsOf<kAttachModes>),
        "How queue pairs of other processes get into the tree; auto: as the daemon finds out.", "auto"},
    Key{"cap-mode", one_of(kWordsOf<kCapModes>),
        "With attach-mode per-process: whether each process may use a whole cap, has an equal part of it, or has a cap "
        "that "
        "follows what is measured, so that shares hold between processes, too.",
        "whole"},
    Key{"unregistered", one_of(kWordsOf<kUnregistered>),
        "Queue pairs of programs that do not register: not looked at, counted and listed, or also taken into the tree.",
        "count"},
    Key{"port-classes", one_of(kWordsOf<kPortClasses>),
        "The traffic classes of Ethernet ports (DCB, ETS): not looked at, read and reported, or set as the policy "
        "asks.",
        "report"},
    Key{"cnp-dscp", integer(1, 63),
        "With port-classes: manage: congestion notifications (CNP), which the NIC sends with this DSCP, get a traffic "
        "class before the others; absent: none."},
    Key{"queue-pair-counters", one_of(kWordsOf<kQueuePairCounters>),
        "Counters of queue pairs, which `rdma-qosctl top` shows: those that are bound are read, or the daemon binds "
        "one for each session.",
        "read"},
    Key{"drift-interval", between(Kind::Duration, kSecond, 24 * kHour),
        "How often elements are read back and repaired, 1s to 24h: `60s`, `5min`.", "60s"},
    Key{"leaf-reserve", integer(0, 65'535), "Leaves never given to principals.", "4"},
    Key{"socket-group", of(Kind::SocketGroup),
        "Only root and the members of this group may use the direct socket; absent: everybody may."},
    Key{"limits", mapping(kLimits)},
    Key{"metrics", mapping(kMetrics), "A file for the textfile collector of node_exporter."},
};

}    // namespace

constexpr Object kLimits{"limits", "`limits`", kLimitsKeys};
constexpr Object kMetrics{"metrics", "`metrics`", kMetricsKeys};
constexpr Object kSettings{"settings", "the settings", kSettingsKeys};

}    // namespace rdmaqos::keys
