#include <cerrno>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "lib/base/try.h"
#include "lib/nic_mlx5/element_tree.h"
#include "lib/nic_mlx5/errors.h"
#include "lib/nic_mlx5/mirror_calls.h"
#include "lib/nic_mlx5/uverbs.h"

namespace rdmaqos::mlx5 {
namespace {

struct Object {
    std::uint32_t handle = 0;    // of our file
    ObjectId id = kNoObject;
    ElementState written;
};

// What the file and the firmware call an element, in one number: all that a later process has to know.
ElementHandle handle_of(const Created& created)
{
    return ElementHandle{std::uint64_t{created.handle} << 32U | created.id};
}

Created created_by(ElementHandle element)
{
    const auto both = static_cast<std::uint64_t>(element);
    return {static_cast<std::uint32_t>(both >> 32U), static_cast<std::uint32_t>(both)};
}

class SharedTree final : public ElementTree {
public:
    SharedTree(int fd, const ElementCommands& by, Reads reads, const Capabilities& advertised)
        : fd_(fd), by_(by), reads_(reads), advertised_(advertised)
    {
    }

    Result<ElementHandle> create(const ElementRequest& request) override;
    Result<void> modify(ElementHandle element, const ElementChange& change) override;
    Result<ElementState> query(ElementHandle element) override;
    Result<void> destroy(ElementHandle element) override;
    Result<void> take_over(const std::vector<KnownElement>& elements, const BackendNotes& notes) override;
    Result<std::size_t> count_strays(const std::vector<ElementHandle>& known) override;
    Result<std::size_t> destroy_strays(const std::vector<ElementHandle>& known) override;
    Result<LeafIds> leaves_for(const std::shared_ptr<ClientFile>& file, std::optional<ElementHandle> requester,
                               std::optional<ElementHandle> responder) override;
    void placed(const std::shared_ptr<ClientFile>& /*file*/, std::uint32_t /*handle*/,
                std::optional<ElementHandle> /*requester*/, std::optional<ElementHandle> /*responder*/) override
    {
    }
    void not_placed(const std::shared_ptr<ClientFile>& /*file*/) override {}

private:
    [[nodiscard]] Result<Object*> find(ElementHandle element);
    // Of the file, the newest first, so children before their parents.
    [[nodiscard]] Result<std::vector<std::uint32_t>> handles_besides(const std::vector<ElementHandle>& known) const;
    struct Left {
        std::size_t count = 0;
        std::optional<Failure> failure;    // of the last one
    };
    [[nodiscard]] Result<Left> destroy_besides(const std::vector<ElementHandle>& known);
    [[nodiscard]] Error no_room(Error error, ElementKind kind) const;
    void add(ElementHandle element, ElementState written);
    void forget(ElementHandle element);

