// Text in memory that outlives the process that writes it, for the next one to go on with: whichever process holds a
// descriptor of it, such as the service manager, keeps it.
//
// The writer may be killed at any instruction: what append() and replace() were given is then there as a whole or not
// at all. There is one writer at a time. Not thread-safe.
//
// Memory is taken ahead of the text: while none is to be had, kAhead bytes can still be appended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/file.h"
#include "lib/base/result.h"

namespace rdmaqos {

class MemoryLog {
public:
    static constexpr std::size_t kMaxSize = std::size_t{256} * 1024 * 1024;
    static constexpr std::size_t kAhead = std::size_t{32} * 1024;

    // Empty. `name` is what /proc/PID/fd shows.
    [[nodiscard]] static Result<MemoryLog> create(const std::string& name);
    // Made by create(), perhaps by a process that has died since. Io: it is something else, or damaged.
    [[nodiscard]] static Result<MemoryLog> open(UniqueFd fd);

    [[nodiscard]] int fd() const { return fd_.get(); }
    [[nodiscard]] std::size_t size() const { return extent_.size; }
    [[nodiscard]] Result<std::string> read() const;
    // After a failure the log is as it was. NoSpace: it would get larger than kMaxSize.
    [[nodiscard]] Result<void> append(std::string_view text);
    [[nodiscard]] Result<void> replace(std::string_view text);

private:
    // Where the text is, in bytes: the word of the file that is written last.
    struct Extent {
        std::uint32_t begin = 0;
        std::uint32_t size = 0;
    };

    explicit MemoryLog(UniqueFd fd) : fd_(std::move(fd)) {}

    [[nodiscard]] Result<void> commit(Extent extent);
    // Has memory for this text, and for more behind it if that can be had. Where it ends.
    [[nodiscard]] Result<std::uint64_t> take_memory(Extent text) const;

    UniqueFd fd_;
    Extent extent_;
    std::uint64_t end_of_memory_ = 0;    // there is memory from the text up to here
};

}    // namespace rdmaqos
