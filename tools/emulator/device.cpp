#include "tools/emulator/device.h"

#include <algorithm>
#include <utility>

#include "tools/emulator/datapath/hardware.h"
#include "tools/emulator/uverbs_file.h"

namespace rdmaqos::emulator {
namespace {

// The ones before are the device's own.
constexpr std::uint32_t kFirstQueuePair = 0x100;

}    // namespace

Device::Device(std::vector<SimulatedDevice> ports, const FirmwareOptions& options, unsigned index)
    : ports_(std::move(ports)), firmware_(options), pacing_rows_(ports_.front().capabilities.pacing.table_size),
      slot_(index), index_(index), appearance_(index)
{
}

std::optional<DeviceTraffic> Device::traffic()
{
    return hardware_ == nullptr ? std::nullopt : std::optional(hardware_->traffic(*this));
}

std::uint16_t Device::lid(std::uint32_t port) const
{
    constexpr unsigned kPorts = 16;    // of a device, at most
    return ports_[port - 1].infiniband ? static_cast<std::uint16_t>(1 + slot_ * kPorts + port) : std::uint16_t{0};
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
    ++changes_of_ports_;
}

Bandwidth Device::link_speed(std::uint32_t port) const
{
    const std::lock_guard lock(mutex_);
    const auto changed = link_speeds_.find(port);
    return changed == link_speeds_.end() ? ports_.at(port - 1).link_speed : changed->second;
}

void Device::set_link_speed(std::uint32_t port, Bandwidth speed)
{
    const std::lock_guard lock(mutex_);
    link_speeds_.insert_or_assign(port, speed);
    ++changes_of_ports_;
}

PortClasses Device::port_classes() const
{
    const std::lock_guard lock(mutex_);
    return port_classes_;
}

void Device::set_port_classes(const PortClasses& classes)
{
    const std::lock_guard lock(mutex_);
    port_classes_ = classes;
    dcb_port_ = dcb_port_of(classes);
    ++changes_of_ports_;
}

DcbPort Device::dcb_port() const
{
    const std::lock_guard lock(mutex_);
    return dcb_port_;
}

int Device::change_dcb_port(const std::function<int(DcbPort&)>& change)
{
    const std::lock_guard lock(mutex_);
    const DcbPort before = dcb_port_;
    const int error = change(dcb_port_);
    if (dcb_port_ != before) {
        port_classes_ = classes_of(dcb_port_);
        ++changes_of_ports_;
    }
    return error;
}

void Device::lose_port_classes()
{
    const std::lock_guard lock(mutex_);
    port_classes_ = PortClasses();
    dcb_port_ = first_dcb_port();
    ++changes_of_ports_;
}

std::optional<DcbFault> Device::count_dcb_write()
{
    const std::lock_guard lock(mutex_);
    return dcb_faults_.take();
}

std::uint64_t Device::dcb_writes() const
{
    const std::lock_guard lock(mutex_);
    return dcb_faults_.taken();
}

void Device::order_dcb_fault(std::uint64_t nth, std::uint64_t times, const DcbFault& fault)
{
    const std::lock_guard lock(mutex_);
    dcb_faults_.order(nth, times, fault);
}

void Device::clear_dcb_faults()
{
    const std::lock_guard lock(mutex_);
    dcb_faults_.clear();
}

std::vector<std::uint16_t> Device::pkeys(std::uint32_t port) const
{
    const std::lock_guard lock(mutex_);
    const auto set = pkeys_.find(port);
    return set == pkeys_.end() ? ports_.at(port - 1).pkeys : set->second;
}

void Device::set_pkeys(std::uint32_t port, std::vector<std::uint16_t> pkeys)
{
    const std::lock_guard lock(mutex_);
    pkeys_[port] = std::move(pkeys);
}

std::uint32_t Device::next_queue_pair()
{
    {
        const std::lock_guard lock(mutex_);
        if (const auto ordered = ordered_.take()) {
            return *ordered;
        }
    }
    std::uint32_t number = 0;
    do {
        number = next_queue_pair_++ & OrderedNumbers::kLast;
    } while (number < kFirstQueuePair || firmware_.queue_pair(number));
    return number;
}

bool Device::order_queue_pairs(const std::vector<std::uint32_t>& numbers)
{
    const std::lock_guard lock(mutex_);
    return ordered_.order(numbers, [&](std::uint32_t number) { return firmware_.queue_pair(number).has_value(); });
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
