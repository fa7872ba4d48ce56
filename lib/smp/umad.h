// Sends packets to an InfiniBand port of this host by the kernel's umad, /dev/infiniband/umadN, which root may open.
// The only file that uses its interface.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "lib/base/file.h"
#include "lib/base/result.h"
#include "lib/smp/packet.h"

namespace rdmaqos::smp {

class Umad {
public:
    // Of a port of an RDMA device: "mlx5_0", 1. Errors: UnknownDevice: it has no umad, as RoCE ports have none.
    // AuthorizationRequired: whoever asks may not open it. Io: everything else.
    [[nodiscard]] static Result<Umad> open(const std::string& device, std::uint32_t port,
                                           const std::filesystem::path& root = "/");

    // Io: the port does not answer, too. Blocks for a second or so.
    [[nodiscard]] Result<Packet> exchange(const Packet& question);

private:
    Umad(UniqueFd file, std::uint32_t agent) : file_(std::move(file)), agent_(agent) {}

    UniqueFd file_;
    std::uint32_t agent_ = 0;
};

}    // namespace rdmaqos::smp
