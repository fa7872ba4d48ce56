// What every reader returns. All mistakes of all files are reported together; a value comes out only when there was no
// error.
#pragma once

#include <memory>

#include "lib/base/diagnostic.h"

namespace rdmaqos {

template <typename T>
struct ReadResult {
    std::shared_ptr<const T> value;    // null if there were errors
    Diagnostics diagnostics;           // may hold warnings even when there is a value
};

}    // namespace rdmaqos
