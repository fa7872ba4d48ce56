#include "lib/mlx5/ioctl.h"

#include <algorithm>
#include <cerrno>

#include <rdma/ib_user_ioctl_verbs.h>
#include <sys/ioctl.h>

namespace rdmaqos::mlx5 {

Ioctl::Ioctl(std::uint16_t object, std::uint16_t method) : object_(object), method_(method) {}

ib_uverbs_attr& Ioctl::add(std::uint16_t id, std::size_t size)
{
    ib_uverbs_attr attribute{};
    attribute.attr_id = id;
    attribute.len = static_cast<std::uint16_t>(size);
    attribute.flags = UVERBS_ATTR_F_MANDATORY;
    return attributes_.emplace_back(attribute);
}

Ioctl& Ioctl::in(std::uint16_t id, std::span<const std::uint8_t> bytes)
{
    ib_uverbs_attr& attribute = add(id, bytes.size());
    if (bytes.size() <= sizeof(attribute.data)) {
        std::memcpy(&attribute.data, bytes.data(), bytes.size());
    } else {
        attribute.data = reinterpret_cast<std::uint64_t>(bytes.data());
    }
    return *this;
}

Ioctl& Ioctl::out(std::uint16_t id, std::span<std::uint8_t> bytes)
{
    ib_uverbs_attr& attribute = add(id, bytes.size());
    attribute.flags |= UVERBS_ATTR_F_VALID_OUTPUT;
    attribute.data = reinterpret_cast<std::uint64_t>(bytes.data());
    return *this;
}

Ioctl& Ioctl::handle(std::uint16_t id, std::uint32_t handle)
{
    add(id, 0).data = handle;
    return *this;
}

int Ioctl::run(int fd)
{
    const std::size_t length = sizeof(ib_uverbs_ioctl_hdr) + attributes_.size() * sizeof(ib_uverbs_attr);
    std::vector<std::uint64_t> words(length / sizeof(std::uint64_t));
    auto* head = reinterpret_cast<ib_uverbs_ioctl_hdr*>(words.data());
    head->length = static_cast<std::uint16_t>(length);
    head->object_id = object_;
    head->method_id = method_;
    head->num_attrs = static_cast<std::uint16_t>(attributes_.size());
    head->driver_id = RDMA_DRIVER_MLX5;
    int error = 0;
    do {
        std::copy(attributes_.begin(), attributes_.end(), head->attrs);
        error = ioctl(fd, RDMA_VERBS_IOCTL, head) == 0 ? 0 : errno;
    } while (error == EINTR);
    std::copy_n(head->attrs, attributes_.size(), attributes_.begin());
    return error;
}

std::uint64_t Ioctl::value(std::uint16_t id) const
{
    for (const auto& attribute : attributes_) {
        if (attribute.attr_id == id) {
            return attribute.data;
        }
    }
    return 0;
}

}    // namespace rdmaqos::mlx5
