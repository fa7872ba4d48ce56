#include "policy/match/rule_example.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "lib/base/overloaded.h"
#include "policy/match/glob_inclusion.h"
#include "policy/match/glob_index.h"
#include "policy/match/interval_algebra.h"
#include "policy/match/selector_inclusion.h"

namespace rdmaqos {
namespace {

// Nobody's, most likely.
constexpr std::uint32_t kNoUid = 0xFFFF'FFF0;
constexpr std::array<std::string_view, kRuleExamples> kForStars{"q~", "", "7", "~q~"};

class ExampleMaker {
public:
    ExampleMaker(const Demands& demands, PortSets& ports, std::size_t number)
        : demands_(demands), ports_(ports), number_(number)
    {
    }

    RuleExample make()
    {
        example_.identity.uid = kNoUid;
        for (std::size_t place = 0; place < kRequestCriteria.size(); ++place) {
            if (const Demand* demand = demands_.find(place)) {
                add(kRequestCriteria[place], *demand);
            }
        }
        for (std::size_t key = 0; key < kClientKeys.size(); ++key) {
            add(kClientKeys[key], demands_.find(kRequestCriteria.size() + key), demands_.find(kCriteria.size() + key));
        }
        return std::move(example_);
    }

private:
    // The lowest, the highest, or one between them.
    [[nodiscard]] std::uint64_t one_of(const IntervalSet& set) const
    {
        const auto& all = set.intervals();
        if (all.empty()) {
            return 0;
        }
        const Interval& middle = all[all.size() / 2];
        switch (number_) {
        case 0:
            return all.front().first;
        case 1:
            return all.back().last;
        case 2:
            return middle.first + (middle.last - middle.first) / 2;
        default:
            return middle.last;
        }
    }

    [[nodiscard]] const DeviceSelector& one_of(const std::vector<DeviceSelector>& devices) const
    {
        return devices[number_ % devices.size()];
    }

    [[nodiscard]] std::string one_of(const std::vector<std::string>& patterns) const
    {
        return rdmaqos::example_of(patterns[number_ % patterns.size()], kForStars.at(number_));
    }

    void add(const Criterion& criterion, const Demand& demand)
    {
        Request& request = example_.request;
        std::visit(
            Overloaded{
                [&](const EndKind& kind) { request.*kind.end = ports_.example_of(demand.groups, number_ % 2 == 1); },
                [&](const NumberKind& kind) { set(kind, one_of(demand.numbers)); },
                [&](const DeviceKind& kind) {
                    request.*kind.device = rdmaqos::example_of(one_of(demand.devices), kForStars.at(number_));
                },
                [](const ClientKey*) {},
            },
            criterion.kind);
    }

    void set(const NumberKind& kind, std::uint64_t number)
    {
        Request& request = example_.request;
        if (kind.intervals == &MatchRule::service_id) {
            request.service_id = number;
        } else if (kind.intervals == &MatchRule::qos_class) {
            request.qos_class = static_cast<std::uint16_t>(number);
        } else if (kind.intervals == &MatchRule::pkey) {
            request.pkey = static_cast<std::uint16_t>(number);
        }
    }

    void add(const ClientKey& key, const Demand* client, const Demand* allow)
    {
        if (client == nullptr && allow == nullptr) {
            return;
        }
        std::visit(Overloaded{
                       [&](const AccountKind& kind) { add(kind, client, allow); },
                       [&](const NameKind& kind) { add(kind, client, allow); },
                   },
                   key.kind);
    }

    void add(const AccountKind& kind, const Demand* client, const Demand* allow)
    {
        Identity& identity = example_.identity;
        if (kind.is_single) {
            const IntervalSet both = client == nullptr  ? allow->numbers
                                     : allow == nullptr ? client->numbers
                                                        : intersection(client->numbers, allow->numbers);
            identity.uid = static_cast<std::uint32_t>(one_of(both));
            return;
        }
        for (const Demand* demand : {client, allow}) {
            if (demand != nullptr) {
                identity.gids.push_back(static_cast<std::uint32_t>(one_of(demand->numbers)));
            }
        }
    }

    void add(const NameKind& kind, const Demand* client, const Demand* allow)
    {
        Identity& identity = example_.identity;
        std::string& name = identity.*kind.name;
        name = one_of((client != nullptr ? client : allow)->patterns);
        if (client == nullptr || allow == nullptr) {
            return;
        }
        // One name for both, or the unit inside of one of the system's.
        const std::string other = one_of(allow->patterns);
        if (matches_one(client->patterns, other)) {
            name = other;
        } else if (kind.form == NameForm::Unit) {
            identity.cgroup = fmt::format("/{}/{}", other, name);
        }
    }

    [[nodiscard]] static bool matches_one(const std::vector<std::string>& patterns, const std::string& name)
    {
        return std::ranges::any_of(patterns, [&](const std::string& pattern) { return name_matches(pattern, name); });
    }

    const Demands& demands_;
    PortSets& ports_;
    std::size_t number_;
    RuleExample example_;
};

}    // namespace

RuleExample example_of(const Demands& demands, PortSets& ports, std::size_t number)
{
    return ExampleMaker(demands, ports, number).make();
}

}    // namespace rdmaqos
