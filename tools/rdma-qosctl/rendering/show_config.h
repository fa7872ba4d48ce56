// What `show-config` found out, as a value: rendered by pure functions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/diagnostic.h"
#include "policy/load/host_files.h"
#include "policy/load/show_config.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

struct ConfigReport {
    std::vector<std::string> files;    // that were read, in the order of merging
    bool of_host = false;              // these are the host's files
    std::vector<SkippedFile> skipped;
    std::string revision;
    std::string default_level;    // its name
    Location default_level_at;
    ShownPolicy policy;
    std::string settings_file;
    std::optional<ShownNode> settings;    // of the host's files only
    std::optional<ManagerView> daemon;
    std::string no_daemon;    // why it is empty
    // The daemon tries this text in the place of policy.yaml, and it is shown as such. Null: it tries none, or does not
    // let us see it.
    std::shared_ptr<const SourceFile> tried{};
};

// A policy file: what is no policy stands in comments.
[[nodiscard]] std::string render_config(const ConfigReport& report);
[[nodiscard]] Json config_json(const ConfigReport& report);

}    // namespace rdmaqos::ctl
