// A command that runs while we hold something for it: started with our signals out of its way, awaited together with
// the signals that ask us to end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "lib/base/file.h"
#include "lib/base/result.h"

namespace rdmaqos::ctl {

class Child {
public:
    // Blocks SIGINT, SIGTERM, SIGHUP and SIGQUIT for this process, from now on read by wait(). The command starts with
    // the signal mask there was; an empty one starts nothing, only the signals are waited for.
    [[nodiscard]] static Result<Child> start(const std::vector<std::string>& command);

    Child(Child&&) noexcept = default;
    Child& operator=(Child&&) noexcept = default;

    // Readable when there is something for handle().
    [[nodiscard]] int fd() const { return poll_.get(); }
    // Forwards signals that somebody sent to us alone (a terminal sends them to the command as well) and looks whether
    // the command ended: its exit status as a shell gives it, 128 + n for signal n. Without a command: ends with the
    // first signal.
    [[nodiscard]] std::optional<int> handle();
    // Until handle() has an answer.
    [[nodiscard]] int wait();

private:
    Child() = default;

    UniqueFd signals_;
    UniqueFd process_;
    UniqueFd poll_;
    pid_t pid_ = 0;    // 0: no command
};

}    // namespace rdmaqos::ctl
