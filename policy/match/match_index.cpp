#include "policy/match/match_index.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "lib/base/overloaded.h"
#include "policy/match/adoption.h"
#include "policy/match/client.h"
#include "policy/match/gid_range.h"
#include "policy/match/path_end.h"

namespace rdmaqos {
namespace {

constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();
constexpr std::array kNodeTypes{NodeType::Ca, NodeType::Switch, NodeType::Router};

constexpr std::uint16_t bit_of(std::size_t criterion)
{
    return static_cast<std::uint16_t>(1U << criterion);
}

template <typename Has>
constexpr std::uint16_t criteria_that(Has has)
{
    unsigned mask = 0;
    for (std::size_t i = 0; i < kCriteria.size(); ++i) {
        mask |= has(kCriteria[i]) ? bit_of(i) : 0U;
    }
    return static_cast<std::uint16_t>(mask);
}

constexpr std::uint16_t kVerified = criteria_that([](const Criterion& row) { return row.trust == Trust::Verified; });
constexpr std::uint16_t kOfRequest = criteria_that(
    [](const Criterion& row) { return !std::holds_alternative<const ClientKey*>(row.kind); });
constexpr std::uint16_t kPath = criteria_that([](const Criterion& row) { return row.of_path; });

}    // namespace

class MatchIndex::Builder {
public:
    explicit Builder(MatchIndex& index) : index_(index) {}

    void build()
    {
        add_families();
        const Policy& policy = index_.policy_;
        for (const auto& family : index_.families_) {
            for (std::size_t i = 0; i < family.rules.size(); ++i) {
                position_ = family.first_word * RuleSets::kWordBits + static_cast<std::uint32_t>(i);
                add_rule(policy.rules[family.rules[i]]);
            }
        }
        for (std::size_t i = 0; i < kCriteria.size(); ++i) {
            finish(index_.indexes_[i].numbers, items_[i].numbers);
            finish(index_.indexes_[i].names, items_[i].names);
            finish(index_.indexes_[i].selectors, items_[i].selectors);
            finish(index_.indexes_[i].ends, items_[i].ends);
        }
        add_members();
    }

private:
    using Numbers = std::vector<IntervalIndex<std::uint64_t>::Item>;
    using Positions = std::vector<std::uint32_t>;
    using Names = std::map<std::string, Positions>;
    using Selectors = std::map<DeviceSelector, Positions>;
    using Ends = std::map<std::size_t, Positions>;    // by port group
    // What some criterion's Index is made of.
    struct Items {
        Numbers numbers;
        Names names;
        Selectors selectors;
        Ends ends;
    };

    void add_families()
    {
        std::map<Mask, std::size_t> by_mask;
        const auto& rules = index_.policy_.rules;
        for (std::uint32_t i = 0; i < rules.size(); ++i) {
            unsigned mask = 0;
            for (std::size_t j = 0; j < kCriteria.size(); ++j) {
                mask |= Evaluator::asks(rules[i], kCriteria[j]) ? bit_of(j) : 0U;
            }
            const auto asks = static_cast<Mask>(mask);
            const auto [entry, is_new] = by_mask.emplace(asks, index_.families_.size());
            if (is_new) {
                index_.families_.push_back({asks, 0, 0, {}, {}});
            }
            Family& family = index_.families_[entry->second];
            family.rules.push_back(i);
            const bool adopts = adoption_of(index_.policy_.levels[rules[i].level], &rules[i]) == AdoptionVerdict::Adopt;
            family.adopts.push_back(adopts ? static_cast<std::uint32_t>(rules[i].level) : kNowhere);
            index_.asked_ |= asks;
        }
        std::uint32_t word = 0;
        for (auto& family : index_.families_) {
            family.first_word = word;
            word += (static_cast<std::uint32_t>(family.rules.size()) + RuleSets::kWordBits - 1) / RuleSets::kWordBits;
            family.end_word = word;
        }
    }

    void add_rule(const MatchRule& rule)
    {
        for (std::size_t i = 0; i < kCriteria.size(); ++i) {
            std::visit(Overloaded{
                           [&](const EndKind& kind) { add(rule.*kind.groups, items_[i].ends); },
                           [&](const NumberKind& kind) { add(rule.*kind.intervals, items_[i].numbers); },
                           [&](const DeviceKind& kind) { add(rule.*kind.selectors, items_[i]); },
                           [&](const ClientKey* key) {
                               if (rule.client) {
                                   add_client(*rule.client, *key, items_[i]);
                               }
                           },
                       },
                       kCriteria[i].kind);
        }
    }

