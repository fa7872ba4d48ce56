#include "daemon/model/session.h"

namespace rdmaqos {
namespace {

bool same_limits(const PerQueuePair& a, const PerQueuePair& b)
{
    return a.max_rate == b.max_rate && a.max_burst == b.max_burst && a.typical_packet == b.typical_packet;
}

}    // namespace

bool operator==(const Grant& a, const Grant& b)
{
    return a.level == b.level && a.rule == b.rule && a.verified == b.verified && a.sl == b.sl && a.mtu == b.mtu &&
           a.rate == b.rate && a.packet_life == b.packet_life && a.pkey == b.pkey &&
           a.traffic_class == b.traffic_class && a.sl_of_host == b.sl_of_host && a.share == b.share &&
           a.max_rate == b.max_rate && a.max_rate_now == b.max_rate_now &&
           same_limits(a.per_queue_pair, b.per_queue_pair) && a.message_model == b.message_model && a.leaf == b.leaf &&
           a.enforced == b.enforced && a.cause == b.cause && a.reason == b.reason && a.lost == b.lost &&
           a.detached_devices == b.detached_devices && a.returned_devices == b.returned_devices && a.losses == b.losses;
}

}    // namespace rdmaqos
