// What the daemon keeps across restarts: JSON files below /var/lib/rdma-qos, each an object with its "schema" and one
// list. They are the daemon's own, yet read with suspicion: an older daemon or a person may have written them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "lib/base/result.h"

namespace rdmaqos {

struct StateFile {
    const char* path;        // on the host
    const char* list;        // the key of the list
    const char* what;        // "a saved policy": for errors
    std::size_t max_size;    // bytes
};

// Written beside the file and renamed over it, and on the disk when this returns: an administrator who reads that a
// device is disabled may cut the power then. Bytes that are not UTF-8 are replaced. The folder is made if need be.
[[nodiscard]] Result<void> save_state(const std::filesystem::path& root, const StateFile& file,
                                      const nlohmann::json& list);

// An empty list if there is no such file. Io: it cannot be read (with the errno), or is not what this version writes.
[[nodiscard]] Result<nlohmann::json> load_state(const std::filesystem::path& root, const StateFile& file);

// Removes the temporary files of a daemon that was killed during a save. No other daemon may be using the folder.
void remove_temporaries(const std::filesystem::path& root);

// Renames a file that makes no sense to this version, so that what it has is not written over: the new name, on the
// host.
[[nodiscard]] Result<std::string> keep_aside(const std::filesystem::path& root, const StateFile& file);
// Those that were kept so, by an earlier run too, and are still there: on the host.
[[nodiscard]] std::vector<std::string> kept_aside(const std::filesystem::path& root, const StateFile& file);

// What an entry has under a key; empty: no text.
[[nodiscard]] std::string text_of(const nlohmann::json& entry, const char* key);

// What a caller says of a list whose entry (counted from 0) makes no sense: `why` as "`port` is missing".
[[nodiscard]] Error damaged_state(const std::filesystem::path& root, const StateFile& file, std::size_t entry,
                                  std::string_view why);

}    // namespace rdmaqos
