#include "lib/bus/device_path.h"

#include <cstdlib>
#include <memory>
#include <new>

#include <systemd/sd-bus.h>

#include "lib/bus/names.h"

namespace rdmaqos::bus {
namespace {

struct Free {
    void operator()(char* text) const noexcept { std::free(text); }    // NOLINT(*-no-malloc): sd-bus allocates so
};

}    // namespace

std::string device_path(const std::string& key)
{
    char* raw = nullptr;
    if (sd_bus_path_encode(names::kDevices, key.c_str(), &raw) < 0) {
        throw std::bad_alloc();
    }
    const std::unique_ptr<char, Free> path(raw);
    return path.get();
}

std::optional<std::string> device_of_path(const char* path)
{
    char* raw = nullptr;
    if (sd_bus_path_decode(path, names::kDevices, &raw) <= 0) {
        return std::nullopt;
    }
    const std::unique_ptr<char, Free> key(raw);
    return std::string(key.get());
}

}    // namespace rdmaqos::bus
