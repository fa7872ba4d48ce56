#include "daemon/transient_watch.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "daemon/service/context.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/transient_ends.h"

namespace rdmaqos {
namespace {

using std::chrono::system_clock;

// Somebody else adds or removes a file, and waits for a reload.
constexpr auto kTransientBusy = std::chrono::milliseconds(200);
// A cgroup that cannot be watched: there is a limit of watches.
constexpr auto kUnwatched = std::chrono::seconds(10);
// The time of the day may be set while we sleep; and a file that could not be removed is tried again.
constexpr auto kLongestSleep = std::chrono::minutes(10);

// How long nothing can end by its time.
Duration until_next_end(const std::vector<TransientFile>& files)
{
    Duration shortest = kLongestSleep;
    for (const auto& file : files) {
        if (file.transient.until && !file.ended) {
            // Years that can be written are more than a Duration can count.
            const auto now = system_clock::now();
            const auto latest = std::chrono::ceil<std::chrono::seconds>(now + shortest);
            shortest = std::clamp<Duration>(std::min(*file.transient.until, latest) - now, Duration(0), shortest);
        }
    }
    return shortest;
}

}    // namespace

TransientWatch::TransientWatch(Service& service, bus::EventLoop& loop) : service_(service), loop_(loop)
{
    service_.context().add_observer(*this);
}

TransientWatch::~TransientWatch()
{
    service_.context().remove_observer(*this);
}

void TransientWatch::start()
{
    look();    // what ended while nobody looked
}

bool TransientWatch::watch_cgroups()
{
    cgroups_.clear();
    for (const auto& file : service_.in_force().transient_files) {
        const auto directory = service_.transient_ends().cgroup_directory(file.transient.cgroup);
        if (!file.transient.cgroup.empty() && !file.ended && !directory.empty()) {
            cgroups_[directory.parent_path()].insert(directory.filename());
        }
    }
    std::erase_if(folders_, [&](const auto& watched) { return !cgroups_.contains(watched.first); });
    bool all = true;
    for (const auto& [folder, names] : cgroups_) {
        if (folders_.contains(folder)) {
            continue;
        }
        auto source = loop_.on_directory(folder, [this, folder = folder](std::string_view of) {
            if (of.empty()) {
                folders_.erase(folder);    // nothing more comes of it
            }
            if (of.empty() || cgroups_[folder].contains(std::string(of))) {
                next_look_ = loop_.after(Duration(0), [this] { look(); });
            }
        });
        if (source) {
            folders_.emplace(folder, std::move(*source));
        } else {
            all = false;
        }
    }
    return all;
}

void TransientWatch::arrange()
{
    next_look_.reset();
    const auto& files = service_.in_force().transient_files;
    const bool all_watched = watch_cgroups();
    const bool can_end = std::ranges::any_of(
        files, [](const TransientFile& file) { return file.transient.until || !file.transient.cgroup.empty(); });
    if (can_end) {
        const Duration sleep = until_next_end(files);
        next_look_ = loop_.after(all_watched ? sleep : std::min<Duration>(sleep, kUnwatched), [this] { look(); });
    }
}

void TransientWatch::look()
{
    if (service_.transient_ends().end()) {
        arrange();
    } else {
        next_look_ = loop_.after(kTransientBusy, [this] { look(); });
    }
}

}    // namespace rdmaqos
