// Processes and threads of other pid namespaces, by their numbers in ours and in theirs.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace rdmaqos::emulator {

// The numbers of a task ("/proc/4711", "/proc/4711/task/4712") in its pid namespaces, from ours inwards.
[[nodiscard]] std::vector<pid_t> numbers_of(const std::string& task);
// Ours of a thread of this process that knows itself by this number; the process's own, if there is no such thread.
[[nodiscard]] pid_t own_number(pid_t process, pid_t thread);
// Whether a process, by its number in ours, has CAP_NET_ADMIN.
[[nodiscard]] bool has_net_admin(pid_t process);

}    // namespace rdmaqos::emulator
