// Trees of elements on an emulated device, and what the device says of them.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "lib/nic_mlx5/element_tree.h"
#include "lib/nic_mlx5/uverbs.h"
#include "tests/nic_mlx5/client.h"

namespace rdmaqos::mlx5::test {

using namespace rdmaqos::test;

using Handle = std::optional<ElementHandle>;

// "rate 40000 share 60", of every element on the device, sorted.
inline std::vector<std::string> elements()
{
    std::vector<std::string> all;
    const auto device = emulated_device();
    for (const auto& each : device.at("tree")) {
        all.push_back(fmt::format("rate {} share {}", each.at("max-average-bw").dump(), each.at("bw-share").dump()));
    }
    std::sort(all.begin(), all.end());
    return all;
}

inline std::string place_of(const QueuePairRef& queue_pair)
{
    const auto all = places(emulated_device());
    const auto found = all.find(queue_pair.number);
    return found == all.end() ? "nowhere" : found->second;
}

// Element by its id; a drift by hand.
inline void drift(ObjectId element, unsigned share, unsigned mbps)
{
    emulator(fmt::format("drift mlx5_0 {} {} {}", static_cast<std::uint32_t>(element), share, mbps));
}

inline void lose(ObjectId element)
{
    emulator(fmt::format("lose mlx5_0 {}", static_cast<std::uint32_t>(element)));
}

// The parent of a queue pair's leaf.
inline ObjectId element_above(const QueuePairRef& queue_pair)
{
    const auto device = emulated_device();
    const auto field = [&](const char* list, const char* key, std::uint32_t value, const char* wanted) {
        for (const auto& each : device.at(list)) {
            if (each.at(key) == value) {
                return each.at(wanted).get<std::uint32_t>();
            }
        }
        return 0U;
    };
    return ObjectId{field("tree", "id", field("queue-pairs", "qpn", queue_pair.number, "requester"), "parent")};
}

class Trees : public ::testing::Test {
protected:
    void make(std::unique_ptr<ElementTree> tree)
    {
        tree_ = std::move(tree);
        root_ = add(ElementKind::Node, std::nullopt, {});
        rpc_ = add(ElementKind::Node, root_, {60, Bandwidth::from_mbps(40000)});
        leaf_ = add(ElementKind::Leaf, rpc_, {7, std::nullopt});
        other_ = add(ElementKind::Leaf, root_, {20, std::nullopt});
    }
    Handle add(ElementKind kind, Handle parent, const ElementAttributes& attributes)
    {
        const auto made = tree_->create({kind, parent, attributes});
        EXPECT_TRUE(made.has_value());
        return made ? Handle(*made) : std::nullopt;
    }
    // As the backend does it. The requester's leaf.
    ObjectId place(const QueuePairRef& queue_pair, Handle requester, Handle responder = std::nullopt)
    {
        const auto ids = tree_->leaves_for(queue_pair.file, requester, responder);
        EXPECT_TRUE(ids.has_value());
        if (!ids) {
            return kNoObject;
        }
        const auto command = place_queue_pair(QueuePairState::Rts, queue_pair.number, ids->requester, ids->responder);
        EXPECT_TRUE(devx_modify(queue_pair.file->fd(), queue_pair.handle, command).has_value());
        tree_->placed(queue_pair.file, queue_pair.handle, requester, responder);
        return ids->requester;
    }
    [[nodiscard]] Result<void> destroy_all()
    {
        for (const Handle element : {leaf_, other_, rpc_, root_}) {
            if (auto destroyed = tree_->destroy(*element); !destroyed) {
                return destroyed;
            }
        }
        return {};
    }

    std::unique_ptr<ElementTree> tree_;
    Handle root_;
    Handle rpc_;
    Handle leaf_;
    Handle other_;
};

class MirroredTrees : public Trees {
protected:
    explicit MirroredTrees(CapMode caps = CapMode::Whole)
    {
        make(make_mirrored_tree(caps, Reads::Device, Capabilities{}));
    }
};

class DividedTrees : public MirroredTrees {
protected:
    DividedTrees() : MirroredTrees(CapMode::Divide) {}
};

}    // namespace rdmaqos::mlx5::test
