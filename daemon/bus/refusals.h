// What is wrong with a request, for the person who wrote the call.
#pragma once

#include <utility>

#include <fmt/format.h>

#include "lib/base/result.h"

namespace rdmaqos {

template <typename... Args>
tl::unexpected<Error> invalid(fmt::format_string<Args...> format, Args&&... args)
{
    return fail(ErrorCode::InvalidArgument, fmt::format(format, std::forward<Args>(args)...));
}

}    // namespace rdmaqos
