// Common nodes, and leaves in the programs' own files: for firmware that lets a queue pair use leaves of its own
// context only, but an element be below a node of another one.
//
//     what the reconciler sees         the daemon's file     client file A     client file B
//     /                                root
//     └── /rpc          40G  (leaf)    └── node 40G  ◄───────┬─── leaf
//                                                           └────────────────── leaf
//
// So shares and caps hold between processes, and the processes in a leaf have equal parts of it. The tree is one level
// deeper than what is planned.
#include <cerrno>
#include <unordered_set>

#include "lib/base/try.h"
#include "lib/nic_mlx5/element_tree.h"
#include "lib/nic_mlx5/own_leaves.h"

namespace rdmaqos::mlx5 {
namespace {

class SharedNodesTree final : public ElementTree {
public:
    SharedNodesTree(int fd, Reads reads, const Capabilities& advertised)
        : nodes_(make_shared_tree(fd, kObjectCommands, reads, advertised)), leaves_(make_own_leaves(reads, advertised))
    {
    }

    Result<ElementHandle> create(const ElementRequest& request) override
    {
        const ElementHandle node = TRY(nodes_->create(as_node(request)));
        if (request.kind == ElementKind::Leaf) {
            add_leaf(node);
        }
        return node;
    }
    Result<void> modify(ElementHandle element, const ElementChange& change) override;
    Result<ElementState> query(ElementHandle element) override;
    Result<void> destroy(ElementHandle element) override;
    Result<void> take_over(const std::vector<KnownElement>& elements, const BackendNotes& notes) override;
    Result<std::size_t> count_strays(const std::vector<ElementHandle>& known) override
    {
        return nodes_->count_strays(known);
    }
    Result<std::size_t> destroy_strays(const std::vector<ElementHandle>& known) override
    {
        return nodes_->destroy_strays(known);
    }
    void set_note_keeper(const NoteKeeper& keeper) override { leaves_->set_note_keeper(keeper); }
    Result<LeafIds> leaves_for(const std::shared_ptr<ClientFile>& file, std::optional<ElementHandle> requester,
                               std::optional<ElementHandle> responder) override
    {
        return leaves_->leaves_for(file, requester, responder);
    }
    void placed(const std::shared_ptr<ClientFile>& file, std::uint32_t handle, std::optional<ElementHandle> requester,
                std::optional<ElementHandle> responder) override
    {
        leaves_->placed(file, handle, requester, responder);
    }
    void not_placed(const std::shared_ptr<ClientFile>& file) override { leaves_->not_placed(file); }

private:
    [[nodiscard]] static ElementRequest as_node(ElementRequest request)
    {
        request.kind = ElementKind::Node;
        return request;
    }
    void add_leaf(ElementHandle node)
    {
        leaves_->add_leaf(node, id_of_shared(node));
        planned_leaves_.insert(node);
    }
    void forget_leaf(ElementHandle node)
    {
        leaves_->forget_leaf(node);
        planned_leaves_.erase(node);
        drifted_.erase(node);
    }

    const std::unique_ptr<ElementTree> nodes_;
    const std::unique_ptr<OwnLeaves> leaves_;
    std::unordered_set<ElementHandle> planned_leaves_;
    std::unordered_set<ElementHandle> drifted_;    // some file's leaf was found to have a share or a cap
};

bool is_not_there(const Error& error)
{
    return error.code == ErrorCode::InvalidArgument && error.sys_errno == ENOENT;
}

Result<void> SharedNodesTree::modify(ElementHandle element, const ElementChange& change)
{
    TRY(nodes_->modify(element, change));
    if (drifted_.erase(element) == 0) {
        return {};
    }
    ElementChange none;
    none.share = 0;
    none.max_rate = std::optional<Bandwidth>();
    return leaves_->modify(element, none);
}

Result<ElementState> SharedNodesTree::query(ElementHandle element)
{
    auto state = nodes_->query(element);
    if (!planned_leaves_.contains(element)) {
        return state;
    }
    if (!state) {
        if (is_not_there(state.error())) {
            forget_leaf(element);
        }
        return state;
    }
    const auto leaf = leaves_->query(element);
    if (!leaf) {
        return leaf;    // lost in some file: the next one asked for is another
    }
    if (leaf->attributes != ElementAttributes{}) {
        drifted_.insert(element);
        state->attributes = leaf->attributes;
    }
    state->kind = ElementKind::Leaf;
    return state;
}

Result<void> SharedNodesTree::destroy(ElementHandle element)
{
    if (planned_leaves_.contains(element)) {
        // Its mirrors go first. One that was lost is not there, and the node still is.
        if (auto destroyed = leaves_->destroy(element); !destroyed && !is_not_there(destroyed.error())) {
            return destroyed;
        }
    }
    auto destroyed = nodes_->destroy(element);
    if (destroyed || is_not_there(destroyed.error())) {
        forget_leaf(element);
    } else if (planned_leaves_.contains(element)) {
        add_leaf(element);
    }
    return destroyed;
}

Result<void> SharedNodesTree::take_over(const std::vector<KnownElement>& elements, const BackendNotes& notes)
{
    std::vector<KnownElement> nodes;
    nodes.reserve(elements.size());
    for (const auto& [handle, request] : elements) {
        nodes.push_back({handle, as_node(request)});
        if (request.kind == ElementKind::Leaf) {
            add_leaf(handle);
        }
    }
    TRY(nodes_->take_over(nodes, {}));
    return leaves_->take_over({}, notes);
}

}    // namespace

std::unique_ptr<ElementTree> make_shared_nodes_tree(int fd, Reads reads, const Capabilities& advertised)
{
    return std::make_unique<SharedNodesTree>(fd, reads, advertised);
}

}    // namespace rdmaqos::mlx5
