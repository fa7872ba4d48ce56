#include "tests/attack/requests.h"

#include <algorithm>

#include <sys/mman.h>
#include <unistd.h>

namespace rdmaqos::attack {

Body request_for(const std::string& level)
{
    Bytes body;
    dict(body, [&](Bytes& out) { out.entry("level", "s", [&](Bytes& value) { value.text(level); }); });
    return {"a{sv}", body.str()};
}

Body empty_dict()
{
    Bytes body;
    dict(body, [](Bytes&) {});
    return {"a{sv}", body.str()};
}

Body queue_pairs(std::uint32_t first, std::uint32_t count, bool descriptors)
{
    Bytes body;
    body.array(4, [&](Bytes& list) {
        for (std::uint32_t index = 0; index < count; ++index) {
            dict(list, [&](Bytes& pair) {
                pair.entry("device", "s", [](Bytes& value) { value.text("mlx5_0"); });
                pair.entry("number", "u", [&](Bytes& value) { value.u32(first + index); });
                if (descriptors) {
                    pair.entry("uverbs", "h", [&](Bytes& value) { value.u32(index); });
                }
            });
        }
    });
    return {"aa{sv}", body.str(), descriptors ? count : 0};
}

Body policy_descriptor()
{
    return {"h", Bytes().u32(0).str(), 1};
}

Body interface_name(const std::string& name)
{
    return {"s", Bytes().text(name).str()};
}

int memory_file(const std::string& text)
{
    const int file = memfd_create("policy", MFD_CLOEXEC);
    for (std::string_view rest = text; !rest.empty();) {
        const ssize_t written = write(file, rest.data(), rest.size());
        rest.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
    return file;
}

}    // namespace rdmaqos::attack
