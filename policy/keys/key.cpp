#include "policy/keys/key.h"

#include <algorithm>

#include <fmt/format.h>

namespace rdmaqos::keys {
namespace {

// A small number that is easy to tell from a default.
constexpr std::uint64_t kUsual = 4;

std::string required_of(const Object& object)
{
    std::string text;
    for (const Key& key : object.keys) {
        if (key.required) {
            text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key.name, example_of(key));
        }
    }
    return fmt::format("{{{}}}", text);
}

// Of the kinds that have one; an integer, a word and a mapping have theirs in the row.
constexpr std::pair<Kind, std::string_view> kExamples[] = {
    {Kind::Text, "storage"},
    {Kind::Name, "storage"},
    {Kind::PlainName, "storage"},
    {Kind::Pattern, "mpi-*"},
    {Kind::Account, "alice"},
    {Kind::Description, "For backups"},
    {Kind::Flag, "true"},
    {Kind::Yes, "true"},
    {Kind::Range, "7-9"},
    {Kind::QosClass, "7-9"},
    {Kind::PKeyRange, "0x1234"},
    {Kind::PKey, "0x1234"},
    {Kind::Guid, "0x1070fd0300aa0000"},
    {Kind::Rate, "40Gbps"},
    {Kind::IbRate, "40Gbps"},
    {Kind::Part, "10%"},
    {Kind::Share, "60"},
    {Kind::Speed, "'>=200Gbps'"},
    {Kind::Size, "4KiB"},
    {Kind::Duration, "60s"},
    {Kind::IbMtu, "4096"},
    {Kind::PacketLife, "18"},
    {Kind::Address, "'fd00:10::1'"},
    {Kind::AddressPrefix, "'fd00:10::/32'"},
    {Kind::PortName, "vs1 HCA-1/P1"},
    {Kind::QosClassNames, "{checkpoints: 7}"},
    {Kind::VlWeight, "'0:64'"},
    {Kind::Time, "2099-11-23T22:00:00Z"},
    {Kind::Cgroup, "/system.slice/job.scope"},
    {Kind::MetricsFile, "/var/lib/node_exporter/rdma-qosd.prom"},
    {Kind::SocketGroup, "rdma"},
    {Kind::Version, "1"},
};

}    // namespace

std::string example_of(const Key& key)
{
    const Value& value = key.value;
    if (!key.example.empty()) {
        return std::string(key.example);
    }
    if (value.kind == Kind::Mapping) {
        return value.count == Count::One ? required_of(*value.object) : "[]";
    }
    if (value.kind == Kind::Word) {
        return std::string(value.words.back());
    }
    if (value.kind == Kind::Integer) {
        return std::to_string(std::clamp(kUsual, value.lowest, value.highest));
    }
    const auto* found = std::ranges::find(kExamples, value.kind, &std::pair<Kind, std::string_view>::first);
    return std::string(found == std::end(kExamples) ? std::string_view() : found->second);
}

}    // namespace rdmaqos::keys
