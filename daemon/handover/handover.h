// All that an earlier daemon has left to this one, by device port. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "daemon/handover/descriptor_store.h"
#include "daemon/handover/device_handover.h"

namespace rdmaqos {

class Handover {
public:
    // `store` null: nothing can be handed over.
    Handover(std::shared_ptr<DescriptorStore> store, NamedDescriptors&& kept);

    // For the port that is about to be opened. Null: nothing can be handed over. Busy: not at this time, for want of
    // descriptors; what was kept stays so.
    [[nodiscard]] Result<std::unique_ptr<DeviceHandover>> begin(const DeviceInfo& port);
    // It is open: what was kept of it is not needed for another attempt.
    void opened(const DeviceInfo& port);
    // What was left on other ports is given up.
    void forget_all_but(const std::vector<DeviceInfo>& managed);

private:
    const std::shared_ptr<DescriptorStore> store_;
    const std::shared_ptr<Openings> openings_ = std::make_shared<Openings>();
    std::mutex mutex_;
    std::map<std::string, KeptDescriptors> kept_;    // of ports that were not opened yet
};

}    // namespace rdmaqos
