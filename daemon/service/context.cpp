#include "daemon/service/context.h"

#include <utility>

namespace rdmaqos {

ServiceContext::ServiceContext(ServiceOptions given, Executor& loop, const Clock& time)
    : options(std::move(given)), executor(loop), clock(time), ending(loop), loader(loop), calls(loop)
{
}

Result<void> ServiceContext::not_ending() const
{
    if (shutting_down) {
        return fail(ErrorCode::Busy, "rdma-qosd is stopping");
    }
    return {};
}

}    // namespace rdmaqos
