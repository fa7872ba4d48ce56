// What is in one program's file where each process has a tree of its own, and the notes by which a later daemon finds
// it there (Backend::take_over()):
//
//     file 3                  pid 4711 start 90210
//     file 3 element 12       handle 5 id 18
//     file 3 queue-pair 7     requester 12 responder 0        0: none on that side
//
// A file whose owner is not known is not noted: nobody could tell that it is the same.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "lib/nic_mlx5/commands.h"

namespace rdmaqos::mlx5 {

struct Mirror {
    std::uint32_t handle = 0;    // of the client's file
    ObjectId id = kNoObject;

    friend bool operator==(const Mirror&, const Mirror&) = default;
};

struct Sides {
    std::optional<ElementHandle> requester;
    std::optional<ElementHandle> responder;

    [[nodiscard]] bool empty() const { return !requester && !responder; }

    friend bool operator==(const Sides&, const Sides&) = default;
};

struct MirroredFile {
    std::uint64_t number = 0;                  // for the notes
    std::optional<ClientFile::Owner> owner;    // of the first way to it
    std::map<ElementHandle, Mirror> mirrors;
    std::map<std::uint32_t, Sides> queue_pairs;    // by handle

    // Each with its note. `keeper` may be null.
    void add(ElementHandle element, const Mirror& mirror, const NoteKeeper& keeper);
    void remove(ElementHandle element, const NoteKeeper& keeper);
    void place(std::uint32_t handle, const Sides& sides, const NoteKeeper& keeper);
    // What it has stays, but a later daemon will not know of it.
    void forget_notes(const NoteKeeper& keeper) const;

    friend bool operator==(const MirroredFile&, const MirroredFile&) = default;
};

// By number. What is damaged is left out: its elements go with the program.
[[nodiscard]] std::vector<MirroredFile> read_mirror_notes(const BackendNotes& notes);

}    // namespace rdmaqos::mlx5
