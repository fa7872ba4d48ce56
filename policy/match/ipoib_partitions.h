// `ulp: ipoib` needs a partition in which IPoIB can work.
#pragma once

#include <vector>

#include "lib/base/diagnostic.h"
#include "policy/model/fabric.h"
#include "policy/model/local_port.h"
#include "policy/model/policy.h"

namespace rdmaqos {

// A warning for every ipoib entry whose partition has less than two full members in this fabric; without a port in the
// fabric nothing is known. OpenSM rejects such a policy.
[[nodiscard]] Diagnostics warnings_of_ipoib(const Policy& policy, const Fabric& fabric,
                                            const std::vector<LocalPort>& local);

}    // namespace rdmaqos
