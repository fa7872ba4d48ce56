#include "daemon/service/managed_ports.h"

#include <utility>

#include <fmt/format.h>

#include "daemon/device/device_names.h"
#include "daemon/service/port_records.h"
#include "lib/base/log.h"
#include "policy/model/port_class_requests.h"

namespace rdmaqos {
namespace {

std::string mend_of_records()
{
    return fmt::format("to use it, stop rdma-qosd, rename it to {} and start a version that can read it; to do without "
                       "it, `rdma-qosctl release` the devices, set their ports as they should be without rdma-qosd, "
                       "`rdma-qosctl enable` them, then remove the file and reload",
                       kPortRecordsFile);
}

}    // namespace

ManagedPorts::ManagedPorts(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices)
    : context_(context), policy_(policy), devices_(devices),
      classes_(
          context.executor, context.clock,
          {context.options.port_kernel, context.options.watch_ports, context.options.wall_clock},
          [root = context.options.root](const PortRecords& records) { return save_port_records(root, records); },
          [&context](const Result<void>& saved) {
              context.note_saved(kPortRecordsFile, saved,
                                 "what the traffic classes of ports were before will not be known after a restart");
          },
          [this, &context](const std::string& key) {
              if (ManagedDevice* const device = devices_.find(key)) {
                  device->set_kept_classes(classes_.status(key).care.classes);
              }
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

void ManagedPorts::load()
{
    if (std::exchange(is_loaded_, true)) {
        return;
    }
    const std::filesystem::path& root = context_.options.root;
    auto records = load_port_records(root);
    // By other names than that of the file itself, which is well again when it has been saved.
    for (const std::string& file : port_records_kept_aside(root)) {
        kept_aside_.insert(file);
        context_.note_state(file, {fmt::format("it has what traffic classes of ports were before rdma-qosd set them, "
                                               "and an earlier start could not use it: {}",
                                               mend_of_records())});
    }
    if (records) {
        classes_.set_records(std::move(*records));
        return;
    }
    const auto kept = keep_port_records_aside(root);
    const std::string failure = fmt::format(
        "what the traffic classes of ports were before rdma-qosd set them is not known: {}; what they are now, perhaps "
        "set by an earlier rdma-qosd, stands for it. {}",
        to_string(records.error()),
        kept ? fmt::format("The file is kept as {}: {}", *kept, mend_of_records())
             : fmt::format("The file cannot be kept, either: {}", to_string(kept.error())));
    log(LogLevel::Error, "{}", failure);
    context_.note_state(kept ? *kept : std::string(kPortRecordsFile) + " (before this start)", {failure});
    if (kept) {
        kept_aside_.insert(*kept);
    }
}

void ManagedPorts::look_for_records_kept_aside()
{
    const auto there = port_records_kept_aside(context_.options.root);
    std::erase_if(kept_aside_, [&](const std::string& file) {
        const bool is_removed = std::ranges::find(there, file) == there.end();
        if (is_removed) {
            context_.note_state(file, {});
        }
        return is_removed;
    });
}

void ManagedPorts::policy_changed()
{
    load();
    look_for_records_kept_aside();
    const Settings& settings = policy_.settings();
    classes_.set(settings.port_classes, settings.drift_interval);
    bytes_.set(settings.port_classes != PortClassesSetting::Off);
    for (const auto& [key, device] : devices_) {
        follow(key);
    }
}

void ManagedPorts::follow(const std::string& key)
{
    const ManagedDevice* device = devices_.find(key);
    if (device == nullptr || !is_loaded_) {
        return;    // before the start, nothing is read
    }
    const DeviceInfo& info = device->info();
    if (info.link_up && !info.link_speed.is_zero()) {
        speeds_[key] = info.link_speed;
    }
    const std::string id = port_id(id_of(info));
    if (info.link_layer == LinkLayer::InfiniBand) {
        classes_.follow(key, {id, "", "its link layer is InfiniBand"});
        bytes_.follow(key, "");
    } else {
        classes_.follow(key, {id, info.netdev, info.netdev.empty() ? "it has no network interface" : ""});
        bytes_.follow(key, info.netdev);
    }
    take_wish(*device);
}

void ManagedPorts::take_wish(const ManagedDevice& device)
{
    const std::string& key = device.key();
    Asked asked{policy_.policy(),
                policy_.settings().port_classes,
                policy_.settings().cnp_dscp,
                policy_.settings().mode,
                device.info(),
                device.attach_report().mode,
                device.attach_report().postponed,
                device.held_back(),
                let_go_.contains(key)};
    if (const auto before = asked_.find(key); before != asked_.end() && before->second == asked) {
        return;
    }
    asked_.insert_or_assign(key, std::move(asked));
    std::optional<PortWish> wish;
    if (!let_go_.contains(key)) {
        wish = wish_for(device, policy_.policy().get(), policy_.settings());
    }
    if (wish && !wish->requests.children.empty() && device.attach_report().postponed) {
        classes_.hold(key);    // who divides is found out before the first element is made
    } else {
        classes_.take_wish(key, std::move(wish));
    }
}

std::optional<PortWish> ManagedPorts::wish_for(const ManagedDevice& device, const Policy* policy,
                                               const Settings& settings) const
{
    const DeviceInfo& info = device.info();
    if (settings.port_classes != PortClassesSetting::Manage || settings.mode == Mode::Monitor || policy == nullptr ||
        device.held_back() || info.netdev.empty() || info.link_layer == LinkLayer::InfiniBand) {
        return std::nullopt;
    }
    PortWish wish;
    const auto speed = speeds_.find(device.key());
    if (speed != speeds_.end()) {
        wish.options.link_speed = speed->second;
    } else if (!info.link_speed.is_zero()) {
        wish.options.link_speed = info.link_speed;
    }
    wish.options.division = shares_between_processes(device.attach_report().mode) ? port_classes::Division::ByTree
                                                                                  : port_classes::Division::ByClasses;
    wish.options.cnp_dscp = settings.cnp_dscp;
    DeviceNames names = names_of(info);
    if (names.link_speed.is_zero() && speed != speeds_.end()) {
        names.link_speed = speed->second;    // a link that is down asks for nothing else than when it was up
    }
    wish.requests = port_class_requests(*policy, names, wish.options.link_speed);
    return wish;
}

std::optional<PortPlan> ManagedPorts::plan_of(const std::string& key, const Policy& policy,
                                              const Settings& settings) const
{
    const ManagedDevice* device = devices_.find(key);
    if (device == nullptr) {
        return std::nullopt;
    }
    const auto wish = wish_for(*device, &policy, settings);
    auto plan = classes_.plan_of(key, wish);
    const bool says_something = plan && (wish || !plan->steps.empty());
    return says_something ? std::move(plan) : std::nullopt;
}

std::optional<ElementFailure> ManagedPorts::failure(const std::string& key) const
{
    const PortCare care = classes_.status(key).care;
    if (!needs_attention(care.keeping)) {
        return std::nullopt;
    }
    return ElementFailure{
        {}, "port-classes", {ErrorCode::DeviceFailed, 0, care.reason}, 1, care.keeping != PortKeeping::Waiting};
}

void ManagedPorts::bring(const std::string& key, LoopCallback<void()> done)
{
    load();
    classes_.set(policy_.settings().port_classes, policy_.settings().drift_interval);
    follow(key);
    classes_.when_at_rest(key, std::move(done));
}

void ManagedPorts::resume_all()
{
    for (const auto& [key, device] : devices_) {
        classes_.resume(key);
    }
}

void ManagedPorts::begin_again(const std::string& key, LoopCallback<void()> done)
{
    classes_.resume(key);
    classes_.look_again(key);
    bring(key, std::move(done));
}

void ManagedPorts::let_go(const std::string& key, LoopCallback<void()> done)
{
    if (devices_.contains(key)) {
        let_go_.insert(key);
        follow(key);
    }
    classes_.when_at_rest(key, std::move(done));
}

void ManagedPorts::log_left(const std::string& key) const
{
    const PortStatus status = classes_.status(key);
    if (status.care.keeping != PortKeeping::Off && status.care.keeping != PortKeeping::LeftAlone) {
        log_event(LogLevel::Error, LogEvent::PortClassesRefused, LogOrigin::device(key), {{"DEVICE", key}},
                  "{}: rdma-qosd ends, and the traffic classes of {} stay as it has set them; what they were before is "
                  "kept in {}, and is put back by the next rdma-qosd that lets go of them before the host is booted",
                  key, status.netdev, kPortRecordsFile);
    }
}

void ManagedPorts::device_removed(const std::string& key)
{
    let_go_.erase(key);
    speeds_.erase(key);
    asked_.erase(key);
    classes_.forget(key);
    bytes_.forget(key);
}

void ManagedPorts::device_was_reset(const std::string& key)
{
    classes_.was_reset(key);
}

}    // namespace rdmaqos
