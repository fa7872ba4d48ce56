// The version of the build, from the project's CMakeLists.txt.
#pragma once

namespace rdmaqos {

constexpr const char* kVersion = RDMAQOS_VERSION;

}    // namespace rdmaqos
