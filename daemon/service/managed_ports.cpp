#include "daemon/service/managed_ports.h"

namespace rdmaqos {

ManagedPorts::ManagedPorts(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices)
    : context_(context), policy_(policy), devices_(devices),
      classes_(context.executor, {context.options.port_kernel, context.options.watch_ports, context.options.wall_clock},
               [&context](const std::string& key) {
                   context.notify([&](ServiceObserver& observer) { observer.device_changed(key); });
               }),
      bytes_(context.executor, context.clock, context.options.wall_clock, context.options.read_interface)
{
    context_.add_observer(*this);
}

ManagedPorts::~ManagedPorts()
{
    context_.remove_observer(*this);
}

void ManagedPorts::policy_changed()
{
    const Settings& settings = policy_.settings();
    classes_.set(settings.port_classes, settings.drift_interval);
    bytes_.set(settings.port_classes != PortClassesSetting::Off);
}

void ManagedPorts::follow(const std::string& key)
{
    const ManagedDevice* device = devices_.find(key);
    if (device == nullptr) {
        return;
    }
    const DeviceInfo& info = device->info();
    if (info.link_layer == LinkLayer::InfiniBand) {
        classes_.follow(key, "", "its link layer is InfiniBand");
        bytes_.follow(key, "");
    } else {
        classes_.follow(key, info.netdev, info.netdev.empty() ? "it has no network interface" : "");
        bytes_.follow(key, info.netdev);
    }
}

}    // namespace rdmaqos