    void add_client(const ClientCriteria& client, const ClientKey& key, Items& items) const
    {
        std::visit(Overloaded{
                       [&](const AccountKind& kind) { add(client.*kind.numbers, items.numbers); },
                       [&](const NameKind& kind) { add(client.*kind.patterns, items.names); },
                   },
                   key.kind);
    }

    void add(const IntervalSet& set, Numbers& numbers) const
    {
        for (const auto& interval : set.intervals()) {
            numbers.push_back({interval.first, interval.last, position_});
        }
    }
    void add(const std::vector<std::uint32_t>& values, Numbers& numbers) const
    {
        for (const std::uint32_t value : values) {
            numbers.push_back({value, value, position_});
        }
    }
    void add(const std::vector<std::string>& patterns, Names& names) const
    {
        for (const auto& pattern : patterns) {
            names[pattern].push_back(position_);
        }
    }
    void add(const std::vector<DeviceSelector>& selectors, Items& items) const
    {
        for (const auto& selector : selectors) {
            if (selector.is_name()) {
                items.names[selector.name].push_back(position_);
            } else {
                items.selectors[selector].push_back(position_);
            }
        }
    }
    void add(const std::vector<std::size_t>& groups, Ends& ends) const
    {
        for (const std::size_t group : groups) {
            ends[group].push_back(position_);
        }
    }

    void finish(NumberIndex& index, const Numbers& numbers)
    {
        index.intervals = IntervalIndex<std::uint64_t>(numbers);
        for (const auto& list : index.intervals.lists()) {
            index.sets.push_back(index_.sets_.add(list));
        }
    }

    void finish(NameIndex& index, const Names& names)
    {
        std::vector<std::string> patterns;
        for (const auto& [pattern, positions] : names) {
            patterns.push_back(pattern);
            index.sets.push_back(index_.sets_.add(positions));
        }
        index.globs = GlobIndex(std::move(patterns));
    }

    void finish(SelectorIndex& index, const Selectors& selectors)
    {
        for (const auto& [selector, positions] : selectors) {
            index.selectors.push_back(selector);
            index.sets.push_back(index_.sets_.add(positions));
        }
    }

    void finish(EndIndex& index, const Ends& ends)
    {
        if (ends.empty()) {
            return;
        }
        index.by_group.resize(index_.groups_.groups.size(), 0);
        Positions everybody;
        std::array<Positions, kNodeTypes.size()> by_type;
        for (const auto& [group, positions] : ends) {
            index.by_group[group] = index_.sets_.add(positions);
            const NodeTypes& types = index_.groups_.groups[group].node_types;
            if (includes_all(types)) {
                everybody.insert(everybody.end(), positions.begin(), positions.end());
            }
            for (std::size_t i = 0; i < kNodeTypes.size(); ++i) {
                if (has_type(types, kNodeTypes[i])) {
                    by_type[i].insert(by_type[i].end(), positions.begin(), positions.end());
                }
            }
        }
        index.everybody = index_.sets_.add(std::move(everybody));
        for (std::size_t i = 0; i < kNodeTypes.size(); ++i) {
            index.by_type[i] = index_.sets_.add(std::move(by_type[i]));
        }
    }

    // Only of groups that a rule names.
    void add_members()
    {
        Numbers guids;
        std::vector<IntervalIndex<Key128>::Item> gids;
        for (std::size_t group = 0; group < index_.groups_.groups.size(); ++group) {
            if (std::ranges::none_of(index_.indexes_, [group](const Index& index) {
                    return !index.ends.by_group.empty() && index.ends.by_group[group] != 0;
                })) {
                continue;
            }
            const auto id = static_cast<std::uint32_t>(group);
            const ResolvedGroup& members = index_.groups_.groups[group];
            for (const auto& interval : members.guids.intervals()) {
                guids.push_back({interval.first, interval.last, id});
            }
            for (const auto& prefix : members.gids) {
                const auto [first, last] = range_of(prefix);
                gids.push_back({first, last, id});
            }
        }
        index_.guids_ = IntervalIndex<std::uint64_t>(guids);
        index_.gids_ = IntervalIndex<Key128>(gids);
    }

