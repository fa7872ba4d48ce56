// Whether this process is to end because another one is to take its place.
#pragma once

namespace rdmaqos {

// Of systemd: there is a job to restart this process's unit, and the unit keeps descriptors. False where systemd does
// not say so within a second or two.
[[nodiscard]] bool is_restart_asked_for();

}    // namespace rdmaqos
