#include "daemon/policy_file.h"

#include <array>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/text.h"

namespace rdmaqos {
namespace {

constexpr std::size_t kAtOnce = 16;

// The name by which the user knows the file, for diagnostics.
std::string name_of(int fd)
{
    std::array<char, 4096> target{};
    const auto length = readlink(fmt::format("/proc/self/fd/{}", fd).c_str(), target.data(), target.size());
    if (length <= 0 || target.front() != '/') {
        return "policy";
    }
    return printable(std::string_view(target.data(), static_cast<std::size_t>(length)));
}

Result<std::shared_ptr<const SourceFile>> read_source(int fd)
{
    auto text = read_regular_file(fd, kMaxConfigFileSize);
    if (!text) {
        Error error = std::move(text).error();
        error.code = ErrorCode::InvalidArgument;
        error.message.insert(0, "the policy ");
        return fail(std::move(error));
    }
    return std::make_shared<const SourceFile>(SourceFile{name_of(fd), std::move(*text)});
}

}    // namespace

void PolicyFiles::read(std::uint32_t uid, std::shared_ptr<UniqueFd> fd, Done done)
{
    if (reading_->size() >= kAtOnce || reading_->contains(uid)) {
        done(fail(ErrorCode::Busy, "another policy is being read; try again when it is done"));
        return;
    }
    reading_->emplace(uid, std::move(done));
    try {
        // The thread never touches `done`, which may hold a message: messages belong to the loop.
        std::thread([post = post_, fd = std::move(fd), uid, reading = reading_]() mutable {
            auto source = read_source(fd->get());
            fd.reset();    // closing may wait as long as reading
            post([reading = std::move(reading), uid, source = std::move(source)] {
                reading->extract(uid).mapped()(source);
            });
        }).detach();
    } catch (const std::system_error& error) {
        reading_->extract(uid).mapped()(
            fail(error_from_errno(ErrorCode::Busy, error.code().value(), "no thread can be started")));
    }
}

}    // namespace rdmaqos
