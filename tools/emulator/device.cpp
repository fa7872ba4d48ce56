#include "tools/emulator/device.h"

#include <algorithm>

#include "tools/emulator/uverbs_file.h"

namespace rdmaqos::emulator {

Device::Device(std::vector<SimulatedDevice> ports, const FirmwareOptions& options, unsigned index)
    : ports_(std::move(ports)), firmware_(options), slot_(index), index_(index)
{
}

bool Device::port_is_up(std::uint32_t port) const
{
    const std::lock_guard lock(mutex_);
    return !ports_down_.contains(port);
}

void Device::set_port(std::uint32_t port, bool up)
{
    const std::lock_guard lock(mutex_);
    if (up) {
        ports_down_.erase(port);
    } else {
        ports_down_.insert(port);
    }
}

std::uint32_t Device::next_queue_pair()
{
    std::uint32_t number = 0;
    do {
        number = next_queue_pair_++ & 0xffffffU;
    } while (number < 0x100 || firmware_.queue_pair(number));
    return number;
}

void Device::add(const std::shared_ptr<UverbsFile>& file)
{
    const std::lock_guard lock(mutex_);
    files_.push_back(file);
}

std::vector<std::shared_ptr<UverbsFile>> Device::files() const
{
    const std::lock_guard lock(mutex_);
    return files_;
}

void Device::remove(const UverbsFile* file, std::size_t leaked)
{
    leaked_ += leaked;
    const std::lock_guard lock(mutex_);
    std::erase_if(files_, [file](const auto& each) { return each.get() == file; });
}

}    // namespace rdmaqos::emulator
