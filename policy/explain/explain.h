// Why a request gets its level: each rule in order, each criterion with what it asks, what the request has, whether it
// holds, and whether the kernel or only the client says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/match/matcher.h"
#include "policy/model/client_keys.h"
#include "policy/path/path.h"
#include "policy/path/path_explain.h"

namespace rdmaqos {

struct CriterionResult {
    std::string key;      // "service-id"
    std::string asked;    // "0x10000-0x1ffff"
    std::string has;      // "0x10064", or "absent"
    bool holds = false;
    Trust trust = Trust::Claimed;
};

struct RuleResult {
    const MatchRule* rule = nullptr;
    std::vector<CriterionResult> criteria;
    bool matched = false;    // all criteria hold; it decides unless it is refused
    std::string refused;     // `allow` of its level does not hold: why
};

// A partition's default or DEFAULT, where no rule decided.
struct FallbackResult {
    LevelSource source = LevelSource::Default;
    const QosLevel* level = nullptr;
    std::string name;    // "partition Part1", "default"
    bool taken = false;
    std::string refused;    // as of a rule
};

struct Explanation {
    Request request;
    Identity identity;
    std::vector<RuleResult> rules;    // up to and including the deciding one; none for a level asked for by name
    std::vector<FallbackResult> fallbacks;    // up to and including the deciding one
    std::optional<Match> match;
    std::string why;               // of the match
    std::optional<Error> error;    // of the match
    std::optional<PathAnswer> answer;
    PathReasons reasons;    // of the answer
    std::optional<Error> answer_error;
};

[[nodiscard]] Explanation explain(const Matcher& matcher, const Request& request, const Identity& identity,
                                  const PathLimits& limits);

}    // namespace rdmaqos
