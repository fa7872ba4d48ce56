// The dictionary of options that some methods have beside their arguments, each into a variable of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "daemon/bus/call.h"
#include "lib/base/result.h"

namespace rdmaqos {

struct Option {
    std::string_view name;
    // Keeps what it has when the option is not given.
    std::variant<std::string*, std::uint32_t*, std::uint64_t*, std::optional<std::uint32_t>*> into;
};

// InvalidArgument, with the options that the method has: one that it has not, or one of another type. Names that begin
// with `x-` are ignored.
[[nodiscard]] Result<void> read_options(const Call& call, std::string_view method, std::span<const Option> options);

}    // namespace rdmaqos