    MatchIndex& index_;
    std::uint32_t position_ = 0;                   // of the rule at hand
    std::array<Items, kCriteria.size()> items_;    // by criterion
};

// One request: of each criterion that some rule asks for, the rules that accept it.
class MatchIndex::Question {
public:
    Question(const MatchIndex& index, const Request& request, const Identity& identity)
        : index_(index), request_(request), identity_(identity)
    {
        for (std::size_t i = 0; i < kCriteria.size(); ++i) {
            if ((index.asked_ & bit_of(i)) != 0) {
                answer(kCriteria[i], index.indexes_[i], accepted_[i].emplace(index.sets_));
            }
        }
    }

    // The first rule before `limit` of a family that accepts the request as far as the criteria in `mask` go, whose
    // place in the family is `wanted`, and whose level the client may use; an index into Policy::rules, or kNoLimit.
    // Families in their order.
    template <typename Wanted>
    [[nodiscard]] std::uint32_t first(const Family& family, Mask mask, std::uint32_t limit, Wanted wanted)
    {
        std::uint32_t word = family.first_word;
        while (word < family.end_word) {
            std::uint64_t bits = std::numeric_limits<std::uint64_t>::max();
            std::uint32_t next = word;
            for (unsigned rest = mask; rest != 0 && next == word; rest &= rest - 1) {
                const auto found = accepted_[static_cast<std::size_t>(std::countr_zero(rest))]->seek(word);
                next = found.number;
                bits &= found.bits;
            }
            if (next != word) {
                word = next;
                continue;
            }
            for (; bits != 0; bits &= bits - 1) {
                const auto place = (word - family.first_word) * RuleSets::kWordBits +
                                   static_cast<std::uint32_t>(std::countr_zero(bits));
                if (place >= family.rules.size() || family.rules[place] >= limit) {
                    return kNoLimit;
                }
                if (wanted(place) && is_open(family.rules[place])) {
                    return family.rules[place];
                }
            }
            ++word;
        }
        return kNoLimit;
    }

    [[nodiscard]] std::uint32_t first(const Family& family, Mask mask, std::uint32_t limit)
    {
        return first(family, mask, limit, [](std::size_t) { return true; });
    }

    void rewind()
    {
        for (auto& accepted : accepted_) {
            if (accepted) {
                accepted->rewind();
            }
        }
    }

private:
    void answer(const Criterion& criterion, const Index& index, SetUnion& rules) const
    {
        std::visit(Overloaded{
                       [&](const EndKind& kind) { add(index.ends, request_.*kind.end, rules); },
                       [&](const NumberKind& kind) {
                           if (const auto number = kind.number(request_)) {
                               add(index.numbers, *number & kind.mask, rules);
                           }
                       },
                       [&](const DeviceKind& kind) {
                           if (const auto& device = request_.*kind.device) {
                               add_all(index.names, names_of(*device), rules);
                               add(index.selectors, *device, rules);
                           }
                       },
                       [&](const ClientKey* key) { answer(*key, index, rules); },
                   },
                   criterion.kind);
    }

    void answer(const ClientKey& key, const Index& index, SetUnion& rules) const
    {
        std::visit(Overloaded{
                       [&](const AccountKind& kind) {
                           for (const std::uint32_t number : kind.of(identity_)) {
                               add(index.numbers, number, rules);
                           }
                       },
                       [&](const NameKind& kind) {
                           if (kind.form == NameForm::Unit) {
                               add_all(index.names, unit_names(identity_), rules);
                           } else {
                               add(index.names, identity_.*kind.name, rules);
                           }
                       },
                   },
                   key.kind);
    }

    static void add(const NumberIndex& index, std::uint64_t number, SetUnion& rules)
    {
        index.intervals.stab(number, [&](std::uint32_t list) { rules.add(index.sets[list]); });
    }

    // A client without a unit (cgroup, executable) is in none, not even in "*".
    static void add(const NameIndex& index, const std::string& name, SetUnion& rules)
    {
        if (!name.empty()) {
            for (const std::uint32_t pattern : index.globs.find(name)) {
                rules.add(index.sets[pattern]);
            }
        }
    }

    static void add(const SelectorIndex& index, const DeviceNames& device, SetUnion& rules)
    {
        for (std::size_t i = 0; i < index.selectors.size(); ++i) {
            if (selects(index.selectors[i], device)) {
                rules.add(index.sets[i]);
            }
        }
    }

    static void add_all(const NameIndex& index, const std::vector<std::string>& names, SetUnion& rules)
    {
        for (const auto& name : names) {
            add(index, name, rules);
        }
    }

