// A policy while its parts come in, from whatever syntax: what every policy is held to, and what is said of it in the
// same words. A part is a value of the model with its place in a file; syntax, and names that nobody defines, are the
// front ends' (policy/yaml, policy/opensm).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/model/policy.h"
#include "policy/model/ulp_forms.h"
#include "policy/text/context.h"
#include "policy/text/name_index.h"

namespace rdmaqos::reader {

// Was the object read whole? Of one that was not, nothing is said that may come of it.
enum class Read : bool { InPart, Whole };

class Assembly {
public:
    explicit Assembly(Context& context_) : context(context_) {}

    // The first of a name is found. Groups that ulps make can be named too.
    void add(PortGroup group, Read read);
    void add(QosLevel level);

    // An entry of qos-ulps, which becomes a rule behind all match rules, and the port group it needs.
    void add_ulp(UlpMeaning meaning, MatchRule rule);
    // `entry`: how the file writes it: "`ulp: default`".
    void set_ulp_default(std::size_t level, const Location& at, std::string_view entry);
    // The level of an SL from 0 to 15 that an entry names; made when first asked for.
    [[nodiscard]] std::size_t level_of_sl(std::uint8_t sl, const Location& at);
    [[nodiscard]] std::size_t default_level_of_sl(std::uint8_t sl, const Location& at);

    // In the order in which they are tried. `rule.number` is set.
    void add_rule(MatchRule rule, bool asks_for_nothing);
    // After the last one come those of ulps.
    void end_rules();
    // When levels and ulps are known. False: there is none.
    [[nodiscard]] bool choose_default();

    Context& context;
    Policy policy;
    NameIndex groups;
    NameIndex levels;

private:
    struct UlpDefault {
        std::size_t level = 0;
        Location at;
        std::string entry;
    };

    [[nodiscard]] std::size_t make_level(std::string name, std::uint8_t sl, const Location& at);

    std::vector<MatchRule> ulp_rules_;
    std::optional<UlpDefault> ulp_default_;
    std::array<std::optional<std::size_t>, 16> level_of_sl_;
    std::vector<std::size_t> catch_all_;    // rules without criteria
};

// "sdp, port-num 10000-20000,7": an entry as OpenSM's own file writes it; `ranges` as they are spelled.
[[nodiscard]] std::string ulp_in_words(Ulp ulp, std::optional<UlpCriterion> criterion,
                                       const std::vector<std::string>& ranges);

}    // namespace rdmaqos::reader
