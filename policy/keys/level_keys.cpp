#include "policy/keys/level_keys.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "policy/keys/choices.h"
#include "policy/keys/objects.h"
#include "policy/model/client_keys.h"
#include "policy/model/ib.h"

namespace rdmaqos::keys {
namespace {

// ---- the mappings in a level ----

constexpr std::array kFairByCgroupKeys{Key{"cgroup", kText, "A shell glob over whole paths.", "", true, "'*/job_*'"}};

constexpr std::array kResponderKeys{
    kShare,
    Key{"max-rate", kMaxPart,
        "Cap of the responses: `20Gbps`, at least 1Mbps, a part of the link (`20%`), or `unlimited`.", "unlimited"},
};

constexpr std::array kScheduleKeys{
    kParent,
    kShare,
    Key{"min-rate", of(Kind::Part),
        "Guarantee among registered traffic: `10Gbps`, at least 1Mbps, or a part of the link: `10%`. Say who may take "
        "it with `allow`."},
    Key{"max-rate", kMaxPart,
        "Cap of the whole class: `40Gbps`, at least 1Mbps, a part of the link (`40%`), or `unlimited`.", "unlimited"},
    kStrict,
    Key{"fair-by", or_mapping(one_of(kWordsOf<kFairBy>), kFairByCgroup),
        "Who gets a leaf of his own and counts the same as the others; none: the class is one leaf.", "none"},
    Key{"max-rate-each", kMaxPart,
        "Cap of each of these: `25Gbps`, at least 1Mbps, a part of the link (`25%`), or `unlimited`.", "unlimited"},
    Key{"leaf-budget", integer(1, 1'000'000),
        "Leaves for these; who comes later shares the leaf `others`. Absent: what the device has."},
    Key{"responder", mapping(kResponder), "RDMA READ responses get a leaf of their own beside the class."},
};

constexpr std::array kPerQueuePairKeys{
    Key{"max-rate", kMaxRate, "Cap of each queue pair on its own: `5Gbps`, at least 1Mbps, or `unlimited`.",
        "unlimited"},
    Key{"max-burst", between(Kind::Size, 1, 0xFFFF'FFFF),
        "Bytes sent at once, 1B to 4GiB - 1B: `64KiB`; only with max-rate."},
    Key{"typical-packet", between(Kind::Size, 1, 65'535),
        "Bytes of a packet that pacing reckons with, 1 to 65535; only with max-rate."},
};

// ---- in words ----

constexpr std::string_view kNone = "none";

template <typename T, typename Words>
std::string or_nothing(const std::optional<T>& value, Words words)
{
    return value ? std::string(words(*value)) : std::string();
}

std::string number_in_words(std::uint64_t value)
{
    return fmt::format("{}", value);
}

std::string rate_in_words(Bandwidth rate)
{
    return to_string(rate);
}

std::string mtu_in_words(IbMtu mtu)
{
    return fmt::format("{}", bytes(mtu));
}

std::string ib_rate_in_words(IbRate rate)
{
    return to_string(nominal(rate));
}

std::string model_in_words(MessageModel model)
{
    return std::string(to_string(model));
}

// ---- what an option says ----

template <auto Member, auto Words>
void value(const Key& key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key.name, or_nothing(level.*Member, Words), kNone});
}

template <auto Member>
void flag(const Key& key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    const std::string_view word = level.*Member ? "yes" : "no";
    properties.push_back({key.name, word == key.without ? std::string() : std::string(word), key.without});
}

void tell_sl_source(const Key& key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key.name, level.sl_source == SlSource::Host ? "host" : "", key.without});
}

void tell_traffic_class(const Key& key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key.name, or_nothing(level.traffic_class, number_in_words), kNone});
}

void tell_pkeys(const Key& key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key.name, to_string(level.pkeys, NumberBase::Hex), kNone});
}

std::string fairness_in_words(const Schedule& schedule)
{
    if (schedule.fair_by == FairBy::None) {
        return {};
    }
    const auto by = to_string(schedule.fair_by);
    return schedule.fair_by == FairBy::Cgroup ? fmt::format("{} {}", by, schedule.fair_cgroup) : std::string(by);
}

