// What the running policy says: its levels, paths and files.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/api/record.h"
#include "lib/base/percentage.h"

namespace rdmaqos::api {

// In hundredths of a per cent.
template <>
struct Wire<Percentage> {
    using Type = std::uint32_t;
    static std::uint32_t to(Percentage part) { return part.hundredths(); }
    static std::optional<Percentage> from(std::uint32_t hundredths) { return Percentage::from_hundredths(hundredths); }
};

// In seconds since 1970.
template <>
struct Wire<std::chrono::sys_seconds> {
    using Type = std::uint64_t;
    static std::uint64_t to(std::chrono::sys_seconds time)
    {
        return static_cast<std::uint64_t>(time.time_since_epoch().count());
    }
    static std::optional<std::chrono::sys_seconds> from(std::uint64_t seconds)
    {
        return std::chrono::sys_seconds(std::chrono::seconds(seconds));
    }
};

// A value of a level that a transient file has put in place.
struct Override {
    std::string property{};
    std::string value{};
    std::string in_place_of{};
    std::string file{};
    std::optional<std::chrono::sys_seconds> until{};
    std::string cgroup{};
    std::string owner{};
};

template <>
struct Table<Override> {
    using O = Override;
    static constexpr auto keys = std::tuple{
        key<&O::property>("property", "`max-rate`, `min-rate`, `share` or `per-queue-pair-max-rate`"),
        key<&O::value>("value", "in words: `10 Gbit/s`"),
        key<&O::in_place_of>("in-place-of", "what holds without it, likewise"),
        key_unless_empty<&O::file>("file", "in which it is"),
        key<&O::until>("until", "when it ends, in seconds since 1970; absent: at no time of its own"),
        key_unless_empty<&O::cgroup>("cgroup", "with which it ends; absent: with none"),
        key_unless_empty<&O::owner>("owner", "for whom it is, as the file says"),
    };
};

struct Level {
    std::string name{};
    std::string use{};
    std::optional<std::uint8_t> sl{};
    std::optional<std::uint32_t> mtu_limit{};
    std::optional<Bandwidth> rate_limit{};
    std::optional<std::uint8_t> packet_life{};
    std::optional<std::uint8_t> traffic_class{};
    std::string class_path{};
    std::optional<std::uint32_t> share{};
    std::optional<Bandwidth> min_rate{};
    std::optional<Percentage> min_rate_part{};
    std::optional<Bandwidth> max_rate{};
    std::optional<Percentage> max_rate_part{};
    std::string fair_by{};
    std::string fair_by_pattern{};
    std::optional<Bandwidth> max_rate_each{};
    std::optional<Percentage> max_rate_each_part{};
    std::optional<std::uint32_t> leaf_budget{};
    std::vector<std::string> devices{};
    std::optional<Bandwidth> per_queue_pair_max_rate{};
    std::string message_model{};
    std::string mode{};
    bool restricted = false;
    bool strict = false;
    std::vector<std::string> renamed_from{};
    std::vector<Override> overrides{};
    std::uint32_t sessions = 0;
    std::uint32_t queue_pairs = 0;
    std::uint32_t unregistered = 0;
};

inline bool is_strict(const Level& level)
{
    return level.strict;
}

inline bool is_only_monitored(const Level& level)
{
    return level.mode == "monitor";
}

template <>
struct Table<Level> {
    using L = Level;
    static constexpr auto keys = std::tuple{
        key<&L::name>("name"),
        key_unless_empty<&L::use>("use", "what it is for, as the policy says"),
        key<&L::sl>("sl"),
        key<&L::mtu_limit>("mtu-limit", "bytes"),
        key<&L::rate_limit>("rate-limit", "kbit/s"),
        key<&L::packet_life>("packet-life", "n for 4.096 µs · 2ⁿ"),
        key<&L::traffic_class>("traffic-class"),
        key_unless_empty<&L::class_path>("class",
                                         "path; absent: the level schedules nothing, and has none of the next eleven"),
        key<&L::share>("share"),
        key<&L::min_rate>("min-rate", "kbit/s"),
        key<&L::min_rate_part>("min-rate-part", "of the link, in hundredths of a per cent, in place of `min-rate`"),
        key<&L::max_rate>("max-rate", "kbit/s"),
        key<&L::max_rate_part>("max-rate-part", "as `min-rate-part`"),
        key_unless_empty<&L::fair_by>("fair-by", "`none`, `process`, `user`, ..."),
        key_unless_empty<&L::fair_by_pattern>("fair-by-pattern", "over the paths of cgroups, with `cgroup`"),
        key<&L::max_rate_each>("max-rate-each", "kbit/s, of each process, user, ... of `fair-by`; absent: no limit"),
        key<&L::max_rate_each_part>("max-rate-each-part", "as `min-rate-part`"),
        key<&L::leaf_budget>("leaf-budget", "how many of these have a leaf of their own; absent: as the device allows"),
        key_unless_empty<&L::devices>("devices", "that have its class, as the policy names them; absent: all"),
        key<&L::per_queue_pair_max_rate>("per-queue-pair-max-rate", "kbit/s"),
        key_unless_empty<&L::message_model>("message-model", "as in a grant"),
        key_unless_empty<&L::mode>(
            "mode", "`monitor`: it is only monitored, and `class` is what it would have; absent: it is enforced"),
        key<&L::restricted>("restricted", "whether it has `allow`"),
        key_when<&is_strict, &L::strict>("strict",
                                         "its traffic class of a port goes before others, or would: it, or the "
                                         "node of the root that it is below, is `strict`; absent: no"),
        key_unless_empty<&L::renamed_from>("renamed-from",
                                           "names that it had, by which requests still get it; absent: none"),
        key_unless_empty<&L::overrides>(
            "overrides",
            "values of the above that a transient file has put in place, [keys](#overrides); absent: none"),
        key<&L::sessions>("sessions", "in it, counted at most once a second"),
        key<&L::queue_pairs>("queue-pairs", "in it, likewise"),
        key_when<&is_only_monitored, &L::unregistered>(
            "unregistered", "of a level that is only monitored: how many of these belong to programs that did not "
                            "register and would be adopted into it"),
    };
};

// Of one pair of ends: the path, or why there is none.
struct PathAnswer {
    std::string level{};
    std::string rule{};
    std::string source{};
    std::string destination{};
    std::string error{};
    std::string message{};
    std::optional<std::uint32_t> mtu{};
    std::optional<Bandwidth> rate{};
    std::optional<std::uint8_t> packet_life{};
    std::optional<std::uint16_t> pkey{};
    std::optional<std::uint8_t> sl{};
    std::optional<std::uint8_t> traffic_class{};
    std::optional<std::uint8_t> dscp{};
    std::string sl_source{};
    std::vector<std::string> assumed{};
};

template <>
struct Table<PathAnswer> {
    using P = PathAnswer;
    static constexpr auto keys = std::tuple{
        key_unless_empty<&P::level>("level"),
        key_unless_empty<&P::rule>("rule", "why the pair gets this level, in words"),
        key_unless_empty<&P::source>("source", "as asked for"),
        key_unless_empty<&P::destination>("destination", "as asked for"),
        key_unless_empty<&P::error>("error", "a D-Bus error name: this pair has no path"),
        key_unless_empty<&P::message>("message", "the error as a sentence"),
        key<&P::mtu>("mtu", "bytes"),
        key<&P::rate>("rate", "kbit/s"),
        key<&P::packet_life>("packet-life", "n for 4.096 µs · 2ⁿ"),
        key<&P::pkey>("pkey"),
        key<&P::sl>("sl"),
        key<&P::traffic_class>("traffic-class", "of RoCE packets"),
        key<&P::dscp>("dscp", "the upper 6 bits of `traffic-class`"),
        key_unless_empty<&P::sl_source>("sl-source", "as in a grant"),
        key_unless_empty<&P::assumed>(
            "assumed", "which of `mtu` and `rate` is known of neither port: those of the first device, or usual ones"),
    };
};

struct RunningFile {
    std::string name;
    std::string text;
};

template <>
struct Table<RunningFile> {
    static constexpr auto keys = std::tuple{
        key<&RunningFile::name>("name", "as in `PolicySources`"),
        key<&RunningFile::text>("text", "with which it is in force"),
    };
};

}    // namespace rdmaqos::api
