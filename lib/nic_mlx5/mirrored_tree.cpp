// A tree per client process, for firmware that lets a queue pair use leaves of its own context only.
//
//     what the reconciler sees         client file A         client file B
//     /                                root                  root
//     └── /rpc          40G            └── rpc   20G         └── rpc   20G        (CapMode::Divide)
//         ├── /rpc/pid:1                   └── pid:1
//         └── /rpc/pid:2                                         └── pid:2
//
// An element of the plan is a record here. Its mirror in a file is made with the first queue pair of that file in or
// below it, and destroyed with the last; the kernel destroys what is left when the file closes.
//
// Several ClientFiles may be of one open file: that of a program which was adopted and then registers, or those of
// processes that share it. They have one tree. A program that is adopted may also move its file to another descriptor,
// so that the way to it is lost and found again elsewhere: a file in which there is a root already is known by the
// elements that its handles stand for.
//
// A later daemon finds what is in a file by notes (mirror_notes.h), when its owner names a queue pair again.
//
// In mode shared-nodes, an element is only a leaf here, whose mirrors are below a node of the daemon's
// (shared_nodes_tree.cpp).
//
// A mirror that the firmware has lost makes its element one that is not there (any more): the next one to ask for it
// makes another and moves the queue pairs of all files. The record of the lost one stays until its other mirrors are
// gone.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "lib/base/signal_process.h"
#include "lib/nic_mlx5/element_tree.h"
#include "lib/nic_mlx5/errors.h"
#include "lib/nic_mlx5/mirror_calls.h"
#include "lib/nic_mlx5/mirror_notes.h"
#include "lib/nic_mlx5/own_leaves.h"
#include "lib/nic_mlx5/uverbs.h"

namespace rdmaqos::mlx5 {
namespace {

constexpr std::uint8_t kParameterRefused = 0x03;    // status of the firmware
constexpr std::size_t kMostLeftBehind = 8192;
constexpr auto kLookAtProcesses = std::chrono::seconds(1);

struct CopyCap {
    std::weak_ptr<ClientFile> user;
    std::optional<Bandwidth> cap;
};

struct FileTree : MirroredFile {
    std::vector<std::weak_ptr<ClientFile>> files;          // ways to the one open file
    std::map<ElementHandle, std::vector<CopyCap>> caps;    // of leaves, by cap_copy()
    bool inherited = false;                                // by notes: the file was not seen yet
};

struct Record {
    ElementKind kind = ElementKind::Node;
    std::optional<ElementHandle> parent;
    ElementAttributes attributes;
    ObjectId below = kNoObject;    // of an own leaf: the node in the daemon's file
    std::uint32_t children = 0;
    bool lost = false;    // in some file
};

class MirroredTree final : public OwnLeaves {
public:
    MirroredTree(CapMode caps, Reads reads, const Capabilities& advertised)
        : caps_(caps), reads_(reads), advertised_(advertised)
    {
    }

