#include "lib/model/profile.h"

namespace rdmaqos {

Capabilities default_capabilities()
{
    Capabilities capabilities;
    capabilities.scheduling = true;
    capabilities.shares = true;
    capabilities.rate_caps = true;
    capabilities.max_depth = 4;
    capabilities.max_leaves = 256;
    capabilities.max_elements = 8192;
    capabilities.max_share = 100;
    capabilities.responder_leaf = true;
    capabilities.attachable = {QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud, QueuePairType::RawPacket,
                               QueuePairType::Devx};
    capabilities.pacing.supported_types = {QueuePairType::RawPacket};
    capabilities.pacing.table_size = 127;
    capabilities.pacing.burst = true;
    capabilities.pacing.typical_packet = true;
    return capabilities;
}

}    // namespace rdmaqos
