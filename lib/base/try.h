// TRY: the value of a Result, or the failure returned from the function that asks:
//
//     Result<Config> load(const Path& path)
//     {
//         TRY(check(path));                          // a Result<void>
//         const std::string text = TRY(read(path));  // a Result<std::string>
//         return parse(text);
//     }
//
// Where context is added to the failure, or it is handed to a callback, write the `if`. A statement expression of GNU
// C, which both our compilers have; use it as a statement, or as the whole of an initializer or of what is assigned,
// since temporaries of a larger expression are not destroyed when it returns.
#pragma once

#include <utility>

#include "lib/base/result.h"

namespace rdmaqos::detail {

template <typename T>
T value_of(Result<T>&& result)
{
    return std::move(*result);
}
inline void value_of(Result<void>&& /*result*/) {}

}    // namespace rdmaqos::detail

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): a function cannot return from its caller
#define TRY(...)                                                                                                       \
    __extension__({                                                                                                    \
        auto try_result = __VA_ARGS__;                                                                                 \
        if (!try_result) {                                                                                             \
            return ::rdmaqos::fail(std::move(try_result).error());                                                     \
        }                                                                                                              \
        ::rdmaqos::detail::value_of(std::move(try_result));                                                            \
    })
