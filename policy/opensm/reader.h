// OpenSM's native policy file -> Policy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/base/diagnostic.h"
#include "policy/model/fabric.h"
#include "policy/model/policy.h"
#include "policy/opensm/file.h"

namespace rdmaqos {

enum class OpensmMode : std::uint8_t {
    // What OpenSM reads is read with its meaning; what it rejects for form alone (CR LF, a keyword inside of a name)
    // is read as well, with a warning. The fabric can make parts without effect, never the file invalid.
    Default,
    // Rejected is exactly what OpenSM rejects on this fabric, at its position, the first mistake only.
    Strict,
};

struct OpensmResult {
    enum class Rejected : std::uint8_t {
        No,
        Parse,       // OpenSM's "Failed parsing QoS policy file"
        Validate,    // its "Error(s) in QoS policy file": no default level, a name that is not defined
    };

    std::shared_ptr<const Policy> value;    // null if rejected
    Diagnostics diagnostics;
    Rejected rejected = Rejected::No;
    std::shared_ptr<const opensm::File> file;    // what was read, even if it was rejected
};

// A value longer than this is an error: OpenSM's buffer holds no more.
constexpr std::size_t kLongestOpensmValue = 10'239;

[[nodiscard]] OpensmResult read_opensm_policy(const std::shared_ptr<const SourceFile>& source, OpensmMode mode,
                                              const Fabric& fabric);

}    // namespace rdmaqos