    const int fd_;
    const ElementCommands& by_;
    const Reads reads_;
    const Capabilities advertised_;
    std::unordered_map<ElementHandle, Object> objects_;
    std::unordered_map<ObjectId, ElementHandle> by_id_;
};

Result<Object*> SharedTree::find(ElementHandle element)
{
    const auto found = objects_.find(element);
    if (found == objects_.end()) {
        return fail(Error{ErrorCode::InvalidArgument, ENOENT, "there is no such element"});
    }
    return &found->second;
}

// The advertised sizes are upper limits, shared with everybody else on the device.
Error SharedTree::no_room(Error error, ElementKind kind) const
{
    if (error.code != ErrorCode::NoSpace) {
        return error;
    }
    std::size_t leaves = 0;
    for (const auto& [handle, object] : objects_) {
        leaves += object.written.kind == ElementKind::Leaf ? 1 : 0;
    }
    error.message += fmt::format("; rdma-qosd has {} of {} elements and {} of {} leaves", objects_.size(),
                                 advertised_.max_elements, leaves, advertised_.max_leaves);
    return std::move(error).with_context(kind == ElementKind::Leaf ? "a leaf" : "a node");
}

void SharedTree::add(ElementHandle element, ElementState written)
{
    const Created created = created_by(element);
    objects_.insert_or_assign(element, Object{created.handle, ObjectId{created.id}, written});
    by_id_.insert_or_assign(ObjectId{created.id}, element);
}

void SharedTree::forget(ElementHandle element)
{
    const ObjectId id = objects_.at(element).id;
    objects_.erase(element);
    if (const auto found = by_id_.find(id); found != by_id_.end() && found->second == element) {
        by_id_.erase(found);
    }
}

Result<std::vector<std::uint32_t>> SharedTree::handles_besides(const std::vector<ElementHandle>& known) const
{
    auto there = devx_handles(fd_);
    if (!there) {
        return fail(explain(Command::QueryElement, there.error()).with_context("what is in the device file"));
    }
    std::unordered_set<std::uint32_t> ours;
    for (const auto element : known) {
        ours.insert(created_by(element).handle);
    }
    std::erase_if(*there, [&](std::uint32_t handle) { return ours.contains(handle); });
    return std::move(*there);
}

Result<std::size_t> SharedTree::count_strays(const std::vector<ElementHandle>& known)
{
    const auto strays = handles_besides(known);
    return strays ? Result<std::size_t>(strays->size()) : fail(strays.error());
}

Result<SharedTree::Left> SharedTree::destroy_besides(const std::vector<ElementHandle>& known)
{
    const auto strays = TRY(handles_besides(known));
    Left left;
    std::unordered_set<std::uint32_t> gone;
    for (const auto handle : strays) {
        if (const auto destroyed = devx_destroy(fd_, handle)) {
            gone.insert(handle);
        } else {
            ++left.count;
            left.failure = destroyed.error();
        }
    }
    std::vector<ElementHandle> forgotten;
    for (const auto& [element, object] : objects_) {
        if (gone.contains(object.handle)) {
            forgotten.push_back(element);
        }
    }
    for (const auto element : forgotten) {
        forget(element);
    }
    return left;
}

Result<std::size_t> SharedTree::destroy_strays(const std::vector<ElementHandle>& known)
{
    const auto left = destroy_besides(known);
    return left ? Result<std::size_t>(left->count) : fail(left.error());
}

// Handles are the file's own: an element that is not known could not be distinguished from one that is made later.
Result<void> SharedTree::take_over(const std::vector<KnownElement>& elements, const BackendNotes& /*notes*/)
{
    std::vector<ElementHandle> known;
    for (const auto& [handle, request] : elements) {
        add(handle, {request.kind, request.parent, request.attributes});
        known.push_back(handle);
    }
    const auto left = TRY(destroy_besides(known));
    return left.failure ? fail(explain(Command::DestroyElement, *left.failure)
                                   .with_context("an element that an earlier daemon made before it died"))
                        : Result<void>();
}

Result<ElementHandle> SharedTree::create(const ElementRequest& request)
{
    ObjectId parent = kNoObject;
    if (request.parent) {
        const auto found = TRY(find(*request.parent));
        parent = found->id;
    }
    const auto created = make_element(fd_, request.kind, parent, request.attributes, by_);
    if (!created) {
        return fail(no_room(explain(Command::CreateElement, created.error()), request.kind));
    }
    const ElementHandle handle = handle_of(*created);
    add(handle, {request.kind, request.parent, request.attributes});
    return handle;
}

Result<void> SharedTree::modify(ElementHandle element, const ElementChange& change)
{
    const auto found = TRY(find(element));
    Object& object = *found;
    const auto answer = devx_modify(fd_, object.handle, modify_element(object.written.kind, object.id, change, by_));
    if (!answer) {
        return fail(explain(Command::ModifyElement, answer.error()));
    }
    change.apply_to(object.written.attributes);
    return {};
}

Result<ElementState> SharedTree::query(ElementHandle element)
{
    const auto found = TRY(find(element));
    if (reads_ == Reads::Written) {
        return found->written;
    }
    const auto answer = read_element(fd_, created_by(element), by_);
    if (!answer) {
        const Object& object = *found;
        Error error = explain(Command::QueryElement, answer.error());
        if ((error.sys_errno == ENOENT || error.code == ErrorCode::InvalidArgument) &&
            takes_change(fd_, {object.handle, object.id}, object.written.kind, object.written.attributes, by_)) {
            return fail(Error{ErrorCode::DeviceFailed, EIO, "it takes changes, but: " + error.message});
        }
        return fail(std::move(error));
    }
    ElementState state{answer->kind, std::nullopt, answer->attributes};
    if (answer->parent != kNoObject) {
        const auto parent = by_id_.find(answer->parent);
        state.parent = parent != by_id_.end() ? parent->second
                                              : ElementHandle{static_cast<std::uint32_t>(answer->parent)};
    }
    return state;
}

Result<void> SharedTree::destroy(ElementHandle element)
{
    const auto found = TRY(find(element));
    const auto answer = devx_destroy(fd_, found->handle);
    if (answer) {
        forget(element);
        return {};
    }
    // The kernel does not pass on why the firmware refused to destroy something.
    const int error = answer.error().sys_errno;
    if (error == EREMOTEIO || error == EINVAL) {
        const auto state = query(element);
        if (!state && state.error().sys_errno == ENOENT) {
            forget(element);
            return fail(state.error());
        }
        return fail(Error{ErrorCode::Busy, EBUSY, "the element still has children or queue pairs"});
    }
    return fail(explain(Command::DestroyElement, answer.error()));
}

Result<LeafIds> SharedTree::leaves_for(const std::shared_ptr<ClientFile>& /*file*/,
                                       std::optional<ElementHandle> requester, std::optional<ElementHandle> responder)
{
    LeafIds ids;
    for (const auto& [element, id] : {std::pair(requester, &ids.requester), {responder, &ids.responder}}) {
        if (element) {
            const auto found = TRY(find(*element));
            *id = found->id;
        }
    }
    return ids;
}

}    // namespace

ObjectId id_of_shared(ElementHandle element)
{
    return ObjectId{created_by(element).id};
}

std::unique_ptr<ElementTree> make_shared_tree(int fd, const ElementCommands& by, Reads reads,
                                              const Capabilities& advertised)
{
    return std::make_unique<SharedTree>(fd, by, reads, advertised);
}

}    // namespace rdmaqos::mlx5
