// The words of `mode`, in the settings and in a level.
#pragma once

#include <array>

#include "policy/model/mode.h"
#include "policy/yaml/fields.h"

namespace rdmaqos::reader {

inline constexpr std::array<Choice<Mode>, 2> kModes{
    {{to_string(Mode::Enforce), Mode::Enforce}, {to_string(Mode::Monitor), Mode::Monitor}}};

}    // namespace rdmaqos::reader