    void add(const EndIndex& index, const std::optional<Endpoint>& endpoint, SetUnion& rules) const
    {
        if (!endpoint) {
            return;
        }
        const PathEnd end = path_end(endpoint, index_.groups_);
        rules.add(index.everybody);
        if (end.type) {
            rules.add(index.by_type[static_cast<std::size_t>(*end.type)]);
        }
        const auto add_groups = [&](const std::vector<std::uint32_t>& groups) {
            for (const std::uint32_t group : groups) {
                rules.add(index.by_group[group]);
            }
        };
        if (end.guid) {
            index_.guids_.stab(*end.guid, [&](std::uint32_t list) { add_groups(index_.guids_.lists()[list]); });
        }
        if (end.gid != nullptr) {
            index_.gids_.stab(key_of(*end.gid), [&](std::uint32_t list) { add_groups(index_.gids_.lists()[list]); });
        }
    }

    [[nodiscard]] bool is_open(std::uint32_t rule)
    {
        const std::size_t number = index_.policy_.rules[rule].level;
        const QosLevel& level = index_.policy_.levels[number];
        if (!level.allow) {
            return true;
        }
        if (open_.empty()) {
            open_.resize(index_.policy_.levels.size(), Answer::NotAsked);
        }
        if (open_[number] == Answer::NotAsked) {
            open_[number] = is_allowed(level, identity_) ? Answer::Yes : Answer::No;
        }
        return open_[number] == Answer::Yes;
    }

    enum class Answer : std::uint8_t { NotAsked, Yes, No };

    const MatchIndex& index_;
    const Request& request_;
    const Identity& identity_;
    std::array<std::optional<SetUnion>, kCriteria.size()> accepted_;    // by criterion
    std::vector<Answer> open_;                                          // by level
};

MatchIndex::MatchIndex(const Policy& policy, const ResolvedGroups& groups) : policy_(policy), groups_(groups)
{
    Builder(*this).build();
}

MatchIndex::Found MatchIndex::find(const Request& request, const Identity& identity) const
{
    Question question(*this, request, identity);
    std::uint32_t best = kNoLimit;
    for (const auto& family : families_) {
        if (family.rules.front() >= best) {
            break;
        }
        best = std::min(best, question.first(family, family.asks, best));
    }
    Found found;
    found.rule = best == kNoLimit ? nullptr : &policy_.rules[best];
    // A rule that asks for claims and would have been open to this client, up to the deciding one, took part.
    question.rewind();
    const std::uint32_t limit = best == kNoLimit ? kNoLimit : best + 1;
    const unsigned verified = request.of_kernel ? kVerified | kOfRequest : kVerified;
    found.verified = std::none_of(families_.begin(), families_.end(), [&](const Family& family) {
        return (family.asks & ~verified) != 0 && family.rules.front() < limit &&
               question.first(family, static_cast<Mask>(family.asks & verified), limit) != kNoLimit;
    });
    return found;
}

bool MatchIndex::perhaps_otherwise(const Request& request, const Identity& identity, const MatchRule* before,
                                   const QosLevel* same) const
{
    if ((asked_ & kPath) == 0) {
        return false;
    }
    const auto limit = before == nullptr ? kNoLimit : static_cast<std::uint32_t>(before - policy_.rules.data());
    const auto usual = same == nullptr ? kNowhere : static_cast<std::uint32_t>(same - policy_.levels.data());
    Question question(*this, request, identity);
    return std::ranges::any_of(families_, [&](const Family& family) {
        const auto differs = [&](std::size_t place) { return family.adopts[place] != usual; };
        return (family.asks & kPath) != 0 && family.rules.front() < limit &&
               question.first(family, family.asks & ~kPath, limit, differs) != kNoLimit;
    });
}

std::size_t MatchIndex::memory() const
{
    std::size_t bytes = sets_.memory() + guids_.memory() + gids_.memory();
    for (const auto& [numbers, names, selectors, ends] : indexes_) {
        bytes += numbers.intervals.memory() + numbers.sets.capacity() * sizeof(RuleSets::Set);
        bytes += names.globs.memory() + names.sets.capacity() * sizeof(RuleSets::Set);
        bytes += selectors.selectors.capacity() * sizeof(DeviceSelector) +
                 selectors.sets.capacity() * sizeof(RuleSets::Set);
        bytes += ends.by_group.capacity() * sizeof(RuleSets::Set);
    }
    for (const auto& family : families_) {
        bytes += sizeof(family) + (family.rules.capacity() + family.adopts.capacity()) * sizeof(std::uint32_t);
    }
    return bytes;
}

}    // namespace rdmaqos
