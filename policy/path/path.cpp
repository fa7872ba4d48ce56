#include "policy/path/path.h"

#include <algorithm>

#include <fmt/format.h>

#include "lib/base/try.h"
#include "policy/model/opensm_order.h"

namespace rdmaqos {
namespace {

tl::unexpected<Error> no_path(std::string why)
{
    return fail(ErrorCode::NoMatchingPath, std::move(why));
}

constexpr bool sl_is_valid(std::uint8_t sl, std::uint16_t mask)
{
    return sl < 16 && (mask >> sl & 1U) != 0;
}

constexpr std::uint8_t number(IbMtu mtu)
{
    return static_cast<std::uint8_t>(mtu);
}

// The selectors of MTU and lifetime, which are ordered by their numbers. A value that no lower one can satisfy fails.
template <typename Words>
Result<std::uint8_t> select(std::uint8_t has, Selector selector, std::uint8_t asked, std::string_view what, Words words)
{
    switch (selector) {
    case Selector::GreaterThan:
        if (has <= asked) {
            return no_path(fmt::format("{} above {} was requested; the path with this level has {}", what, words(asked),
                                       words(has)));
        }
        return has;
    case Selector::LessThan:
        if (has < asked) {
            return has;
        }
        if (asked <= 1) {
            return no_path(fmt::format("no {} is below {}", what, words(asked)));
        }
        return static_cast<std::uint8_t>(asked - 1);
    case Selector::Exactly:
        if (has < asked) {
            return no_path(
                fmt::format("{} {} was requested; the path with this level has {}", what, words(asked), words(has)));
        }
        return asked;
    case Selector::Largest:
        return has;
    }
    return has;
}

Result<IbMtu> select_mtu(IbMtu has, const std::optional<Selected<IbMtu>>& asked)
{
    if (!asked) {
        return has;
    }
    if (asked->selector != Selector::Largest && (number(asked->value) < 1 || number(asked->value) > 5)) {
        return no_path(fmt::format("{} is no MTU", number(asked->value)));
    }
    const auto words = [](std::uint8_t value) { return in_words(static_cast<IbMtu>(value)); };
    const auto mtu = TRY(select(number(has), asked->selector, number(asked->value), "MTU", words));
    return static_cast<IbMtu>(mtu);
}

Result<IbRate> select_rate(IbRate has, const std::optional<Selected<IbRate>>& asked)
{
    if (!asked || asked->selector == Selector::Largest) {
        return has;
    }
    if (!ib_rate_from_number(number(asked->value))) {
        return no_path(fmt::format("{} is not a rate", number(asked->value)));
    }
    const auto order = compare_rates(has, asked->value);
    if (asked->selector == Selector::LessThan) {
        if (order < 0) {
            return has;
        }
        const auto lower = previous_rate(asked->value);
        return lower ? Result<IbRate>(*lower) : no_path(fmt::format("no rate is below {}", in_words(asked->value)));
    }
    const bool above = asked->selector == Selector::GreaterThan;
    if (above ? order > 0 : order == 0) {
        return has;
    }
    return no_path(fmt::format("a rate {} {} was requested; the path with this level has {}",
                               above ? "above" : "of exactly", in_words(asked->value), in_words(has)));
}

Result<std::uint8_t> select_packet_life(std::uint8_t has, const std::optional<Selected<std::uint8_t>>& asked)
{
    if (!asked) {
        return has;
    }
    return select(has, asked->selector, asked->value, "packet lifetime", packet_life_in_words);
}

// The P_Key both ends have, as the sender has it; at least one of the two must be a full member.
std::optional<std::uint16_t> shared(std::uint16_t partition, const PathLimits& limits)
{
    std::optional<std::uint16_t> limited;
    for (const std::uint16_t source : limits.source_pkeys) {
        for (const std::uint16_t destination : limits.destination_pkeys) {
            if (partition_of(source) != partition || partition_of(destination) != partition ||
                ((source | destination) & kPKeyFullMember) == 0) {
                continue;
            }
            if ((source & kPKeyFullMember) != 0) {
                return source;
            }
            limited = source;
        }
    }
    return limited;
}

// Of a level's partitions the lowest is taken, else the first of OpenSM's table.
bool goes_before(std::uint16_t a, std::uint16_t b, const QosLevel& level)
{
    return level.pkeys.empty() ? opensm_order(a) < opensm_order(b) : a < b;
}

std::string level_pkeys(const QosLevel& level)
{
    return to_string(level.pkeys, NumberBase::Hex);
}

std::string in_words(PKeyProblem problem, const QosLevel& level, const Request& request)
{
    switch (problem) {
    case PKeyProblem::NotShared:
        return fmt::format("the two ports do not share P_Key {:#x}", request.pkey.value_or(0));
    case PKeyProblem::NotInLevel:
        return fmt::format("P_Key {:#x} is not among those of level {} ({})", request.pkey.value_or(0), level.name,
                           level_pkeys(level));
    case PKeyProblem::NoneShared:
        return "the two ports share no P_Key";
    case PKeyProblem::NoneOfLevelShared:
        return fmt::format("the two ports share none of the P_Keys of level {} ({})", level.name, level_pkeys(level));
    }
    return {};
}

Result<std::optional<std::uint8_t>> choose_sl(const QosLevel& level, const Request& request, const PathLimits& limits)
{
    if (level.sl && request.sl && *request.sl != *level.sl) {
        return no_path(fmt::format("SL {} was requested; level {} has SL {}", *request.sl, level.name, *level.sl));
    }
    const auto sl = level.sl ? level.sl : request.sl;
    if (sl && !sl_is_valid(*sl, limits.valid_sl_mask)) {
        return no_path(fmt::format("SL {} cannot be used on this path: a port maps it to VL15", *sl));
    }
    return sl;
}

template <typename T>
tl::unexpected<Error> passed_on(Result<T>& result)
{
    return fail(std::move(result).error());
}

}    // namespace

PKeyChoice choose_pkey(const QosLevel& level, const Request& request, const PathLimits& limits)
{
    if (request.pkey) {
        if (limits.pkeys_known && !shared(partition_of(*request.pkey), limits)) {
            return {std::nullopt, PKeyProblem::NotShared};
        }
        if (!level.pkeys.empty() && !level.pkeys.contains(partition_of(*request.pkey))) {
            return {std::nullopt, PKeyProblem::NotInLevel};
        }
        return {request.pkey, std::nullopt};
    }
    if (!limits.pkeys_known) {
        // Nothing to choose by, unless the level leaves one.
        const auto& ranges = level.pkeys.intervals();
        const bool only_one = ranges.size() == 1 && ranges.front().first == ranges.front().last;
        return {only_one ? std::optional(static_cast<std::uint16_t>(ranges.front().first)) : std::nullopt,
                std::nullopt};
    }
    std::optional<std::uint16_t> chosen;
    for (const std::uint16_t pkey : limits.source_pkeys) {
        const std::uint16_t partition = partition_of(pkey);
        const bool eligible = level.pkeys.empty() || level.pkeys.contains(partition);
        if (eligible && shared(partition, limits) && (!chosen || goes_before(partition, *chosen, level))) {
            chosen = partition;
        }
    }
    if (!chosen) {
        return {std::nullopt, level.pkeys.empty() ? PKeyProblem::NoneShared : PKeyProblem::NoneOfLevelShared};
    }
    // OpenSM answers a level's P_Key without the membership bit.
    return {level.pkeys.empty() ? shared(*chosen, limits) : chosen, std::nullopt};
}

std::vector<std::string> assumed_of(const PathAnswer& answer)
{
    std::vector<std::string> fields;
    if (answer.mtu_is_assumed) {
        fields.emplace_back("mtu");
    }
    if (answer.rate_is_assumed) {
        fields.emplace_back("rate");
    }
    return fields;
}

LimitedPath limit_path(const QosLevel& level, const PathLimits& limits)
{
    const bool rate_is_limited = level.rate_limit && compare_rates(*level.rate_limit, limits.rate) < 0;
    return {std::min(limits.mtu, level.mtu_limit.value_or(limits.mtu)),
            rate_is_limited ? *level.rate_limit : limits.rate,
            limits.loopback ? std::uint8_t{0} : level.packet_life.value_or(limits.subnet_timeout)};
}

Result<PathAnswer> apply_level(const QosLevel& level, const Request& request, const PathLimits& limits)
{
    if (level.sl && !sl_is_valid(*level.sl, limits.valid_sl_mask)) {
        return no_path(fmt::format("SL {} of level {} cannot be used on this path: a port maps it to VL15", *level.sl,
                                   level.name));
    }
    const LimitedPath limited = limit_path(level, limits);
    auto mtu = select_mtu(limited.mtu, request.mtu);
    if (!mtu) {
        return passed_on(mtu);
    }
    auto rate = select_rate(limited.rate, request.rate);
    if (!rate) {
        return passed_on(rate);
    }
    auto packet_life = select_packet_life(limited.packet_life, request.packet_life);
    if (!packet_life) {
        return passed_on(packet_life);
    }
    const PKeyChoice pkey = choose_pkey(level, request, limits);
    if (pkey.problem) {
        return no_path(in_words(*pkey.problem, level, request));
    }
    auto sl = choose_sl(level, request, limits);
    if (!sl) {
        return passed_on(sl);
    }
    return PathAnswer{*mtu,
                      *rate,
                      *packet_life,
                      pkey.pkey,
                      *sl,
                      limits.mtu_is_assumed && *mtu == limits.mtu,
                      limits.rate_is_assumed && *rate == limits.rate};
}

}    // namespace rdmaqos
