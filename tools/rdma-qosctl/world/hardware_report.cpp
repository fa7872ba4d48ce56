#include "tools/rdma-qosctl/world/hardware_report.h"

#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lib/base/net.h"
#include "lib/base/text.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::size_t kVendorDigits = 6;    // an OUI: the first three bytes of an EUI-64
constexpr std::size_t kGuidDigits = 16;

// The digits behind the vendor's, of a GUID with or without colons, as x.
std::string mask(std::string guid)
{
    std::size_t digits = 0;
    for (char& c : guid) {
        if (c != ':' && digits++ >= kVendorDigits) {
            c = 'x';
        }
    }
    return guid;
}

// "1070fd0300aa0000" and "1070:fd03:00aa:0000", as sysfs and names of devices have it.
std::set<std::string> spellings(std::uint64_t guid)
{
    std::string plain = fmt::format("{:016x}", guid);
    std::string colons = plain;
    for (std::size_t at = kGuidDigits - 4; at > 0; at -= 4) {
        colons.insert(at, ":");
    }
    return {std::move(plain), std::move(colons)};
}

class Mask {
public:
    // What stands as a GUID anywhere in these.
    explicit Mask(const std::vector<const DeviceView*>& devices)
    {
        for (const auto* device : devices) {
            add(device->node_guid);
            add(device->port_guid);
            for (const auto& attribute : device->attributes) {
                const auto guid = parse_number(attribute.value);
                if (attribute.name.ends_with("guid") && guid) {
                    add(*guid);
                }
            }
        }
    }

    void apply(std::string& text) const
    {
        for (const auto& secret : secrets_) {
            for (auto at = find(text, secret, 0); at != std::string::npos; at = find(text, secret, at + 1)) {
                text.replace(at, secret.size(), mask(text.substr(at, secret.size())));
            }
        }
    }

private:
    void add(std::uint64_t guid)
    {
        if (guid != 0) {
            secrets_.merge(spellings(guid));
        }
    }
    static std::string::size_type find(const std::string& text, const std::string& secret, std::size_t from)
    {
        return to_lower(text).find(secret, from);
    }

    std::set<std::string> secrets_;
};

void replace_all(std::string& text, const std::string& name, std::string_view instead)
{
    if (name.empty()) {
        return;
    }
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + instead.size())) {
        text.replace(at, name.size(), instead);
    }
}

// A netdev may be named after its MAC address and a bond after anything. The policy's words are in the reason of the
// state, the findings, the failures and the tree.
DeviceView stripped(const DeviceView& device)
{
    DeviceView result = device;
    const auto strip = [&](std::string& text) {
        replace_all(text, device.netdev, "(the netdev)");
        replace_all(text, device.bond, "(the bond)");
    };
    strip(result.attach_reason);
    for (auto& step : result.self_test) {
        strip(step.remark);
    }
    result.netdev.clear();
    result.reason.clear();
    result.findings.clear();
    result.failures.clear();
    result.tree.clear();
    result.object_path.clear();
    return result;
}

void apply(const Mask& mask, DeviceView& device)
{
    for (auto* text : {&device.name, &device.attach_reason, &device.firmware, &device.board_id}) {
        mask.apply(*text);
    }
    for (auto& step : device.self_test) {
        mask.apply(step.name);
        mask.apply(step.remark);
    }
    for (auto& attribute : device.attributes) {
        mask.apply(attribute.value);
        mask.apply(attribute.meaning);
    }
}

}    // namespace

std::string HardwareReport::guid(std::uint64_t value) const
{
    const std::string full = to_string(Guid{value});
    return masked ? "0x" + mask(full.substr(2)) : full;
}

HardwareReport make_hardware_report(const HostView& host, const std::string& daemon,
                                    const std::vector<const DeviceView*>& devices, Guids guids)
{
    HardwareReport report{host, daemon, guids == Guids::Masked, {}};
    const Mask mask(devices);
    for (const auto* device : devices) {
        report.devices.push_back(stripped(*device));
        if (report.masked) {
            apply(mask, report.devices.back());
        }
    }
    return report;
}

}    // namespace rdmaqos::ctl
