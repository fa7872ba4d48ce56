// Why a file of the daemon itself, below /var/lib/rdma-qos or /run/rdma-qos, does not have what it should.
#pragma once

#include <string>

namespace rdmaqos {

struct StateFailure {
    std::string message{};      // a sentence
    bool is_unsaved = false;    // it could not be written; else, what it had cannot be used

    friend bool operator==(const StateFailure&, const StateFailure&) = default;
};

}    // namespace rdmaqos
