// A program that did not register, and the device files it has open: looked for in /proc, taken by pidfd_getfd(2).
//
// The program may do anything meanwhile: end, close a file, put another one in its place. What is taken is looked at
// again before it is used, and what turns out to be something else is given to `close`, since closing it may wait.
//
// Threads: any; the functions may wait for the kernel, never for the program or for a file system of its.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <sys/types.h>

#include "lib/base/file.h"
#include "lib/base/result.h"
#include "policy/model/identity.h"

namespace rdmaqos {

// A process that is not mistaken for a later one with its pid.
class Program {
public:
    // Errors: BadQueuePair if it has ended; Unsupported.
    [[nodiscard]] static Result<std::shared_ptr<const Program>> open(std::shared_ptr<const Identity> identity);

    Program(std::shared_ptr<const Identity> identity, UniqueFd pidfd)
        : identity_(std::move(identity)), pidfd_(std::move(pidfd))
    {
    }

    [[nodiscard]] const Identity& identity() const { return *identity_; }
    [[nodiscard]] pid_t pid() const { return identity_->pid; }
    // Readable when it has ended.
    [[nodiscard]] int pidfd() const { return pidfd_.get(); }
    [[nodiscard]] bool has_ended() const;

private:
    std::shared_ptr<const Identity> identity_;
    UniqueFd pidfd_;
};

// An open device file of a program.
struct VerbsFile {
    int number = 0;      // of a descriptor of it in the program
    dev_t device = 0;    // which uverbs device

    friend bool operator==(const VerbsFile&, const VerbsFile&) = default;
};

// Each open file once, however many descriptors of it the program has. Errors: BadQueuePair if it has ended;
// LimitReached if it has too many descriptors to look at; Unsupported.
[[nodiscard]] Result<std::vector<VerbsFile>> list_verbs_files(const Program& program);

// Whether a descriptor of this process is of the file that the program has there now.
[[nodiscard]] bool is_open_file_of(const Program& program, const VerbsFile& file, int fd);

// Errors: BadQueuePair if the program has ended, or has closed it; Unsupported: a security module refuses, which is
// said.
[[nodiscard]] Result<UniqueFd> take_verbs_file(const Program& program, const VerbsFile& file,
                                               const std::function<void(UniqueFd)>& close);

}    // namespace rdmaqos
