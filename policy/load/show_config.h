// The policy as its files state it, merged: every value with its place, rules under the numbers that explain uses, and
// beside them what holds where no file says anything. Written as YAML it is a policy that reads as the same Policy:
//
//     qos-levels:
//       - name: rpc                   # /etc/rdma-qos/policy.yaml:12
//         schedule:
//           share: 60                 # /etc/rdma-qos/policy.d/60-night.yaml:4
//           max-rate: unlimited       # default
//           # parent: the root (default)
//
// A value that an override has put in place says so: "# /run/rdma-qos/policy.d/90-override-rpc.yaml:6, in place of 25
// Gbit/s, until ...".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/base/diagnostic.h"
#include "policy/model/policy.h"

namespace rdmaqos {

struct ShownNode {
    enum class Kind : std::uint8_t {
        Text,
        List,
        Mapping,
        Implied,    // a default that has no word of its own in a policy: `text` says it to people
    };

    std::string key;    // empty: an item of a list
    Kind kind = Kind::Text;
    std::string text;    // as written
    bool is_default = false;
    Location at;                  // of a text that a file states
    std::string override_note;    // of a text that an override states: "in place of 25 Gbit/s, until ..."
    std::string remark;           // what stands above it: "match rule 3 (policy.yaml:40:5)"
    std::size_t rule = 0;         // the number of a rule; 0: none
    std::vector<ShownNode> children;
};

struct RemovedObject {
    std::string kind;    // "qos-level"
    std::string name;
    Location at;
};

struct ShownPolicy {
    ShownNode document;                    // a mapping of the sections
    std::vector<RemovedObject> removed;    // and not defined again, by place
};

// The policy must have come out of a reader: its sources are merged once more.
[[nodiscard]] ShownPolicy show_policy(const Policy& policy);
// The settings file, with the defaults for what it leaves out; null: there is no file. It must be free of errors.
[[nodiscard]] ShownNode show_settings(const std::shared_ptr<const SourceFile>& source);

}    // namespace rdmaqos
