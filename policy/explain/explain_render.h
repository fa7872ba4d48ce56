// An explanation as a text and as a JSON document.
#pragma once

#include <string>

#include "policy/explain/explain.h"

namespace rdmaqos {

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
