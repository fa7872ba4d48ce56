// A match rule of the command line as the file that holds it until it ends: pure functions.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "policy/model/transient.h"

namespace rdmaqos::ctl {

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

}    // namespace rdmaqos::ctl
