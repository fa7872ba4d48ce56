// One call of the kernel's uverbs ioctl in the making (rdma/rdma_user_ioctl_cmds.h): object, method, attributes.
//
//     Ioctl call(MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY);
//     call.handle(..._HANDLE, handle).in(..._CMD_IN, command).out(..._CMD_OUT, answer);
//     int error = call.run(fd);
//
// Inputs of at most 8 bytes travel in the attribute; of longer ones, and of all outputs, only the address does: what
// they name must live until run() returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <rdma/rdma_user_ioctl_cmds.h>

namespace rdmaqos::mlx5 {

class Ioctl {
public:
    Ioctl(std::uint16_t object, std::uint16_t method);

    Ioctl& in(std::uint16_t id, std::span<const std::uint8_t> bytes);
    template <typename T>
    Ioctl& in_value(std::uint16_t id, const T& value)
    {
        return in(id, {reinterpret_cast<const std::uint8_t*>(&value), sizeof(value)});
    }
    Ioctl& out(std::uint16_t id, std::span<std::uint8_t> bytes);
    template <typename T>
    Ioctl& out_value(std::uint16_t id, T& value)
    {
        return out(id, {reinterpret_cast<std::uint8_t*>(&value), sizeof(value)});
    }
    // Of an existing object; or, of one that the call makes, 0: value() is its handle afterwards.
    Ioctl& handle(std::uint16_t id, std::uint32_t handle = 0);

    // The errno; 0 on success. Goes on after a signal.
    [[nodiscard]] int run(int fd);
    [[nodiscard]] std::uint64_t value(std::uint16_t id) const;

private:
    ib_uverbs_attr& add(std::uint16_t id, std::size_t size);

    std::uint16_t object_;
    std::uint16_t method_;
    std::vector<ib_uverbs_attr> attributes_;
};

}    // namespace rdmaqos::mlx5
