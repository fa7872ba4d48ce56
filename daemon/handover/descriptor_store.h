// Descriptors that outlive this process: the service manager keeps them and gives them to the next one.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/file.h"
#include "lib/base/result.h"

namespace rdmaqos {

// Thread-safe.
class DescriptorStore {
public:
    virtual ~DescriptorStore() = default;

    // Comes back when they are kept. Several may have one name.
    [[nodiscard]] virtual Result<void> put(const std::string& name, int fd) = 0;
    // All of this name. Comes back when they are closed.
    virtual void remove(const std::string& name) = 0;
};

using NamedDescriptors = std::vector<std::pair<std::string, UniqueFd>>;

// systemd's (FileDescriptorStoreMax= of the unit). Null: no service manager has started this process.
[[nodiscard]] std::shared_ptr<DescriptorStore> systemd_store();
// What it has kept for this process. Once, before threads are started.
[[nodiscard]] NamedDescriptors take_kept_descriptors();

}    // namespace rdmaqos
