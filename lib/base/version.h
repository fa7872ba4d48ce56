// The version of the build, as all programs report it: that of the packages it is made for (RDMAQOS_VERSION of CMake),
// or the project's.
#pragma once

namespace rdmaqos {

extern const char* const kVersion;

}    // namespace rdmaqos
