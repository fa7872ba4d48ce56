// Why a request gets its level: each rule in order, each criterion with what it asks, what the request has, whether it
// holds, and whether the kernel or only the client says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/match/matcher.h"
#include "policy/path/path.h"

namespace rdmaqos {

struct CriterionResult {
    std::string key;      // "service-id"
    std::string asked;    // "0x10000-0x1ffff"
    std::string has;      // "0x10064", or "absent"
    bool holds = false;
    bool verified = false;    // by the kernel
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

// For people: the client, the request, a block per rule with its criteria, the level and the path's answer.
[[nodiscard]] std::string render_explanation(const Policy& policy, const Explanation& explanation);

// The same as a JSON document. Numbers that are written in hex elsewhere (GUIDs, P_Keys, service-ids) are strings;
// what is not known is absent, except for `match`, `error`, `answer` and `answer-error`, which are null.
//
//     {
//       "client":  {"pid": 4711, "start-time": 1, "uid": 1000, "gids": [1000], "cgroup": "/...", "unit": "job-7.scope",
//                   "executable": "/usr/bin/x", "command": "x"},
//       "request": {"level": "rpc", "qos-class": 7, "service-id": "0x10064", "pkey": "0x1234",
//                   "source": "0x...", "destination": "fd00::1",
//                   "device": {"name": "mlx5_0", "port": 1, "netdev": "...", "pci-address": "..."}, "sl": 3,
//                   "mtu": {"selector": "greater-than|less-than|exactly|largest", "value": 4},
//                   "rate": {...}, "packet-life": {...}},
//       "rules": [{"number": 1, "rule": "match rule 1 (policy.yaml:20:5)", "use": "...", "level": "rpc",
//                  "matched": false, "refused": "level rpc allows ...",
//                  "criteria": [{"key": "service-id", "asked": "0x1-0x2", "has": "0x10064", "holds": false,
//                                "verified": false}]}],
//       "fallbacks": [{"source": "partition|default", "name": "partition Part1", "level": "rpc",
//                      "taken": false, "refused": "..."}],
//       "match": {"level": "rpc", "source": "requested|rule|partition|default", "rule": 3, "verified": false,
//                 "allow": "everybody", "why": "..."},
//       "error": {"name": "org.rdmaqos1.Error.LevelNotAllowed", "message": "..."},
//       "answer": {"mtu": 4, "rate": 3, "packet-life": 16, "pkey": "0x1234", "sl": 3,
//                  "reasons": {"mtu": "of the path; ...", "rate": "...", "packet-life": "...", "pkey": "...",
//                              "sl": "..."}},
//       "answer-error": {"name": "org.rdmaqos1.Error.NoMatchingPath", "message": "..."}
//     }
[[nodiscard]] std::string explanation_to_json(const Policy& policy, const Explanation& explanation);

}    // namespace rdmaqos
