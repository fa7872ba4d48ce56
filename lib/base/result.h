// Result<T>: a value, or the Error that prevented it. Use it for everything that can fail at run time:
//
//     Result<Tree> compile(...);
//
//     auto tree = compile(...);
//     if (!tree) {
//         return fail(std::move(tree).error().with_context("mlx5_0"));
//     }
//     use(*tree);
//
// A Result must not be ignored; `Result<void>` is a failure or nothing.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

#include "lib/base/error.h"

namespace rdmaqos {

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
    using Base = tl::expected<T, Error>;

public:
    using Base::Base;
    // NOLINTNEXTLINE(google-explicit-constructor): a failure converts to any Result, as tl::unexpected does.
    Result(tl::unexpected<Error> failure) : Base(std::move(failure)) {}
};

[[nodiscard]] inline tl::unexpected<Error> fail(Error error)
{
    return tl::unexpected<Error>(std::move(error));
}

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message)
{
    return fail(Error{code, 0, std::move(message)});
}

}    // namespace rdmaqos
