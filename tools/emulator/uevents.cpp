#include "tools/emulator/uevents.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>

#include "tools/emulator/protocol.h"
#include "tools/emulator/sysfs.h"

namespace rdmaqos::emulator {
namespace {

// struct monitor_netlink_header of systemd. What socket filters look at is big-endian.
struct UdevHeader {
    char prefix[8] = {'l', 'i', 'b', 'u', 'd', 'e', 'v', '\0'};
    std::uint32_t magic = htonl(0xfeedcafe);
    std::uint32_t header_size = sizeof(UdevHeader);
    std::uint32_t properties_offset = sizeof(UdevHeader);
    std::uint32_t properties_length = 0;
    std::uint32_t subsystem_hash = 0;
    std::uint32_t device_type_hash = 0;
    std::uint32_t tags_high = 0;    // a Bloom filter; there are no tags
    std::uint32_t tags_low = 0;
};
static_assert(sizeof(UdevHeader) == 40);

// MurmurHash2 with seed 0, by which libudev filters subsystems.
std::uint32_t hash_of(std::string_view text)
{
    constexpr std::uint32_t kFactor = 0x5bd1e995;
    auto hash = static_cast<std::uint32_t>(text.size());
    for (; text.size() >= 4; text.remove_prefix(4)) {
        std::uint32_t word = 0;
        std::memcpy(&word, text.data(), sizeof(word));
        word *= kFactor;
        word ^= word >> 24;
        hash = hash * kFactor ^ word * kFactor;
    }
    if (!text.empty()) {
        for (std::size_t at = 0; at < text.size(); ++at) {
            hash ^= std::uint32_t{static_cast<unsigned char>(text[at])} << 8 * at;
        }
        hash *= kFactor;
    }
    hash ^= hash >> 13;
    hash *= kFactor;
    return hash ^ hash >> 15;
}

const char* word_of(UeventAction action)
{
    return action == UeventAction::Add ? "add" : "remove";
}

void append(std::string& list, std::string_view key, std::string_view value)
{
    list.append(key).append("=").append(value).push_back('\0');
}

std::string properties_of(const Uevent& event, std::uint64_t sequence)
{
    std::string list;
    append(list, "ACTION", word_of(event.action));
    append(list, "DEVPATH", event.path);
    append(list, "SUBSYSTEM", event.subsystem);
    for (const auto& [key, value] : event.properties) {
        append(list, key, value);
    }
    append(list, "SEQNUM", std::to_string(sequence));
    return list;
}

}    // namespace

std::vector<Uevent> uevents_of(const Device& device, UeventAction action)
{
    const std::string place = "/" + place_below_sys(device).string();
    std::vector<Uevent> events;
    std::uint32_t port = 0;
    for (const auto& each : device.ports()) {
        ++port;
        if (!each.netdev.empty()) {
            events.push_back(
                {action,
                 place + "/net/" + each.netdev,
                 "net",
                 {{"INTERFACE", each.netdev}, {"IFINDEX", std::to_string(interface_index(device, port))}}});
        }
    }
    const std::string verbs = fmt::format("uverbs{}", device.index());
    events.push_back({action,
                      place + "/infiniband_verbs/" + verbs,
                      "infiniband_verbs",
                      {{"MAJOR", std::to_string(kMajor)},
                       {"MINOR", std::to_string(kFirstMinor + device.index())},
                       {"DEVNAME", "infiniband/" + verbs},
                       {"DEVMODE", "0666"}}});
    events.push_back({action, place + "/infiniband/" + device.name(), "infiniband", {{"NAME", device.name()}}});
    if (action == UeventAction::Remove) {
        std::rotate(events.begin(), events.end() - 2, events.end());    // the netdevs of another driver go last
    }
    return events;
}

std::string kernel_message(const Uevent& event, std::uint64_t sequence)
{
    std::string message = fmt::format("{}@{}", word_of(event.action), event.path);
    message.push_back('\0');
    return message + properties_of(event, sequence);
}

std::string udev_message(const Uevent& event, std::uint64_t sequence)
{
    // udevd names the device by its whole path.
    Uevent processed = event;
    for (auto& [key, value] : processed.properties) {
        if (key == "DEVNAME") {
            value.insert(0, "/dev/");
        }
    }
    const std::string list = properties_of(processed, sequence);
    UdevHeader header;
    header.properties_length = static_cast<std::uint32_t>(list.size());
    header.subsystem_hash = htonl(hash_of(event.subsystem));
    return std::string(reinterpret_cast<const char*>(&header), sizeof(header)) + list;
}

}    // namespace rdmaqos::emulator
