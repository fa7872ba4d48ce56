#include "lib/port_bytes/port_bytes.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

namespace rdmaqos::port_bytes {
namespace {

// "tx" + before + "3" + after.
struct Names {
    std::string_view before;
    std::string_view after;
};
constexpr Names kNames[] = {
    {"_prio", "_bytes"},     // mlx5
    {"_prio_", "_bytes"},    // mlx4
    {"_bytes_pri", ""},      // bnxt
};

std::optional<std::size_t> priority_in(std::string_view rest)
{
    for (const Names& each : kNames) {
        if (rest.starts_with(each.before) && rest.size() == each.before.size() + 1 + each.after.size() &&
            rest.ends_with(each.after)) {
            const char digit = rest[each.before.size()];
            if (digit >= '0' && digit < static_cast<char>('0' + kPriorities)) {
                return static_cast<std::size_t>(digit - '0');
            }
        }
    }
    return std::nullopt;
}

bool is_of_rdma(std::string_view rest)
{
    return rest == "_vport_rdma_unicast_bytes" || rest == "_vport_rdma_multicast_bytes";
}

// Empty: it is less than before.
std::optional<std::uint64_t> grown(std::uint64_t before, std::uint64_t now)
{
    return now < before ? std::nullopt : std::optional(now - before);
}

bool has_grown(const OfPriority& before, const OfPriority& now)
{
    for (std::size_t i = 0; i < kPriorities; ++i) {
        if (!grown(before[i], now[i])) {
            return false;
        }
    }
    return true;
}

OfPriority difference(const OfPriority& before, const OfPriority& now)
{
    OfPriority moved{};
    for (std::size_t i = 0; i < kPriorities; ++i) {
        moved[i] = now[i] - before[i];
    }
    return moved;
}

}    // namespace

std::string rough(std::uint64_t bytes)
{
    constexpr std::uint64_t kThousand = 1000;
    const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
    std::uint64_t tenths = 0;
    std::size_t unit = 0;
    while (bytes >= kThousand && unit + 1 < std::size(units)) {
        tenths = bytes % kThousand / 100;
        bytes /= kThousand;
        ++unit;
    }
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{}.{} {}", bytes, tenths, units[unit]);
}

std::optional<PortBytes> bytes_in(std::span<const Counter> counters)
{
    PortBytes bytes;
    bool by_priority = false;
    for (const Counter& counter : counters) {
        const std::string_view name = counter.name;
        const bool is_sent = name.starts_with("tx");
        if (!is_sent && !name.starts_with("rx")) {
            continue;
        }
        const std::string_view rest = name.substr(2);
        if (const auto priority = priority_in(rest)) {
            (is_sent ? bytes.sent : bytes.received)[*priority] = counter.value;
            by_priority = true;
        } else if (is_of_rdma(rest)) {
            auto& rdma = is_sent ? bytes.rdma_sent : bytes.rdma_received;
            rdma = rdma.value_or(0) + counter.value;
        }
    }
    return by_priority ? std::optional(bytes) : std::nullopt;
}

std::optional<PortBytes> moved_between(const PortBytes& before, const PortBytes& now)
{
    if (!has_grown(before.sent, now.sent) || !has_grown(before.received, now.received)) {
        return std::nullopt;
    }
    PortBytes moved;
    moved.sent = difference(before.sent, now.sent);
    moved.received = difference(before.received, now.received);
    if (before.rdma_sent && now.rdma_sent) {
        moved.rdma_sent = grown(*before.rdma_sent, *now.rdma_sent);
    }
    if (before.rdma_received && now.rdma_received) {
        moved.rdma_received = grown(*before.rdma_received, *now.rdma_received);
    }
    return moved;
}

std::optional<ByteCheck> check_bytes(const PortBytes& moved, std::span<const MeantPriority> levels)
{
    if (!moved.rdma_sent) {
        return std::nullopt;
    }
    ByteCheck check;
    check.rdma = *moved.rdma_sent;
    std::uint64_t with_levels = 0;
    std::uint64_t with_others = 0;
    for (std::size_t priority = 0; priority < kPriorities; ++priority) {
        SentWith with{static_cast<std::uint8_t>(priority), moved.sent[priority], {}};
        for (const MeantPriority& level : levels) {
            if (level.priority == priority) {
                with.levels.push_back(level.level);
            }
        }
        (with.levels.empty() ? with_others : with_levels) += with.bytes;
        if (with.bytes > 0) {
            check.with.push_back(std::move(with));
        }
    }
    check.outside_at_least = check.rdma - std::min(check.rdma, with_levels);
    check.outside_at_most = std::max(check.outside_at_least, std::min(check.rdma, with_others));
    return check;
}

bool is_outside(const ByteCheck& check)
{
    constexpr std::uint64_t kWorthSaying = 1'000'000;
    constexpr std::uint64_t kOfAll = 20;    // a twentieth
    return check.outside_at_least >= kWorthSaying && check.outside_at_least >= check.rdma / kOfAll;
}

std::string outside_in_words(const ByteCheck& check)
{
    if (!is_outside(check)) {
        return "";
    }
    std::string where;
    for (const SentWith& with : check.with) {
        if (with.levels.empty()) {
            where += fmt::format("{}priority {} ({})", where.empty() ? "" : ", ", with.priority, rough(with.bytes));
        }
    }
    return fmt::format("at least {} % of the {} that RDMA sent had priorities of no level{}{}",
                       static_cast<std::uint64_t>(100.0 * static_cast<double>(check.outside_at_least) /
                                                  static_cast<double>(check.rdma)),
                       rough(check.rdma), where.empty() ? "" : ": ", where);
}

}    // namespace rdmaqos::port_bytes
