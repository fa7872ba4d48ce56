#include "lib/nic_mlx5/mirror_notes.h"

#include <gmock/gmock.h>

namespace rdmaqos::mlx5 {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ElementHandle kRoot{1};
constexpr ElementHandle kLeaf{12};

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Notes as a keeper has them.
struct Kept {
    BackendNotes notes;
    NoteKeeper keeper = [this](const std::string& key, const std::string& text) {
        if (text.empty()) {
            notes.erase(key);
        } else {
            notes.insert_or_assign(key, text);
        }
    };
};

MirroredFile file_of(pid_t pid, std::uint64_t number)
{
    MirroredFile file;
    file.number = number;
    file.owner = ClientFile::Owner{pid, 90210};
    return file;
}

TEST(MirrorNotes, AreReadAsTheyWereKept)
{
    Kept kept;
    MirroredFile first = file_of(4711, 3);
    first.add(kRoot, {4, ObjectId{17}}, kept.keeper);
    first.add(kLeaf, {5, ObjectId{18}}, kept.keeper);
    first.place(7, {kLeaf, std::nullopt}, kept.keeper);
    first.place(8, {std::nullopt, kLeaf}, kept.keeper);
    MirroredFile second = file_of(4712, 4);
    second.add(kRoot, {1, ObjectId{19}}, kept.keeper);
    EXPECT_EQ(kept.notes.at("file 3"), "pid 4711 start 90210");
    EXPECT_EQ(kept.notes.at("file 3 element 12"), "handle 5 id 18");
    EXPECT_EQ(kept.notes.at("file 3 queue-pair 8"), "requester 0 responder 12");
    EXPECT_THAT(read_mirror_notes(kept.notes), ElementsAre(first, second));

    first.place(8, {}, kept.keeper);
    first.place(9, {}, kept.keeper);    // one that was in no leaf
    first.remove(kLeaf, kept.keeper);
    EXPECT_THAT(read_mirror_notes(kept.notes), ElementsAre(first, second));
    first.place(7, {}, kept.keeper);
    first.remove(kRoot, kept.keeper);
    second.forget_notes(kept.keeper);
    EXPECT_THAT(kept.notes, IsEmpty());
}

TEST(MirrorNotes, WithoutAnOwnerThereAreNone)
{
    Kept kept;
    MirroredFile file;
    file.add(kRoot, {4, ObjectId{17}}, kept.keeper);
    file.place(7, {kRoot, std::nullopt}, kept.keeper);
    EXPECT_THAT(kept.notes, IsEmpty());
    EXPECT_EQ(file.mirrors.size(), 1U);
    MirroredFile unkept = file_of(4711, 1);
    unkept.add(kRoot, {4, ObjectId{17}}, nullptr);
    unkept.remove(kRoot, nullptr);
    unkept.forget_notes(nullptr);
}

TEST(MirrorNotes, WhatIsDamagedIsLeftOut)
{
    for (const auto& [key, text] : Pairs{{"file", "pid 1 start 1"},
                                         {"file x", "pid 1 start 1"},
                                         {"file 1", "pid 99999999999 start 1"},
                                         {"file 1", "pid 1"},
                                         {"file 1", "pid 1 start 1 more"},
                                         {"file 1", ""},
                                         {"something else", "pid 1 start 1"}}) {
        EXPECT_THAT(read_mirror_notes({{key, text}, {"file 1 element 2", "handle 3 id 4"}}), IsEmpty()) << key << text;
    }
    for (const auto& [key, text] : Pairs{{"file 1 element 2", "handle 3"},
                                         {"file 1 element -2", "handle 3 id 4"},
                                         {"file 1 element 2", "handle 4294967296 id 4"},
                                         {"file 1element 2", "handle 3 id 4"}}) {
        EXPECT_THAT(read_mirror_notes({{"file 1", "pid 1 start 1"}, {key, text}}), IsEmpty()) << key << text;
    }
}

}    // namespace
}    // namespace rdmaqos::mlx5