// "25 Gbit/s" or "25 %"
std::string rate_or_part(const std::optional<Bandwidth>& rate, const std::optional<Percentage>& part)
{
    return part ? to_string(*part) : or_nothing(rate, rate_in_words);
}

std::string share_in_words(const RateSpec& rate)
{
    return rate.share ? number_in_words(*rate.share) : "device-default";
}

void tell_schedule(const Key&, const Policy& policy, const QosLevel& level, PolicyProperties& properties)
{
    const bool has = level.schedule.has_value();
    const auto add = [&](std::string_view key, std::string value) {
        properties.push_back({key, has ? std::move(value) : std::string(), kNone});
    };
    const Schedule& values = has ? *level.schedule : Schedule{};
    const auto& responder = values.responder;
    add("parent", values.parent ? policy.nodes.at(*values.parent).name : "the root");
    add("share", share_in_words(values.rate));
    add("min-rate", rate_or_part(values.rate.min_rate, values.rate.min_part));
    add("max-rate", rate_or_part(values.rate.max_rate, values.rate.max_part));
    properties.push_back({"strict", has && values.strict ? "yes" : "", "no"});
    add("fair-by", fairness_in_words(values));
    add("max-rate-each", rate_or_part(values.principal.max_rate, values.principal.max_part));
    add("leaf-budget", or_nothing(values.leaf_budget, number_in_words));
    add("responder share", or_nothing(responder, share_in_words));
    add("responder max-rate", responder ? rate_or_part(responder->max_rate, responder->max_part) : "");
}

void tell_per_queue_pair(const Key&, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    const PerQueuePair& limits = level.per_queue_pair;
    properties.push_back({"per-queue-pair max-rate", or_nothing(limits.max_rate, rate_in_words), kNone});
    properties.push_back({"per-queue-pair max-burst", or_nothing(limits.max_burst, number_in_words), kNone});
    properties.push_back({"per-queue-pair typical-packet", or_nothing(limits.typical_packet, number_in_words), kNone});
}

void tell_allow(const Key& key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key.name, level.allow ? allowed_in_words(level) : "", "everyone"});
}

void tell_devices(const Key& key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key.name, to_string(level.devices), "all"});
}

void tell_mode(const Key& key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key.name, level.mode == Mode::Monitor ? "monitor" : "", key.without});
}

void tell_renamed_from(const Key& key, const Policy&, const QosLevel& level, PolicyProperties& properties)
{
    properties.push_back({key.name, fmt::format("{}", fmt::join(level.renamed_from, ", ")), kNone});
}

// ---- rows ----

struct LevelKey {
    Key key;
    // Nothing for an option without effect, and for a second way to say another.
    void (*tell)(const Key& key, const Policy& policy, const QosLevel& level, PolicyProperties& properties);
};

