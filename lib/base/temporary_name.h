// The name of a temporary file that will replace another one when it is complete (file.h).
#pragma once

#include <string_view>

namespace rdmaqos {

// Follows the name of the file; six letters or digits follow. A program that is killed leaves its temporary file.
inline constexpr std::string_view kTemporary = ".new-";

}    // namespace rdmaqos
