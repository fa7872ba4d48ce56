// When a policy file expires: its key `transient`. Such files are in /run/rdma-qos, for jobs and containers, and are no
// longer read once they have ended.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace rdmaqos {

struct Transient {
    std::optional<std::chrono::sys_seconds> until;    // empty: whatever the time
    std::string owner;                                // a name to find it by; empty: none
    std::string cgroup;    // the file ends with it: "/system.slice/job.scope", in cgroup v2; empty: with none

    friend bool operator==(const Transient&, const Transient&) = default;
};

// "until 2026-11-23T22:00:00Z, and while the cgroup /system.slice/job.scope is there"
[[nodiscard]] std::string how_long(const Transient& transient);

// "2026-11-23T22:00:00Z"
[[nodiscard]] std::string utc_text(std::chrono::sys_seconds time);
// The same, or with an offset instead of the Z: "2026-11-23T23:00:00+01:00". Nothing for any other text.
[[nodiscard]] std::optional<std::chrono::sys_seconds> parse_time(std::string_view text);

}    // namespace rdmaqos
