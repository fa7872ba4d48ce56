#include "daemon/service/policy_in_force.h"

#include <utility>

namespace rdmaqos {

Result<void> PolicyInForce::exists() const
{
    if (!rules_.policy) {
        return fail(ErrorCode::InvalidPolicy,
                    "rdma-qosd has no valid policy; `rdma-qosctl check` says why, `rdma-qosctl reload` tries again");
    }
    return {};
}

void PolicyInForce::set_fabric(std::shared_ptr<const Fabric> fabric)
{
    rules_.fabric = fabric ? std::move(fabric) : std::make_shared<const Fabric>();
}

}    // namespace rdmaqos