    Result<ElementHandle> create(const ElementRequest& request) override;
    Result<void> modify(ElementHandle element, const ElementChange& change) override;
    Result<ElementState> query(ElementHandle element) override;
    Result<void> destroy(ElementHandle element) override;
    Result<void> take_over(const std::vector<KnownElement>& elements, const BackendNotes& notes) override;
    void set_note_keeper(const NoteKeeper& keeper) override { keeper_ = keeper; }
    Result<LeafIds> leaves_for(const std::shared_ptr<ClientFile>& file, std::optional<ElementHandle> requester,
                               std::optional<ElementHandle> responder) override;
    void placed(const std::shared_ptr<ClientFile>& file, std::uint32_t handle, std::optional<ElementHandle> requester,
                std::optional<ElementHandle> responder) override;
    void not_placed(const std::shared_ptr<ClientFile>& file) override;
    Result<void> cap_copy(const std::shared_ptr<ClientFile>& file, ElementHandle leaf,
                          std::optional<Bandwidth> cap) override;
    void add_leaf(ElementHandle leaf, ObjectId below) override
    {
        records_.insert_or_assign(leaf, Record{ElementKind::Leaf, std::nullopt, {}, below});
    }
    void forget_leaf(ElementHandle leaf) override { records_.erase(leaf); }

private:
    // Not of what is lost, nor of what is below it.
    [[nodiscard]] Record* find(ElementHandle element);
    [[nodiscard]] FileTree* tree_of(const std::shared_ptr<ClientFile>& file);
    // Makes one if there is none. The file is open.
    [[nodiscard]] FileTree& tree_for(const std::shared_ptr<ClientFile>& file);
    // Perhaps there is one of this owner's.
    [[nodiscard]] bool has_inherited(const std::optional<ClientFile::Owner>& owner) const;
    // That which is in this file already, of which only an empty one is known; null: there is none of ours.
    [[nodiscard]] FileTree* find_again(const std::shared_ptr<ClientFile>& file);
    Result<LeafIds> make_leaves(FileTree& tree, int fd, std::optional<ElementHandle> requester,
                                std::optional<ElementHandle> responder);
    void forget(FileTree& tree);
    [[nodiscard]] std::size_t mirror_count(ElementHandle element) const;
    // What the mirror in this tree should have, given the number of mirrors.
    [[nodiscard]] ElementAttributes attributes_of(const FileTree& tree, ElementHandle element,
                                                  std::size_t mirrors) const;
    Result<ObjectId> mirror(FileTree& tree, int fd, ElementHandle element);
    // All of them, each to its own part of a cap; the first error.
    Result<void> modify_mirrors(ElementHandle element, ElementKind kind, const ElementChange& change);
    Result<void> modify_mirror(const FileTree& tree, ElementHandle element, ElementKind kind, ElementChange change);
    // Gives every mirror of the element the part of its cap that it should have.
    void share_cap(ElementHandle element);
    void remove_unused(FileTree& tree, int fd);
    // The same, and forgets a tree that is empty then.
    void tidy(FileTree& tree, int fd);
    // The firmware does not have it: a copy of the element in one file.
    void lose(FileTree& tree, ElementHandle element);
    // To be called when the element has one mirror or child less.
    void forget_if_lost(ElementHandle element);
    void forget_dead(std::vector<ElementHandle>& fewer);
    void forget_closed();

