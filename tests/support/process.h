// Processes that a test starts, and a system bus of its own. All of them end with it.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/support/patience.h"

namespace rdmaqos::test {

// A child process, killed and reaped when it goes out of scope.
class Child {
public:
    // `output`: where stdout and stderr go. `passed`: descriptors that it gets as a service does of systemd
    // (sd_listen_fds(3)).
    Child(const std::vector<std::string>& command, const std::vector<std::string>& environment,
          const std::filesystem::path& output, const std::vector<int>& passed = {});
    // Runs `function` in a forked copy of this process, which then ends without running anything else.
    explicit Child(const std::function<void()>& function);
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    void signal(int number) const;
    // The wait status, once it has ended; nothing: it hangs.
    std::optional<int> wait(std::chrono::milliseconds patience = kHung);
    [[nodiscard]] bool has_ended() { return wait(std::chrono::milliseconds(0)).has_value(); }

private:
    pid_t pid_ = -1;
    std::optional<int> status_;
};

// dbus-daemon as a system bus that only our policy file opens.
class PrivateBus {
public:
    explicit PrivateBus(const std::filesystem::path& folder);
    [[nodiscard]] const std::string& address() const { return address_; }
    void stop();

private:
    std::string address_;
    std::unique_ptr<Child> process_;
};

}    // namespace rdmaqos::test
