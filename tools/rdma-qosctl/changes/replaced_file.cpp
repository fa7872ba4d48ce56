#include "tools/rdma-qosctl/changes/replaced_file.h"

#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "policy/load/policy_reader.h"
#include "tools/rdma-qosctl/changes/transient_change.h"

namespace rdmaqos::ctl {

namespace fs = std::filesystem;

ReplacedFile::ReplacedFile(const std::string& root, fs::path place, std::string who_may)
    : place_(std::move(place)), path_(below_root(root, place_)), who_may_(std::move(who_may))
{
}

Result<void> ReplacedFile::read()
{
    auto text = read_regular_file(path_, kMaxConfigFileSize);
    if (!text && text.error().sys_errno != ENOENT) {
        return fail(std::move(text).error().with_context(place_.string()));
    }
    before_ = text ? std::optional(std::move(*text)) : std::nullopt;
    return {};
}

Result<void> ReplacedFile::may_be_written() const
{
    std::error_code error;
    const fs::path file = fs::canonical(path_, error);    // where it is a link, that is replaced
    const fs::path folder = (error ? path_ : file).parent_path();
    if (access(folder.c_str(), W_OK) == 0 || errno == ENOENT) {
        return {};
    }
    const Error refused = error_from_errno(ErrorCode::Io, errno, folder.string() + " cannot be written to");
    return fail(not_written(who_may_, refused));
}

std::string ReplacedFile::revision() const
{
    return before_ ? revision_of({std::make_shared<const SourceFile>(SourceFile{place_.string(), *before_})})
                   : std::string{};
}

Result<void> ReplacedFile::write(const std::string& text)
{
    auto written = replace_file(path_, text);
    if (!written) {
        return fail(not_written(who_may_, written.error()));
    }
    is_written_ = true;
    return written;
}

std::string ReplacedFile::put_back() const
{
    if (!is_written_) {
        return fmt::format("{} was not changed", place_.string());
    }
    std::error_code error;
    Result<void> done = before_ ? replace_file(path_, *before_) : Result<void>{};
    if (!before_ && !fs::remove(path_, error)) {
        done = fail(error_from_errno(ErrorCode::Io, error.value(), "cannot be removed"));
    }
    return done ? fmt::format("{} is as it was before", place_.string())
                : fmt::format("{} has the new text, and could not be put back: {}", place_.string(),
                              to_string(done.error()));
}

}    // namespace rdmaqos::ctl