    const CapMode caps_;
    const Reads reads_;
    const Capabilities advertised_;
    NoteKeeper keeper_;
    std::uint64_t next_ = 1;
    std::uint64_t next_file_ = 1;
    std::chrono::steady_clock::time_point next_look_{};
    std::map<ElementHandle, Record> records_;
    std::list<FileTree> trees_;
    std::list<FileTree> left_behind_;    // to which no way is left; mostly their files are closed. The newest last
    std::unordered_map<const ClientFile*, FileTree*> by_file_;
    bool has_other_root_ = false;    // the file for which mirror() failed last
};

// Of the open file of a tree, by the first way there is; none: its owners have closed it, and with it the mirrors in
// it.
template <typename F>
void with_descriptor(const FileTree& tree, F call)
{
    for (const auto& way : tree.files) {
        if (const auto file = way.lock()) {
            const ClientFile::Use use(*file);
            if (use.opened()) {
                call(file->fd());
                return;
            }
        }
    }
}

// Of all who use the open file and are still there; empty: one of them has none.
std::optional<Bandwidth> sum_of(const std::vector<CopyCap>& caps)
{
    std::optional<Bandwidth> sum;
    for (const auto& each : caps) {
        if (each.user.expired()) {
            continue;
        }
        if (!each.cap) {
            return std::nullopt;
        }
        sum = sum ? *sum + *each.cap : *each.cap;
    }
    return sum;
}

Record* MirroredTree::find(ElementHandle element)
{
    const auto found = records_.find(element);
    if (found == records_.end()) {
        return nullptr;
    }
    for (std::optional<ElementHandle> above = element; above; above = records_.at(*above).parent) {
        if (records_.at(*above).lost) {
            return nullptr;
        }
    }
    return &found->second;
}

std::size_t MirroredTree::mirror_count(ElementHandle element) const
{
    const auto has_it = [element](const FileTree& tree) { return tree.mirrors.contains(element); };
    // Those that were left and were not seen yet have their part of a cap as well.
    return static_cast<std::size_t>(
        std::ranges::count_if(trees_, has_it) +
        std::ranges::count_if(left_behind_, [&](const FileTree& tree) { return tree.inherited && has_it(tree); }));
}

ElementAttributes MirroredTree::attributes_of(const FileTree& tree, ElementHandle element, std::size_t mirrors) const
{
    ElementAttributes attributes = records_.at(element).attributes;
    if (attributes.max_rate && caps_ == CapMode::Divide && mirrors > 1) {
        attributes.max_rate = part_of_cap(*attributes.max_rate, mirrors);
    }
    if (const auto given = tree.caps.find(element); given != tree.caps.end()) {
        if (const auto cap = sum_of(given->second)) {
            attributes.max_rate = std::min(*cap, attributes.max_rate.value_or(*cap));
        }
    }
    return attributes;
}

Result<ElementHandle> MirroredTree::create(const ElementRequest& request)
{
    if (request.parent) {
        Record* const parent = find(*request.parent);
        if (parent == nullptr || parent->kind == ElementKind::Leaf) {
            return no_such_element();
        }
        ++parent->children;
    }
    const Record record{request.kind, request.parent, request.attributes};
    return records_.emplace(ElementHandle{next_++}, record).first->first;
}

Result<void> MirroredTree::modify(ElementHandle element, const ElementChange& change)
{
    Record* const record = find(element);
    if (record == nullptr) {
        return no_such_element();
    }
    change.apply_to(record->attributes);
    return modify_mirrors(element, record->kind, change);
}

Result<void> MirroredTree::modify_mirrors(ElementHandle element, ElementKind kind, const ElementChange& change)
{
    Result<void> result;
    for (const auto& tree : trees_) {
        if (!tree.mirrors.contains(element)) {
            continue;
        }
        auto modified = modify_mirror(tree, element, kind, change);
        if (!modified && result) {
            result = std::move(modified);
        }
    }
    return result;
}

Result<void> MirroredTree::modify_mirror(const FileTree& tree, ElementHandle element, ElementKind kind,
                                         ElementChange change)
{
    if (change.max_rate) {
        change.max_rate = attributes_of(tree, element, mirror_count(element)).max_rate;
    }
    Result<void> result;
    with_descriptor(tree, [&](int fd) {
        const Mirror& mirror = tree.mirrors.at(element);
        if (const auto answer = devx_modify(fd, mirror.handle, modify_element(kind, mirror.id, change)); !answer) {
            result = fail(explain(Command::ModifyElement, answer.error()));
        }
    });
    return result;
}

Result<void> MirroredTree::cap_copy(const std::shared_ptr<ClientFile>& file, ElementHandle leaf,
                                    std::optional<Bandwidth> cap)
{
    const Record* const record = find(leaf);
    FileTree* const tree = tree_of(file);
    if (record == nullptr || tree == nullptr || !tree->mirrors.contains(leaf)) {
        return no_such_element();
    }
    auto& caps = tree->caps[leaf];
    std::erase_if(caps, [&](const CopyCap& each) { return each.user.expired() || each.user.lock() == file; });
    caps.push_back({file, cap});
    ElementChange change;
    change.max_rate = cap;
    return modify_mirror(*tree, leaf, record->kind, change);
}

// What is planned, unless a mirror says otherwise.
Result<ElementState> MirroredTree::query(ElementHandle element)
{
    forget_closed();
    const Record* const record = find(element);
    if (record == nullptr) {
        return no_such_element();
    }
    ElementState state{record->kind, record->parent, record->attributes};
    if (reads_ == Reads::Written) {
        return state;
    }
    const std::size_t mirrors = mirror_count(element);
    for (auto& tree : trees_) {
        const auto found = tree.mirrors.find(element);
        if (found == tree.mirrors.end()) {
            continue;
        }
        const ElementAttributes expected = attributes_of(tree, element, mirrors);
        std::optional<Answer<ElementAnswer>> answer;
        bool lost = false;
        with_descriptor(tree, [&](int fd) {
            answer = read_element(fd, {found->second.handle, static_cast<std::uint32_t>(found->second.id)});
            lost = !*answer && is_lost(fd, found->second, answer->error(), record->kind, expected);
        });
        if (lost) {
            lose(tree, element);
            return no_such_element();
        }
        if (!answer || !*answer) {
            continue;    // its owner is going, or destroyed it; nothing to repair in anybody else's
        }
        if (const auto real = (*answer)->attributes; real != expected) {
            state.attributes = real;
            break;
        }
    }
    return state;
}

Result<void> MirroredTree::destroy(ElementHandle element)
{
    forget_closed();
    for (auto tree = trees_.begin(); tree != trees_.end();) {
        // A mirror that could not be destroyed when it became unused.
        if (FileTree& each = *tree++; each.mirrors.contains(element)) {
            with_descriptor(each, [&](int fd) { tidy(each, fd); });
        }
    }
    const auto record = records_.find(element);
    if (record == records_.end() || record->second.lost) {
        return no_such_element();
    }
    if (record->second.children > 0 || mirror_count(element) > 0) {
        return fail(Error{ErrorCode::Busy, EBUSY, "the element still has children or queue pairs"});
    }
    const auto parent = record->second.parent;
    for (FileTree& tree : trees_) {
        tree.caps.erase(element);
    }
    records_.erase(record);
    if (parent) {
        --records_.at(*parent).children;
        forget_if_lost(*parent);
    }
    return {};
}

Result<void> MirroredTree::take_over(const std::vector<KnownElement>& elements, const BackendNotes& notes)
{
    for (const auto& [handle, request] : elements) {
        records_.emplace(handle, Record{request.kind, request.parent, request.attributes});
        if (request.parent) {
            ++records_.at(*request.parent).children;
        }
        next_ = std::max(next_, static_cast<std::uint64_t>(handle) + 1);
    }
    for (auto& file : read_mirror_notes(notes)) {
        next_file_ = std::max(next_file_, file.number + 1);
        FileTree& left = left_behind_.emplace_back();
        static_cast<MirroredFile&>(left) = std::move(file);
        left.inherited = true;
    }
    return {};
}

Result<ObjectId> MirroredTree::mirror(FileTree& tree, int fd, ElementHandle element)
{
    const Record* const record = find(element);
    if (record == nullptr) {
        return no_such_element();
    }
    if (const auto known = tree.mirrors.find(element); known != tree.mirrors.end()) {
        return known->second.id;
    }
    ObjectId parent = record->below;
    if (record->parent) {
        auto made = mirror(tree, fd, *record->parent);
        if (!made) {
            return made;
        }
        parent = *made;
    }
    const auto attributes = attributes_of(tree, element, mirror_count(element) + 1);
    const auto created = make_element(fd, record->kind, parent, attributes);
    if (!created) {
        if (record->parent) {
            // Perhaps there is nothing left to be below.
            static_cast<void>(query(*record->parent));
        }
        // Of the parameters of a root a device can refuse only that there is one already.
        has_other_root_ = parent == kNoObject && created.error().status == kParameterRefused;
        return fail(explain(Command::CreateElement, created.error())
                        .with_context(has_other_root_
                                          ? std::string(kLeftBehind)
                                          : fmt::format("in the process's own file (attach mode {}; the device has {} "
                                                        "leaves for all processes together)",
                                                        to_string(record->below == kNoObject ? AttachMode::PerProcess
                                                                                             : AttachMode::SharedNodes),
                                                        advertised_.max_leaves)));
    }
    tree.add(element, {created->handle, ObjectId{created->id}}, keeper_);
    share_cap(element);
    return ObjectId{created->id};
}

void MirroredTree::share_cap(ElementHandle element)
{
    const auto found = records_.find(element);
    if (caps_ != CapMode::Divide || found == records_.end() || !found->second.attributes.max_rate) {
        return;
    }
    ElementChange change;
    change.max_rate = found->second.attributes.max_rate;
    // A mirror that refuses is found by the next drift check.
    static_cast<void>(modify_mirrors(element, found->second.kind, change));
}

Result<LeafIds> MirroredTree::leaves_for(const std::shared_ptr<ClientFile>& file,
                                         std::optional<ElementHandle> requester, std::optional<ElementHandle> responder)
{
    if (!requester && !responder) {
        return LeafIds();
    }
    forget_closed();
    FileTree* tree = &tree_for(file);
    if (tree->mirrors.empty() && has_inherited(file->owner())) {
        FileTree* const known = find_again(file);
        tree = known != nullptr ? known : tree;
    }
    has_other_root_ = false;
    auto made = make_leaves(*tree, file->fd(), requester, responder);
    if (!made && has_other_root_ && tree->mirrors.empty()) {    // else it is of this tree
        if (FileTree* const known = find_again(file)) {
            made = make_leaves(*known, file->fd(), requester, responder);
        }
    }
    return made;
}

Result<LeafIds> MirroredTree::make_leaves(FileTree& tree, int fd, std::optional<ElementHandle> requester,
                                          std::optional<ElementHandle> responder)
{
    LeafIds ids;
    for (const auto& [element, id] : {std::pair(requester, &ids.requester), {responder, &ids.responder}}) {
        if (element) {
            const auto made = mirror(tree, fd, *element);
            if (!made) {
                remove_unused(tree, fd);
                return fail(made.error());
            }
            *id = *made;
        }
    }
    return ids;
}

bool MirroredTree::has_inherited(const std::optional<ClientFile::Owner>& owner) const
{
    return owner && std::ranges::any_of(left_behind_,
                                        [&](const FileTree& each) { return each.inherited && each.owner == owner; });
}

FileTree* MirroredTree::find_again(const std::shared_ptr<ClientFile>& file)
{
    const auto is_in_file = [&](const FileTree& each) { return is_of_file(each, *file); };
    auto known = std::ranges::find_if(trees_, is_in_file);
    if (known == trees_.end()) {
        known = std::ranges::find_if(left_behind_, is_in_file);
        if (known == left_behind_.end()) {
            return nullptr;
        }
        trees_.splice(trees_.end(), left_behind_, known);
        if (std::exchange(known->inherited, false)) {
            forget_missing(*known, file->fd(), keeper_);
            // The others become as they are planned now.
            for (const auto& [element, mirror] : known->mirrors) {
                if (const Record* const record = find(element)) {
                    correct(file->fd(), mirror, record->kind, attributes_of(*known, element, mirror_count(element)));
                }
            }
        } else {
            // Where its queue pairs are now is not known. What none is in goes.
            remove_unused(*known, file->fd());
        }
    }
    if (FileTree* const empty = tree_of(file)) {
        forget(*empty);
    }
    known->files.push_back(file);
    by_file_[file.get()] = &*known;
    return &*known;
}

void MirroredTree::placed(const std::shared_ptr<ClientFile>& file, std::uint32_t handle,
                          std::optional<ElementHandle> requester, std::optional<ElementHandle> responder)
{
    FileTree* const found = tree_of(file);
    if (found == nullptr) {
        return;
    }
    FileTree& tree = *found;
    const Sides sides{requester, responder};
    const bool moved = tree.queue_pairs.contains(handle);    // else nothing has become unused
    tree.place(handle, sides, keeper_);
    if (moved || sides.empty()) {
        tidy(tree, file->fd());
    }
}

void MirroredTree::not_placed(const std::shared_ptr<ClientFile>& file)
{
    if (FileTree* const tree = tree_of(file)) {
        tidy(*tree, file->fd());
    }
}

void MirroredTree::tidy(FileTree& tree, int fd)
{
    remove_unused(tree, fd);
    if (tree.mirrors.empty()) {
        forget(tree);
    }
}

FileTree* MirroredTree::tree_of(const std::shared_ptr<ClientFile>& file)
{
    const auto found = by_file_.find(file.get());
    // Not that of a file that was at this address before: its handles mean something else in this one.
    const bool is_its = found != by_file_.end() &&
                        std::ranges::any_of(found->second->files, [&](const auto& way) { return way.lock() == file; });
    return is_its ? found->second : nullptr;
}

FileTree& MirroredTree::tree_for(const std::shared_ptr<ClientFile>& file)
{
    if (FileTree* const known = tree_of(file)) {
        return *known;
    }
    auto tree = std::ranges::find_if(trees_, [&](const FileTree& each) {
        return std::ranges::any_of(each.files, [&](const auto& way) {
            const auto other = way.lock();
            return other != nullptr && other->is_of(file->fd());
        });
    });
    if (tree == trees_.end()) {
        tree = trees_.emplace(trees_.end());
        tree->number = next_file_++;
        tree->owner = file->owner();
    }
    tree->files.push_back(file);
    by_file_[file.get()] = &*tree;
    return *tree;
}

void MirroredTree::forget(FileTree& tree)
{
    if (tree.mirrors.empty()) {
        tree.forget_notes(keeper_);
    }
    std::erase_if(by_file_, [&](const auto& entry) { return entry.second == &tree; });
    trees_.remove_if([&](const FileTree& each) { return &each == &tree; });
}

// Children before parents: a child's handle is always the higher one.
void MirroredTree::remove_unused(FileTree& tree, int fd)
{
    std::map<ElementHandle, bool> needed;
    const auto need = [&](std::optional<ElementHandle> element) {
        while (element && records_.contains(*element) && !needed[*element]) {
            needed[*element] = true;
            element = records_.at(*element).parent;
        }
    };
    for (const auto& [handle, sides] : tree.queue_pairs) {
        need(sides.requester);
        need(sides.responder);
    }
    std::vector<ElementHandle> unused;
    for (const auto& [element, mirror] : tree.mirrors) {
        if (!needed.contains(element)) {
            unused.push_back(element);
        }
    }
    for (const auto element : std::vector<ElementHandle>(unused.rbegin(), unused.rend())) {
        const auto record = records_.find(element);
        const bool known = record != records_.end();    // else nobody plans it any more
        if (destroy_mirror(fd, tree.mirrors.at(element), known ? record->second.kind : ElementKind::Node,
                           known ? attributes_of(tree, element, mirror_count(element)) : ElementAttributes{})) {
            tree.remove(element, keeper_);
            share_cap(element);
            forget_if_lost(element);
        }
    }
}

void MirroredTree::lose(FileTree& tree, ElementHandle element)
{
    tree.remove(element, keeper_);
    records_.at(element).lost = true;
    forget_if_lost(element);
}

void MirroredTree::forget_if_lost(ElementHandle element)
{
    const auto found = records_.find(element);
    if (found == records_.end() || !found->second.lost || found->second.children > 0 || mirror_count(element) > 0) {
        return;
    }
    const auto parent = found->second.parent;
    records_.erase(found);
    if (parent) {
        --records_.at(*parent).children;
        forget_if_lost(*parent);
    }
}

// What a process left behind goes with it.
void MirroredTree::forget_dead(std::vector<ElementHandle>& fewer)
{
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_ && left_behind_.size() <= kMostLeftBehind) {
        return;
    }
    next_look_ = now + kLookAtProcesses;
    for (auto tree = left_behind_.begin(); tree != left_behind_.end();) {
        const auto each = tree++;
        if ((signal_process(each->owner->pid, 0) || errno != ESRCH) && left_behind_.size() <= kMostLeftBehind) {
            continue;
        }
        for (const auto& [element, mirror] : each->mirrors) {
            fewer.push_back(element);
        }
        each->forget_notes(keeper_);
        left_behind_.erase(each);
    }
}

void MirroredTree::forget_closed()
{
    std::vector<ElementHandle> fewer;
    for (auto tree = trees_.begin(); tree != trees_.end();) {
        FileTree& each = *tree++;
        std::erase_if(each.files, [](const auto& way) { return way.expired(); });
        if (each.files.empty()) {
            for (const auto& [element, mirror] : each.mirrors) {
                fewer.push_back(element);
            }
            for (const auto& [handle, sides] : std::map(each.queue_pairs)) {
                each.place(handle, {}, keeper_);
            }
            if (!each.mirrors.empty() && each.owner) {
                left_behind_.push_back(each);
            } else {
                each.forget_notes(keeper_);
            }
            forget(each);
        }
    }
    forget_dead(fewer);
    for (const auto element : fewer) {
        share_cap(element);
        forget_if_lost(element);
    }
}

}    // namespace

std::unique_ptr<ElementTree> make_mirrored_tree(CapMode caps, Reads reads, const Capabilities& advertised)
{
    return std::make_unique<MirroredTree>(caps, reads, advertised);
}

std::unique_ptr<OwnLeaves> make_own_leaves(Reads reads, const Capabilities& advertised)
{
    return std::make_unique<MirroredTree>(CapMode::Whole, reads, advertised);
}

}    // namespace rdmaqos::mlx5
