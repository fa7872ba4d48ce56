// A file of the host that a command replaces: written, and put back if the daemon does not agree.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lib/base/result.h"

namespace rdmaqos::ctl {

class ReplacedFile {
public:
    // `place` without the root's prefix: "/etc/rdma-qos/policy.yaml". `who_may`: what a user who may not write it is
    // told, "only root may edit the policy".
    ReplacedFile(const std::string& root, std::filesystem::path place, std::string who_may);

    // A file that is not there is no error.
    [[nodiscard]] Result<void> read();
    // Before the user does anything in vain.
    [[nodiscard]] Result<void> may_be_written() const;
    // What read() found; empty: there was none.
    [[nodiscard]] const std::optional<std::string>& before() const { return before_; }
    // Of this file alone, as api::Trial::file_revision. Empty: there was none.
    [[nodiscard]] std::string revision() const;
    [[nodiscard]] Result<void> write(const std::string& text);
    // A sentence that says how it went.
    [[nodiscard]] std::string put_back() const;

private:
    const std::filesystem::path place_;
    const std::filesystem::path path_;
    const std::string who_may_;
    std::optional<std::string> before_;
    bool is_written_ = false;
};

}    // namespace rdmaqos::ctl
