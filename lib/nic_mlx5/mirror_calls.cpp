#include "lib/nic_mlx5/mirror_calls.h"

#include <cerrno>

#include "lib/nic_mlx5/errors.h"

namespace rdmaqos::mlx5 {
namespace {

Answer<ElementAnswer> query(int fd, const Mirror& mirror)
{
    return read_element(fd, {mirror.handle, static_cast<std::uint32_t>(mirror.id)});
}

bool says_missing(const Answer<ElementAnswer>& answer)
{
    return !answer && explain(Command::QueryElement, answer.error()).sys_errno == ENOENT;
}

}    // namespace

tl::unexpected<Error> no_such_element()
{
    return fail(Error{ErrorCode::InvalidArgument, ENOENT, "there is no such element"});
}

// An answer of the firmware says that the kernel has such an object in this file, whatever the answer is.
bool is_there(int fd, const Mirror& mirror)
{
    const auto answer = query(fd, mirror);
    return answer || answer.error().status != 0;
}

bool is_of_file(const MirroredFile& known, const ClientFile& file)
{
    const auto owner = file.owner();
    return owner && known.owner == owner && !known.mirrors.empty() &&
           is_there(file.fd(), known.mirrors.begin()->second);
}

void forget_missing(MirroredFile& known, int fd, const NoteKeeper& keeper)
{
    for (auto entry = known.mirrors.begin(); entry != known.mirrors.end();) {
        const auto [element, mirror] = *entry++;
        const auto answer = query(fd, mirror);
        if (answer || answer.error().status != 0) {
            continue;
        }
        // What has its handle now has another id, which the kernel refuses.
        if (answer.error().sys_errno == EINVAL || says_missing(answer)) {
            known.remove(element, keeper);
        }
    }
}

bool destroy_mirror(int fd, const Mirror& mirror, ElementKind kind, const ElementAttributes& planned)
{
    const auto destroyed = devx_destroy(fd, mirror.handle);
    if (destroyed || destroyed.error().sys_errno == ENOENT) {
        return true;
    }
    if (is_gone(destroyed.error())) {
        return !answers(fd);
    }
    return says_missing(query(fd, mirror)) && !takes_change(fd, mirror, kind, planned);
}

bool takes_change(int fd, const Mirror& mirror, ElementKind kind, const ElementAttributes& planned,
                  const ElementCommands& by)
{
    const ElementChange change{planned.share, planned.max_rate};
    return devx_modify(fd, mirror.handle, modify_element(kind, mirror.id, change, by)).has_value();
}

bool is_lost(int fd, const Mirror& mirror, const Failure& said, ElementKind kind, const ElementAttributes& planned)
{
    return said.status != 0 && explain(Command::QueryElement, said).sys_errno == ENOENT &&
           !takes_change(fd, mirror, kind, planned);
}

void correct(int fd, const Mirror& mirror, ElementKind kind, const ElementAttributes& planned)
{
    const auto answer = query(fd, mirror);
    if (answer && answer->attributes != planned) {
        static_cast<void>(
            devx_modify(fd, mirror.handle, modify_element(kind, mirror.id, {planned.share, planned.max_rate})));
    }
}

}    // namespace rdmaqos::mlx5
