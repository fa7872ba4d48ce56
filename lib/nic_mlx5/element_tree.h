// Where a device's scheduling elements are: one tree in the daemon's own context (SharedTree), its nodes there and a
// leaf in the context of each client (SharedNodesTree), or a copy of what is needed in each client's (MirroredTree).
// Which of them works is for the self-test to find out (self_test.h).
//
// Thread: the device's worker.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "lib/nic_mlx5/commands.h"

namespace rdmaqos::mlx5 {

class ElementTree {
public:
    virtual ~ElementTree() = default;

    // As Backend's.
    [[nodiscard]] virtual Result<ElementHandle> create(const ElementRequest& request) = 0;
    [[nodiscard]] virtual Result<void> modify(ElementHandle element, const ElementChange& change) = 0;
    [[nodiscard]] virtual Result<ElementState> query(ElementHandle element) = 0;
    [[nodiscard]] virtual Result<void> destroy(ElementHandle element) = 0;
    [[nodiscard]] virtual Result<void> take_over(const std::vector<KnownElement>& elements,
                                                 const BackendNotes& notes) = 0;
    // Those in programs' files are not known from what the programs made.
    [[nodiscard]] virtual Result<std::size_t> count_strays(const std::vector<ElementHandle>& /*known*/) { return 0U; }
    [[nodiscard]] virtual Result<std::size_t> destroy_strays(const std::vector<ElementHandle>& /*known*/) { return 0U; }
    virtual void set_note_keeper(const NoteKeeper& /*keeper*/) {}

    // The leaves as a queue pair of `file` can name them.
    [[nodiscard]] virtual Result<LeafIds> leaves_for(const std::shared_ptr<ClientFile>& file,
                                                     std::optional<ElementHandle> requester,
                                                     std::optional<ElementHandle> responder) = 0;
    // Follows leaves_for(): the queue pair with this handle is in these leaves now.
    virtual void placed(const std::shared_ptr<ClientFile>& file, std::uint32_t handle,
                        std::optional<ElementHandle> requester, std::optional<ElementHandle> responder) = 0;
    // As Backend's.
    [[nodiscard]] virtual Result<void> cap_copy(const std::shared_ptr<ClientFile>& /*file*/, ElementHandle /*leaf*/,
                                                std::optional<Bandwidth> /*cap*/)
    {
        return fail(ErrorCode::Unsupported, "processes have no leaves of their own here");
    }
    // Or: it is where it was before.
    virtual void not_placed(const std::shared_ptr<ClientFile>& file) = 0;
};

// `file`: where a shared tree is, or shared nodes are. Mirrors are in programs' files.
[[nodiscard]] inline Lifeline lifeline_of(AttachMode mode, int file)
{
    return {mode != AttachMode::None, shares_between_processes(mode) ? file : -1};
}

// Whether the device is asked for the state of an element, or what was written is believed (AttachReport::unreadable).
enum class Reads : std::uint8_t { Device, Written };

// `fd` is the daemon's own file, or one that an earlier daemon left, and must outlive the tree. `advertised` only words
// an error.
[[nodiscard]] std::unique_ptr<ElementTree> make_shared_tree(int fd, const ElementCommands& by, Reads reads,
                                                            const Capabilities& advertised);
// What the firmware calls an element of a shared tree.
[[nodiscard]] ObjectId id_of_shared(ElementHandle element);

[[nodiscard]] std::unique_ptr<ElementTree> make_shared_nodes_tree(int fd, Reads reads, const Capabilities& advertised);

// Its elements exist on the device only while a client has queue pairs in or below them.
[[nodiscard]] std::unique_ptr<ElementTree> make_mirrored_tree(CapMode caps, Reads reads,
                                                              const Capabilities& advertised);

}    // namespace rdmaqos::mlx5
