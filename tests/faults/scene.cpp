#include "tests/faults/scene.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/memory_log.h"

namespace rdmaqos::test {

using namespace std::chrono_literals;

const char* const kPolicyAfter = R"(version: 1
port-groups:
  - {name: bulk-side, gid: ["fe80::b:0:0:0/80"]}
  - {name: storage-side, gid: ["fe80::c:0:0:0/80"]}
scheduling-nodes:
  - {name: apps, share: 5, max-rate: 60Gbps}
  - {name: jobs, share: 6}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {parent: apps, share: 61, max-rate: 30Gbps, fair-by: process}}
  - {name: bulk, schedule: {parent: jobs, share: 21}}
  - {name: archive, schedule: {parent: jobs, share: 3}}
qos-match-rules:
  - {client: {command: ["stranger*"]}, destination: [bulk-side], qos-level-name: bulk}
  - {client: {command: [stranger-rpc]}, qos-level-name: rpc}
)";

Scene::Scene() : daemon(kAdoptingPolicy, kAdopting, watch.launcher())
{
    replace_programs();
    elements_ = ways(emulated_device());
    leaked_before_ = leaked_elements();
}

void Scene::replace_programs()
{
    // The device may be about to go, and to come back.
    std::string why;
    const auto joins = [&] {
        try {
            bystander_.reset();
            bystander_ = std::make_unique<Program>(daemon.direct(), "rpc");
            bystanders_ = bystander_->join(IBV_QPT_RC);
            std::this_thread::sleep_for(50ms);
            const std::string place = place_of(bystanders_);
            const std::string state = bystander_->state();
            why = fmt::format("the last one is in `{}` and {}", place, state);
            return place == kInRpc && state == "active";
        } catch (const std::exception& error) {
            why = error.what();
            return false;
        }
    };
    if (!eventually(joins)) {
        throw std::runtime_error("no program can join any longer: " + why);
    }
    replace_silent();
}

void Scene::replace_silent()
{
    silent_.reset();
    silent_ = std::make_unique<Processes>();
    silent_->start([this, close_kept = daemon.manager.closer()](const Processes::Say& say) {
        close_kept();
        auto* program = new Program(daemon.direct(), "rpc");
        say(program->join(IBV_QPT_RC));
    });
    const auto said = silent_->hear(1);
    must(said.size() == 1, "the silent program");
    silents_ = said.front();
}

void Scene::recover()
{
    std::size_t starts = 0;
    const auto runs = [this] { return daemon.manager.is_ready() || daemon.has_ended(); };
    while (true) {
        if (!eventually(runs)) {
            throw std::runtime_error("the daemon does not become ready");
        }
        if (!daemon.has_ended()) {
            return;
        }
        if (++starts > 3) {
            throw std::runtime_error("the daemon ends whenever it is started");
        }
        daemon.kill();
        daemon.begin();
    }
}

void Scene::wait_for_device() const
{
    const auto is_managed = [this] {
        auto client = daemon.direct();
        return manage(client, "Reconcile", "mlx5_0").has_value();
    };
    if (!eventually(is_managed)) {
        throw std::runtime_error("the device is not managed any longer");
    }
}

void Scene::damage_what_is_left(std::size_t way)
{
    if (way % 4 == 3) {
        for (const char* folder : {"var/lib/rdma-qos", "run/rdma-qos"}) {
            std::error_code none;
            for (const auto& entry : std::filesystem::directory_iterator(daemon.root() / folder, none)) {
                if (entry.is_regular_file()) {
                    std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
                }
            }
        }
        return;
    }
    for (const auto& name : daemon.manager.kept()) {
        if (!name.ends_with(" record")) {
            continue;
        }
        const int fd = daemon.manager.kept_descriptor(name);
        const auto log = MemoryLog::open(UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)));
        constexpr std::size_t kHead = 16;
        const auto size = static_cast<off_t>(log ? kHead + log->size() : 0);
        switch (way % 4) {
        case 0:
            must(ftruncate(fd, size / 2) == 0, "ftruncate");
            break;
        case 1:
            must(ftruncate(fd, 0) == 0, "ftruncate");
            break;
        default:
            for (off_t at = 100; at < std::min<off_t>(size, 4096); at += 97) {
                must(pwrite(fd, "\x7f", 1, at) == 1, "pwrite");
            }
        }
    }
}

void Scene::let_bystander_register()
{
    try {
        static_cast<void>(bystander_->register_again(daemon.direct()));
    } catch (const std::exception&) {
        // Its device was reset, or is not there yet.
    }
}

void Scene::expect_bystander(const std::string& place, bool daemon_has_ended)
{
    const std::string before = place_of(bystanders_);
    if (daemon_has_ended) {
        const auto result = bystander_->register_again(daemon.direct());
        if (error_of(result) != "absent") {
            throw std::runtime_error("the bystander cannot attach again: " + text_of(result, "reason"));
        }
    } else if (const std::string state = bystander_->state(); state == "no session") {
        throw std::runtime_error("the bystander's session is lost although the daemon runs");
    }
    if (!comes_to(bystanders_, place)) {
        throw std::runtime_error(
            fmt::format("the bystander is in `{}`, was in `{}`, not in `{}`", place_of(bystanders_), before, place));
    }
}

void Scene::expect_silent(const std::vector<std::string>& places) const
{
    const std::string place = place_of(silents_);
    if (std::ranges::find(places, place) == places.end()) {
        throw std::runtime_error(fmt::format("the silent program is in `{}`", place));
    }
}

void Scene::expect_elements() const
{
    if (!eventually([this] { return ways(emulated_device()) == elements_; })) {
        throw std::runtime_error(fmt::format("elements: {}\ninstead of: {}", fmt::join(ways(emulated_device()), "; "),
                                             fmt::join(elements_, "; ")));
    }
    if (leaked_elements() != leaked_before_) {
        throw std::runtime_error("elements have leaked");
    }
}

std::vector<std::string> Scene::descriptors() const
{
    std::vector<std::string> all;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/fd", daemon.pid()), gone)) {
        all.push_back(std::filesystem::read_symlink(entry.path(), gone).string());
    }
    std::ranges::sort(all);
    return all;
}

void Scene::expect_descriptors()
{
    if (counted_ != daemon.pid()) {
        counted_ = daemon.pid();
        descriptors_ = descriptors();
    }
    if (!eventually([this] { return descriptors().size() <= descriptors_.size(); })) {
        throw std::runtime_error(fmt::format("descriptors: {}\ninstead of: {}", fmt::join(descriptors(), " "),
                                             fmt::join(descriptors_, " ")));
    }
}

}    // namespace rdmaqos::test
