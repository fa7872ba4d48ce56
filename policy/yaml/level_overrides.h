// `qos-level-overrides` of transient files: for as long as such a file lasts, a level has other rates than its own
// entry says. The values are put into the merged level before it is built, each with its place in the transient file:
// every check of a policy holds for them, and what it reports points at them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/diagnostic.h"
#include "policy/model/policy.h"
#include "policy/text/context.h"
#include "policy/yaml/sections.h"

namespace rdmaqos::reader {

// "max-rate", "min-rate", "share", "per-queue-pair-max-rate": what changes what a queue pair gets, and never where it
// is.
[[nodiscard]] std::span<const std::string_view> override_properties();

// To the merged levels, when all files are in. Of two overrides of one property, the later file's counts.
void apply_overrides(Context& context, Sections& sections);

// What apply_overrides() did, with the end of each.
[[nodiscard]] std::vector<LevelOverride> read_overrides(Context& context, const Sections& sections);

// What one file has in the section, whether it has an effect or not.
struct StatedOverride {
    std::string level;
    std::string property;
    std::string value;    // in words, as in LevelOverride
    Location location;    // of the value
};
struct StatedOverrides {
    std::vector<StatedOverride> overrides;
    bool are_all = false;    // the file has nothing else that is part of a policy
};
// Of a file that may have any mistake, which is for others to report.
[[nodiscard]] StatedOverrides overrides_of(const std::shared_ptr<const SourceFile>& source);

}    // namespace rdmaqos::reader
