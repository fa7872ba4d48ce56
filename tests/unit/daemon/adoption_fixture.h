// A Service, stepped by a test, that adopts made-up programs.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/adopted_programs.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos::test {

// `job` programs have a rule, and so have those that talk to the group `storage`, or in partition 0x11.
constexpr const char* kAdoptionPolicy = R"(version: 1
port-groups:
  - {name: storage, port-guid: [0x50]}
qos-levels:
  - {name: DEFAULT, sl: 0}
  - {name: rpc, schedule: {share: 60}}
  - {name: bulk, schedule: {share: 40}}
  - {name: plain, sl: 1}
  - {name: private, adopt: no, schedule: {share: 5}}
qos-match-rules:
  - {client: {command: [job]}, qos-level-name: rpc}
  - {client: {command: [unscheduled]}, qos-level-name: plain}
  - {client: {command: [of-private]}, qos-level-name: private}
  - {client: {command: [left-alone]}, adopt: no, qos-level-name: rpc}
  - {client: {command: [talker]}, destination: [storage], qos-level-name: bulk}
  - {client: {command: [talker]}, pkey: [0x11], qos-level-name: rpc}
)";

class AdoptionFixture : public ServiceFixture {
protected:
    // Before what it uses.
    void TearDown() override { service.reset(); }

    // With rules that are read, unless `is_valid` says otherwise.
    void begin(const std::string& how = "adopt", const std::string& rules = kAdoptionPolicy, bool is_valid = true)
    {
        policy(rules);
        set_to(how);
        more_options = [this](ServiceOptions& options) {
            adopt_from(options, files, watch);
            options.watch_end = [this](const std::shared_ptr<const Identity>& owner, std::function<void()> ended) {
                return can_watch_ends ? ends.watch(owner->pid, std::move(ended)) : nullptr;
            };
            options.survey_host = [this] {
                ++surveys;
                return survey;
            };
        };
        start();
        ASSERT_EQ(started.accepted, is_valid) << started.to_text();
        nic = &add_nic("mlx5_0");
        turn();
    }
    void set_to(const std::string& how, const std::string& more = {})
    {
        settings("version: 1\nunregistered: " + how + "\n" + more);
    }
    ModelBackend& add_nic(const std::string& name, std::optional<Capabilities> capabilities = std::nullopt)
    {
        auto model = std::make_unique<ModelBackend>(new_device(name), capabilities.value_or(default_capabilities()));
        ModelBackend& kept = *model;
        kept.set_log_limit(100000);
        service->device_control().add(std::make_unique<NicOfPrograms>(std::move(model), programs));
        settle();
        turn();    // port groups may have new members now: all is looked at again
        return kept;
    }

    // A turn of the loop: the timers that are due, what was posted, and what that makes others post.
    void turn()
    {
        loop.advance(Duration(0));
        loop.run_until_rest();
    }
    template <typename Done>
    bool until(Done done)
    {
        return test::eventually([&] {
            loop.advance(Duration(0));
            return loop.run_until(done, std::chrono::milliseconds(1));
        });
    }
    // Until everything that was begun is done, as far as that shows from outside.
    void rest()
    {
        for (int i = 0; i < 5; ++i) {
            turn();
            settle();
        }
    }
    // The same while a device does not answer.
    void rest_without_device()
    {
        for (int i = 0; i < 5; ++i) {
            turn();
        }
    }
    ReloadOutcome reload_with(const std::string& rules)
    {
        policy(rules);
        return reload_and_look();
    }
    ReloadOutcome reload_and_look()
    {
        auto outcome = reload();
        rest();
        return outcome;
    }

    static std::shared_ptr<const Identity> program(pid_t pid, const std::string& command = "job",
                                                   std::uint32_t uid = 1000, std::uint64_t started = 1)
    {
        auto identity = std::make_shared<Identity>(*process(pid, uid));
        identity->command = command;
        identity->start_time = started;
        return identity;
    }

    // It makes one, with this handle in its file; the kernel lists it. What the watch will tell of it.
    HostQueuePair make(const std::shared_ptr<const Identity>& owner, std::uint32_t number, std::uint32_t handle = 0,
                       const std::string& device = "mlx5_0", std::uint8_t type = kKernelsRc)
    {
        auto seen = make_queue_pair(*programs, owner, number, handle, device, type);
        survey.queue_pairs.push_back(seen);
        return seen;
    }
    void tell(std::vector<HostQueuePair> ready)
    {
        HostNews news;
        news.ready = std::move(ready);
        news.seen_at = service_clock().now();
        watch->tell(std::move(news));
    }
    void tell_gone(std::uint32_t number, const std::string& device = "mlx5_0")
    {
        HostNews news;
        news.gone = {{device, number}};
        watch->tell(std::move(news));
    }
    // Its owner destroys it, and the watch sees that.
    void destroy(std::uint32_t number)
    {
        programs->end({"mlx5_0", number});
        tell_gone(number);
    }

    // Of the only adopted session; empty if there is none.
    std::optional<SessionInfo> adopted()
    {
        std::optional<SessionInfo> found;
        for (const SessionId id : service->sessions().ids()) {
            const auto info = service->sessions().with_queue_pairs(id);
            found = info && info->adopted ? info : found;
        }
        return found;
    }
    std::string leaf(std::uint32_t number, const std::string& device = "mlx5_0/1")
    {
        const auto result = service->sessions().queue_pair(device, number);
        return !result ? "not attached" : result->error ? result->error->message : result->leaf;
    }
    bool comes_into(const std::string& leaf_path, std::uint32_t number, const std::string& device = "mlx5_0/1")
    {
        return until([&] {
            return leaf(number, device) == leaf_path && service->sessions().queue_pair(device, number)->enforced;
        });
    }
    // The word and the sentence of the host's list.
    std::pair<std::string, std::string> listed(const HostQueuePair& queue_pair)
    {
        const auto standing = service->host().standing(queue_pair);
        return {std::string(standing.outside), standing.reason};
    }
    std::string word(const HostQueuePair& queue_pair) { return listed(queue_pair).first; }
    bool gets_word(std::string_view wanted, const HostQueuePair& queue_pair)
    {
        return until([&] { return word(queue_pair) == wanted; });
    }
    [[nodiscard]] std::uint64_t refused(std::string_view why) const
    {
        const auto counters = service->adoption().status().counters;
        const auto found = counters.refused.find(why);
        return found == counters.refused.end() ? 0 : found->second;
    }

    std::shared_ptr<FakeWatch> watch = std::make_shared<FakeWatch>();
    FakeEnds ends;
    bool can_watch_ends = true;
    std::shared_ptr<Programs> programs = std::make_shared<Programs>();
    std::shared_ptr<FakeProgramFiles> files = std::make_shared<FakeProgramFiles>(programs);
    HostSurvey survey;
    std::atomic<int> surveys = 0;
    ModelBackend* nic = nullptr;
};

}    // namespace rdmaqos::test
