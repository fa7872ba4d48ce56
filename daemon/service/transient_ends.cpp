#include "daemon/service/transient_ends.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/log.h"

namespace rdmaqos {

// One that was replaced meanwhile is somebody else's: the reload that its writer asks for finds it.
TransientEnds::Left TransientEnds::remove(const TransientFile& file, WhyEnded why) const
{
    const auto path = below_root(context_.options.root, file.path);
    const FileStamp now = stamp_of(path);
    if (now != file.stamp) {
        return now == FileStamp{} ? Left::No : Left::Yes;
    }
    if (unlink(path.c_str()) != 0 && errno != ENOENT) {
        log(LogLevel::Error, "{} is not used any longer, {}, but cannot be removed: {}", file.path.string(),
            to_string(why, file.transient), std::generic_category().message(errno));
        return Left::Yes;
    }
    log(LogLevel::Notice, "{} was removed: {}{}{}", file.path.string(), to_string(why, file.transient),
        file.transient.owner.empty() ? "" : "; it was for ", file.transient.owner);
    return Left::No;
}

bool TransientEnds::end()
{
    const auto now = context_.options.wall_clock();
    const auto& root = context_.options.root;
    const auto ended = [&](const TransientFile& file) { return why_ended(file.transient, root, now); };
    const bool any = std::ranges::any_of(policy_.transient_files,
                                         [&](const TransientFile& file) { return ended(file).has_value(); });
    if (context_.shutting_down || !any) {
        return true;
    }
    const auto lock = TransientLock::try_now(root);
    if (!lock && lock.error().code == ErrorCode::Busy) {
        return false;    // its holder may be replacing one of them
    }
    bool was_used = false;
    std::erase_if(policy_.transient_files, [&](TransientFile& file) {
        const auto why = ended(file);
        if (!why) {
            return false;
        }
        was_used |= !file.ended;
        file.ended = why;
        return remove(file, *why) == Left::No;
    });
    if (was_used) {
        reloads_.refresh([](const ReloadOutcome& /*outcome*/) {});    // it has logged how it went
    }
    return true;
}

}    // namespace rdmaqos
