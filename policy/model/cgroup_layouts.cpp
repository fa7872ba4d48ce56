#include "policy/model/cgroup_layouts.h"

#include <algorithm>
#include <vector>

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

std::vector<std::string_view> segments_of(std::string_view path)
{
    std::vector<std::string_view> segments;
    while (!path.empty()) {
        const auto end = std::min(path.find('/'), path.size());
        if (end != 0) {
            segments.push_back(path.substr(0, end));
        }
        path.remove_prefix(std::min(end + 1, path.size()));
    }
    return segments;
}

bool is_slice(std::string_view segment)
{
    return segment.ends_with(".slice");
}

bool is_number(std::string_view text)
{
    return !text.empty() && std::ranges::all_of(text, is_digit);
}

// "4711" of "job_4711"
std::string_view job_in(std::string_view segment)
{
    constexpr std::string_view kPrefix = "job_";
    const bool is_job = segment.starts_with(kPrefix) && is_number(segment.substr(kPrefix.size()));
    return is_job ? segment.substr(kPrefix.size()) : std::string_view();
}

// Letters and digits in groups: "0a1b2c3d-...", or the hash that names a static pod.
bool is_pod_uid(std::string_view uid)
{
    const auto belongs = [](char c) {
        return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
    };
    return !uid.empty() && uid.front() != '-' && std::ranges::all_of(uid, belongs);
}

// "kubepods", "kubelet-kubepods": what names of the kubelet's slices begin with.
bool is_pods_slice(std::string_view segment)
{
    return segment == "kubepods.slice" || (is_slice(segment) && segment.ends_with("-kubepods.slice"));
}

std::string pod_of_slice(std::string_view pods, std::string_view segment)
{
    constexpr std::string_view kSuffix = ".slice";
    constexpr std::string_view kPod = "-pod";
    const auto prefix = pods.substr(0, pods.size() - kSuffix.size());
    if (!is_slice(segment) || !segment.starts_with(prefix)) {
        return {};
    }
    auto rest = segment.substr(prefix.size(), segment.size() - prefix.size() - kSuffix.size());
    for (const std::string_view qos_class : {"-burstable", "-besteffort"}) {
        if (rest.starts_with(qos_class)) {
            rest.remove_prefix(qos_class.size());
        }
    }
    if (!rest.starts_with(kPod)) {
        return {};
    }
    std::string uid(rest.substr(kPod.size()));
    std::ranges::replace(uid, '_', '-');
    return is_pod_uid(uid) ? uid : std::string();
}

}    // namespace

std::string slurm_job_of_cgroup(std::string_view path)
{
    const auto segments = segments_of(path);
    // Cgroup v2: the scope is the system manager's own, since all above it are slices.
    std::size_t at = 0;
    while (at < segments.size() && is_slice(segments[at])) {
        ++at;
    }
    if (at + 1 < segments.size() &&
        (segments[at] == "slurmstepd.scope" || segments[at].ends_with("_slurmstepd.scope"))) {
        return std::string(job_in(segments[at + 1]));
    }
    const bool is_v1 = segments.size() > 2 && (segments[0] == "slurm" || segments[0].starts_with("slurm_")) &&
                       segments[1].starts_with("uid_") && is_number(segments[1].substr(4));
    return is_v1 ? std::string(job_in(segments[2])) : std::string();
}

std::string kubernetes_pod_of_cgroup(std::string_view path)
{
    constexpr std::string_view kPod = "pod";
    const auto segments = segments_of(path);
    std::string_view pods;
    for (const std::string_view segment : segments) {
        if (!is_slice(segment)) {
            break;
        }
        if (!pods.empty()) {
            if (auto uid = pod_of_slice(pods, segment); !uid.empty()) {
                return uid;
            }
        } else if (is_pods_slice(segment)) {
            pods = segment;
        }
    }
    std::size_t at = !segments.empty() && segments[0] == "kubelet" ? 1 : 0;
    if (at >= segments.size() || segments[at] != "kubepods") {
        return {};
    }
    ++at;
    if (at < segments.size() && (segments[at] == "burstable" || segments[at] == "besteffort")) {
        ++at;
    }
    if (at >= segments.size() || !segments[at].starts_with(kPod)) {
        return {};
    }
    const auto uid = segments[at].substr(kPod.size());
    return is_pod_uid(uid) ? std::string(uid) : std::string();
}

std::string_view matching_cgroup(std::string_view path, const std::string& pattern)
{
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const auto ancestor = path.substr(0, end);
        if (!ancestor.empty() && ancestor != "/" && glob_matches(pattern, std::string(ancestor))) {
            return ancestor;
        }
        if (end == std::string_view::npos) {
            return {};
        }
    }
}

}    // namespace rdmaqos
