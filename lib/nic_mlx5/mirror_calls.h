// What is asked of one mirror, in a program's file, and what is said of it.
#pragma once

#include <string_view>

#include "lib/nic_mlx5/mirror_notes.h"
#include "lib/nic_mlx5/uverbs.h"

namespace rdmaqos::mlx5 {

// What there is to say of a file with a root that nobody here has made.
constexpr std::string_view kLeftBehind =
    "in the process's own tree (attach mode per-process): a daemon that was killed has probably left its tree there, "
    "and the queue pairs keep the places and rates of then until the program is started again";
[[nodiscard]] tl::unexpected<Error> no_such_element();

[[nodiscard]] bool is_there(int fd, const Mirror& mirror);
// Whether its root, the first copy, is in this file, which is of the same process: in another one's, its own elements
// may have the ids and handles of ours that are gone.
[[nodiscard]] bool is_of_file(const MirroredFile& known, const ClientFile& file);
// A daemon that is killed in the middle has not noted any longer what it has destroyed.
void forget_missing(MirroredFile& known, int fd, const NoteKeeper& keeper);
// True: it is gone. Its owner may have destroyed it before, and with a dead file everything is gone. One that is
// refused, because a queue pair is in it, is there whatever a query says: takes_change() has the last word.
[[nodiscard]] bool destroy_mirror(int fd, const Mirror& mirror, ElementKind kind, const ElementAttributes& planned);
// A second opinion where a query says that an element is not there, since one answer is no proof: whether it takes what
// it should have, which changes nothing of what has that.
[[nodiscard]] bool takes_change(int fd, const Mirror& mirror, ElementKind kind, const ElementAttributes& planned,
                                const ElementCommands& by = kObjectCommands);
// By the firmware's own word, in an answer to a query: a handle that is not there was destroyed by its owner, who may
// do so, and whose doing must not move the queue pairs of others.
[[nodiscard]] bool is_lost(int fd, const Mirror& mirror, const Failure& said, ElementKind kind,
                           const ElementAttributes& planned);
// Writes what is planned if it has other attributes. One that refuses is found by the next drift check.
void correct(int fd, const Mirror& mirror, ElementKind kind, const ElementAttributes& planned);

}    // namespace rdmaqos::mlx5
