// An override of the command line as the file that holds it until it ends: pure functions.
#pragma once

#include <map>
#include <string>

#include "lib/base/result.h"
#include "policy/model/transient.h"

namespace rdmaqos::ctl {

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
