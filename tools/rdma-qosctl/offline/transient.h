// Rules and overrides of the command line as the files that hold them until they end: pure functions.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "policy/model/transient.h"
#include "policy/text/yaml_text.h"

namespace rdmaqos::ctl {

// Of `--for`, as parse_milliseconds() takes it; empty: no time.
[[nodiscard]] Result<std::optional<std::chrono::sys_seconds>> end_after(const std::string& time,
                                                                        std::chrono::system_clock::time_point now);
// The key `transient`, also if it says nothing.
void add_transient(YamlLines& lines, const Transient& transient);
// What may stand in the name of a file that a command makes.
[[nodiscard]] bool may_be_in_file_name(char c);

// A match rule of the command line.
struct RuleOptions {
    std::string name;     // empty: made of the owner
    std::string lasts;    // "2h"
    std::string owner;
    std::string cgroup;    // the rule ends with it
    std::string level;
    std::string use;
    std::map<std::string, std::vector<std::string>> criteria;    // by their keys in a match rule
    std::map<std::string, std::vector<std::string>> client;      // by their keys in `client`
    std::string ulp_port;                                        // "tcp:4420"
};

// What the options say of the rule's end.
[[nodiscard]] Result<Transient> transient_from(const RuleOptions& options, std::chrono::system_clock::time_point now);

// A policy file. Whether its values can be used is for the reader to say, once it is merged with the others.
[[nodiscard]] Result<std::string> rule_text(const RuleOptions& options, const Transient& transient);

// "10-job-4711.yaml" for the rule `job-4711`: before policy.yaml, whose rules it shall precede. A name that begins with
// two digits and a dash places the rule elsewhere: "70-late.yaml".
[[nodiscard]] std::string rule_file(const std::string& name);
// "job-4711", "70-late": the reverse.
[[nodiscard]] std::string rule_name(const std::string& file);
// InvalidArgument with a sentence if it is no name of a rule.
[[nodiscard]] Result<void> check_rule_name(const std::string& name);
// Of the owner, with what no file name should have replaced by dashes; "rule" without one.
[[nodiscard]] std::string default_rule_name(const std::string& owner);

// An override of the command line.
struct OverrideOptions {
    std::string level;
    std::map<std::string, std::string> values;    // by their keys in `qos-level-overrides`
    std::string lasts;                            // "30m"
    std::string cgroup;                           // it ends with this one
};

// A policy file. Whether its values can be used is for the reader to say, once it is merged with the others.
[[nodiscard]] Result<std::string> override_text(const OverrideOptions& options, const Transient& transient);

// "90-override-rpc.yaml": one for each level, whose names ignore case, so that a second override replaces the first.
[[nodiscard]] std::string override_file(const std::string& level);

}    // namespace rdmaqos::ctl
