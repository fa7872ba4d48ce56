// A plan is what the reload then does: the same verdict, the same reasons, the same operations in the same order. Tried
// on random pairs of policies (the one that runs, and the next one) and random devices, which change meanwhile. And a
// start takes what a reload would have taken.
#include <iostream>
#include <map>

#include "tests/support/service_fixture.h"
#include "tests/unit/daemon/random_policies.h"

namespace rdmaqos {
namespace {

using test::Dice;
using test::RandomPolicy;

constexpr std::uint32_t kWorlds = 125;
constexpr std::uint32_t kPairs = 8;    // of each world

// What a plan and a device's log are brought to: operations on elements by their logical ids.
std::string text_of(const std::optional<ElementId>& id)
{
    return id ? std::to_string(static_cast<std::uint64_t>(*id)) : "none";
}

std::string text_of(std::uint32_t share, const std::optional<Bandwidth>& cap)
{
    return fmt::format("share {} max-rate {}", share, cap ? to_string(*cap) : "none");
}

std::string text_of(const ElementChange& change)
{
    return fmt::format("share {} max-rate {}", change.share ? std::to_string(*change.share) : "as before",
                       !change.max_rate   ? "as before"
                       : *change.max_rate ? to_string(**change.max_rate)
                                          : "none");
}

std::string text_of(const std::optional<RateLimit>& rate)
{
    return !rate ? "none"
                 : fmt::format("{} {} {}", to_string(rate->rate), rate->max_burst.value_or(0),
                               rate->typical_packet.value_or(0));
}

struct ToText {
    std::string operator()(const CreateElement& create) const
    {
        const auto& [share, cap] = create.element.attributes;
        return fmt::format("create {} below {}: {}", to_string(create.element.kind), text_of(create.element.parent),
                           text_of(share, cap));
    }
    std::string operator()(const ModifyElement& modify) const
    {
        return fmt::format("modify {}: {}", text_of(modify.id), text_of(ElementChange{modify.share, modify.max_rate}));
    }
    std::string operator()(const DestroyElement& destroy) const
    {
        return fmt::format("destroy {}", text_of(destroy.id));
    }
    std::string operator()(const MoveQueuePair& move) const
    {
        return fmt::format("move {} to {}, {}", move.queue_pair.number, text_of(move.requester),
                           text_of(move.responder));
    }
    std::string operator()(const SetQueuePairRate& set) const
    {
        return fmt::format("limit {} to {}", set.queue_pair.number, text_of(set.rate));
    }
};

// What a device was asked for, with the ids that its elements have in plans.
class Asked {
public:
    // Those that no plan has made, in the order of their creation: each is the first that is like it.
    void know(ModelBackend& nic, const std::vector<ElementHandle>& live, std::map<ElementId, ActualElement> elements)
    {
        ASSERT_EQ(live.size(), elements.size());
        std::erase_if(ids_, [&](const auto& known) { return std::ranges::find(live, known.first) == live.end(); });
        for (const auto& [handle, id] : ids_) {
            ASSERT_EQ(elements.erase(id), 1U);
        }
        for (const ElementHandle handle : live) {
            if (ids_.contains(handle)) {
                continue;
            }
            const auto state = nic.query_element(handle);
            ASSERT_TRUE(state);
            const auto like = std::ranges::find_if(elements, [&](const auto& entry) {
                const ActualElement& element = entry.second;
                return element.kind == state->kind && text_of(element.parent) == id_of(state->parent) &&
                       element.attributes == state->attributes;
            });
            ASSERT_NE(like, elements.end());
            ids_[handle] = like->first;
            elements.erase(like);
        }
    }
    // `planned`: the operation that has its place in the plan; null: there is none.
    std::string text(const ModelOperation& asked, const Operation* planned)
    {
        const std::string failed = asked.error ? ": failed: " + asked.error->message : "";
        switch (asked.kind) {
        case CommandKind::Create: {
            const auto* create = planned == nullptr ? nullptr : std::get_if<CreateElement>(planned);
            if (create != nullptr && asked.element) {
                ids_[*asked.element] = create->id;
            }
            const auto& [share, cap] = asked.request->attributes;
            return fmt::format("create {} below {}: {}", to_string(asked.request->kind), id_of(asked.request->parent),
                               text_of(share, cap)) +
                   failed;
        }
        case CommandKind::Modify:
            return fmt::format("modify {}: {}", id_of(asked.element), text_of(*asked.change)) + failed;
        case CommandKind::Destroy:
            return fmt::format("destroy {}", id_of(asked.element)) + failed;
        case CommandKind::Attach:
            return fmt::format("move {} to {}, {}", asked.queue_pair, id_of(asked.requester), id_of(asked.responder)) +
                   failed;
        default:
            return fmt::format("limit {} to {}", asked.queue_pair, text_of(asked.rate)) + failed;
        }
    }

private:
    std::string id_of(const std::optional<ElementHandle>& handle) const
    {
        const auto found = handle ? ids_.find(*handle) : ids_.end();
        return !handle ? "none" : found == ids_.end() ? "an unknown element" : text_of(found->second);
    }
    std::map<ElementHandle, ElementId> ids_;
};

struct Tally {
    std::size_t pairs = 0;
    std::size_t accepted = 0;
    std::size_t known = 0;    // of those: with errors that the running policy has, too
    std::size_t by_devices = 0;
    std::size_t by_text = 0;
    std::size_t left_out = 0;    // pairs with a device that takes no part
    std::size_t operations = 0;
    std::size_t starts = 0;
    std::size_t starts_refused = 0;
};

class PlanIsReload : public test::ServiceFixture {
protected:
    struct Device {
        DeviceInfo info;
        Capabilities capabilities;
        ModelBackend* nic = nullptr;        // null: released
        std::vector<ElementHandle> live;    // in the order of their creation
        Asked asked;
    };

