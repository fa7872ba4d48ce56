#include "lib/base/descriptor_message.h"

#include <cstring>

namespace rdmaqos {

void DescriptorRoom::put(msghdr& message, std::span<const int> descriptors)
{
    if (descriptors.empty()) {
        return;
    }
    bytes.fill(0);
    message.msg_control = bytes.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    auto* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
}

void DescriptorRoom::offer(msghdr& message)
{
    message.msg_control = bytes.data();
    message.msg_controllen = bytes.size();
}

std::vector<UniqueFd> take_descriptors(msghdr& message)
{
    std::vector<UniqueFd> result;
    for (auto* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t index = 0; index < count; ++index) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(header) + index * sizeof(int), sizeof(fd));
            result.emplace_back(fd);
        }
    }
    return result;
}

}    // namespace rdmaqos
