#include "lib/nic/backend.h"

#include <fmt/format.h>

namespace rdmaqos {

Result<QueuePairSearch> Backend::find_queue_pairs(const std::shared_ptr<ClientFile>& /*file*/,
                                                  const std::vector<SoughtQueuePair>& /*sought*/,
                                                  const std::set<std::uint32_t>& /*known*/)
{
    return fail(ErrorCode::Unsupported,
                fmt::format("{} does not tell which queue pairs are in a file of another process", info().key()));
}

Result<std::optional<QueuePairMark>> Backend::query_mark(const QueuePairRef& /*queue_pair*/)
{
    return fail(ErrorCode::Unsupported, fmt::format("{} does not tell how packets are marked", info().key()));
}

std::string DeviceInfo::key() const
{
    return fmt::format("{}/{}", name, port);
}

}    // namespace rdmaqos
