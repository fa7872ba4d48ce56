#include "daemon/bus/sent_policy.h"

#include <utility>

#include <fmt/format.h>

#include "lib/base/file.h"
#include "lib/base/try.h"

namespace rdmaqos {

Result<std::shared_ptr<const SourceFile>> sent_policy(const bus::Value& value)
{
    const auto* descriptor = value.as<bus::FileDescriptor>();
    if (descriptor == nullptr) {
        return fail(ErrorCode::InvalidArgument, "a policy is passed as a file descriptor (h)");
    }
    if (descriptor->over_limit) {
        return fail(ErrorCode::LimitReached, fmt::format("the policy: {}", descriptor->refusal));
    }
    if (!descriptor->fd) {
        return fail(ErrorCode::InvalidArgument, fmt::format("the policy: {}", descriptor->refusal));
    }
    if (descriptor->name.empty()) {
        return fail(ErrorCode::InvalidArgument, "the policy is not a regular file");
    }
    auto text = TRY(read_regular_file(descriptor->fd->get(), kMaxConfigFileSize));
    return std::make_shared<const SourceFile>(SourceFile{descriptor->name, std::move(text)});
}

}    // namespace rdmaqos
