#include "policy/path/path_explain.h"

#include <algorithm>

#include <fmt/format.h>

namespace rdmaqos {
namespace {

// Who set a value before the request's selector: the level, or the path, which then holds the level's limit off.
template <typename T, typename Words>
std::string limited(const T& path, bool path_is_assumed, const std::optional<T>& limit, bool limit_is_lower,
                    std::string_view key, Words words)
{
    if (limit && limit_is_lower) {
        return fmt::format("{} of the level; the path {} {}", key, path_is_assumed ? "is assumed to have" : "has",
                           words(path));
    }
    const std::string_view of_path = path_is_assumed ? "assumed, that of neither port is known" : "of the path";
    return limit ? fmt::format("{}; {} of the level is {}", of_path, key, words(*limit))
                 : fmt::format("{}; the level has no {}", of_path, key);
}

template <typename T>
std::string with_request(std::string reason, bool asked, const T& before, const T& answer, std::string_view key)
{
    return asked && answer != before ? fmt::format("the request's {}; without it: {}", key, reason) : reason;
}

std::string_view reason_of_pkey(const QosLevel& level, const Request& request, const PathLimits& limits,
                                const PathAnswer& answer)
{
    if (request.pkey) {
        return limits.pkeys_known ? "the request's; both ports have it"
                                  : "the request's; not checked against the ports";
    }
    if (!answer.pkey) {
        return "the P_Keys of the ports are not known on this host";
    }
    if (!level.pkeys.empty()) {
        return limits.pkeys_known ? "the lowest of the level's that both ports share" : "the level's only one";
    }
    return "the first that both ports share";
}

std::string_view reason_of_sl(const QosLevel& level, const Request& request)
{
    if (level.sl) {
        return level.sl_source == SlSource::Host ? "of the level, in place of the subnet manager's on InfiniBand too"
                                                 : "of the level";
    }
    return request.sl ? "the request's; the level sets none" : "neither the level nor the request sets one";
}

}    // namespace

PathReasons explain_answer(const QosLevel& level, const Request& request, const PathLimits& limits,
                           const PathAnswer& answer)
{
    PathReasons reasons;
    const auto words = [](auto value) { return in_words(value); };
    const LimitedPath path = limit_path(level, limits);
    reasons.mtu = with_request(
        limited(limits.mtu, limits.mtu_is_assumed, level.mtu_limit, path.mtu < limits.mtu, "mtu-limit", words),
        request.mtu.has_value(), path.mtu, answer.mtu, "MTU");

    reasons.rate = with_request(
        limited(limits.rate, limits.rate_is_assumed, level.rate_limit, path.rate != limits.rate, "rate-limit", words),
        request.rate.has_value(), path.rate, answer.rate, "rate");

    const std::string_view of_life = limits.loopback     ? "the path begins and ends at one port"
                                     : level.packet_life ? "packet-life of the level"
                                                         : "the subnet's timeout; the level has no packet-life";
    reasons.packet_life = with_request(std::string(of_life), request.packet_life.has_value(), path.packet_life,
                                       answer.packet_life, "packet lifetime");
    reasons.pkey = reason_of_pkey(level, request, limits, answer);
    reasons.sl = reason_of_sl(level, request);
    return reasons;
}

}    // namespace rdmaqos
