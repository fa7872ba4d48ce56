// How a file is called while it is being written beside the one that it will replace (file.h).
#pragma once

#include <string_view>

namespace rdmaqos {

// Behind the name of the file, and before six letters or digits. One of a program that was killed stays.
inline constexpr std::string_view kTemporary = ".new-";

}    // namespace rdmaqos