    void begin(std::uint32_t seed)
    {
        dice = Dice(seed);
        nics.clear();
        next_number = 1;
        peers = 0;
        has_released = false;
        has_sessions = seed % 4 != 0;
        for (const char* state : {"var/lib/rdma-qos/last-good-policy.json", "var/lib/rdma-qos/disabled-devices.json",
                                  "run/rdma-qos/released-devices.json"}) {
            std::filesystem::remove(root.path() / state);
        }
        for (std::size_t i = 1 + dice.below(3); i > 0; --i) {
            Device device;
            device.info = new_device(fmt::format("mlx5_{}", i));
            device.info.link_speed = any_link(dice);
            device.capabilities = any_capabilities(dice);
            nics.push_back(std::move(device));
        }
        next = any_policy(dice);
        write_files();
        start_on_devices();
        running = next;
        running_settings = next_settings;
    }

    void write_files()
    {
        next_settings = fmt::format("version: 1\non-unsupported: {}\nmode: {}\nleaf-reserve: {}\n",
                                    dice.one_in(4) ? "degrade" : "error", dice.one_in(10) ? "monitor" : "enforce",
                                    dice.below(3));
        policy(next.text());
        settings(next_settings);
    }

    void start_on_devices()
    {
        NameService names;
        names.uid_of = [](const std::string&) { return std::optional<std::uint32_t>(1000); };
        service.reset();
        service = std::make_unique<Service>(ServiceOptions{root.path(), names, true}, loop, loop.clock);
        service->reloads().read_files();
        for (auto& device : nics) {
            auto nic = std::make_unique<ModelBackend>(device.info, device.capabilities);
            nic->set_log_limit(100'000);
            device.nic = nic.get();
            device.live.clear();
            device.asked = {};
            service->device_control().add(std::move(nic));
        }
        started = answer<ReloadOutcome>([&](auto done) { service->start(std::move(done)); }).value();
        settle();
        follow_logs();
    }

    // The writes since the last time.
    std::vector<ModelOperation> follow_log(Device& device)
    {
        std::vector<ModelOperation> writes;
        for (auto& operation : device.nic->log()) {
            if (operation.kind == CommandKind::Create && operation.element) {
                device.live.push_back(*operation.element);
            } else if (operation.kind == CommandKind::Destroy && !operation.error) {
                std::erase(device.live, *operation.element);
            }
            if (operation.is_write()) {
                writes.push_back(std::move(operation));
            }
        }
        device.nic->clear_log();
        return writes;
    }

    void follow_logs()
    {
        for (auto& device : nics) {
            if (device.nic != nullptr) {
                static_cast<void>(follow_log(device));
            }
        }
    }

    void happens()
    {
        Device& device = nics[dice.below(nics.size())];
        if (device.nic == nullptr) {
            return;
        }
        const std::string key = device.info.key();
        const auto managed = [&](auto call) { return answer<std::vector<DeviceReconcile>>(call); };
        const std::size_t what = dice.below(40);
        if (what < 6) {
            device.info.link_speed = any_link(dice);
            device.nic->set_link(device.info.link_speed);
            EXPECT_TRUE(loop.run_until(
                [&] { return service->devices().status(key)->info.link_speed == device.info.link_speed; }));
        } else if (what < 12) {
            ASSERT_TRUE(managed([&](auto done) { service->device_control().disable(key, std::move(done)); }));
        } else if (what < 18) {
            ASSERT_TRUE(managed([&](auto done) { service->device_control().enable(key, std::move(done)); }));
        } else if (what == 18) {
            device.nic = nullptr;
            has_released = true;
            ASSERT_TRUE(managed([&](auto done) { service->device_control().release(key, std::move(done)); }));
        } else if (has_sessions && service->in_force().policy()) {
            const auto& levels = service->in_force().policy()->levels;
            const auto peer = PeerId{++peers};
            std::vector<std::uint32_t> numbers(1 + dice.below(3));
            std::ranges::generate(numbers, [this] { return next_number++; });
            // Some are refused, because the policy says so.
            static_cast<void>(register_as(peer, process(static_cast<pid_t>(100 + dice.below(6))),
                                          asking_for(levels[dice.below(levels.size())].name, key, numbers)));
        }
        settle();
        follow_logs();
    }

    PlanReport planned(bool as_text)
    {
        std::optional<std::shared_ptr<const SourceFile>> text;
        if (as_text) {
            text = std::make_shared<SourceFile>(SourceFile{"/etc/rdma-qos/policy.yaml", next.text()});
        }
        return answer<PlanReport>([&](auto done) { service->plans().plan(std::move(text), 0, std::move(done)); })
            .value();
    }

    // With their verdicts, whatever the order.
    static std::vector<std::string> lines_of(const std::vector<JudgedFinding>& findings)
    {
        std::vector<std::string> lines;
        lines.reserve(findings.size());
        for (const auto& [device, finding, verdict] : findings) {
            lines.push_back(fmt::format("{}: {} ({})", device, to_string(finding), to_string(verdict)));
        }
        std::ranges::sort(lines);
        return lines;
    }

    // Which element has which id, before anything is done.
    void know_elements(const PlanReport& plan)
    {
        for (auto& device : nics) {
            const auto of_device = std::ranges::find(plan.devices, device.info.key(), &DevicePlan::device);
            if (device.nic != nullptr && of_device != plan.devices.end()) {
                device.asked.know(*device.nic, device.live, of_device->before.elements);
            }
        }
    }

    void expect_operations(const PlanReport& plan)
    {
        for (auto& device : nics) {
            if (device.nic == nullptr) {
                continue;
            }
            const auto of_device = std::ranges::find(plan.devices, device.info.key(), &DevicePlan::device);
            const bool is_told = of_device != plan.devices.end() && !plan.monitors;
            const std::vector<Operation> nothing;
            const auto& operations = is_told ? of_device->plan.operations : nothing;
            const auto writes = follow_log(device);
            std::vector<std::string> expected;
            std::vector<std::string> found;
            expected.reserve(operations.size());
            found.reserve(writes.size());
            for (const auto& operation : operations) {
                expected.push_back(std::visit(ToText{}, operation));
            }
            for (std::size_t i = 0; i < writes.size(); ++i) {
                found.push_back(device.asked.text(writes[i], i < operations.size() ? &operations[i] : nullptr));
            }
            EXPECT_EQ(found, expected) << device.info.key();
            tally.operations += found.size();
        }
    }

    void expect_untouched(const std::shared_ptr<const Policy>& before)
    {
        EXPECT_EQ(service->in_force().policy(), before);
        for (auto& device : nics) {
            EXPECT_TRUE(device.nic == nullptr || writes(*device.nic).empty());
        }
    }

    void try_pair()
    {
        next = edited(dice, running);
        const bool as_text = dice.one_in(3);
        write_files();
        if (as_text) {
            settings(next_settings = running_settings);    // a text goes with those that are in force
        }
        const auto before = service->in_force().policy();
        const PlanReport plan = planned(as_text);
        expect_untouched(before);
        ASSERT_NO_FATAL_FAILURE(know_elements(plan));
        const ReloadOutcome outcome = reload();
        settle();
        EXPECT_EQ(plan.accepted, outcome.accepted);
        EXPECT_EQ(plan.refusal, outcome.accepted ? "" : outcome.why_refused());
        EXPECT_EQ(plan.left_out, outcome.left_out);
        EXPECT_EQ(plan.diagnostics.error_count(), outcome.diagnostics.error_count());
        std::vector<JudgedFinding> findings;
        for (const auto& device : plan.devices) {
            findings.insert(findings.end(), device.findings.begin(), device.findings.end());
        }
        EXPECT_EQ(lines_of(findings), lines_of(outcome.findings));
        count(outcome);
        if (outcome.accepted) {
            running = next;
            running_settings = next_settings;
            ASSERT_NO_FATAL_FAILURE(expect_operations(plan));
        } else {
            expect_untouched(before);
            follow_logs();
        }
    }

    void count(const ReloadOutcome& outcome)
    {
        ++tally.pairs;
        tally.left_out += outcome.left_out.empty() ? 0 : 1;
        if (!outcome.accepted) {
            ++(outcome.diagnostics.has_errors() ? tally.by_text : tally.by_devices);
            return;
        }
        ++tally.accepted;
        const bool is_known = std::ranges::find(outcome.findings, FindingVerdict::Known, &JudgedFinding::verdict) !=
                              outcome.findings.end();
        tally.known += is_known ? 1 : 0;
    }

    // Where nothing but the policy decides: without queue pairs, and with all devices back.
    void try_start()
    {
        next = edited(dice, running);
        write_files();
        const PlanReport plan = planned(false);
        const auto before = service->in_force().policy();
        const std::string revision = before ? before->revision : "";
        start_on_devices();
        EXPECT_EQ(started.accepted, plan.accepted) << started.to_text() << plan.refusal;
        EXPECT_EQ(started.accepted ? "" : started.why_refused(), plan.refusal);
        EXPECT_EQ(service->in_force().policy() ? service->in_force().policy()->revision : "",
                  plan.accepted ? plan.revision : revision);
        ++tally.starts;
        tally.starts_refused += started.accepted ? 0 : 1;
    }

    Dice dice{0};
    std::vector<Device> nics;
    std::uint32_t next_number = 1;
    std::uint64_t peers = 0;
    bool has_released = false;
    bool has_sessions = false;
    RandomPolicy running;
    RandomPolicy next;
    std::string running_settings;
    std::string next_settings;
    Tally tally;
};

TEST_F(PlanIsReload, OnRandomPairsOfPolicies)
{
    for (std::uint32_t seed = 1; seed <= kWorlds; ++seed) {
        SCOPED_TRACE(fmt::format("world {}", seed));
        ASSERT_NO_FATAL_FAILURE(begin(seed));
        for (std::uint32_t pair = 0; pair < kPairs; ++pair) {
            for (std::size_t i = dice.below(3); i > 0; --i) {
                ASSERT_NO_FATAL_FAILURE(happens());
            }
            SCOPED_TRACE(fmt::format("pair {}\n{}", pair, next.text()));
            ASSERT_NO_FATAL_FAILURE(try_pair());
            ASSERT_FALSE(HasFailure()) << next.text() << next_settings;
        }
        if (!has_sessions && !has_released) {
            try_start();
        }
    }
    std::cout << fmt::format(
        "{} pairs: {} accepted ({} of them with errors that the running policy has too), {} refused by devices, {} by "
        "their text; {} with a device left out; {} operations as planned; {} starts, {} of them refused\n",
        tally.pairs, tally.accepted, tally.known, tally.by_devices, tally.by_text, tally.left_out, tally.operations,
        tally.starts, tally.starts_refused);
    EXPECT_EQ(tally.pairs, 1000U);
    EXPECT_GE(tally.accepted, 300U);
    EXPECT_GE(tally.known, 50U);
    EXPECT_GE(tally.by_devices, 150U);
    EXPECT_GE(tally.left_out, 100U);
    EXPECT_GE(tally.operations, 1000U);
    EXPECT_GE(tally.starts_refused, 5U);
}

}    // namespace
}    // namespace rdmaqos
