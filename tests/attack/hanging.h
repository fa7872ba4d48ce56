// Descriptors whose last close waits: for a file system that does not answer, and for a network peer that does not
// read. Any user can make both.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace rdmaqos::attack {

enum class Unanswered { Flush, Read };

// A FUSE file system of one file, `text`, that answers all but one kind of request. It is mounted where only its own
// server sees it; others reach the file through that process.
class DeafFileSystem {
public:
    // `mount_point`: an empty directory.
    DeafFileSystem(const std::filesystem::path& mount_point, Unanswered unanswered, const std::string& text);

    // Why there is none; empty: there is.
    [[nodiscard]] const std::string& reason() const { return reason_; }
    [[nodiscard]] std::vector<int> open(std::size_t count) const;
    // Ends the file system: whoever waits goes on, with an error.
    [[nodiscard]] std::shared_ptr<test::Child> server() const { return server_; }

private:
    std::shared_ptr<test::Child> server_;
    std::filesystem::path file_;
    std::string reason_;
};

// TCP sockets over the loopback with data that nobody takes: the last close waits for a minute. As long as this process
// lives.
[[nodiscard]] std::vector<int> lingering_sockets(std::size_t count);

}    // namespace rdmaqos::attack
