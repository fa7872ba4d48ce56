// How the daemon's parts answer: later, once, with a result or an error.
#pragma once

#include "lib/base/loop_callback.h"
#include "lib/base/result.h"

namespace rdmaqos {

// Belongs to the loop's thread.
template <typename T>
using Callback = LoopCallback<void(Result<T>)>;

}    // namespace rdmaqos
