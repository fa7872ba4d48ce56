#include "tools/rdma-qosctl/world/broadcast.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "lib/base/text.h"
#include "lib/base/units.h"
#include "policy/model/ib.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

constexpr std::uint16_t kFullMember = 0x8000;

BroadcastField compare_sl(std::optional<std::uint8_t> group, std::optional<std::uint64_t> path)
{
    BroadcastField field;
    field.field = "sl";
    field.group = group ? std::to_string(*group) : "";
    field.path = path ? std::to_string(*path) : "";
    if (!group || !path) {
        field.why = path ? "the group's is not known" : "the level leaves it alone";
    } else if (*group == *path) {
        field.verdict = Verdict::Agrees;
    } else {
        field.verdict = Verdict::Differs;
        field.why = "broadcasts travel on another service level than the partition's other traffic";
    }
    return field;
}

// Where the group must stay within the path. `above` is -1, 0 or 1: the group is below, equal, above.
BroadcastField compare_limit(std::string_view key, std::string group, std::string path, std::optional<int> above,
                             std::string_view why_above)
{
    BroadcastField field{std::string(key), std::move(group), std::move(path), Verdict::Unknown, {}};
    if (!above) {
        field.why = field.group.empty() ? "the group's is not known" : "the path's is not known";
    } else if (*above > 0) {
        field.verdict = Verdict::Differs;
        field.why = why_above;
    } else {
        field.verdict = Verdict::Agrees;
        field.why = *above < 0 ? "within what the path allows" : "";
    }
    return field;
}

template <typename T, typename Compare>
std::optional<int> sign(const std::optional<T>& group, const std::optional<T>& path, Compare compare)
{
    if (!group || !path) {
        return std::nullopt;
    }
    const auto order = compare(*group, *path);
    return order < 0 ? -1 : order > 0 ? 1 : 0;
}

template <typename T>
std::string words(const std::optional<T>& value)
{
    return value ? in_words(*value) : std::string();
}

BroadcastField compare_packet_life(std::optional<std::uint8_t> group, std::optional<std::uint8_t> path)
{
    const auto text = [](std::optional<std::uint8_t> life) {
        return life ? packet_life_in_words(*life) : std::string();
    };
    return compare_limit("packet-life", text(group), text(path),
                         sign(group, path, [](auto a, auto b) { return a <=> b; }),
                         "broadcasts may live longer than the partition's other packets");
}

}    // namespace

bool BroadcastReport::agrees() const
{
    return std::none_of(fields.begin(), fields.end(),
                        [](const BroadcastField& field) { return field.verdict == Verdict::Differs; });
}

Result<FabricPartition> find_partition(const Fabric& fabric, const std::string& name)
{
    const auto number = parse_number(name);
    const auto found = std::find_if(
        fabric.partitions.begin(), fabric.partitions.end(), [&](const FabricPartition& partition) {
            return partition.name == name ||
                   (number && *number <= UINT16_MAX && partition.pkey == (*number & ~std::uint64_t{kFullMember}));
        });
    if (found == fabric.partitions.end()) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("the fabric file has no partition {}; `partitions` there lists them, and what "
                                "their IPoIB groups carry",
                                printable(name)));
    }
    if (!found->ipoib) {
        return fail(
            ErrorCode::InvalidArgument,
            fmt::format("the fabric file says nothing of the broadcast group of partition {}; add `ipoib` to it if "
                        "OpenSM makes one (`saquery -g`)",
                        printable(found->name)));
    }
    return *found;
}

std::uint16_t full_member(const FabricPartition& partition)
{
    return static_cast<std::uint16_t>(partition.pkey | kFullMember);
}

BroadcastReport compare_broadcast(const FabricPartition& partition, const api::PathAnswer& path)
{
    const IpoibParameters group = partition.ipoib.value_or(IpoibParameters{});
    const std::uint16_t pkey = full_member(partition);
    BroadcastReport report{partition.name, pkey,      fmt::format("ff12:401b:{:x}::ffff:ffff", pkey),
                           path.level,     path.rule, {}};
    // 0 is neither an MTU nor a rate.
    const auto path_mtu = ib_mtu_from_bytes(path.mtu.value_or(0));
    const auto path_rate = ib_rate_from_bandwidth(path.rate.value_or(Bandwidth{}));
    report.fields.push_back(compare_sl(group.sl, path.sl));
    report.fields.push_back(compare_limit("mtu", words(group.mtu), words(path_mtu),
                                          sign(group.mtu, path_mtu, [](IbMtu a, IbMtu b) { return a <=> b; }),
                                          "interfaces send packets of the group's MTU, which the path does not take"));
    report.fields.push_back(compare_limit("rate", words(group.rate), words(path_rate),
                                          sign(group.rate, path_rate, compare_rates),
                                          "broadcasts are sent faster than the partition's other traffic"));
    report.fields.push_back(compare_packet_life(group.packet_life, path.packet_life));
    return report;
}

}    // namespace rdmaqos::ctl