constexpr std::array kLevelKeys{
    LevelKey{
        {"name", of(Kind::Name),
         "Compared ignoring case. One level is named DEFAULT. With a schedule it is a part of a path: without `/`, not "
         "`others`, not `*.responder`.",
         "", true},
        nullptr},
    LevelKey{kUse, nullptr},
    LevelKey{kRemove, nullptr},
    LevelKey{{"sl", integer(0, kHighestSl), "Service level; absent: left alone."},
             value<&QosLevel::sl, number_in_words>},
    LevelKey{{"sl-source", one_of(kWordsOf<kSlSources>),
              "[host] Whether a launcher may replace the SL that the subnet manager gave a connection on InfiniBand.",
              "subnet-manager"},
             tell_sl_source},
    LevelKey{{"dscp", integer(0, 63), "[host] DSCP of RoCE traffic: a traffic class of dscp * 4."}, nullptr},
    LevelKey{{"traffic-class", integer(0, 255), "[host] Instead of dscp."}, tell_traffic_class},
    LevelKey{{"mtu-limit", or_word(of(Kind::IbMtu), kUnlimited),
              "Largest path MTU in bytes, OpenSM's 1 to 5, or `unlimited`."},
             value<&QosLevel::mtu_limit, mtu_in_words>},
    LevelKey{{"rate-limit", or_word(of(Kind::IbRate), kUnlimited),
              "Largest rate of path answers: a rate of InfiniBand (`40Gbps`), OpenSM's 2 to 24, or `unlimited`. Caps "
              "nothing "
              "on the NIC: that is max-rate."},
             value<&QosLevel::rate_limit, ib_rate_in_words>},
    LevelKey{{"packet-life", of(Kind::PacketLife),
              "Lifetime in path answers: 0 to 63 (4.096 us * 2^n), or a time, rounded up to one."},
             value<&QosLevel::packet_life, number_in_words>},
    LevelKey{{"path-bits", ranges(), "Accepted, without effect, as in OpenSM."}, nullptr},
    LevelKey{{"pkey", of(Kind::PKeyRange, Count::OneOrSome), "Partitions a path of this level may use."}, tell_pkeys},
    LevelKey{{"schedule", mapping(kSchedule),
              "[host] A class in the tree; absent: no element, queue pairs are not attached."},
             tell_schedule},
    LevelKey{{"devices", kDeviceList, "[host] Devices that have its class: names, or conditions; absent: all."},
             tell_devices},
    LevelKey{{"per-queue-pair", mapping(kPerQueuePair), "[host] Limits of each queue pair on its own.", "", false,
              "{max-rate: 10Gbps}"},
             tell_per_queue_pair},
    LevelKey{{"message-model", one_of(kWordsOf<kMessageModels>),
              "[host] What resource domains of the client library start from."},
             value<&QosLevel::message_model, model_in_words>},
    LevelKey{{"allow", mapping(kAllow), "[host] Who may be in the level, however they got there; absent: everybody.",
              "", false, "{group: hpc}"},
             tell_allow},
    LevelKey{{"mode", one_of(kWordsOf<kModes>),
              "[host] monitor: the level is given as otherwise, but nothing is written to a device for it.", "enforce"},
             tell_mode},
    LevelKey{{"log", of(Kind::Flag), "[host] A line in the journal for each session that gets the level.", "no"},
             flag<&QosLevel::log>},
    LevelKey{{"adopt", of(Kind::Flag), "[host] Also takes in programs that do not register, if the daemon adopts any.",
              "yes"},
             flag<&QosLevel::adopt>},
    LevelKey{{kRenamedFrom, of(Kind::Name, Count::OneOrSome),
              "[host] Names that the level had: sessions that ask for one of them get it. No level may have them now.",
              "", false, "nfs"},
             tell_renamed_from},
};

constexpr auto kQosLevelKeys = [] {
    std::array<Key, kLevelKeys.size()> keys;
    std::ranges::transform(kLevelKeys, keys.begin(), &LevelKey::key);
    return keys;
}();

}    // namespace

constexpr Object kFairByCgroup{"fair-by", "`fair-by`", kFairByCgroupKeys, Merge::Whole,
                               "The outermost cgroup that matches: {cgroup: \"*/job_*\"}."};
constexpr Object kResponder{"responder", "`responder`", kResponderKeys, Merge::KeyByKey};
constexpr Object kSchedule{"schedule", "`schedule`", kScheduleKeys, Merge::KeyByKey};
constexpr Object kPerQueuePair{"per-queue-pair", "`per-queue-pair`", kPerQueuePairKeys, Merge::KeyByKey};
constexpr Object kQosLevel{"qos-level", "a qos-level", kQosLevelKeys, Merge::ByName};

PolicyProperties properties_of(const Policy& policy, const QosLevel& level)
{
    PolicyProperties properties;
    for (const LevelKey& row : kLevelKeys) {
        if (row.tell != nullptr) {
            row.tell(row.key, policy, level, properties);
        }
    }
    return properties;
}

}    // namespace rdmaqos::keys
