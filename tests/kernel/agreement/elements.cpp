// Scheduling elements: what the firmware refuses, what it keeps; and DEVX commands that the kernel does not let
// through.
#include <cerrno>

#include <fmt/format.h>
#include <infiniband/mlx5dv.h>
#include <nlohmann/json.hpp>

#include "tests/emulator/clients/prm.h"
#include "tests/kernel/agreement/transcript.h"

namespace rdmaqos::test::agreement {
namespace {

constexpr std::uint32_t kNobody = 0x00ffffff;

// An element that should not be; should it be there after all, it goes.
void try_create(const Room& room, const std::string& name, const Bytes& in, std::size_t out = 16)
{
    Answer answer = devx_create(room.fd(), in, out);
    const bool made = answer.error == 0;
    if (made && out >= 12) {
        prm_set(answer.out.data(), 64, 32, 0);
    }
    say(name,
        made ? joined({answer.text(), "destroy " + spelled(devx_destroy(room.fd(), answer.handle))}) : answer.text());
}

Bytes with(Bytes in, unsigned bit, unsigned width, std::uint32_t value)
{
    prm_set(in.data(), bit, width, value);
    return in;
}

void say_creating(const Room& room)
{
    const Element& node = room.node;
    say("root", room.state_of(room.root));
    say("node", room.state_of(room.node));
    say("leaf", room.state_of(room.leaf));
    try_create(room, "create a second root", create_element(kTsar, 0));
    try_create(room, "create a leaf without a parent", create_element(kQueueGroup, 0));
    try_create(room, "create a node below a leaf", create_element(kTsar, room.leaf.id));
    try_create(room, "create a leaf below a leaf", create_element(kQueueGroup, room.leaf.id));
    try_create(room, "create a leaf below the root", create_element(kQueueGroup, room.root.id));
    try_create(room, "create a leaf below nobody", create_element(kQueueGroup, kNobody));
    try_create(room, "create with share 1", create_element(kQueueGroup, node.id, 1));
    try_create(room, "create with share 100", create_element(kQueueGroup, node.id, 100));
    try_create(room, "create with share 101", create_element(kQueueGroup, node.id, 101));
    try_create(room, "create with share 2^31", create_element(kQueueGroup, node.id, 1U << 31));
    try_create(room, "create with share 0 selected",
               with(create_element(kQueueGroup, node.id), 128 + 32, 32, kSelectShare));
    try_create(room, "create with rate 1", create_element(kQueueGroup, node.id, 0, 1));
    try_create(room, "create with rate 2^32-1", create_element(kQueueGroup, node.id, 0, 0xffffffff));
    try_create(room, "create with unknown select bits", with(create_element(kQueueGroup, node.id), 128 + 32, 32, 0x10));
    try_create(room, "create with high select bits", with(create_element(kQueueGroup, node.id), 128, 32, 1));
    try_create(room, "create in the hierarchy of the e-switch",
               with(create_element(kQueueGroup, node.id), 128 + 64, 8, 2));
    try_create(room, "create an element of type 1", create_element(1, node.id));
    try_create(room, "create an element of type 2", create_element(2, node.id));
    try_create(room, "create a round robin TSAR", with(create_element(kTsar, node.id), ELEMENT_CONTEXT + 40, 8, 1));
    try_create(room, "create an object of another type", with(create_element(kTsar, 0), 48, 16, 0x25));
    try_create(room, "create an object of no type", with(create_element(kTsar, 0), 48, 16, 0));
    try_create(room, "create with another's uid", with(create_element(kQueueGroup, node.id), 16, 16, 0xffff));
    try_create(room, "create with uid 0", with(create_element(kQueueGroup, node.id), 16, 16, 0));
    try_create(room, "create with an id", with(create_element(kQueueGroup, node.id), 64, 32, room.leaf.id));
}

void say_depth(const Room& room)
{
    Element lower = room.node;
    std::vector<Element> made;
    for (int level = 3; level < 8; ++level) {
        Answer answer = devx_create(room.fd(), create_element(kTsar, lower.id));
        const Element next{answer.handle, answer.id()};
        if (answer.error == 0) {
            prm_set(answer.out.data(), 64, 32, 0);
        }
        say(fmt::format("create a node at level {}", level), answer.text());
        if (answer.error != 0) {
            break;
        }
        lower = next;
        made.push_back(next);
    }
    try_create(room, "create a leaf below the lowest node", create_element(kQueueGroup, lower.id));
    if (!made.empty()) {
        say("destroy a node with a node in it", spelled(devx_destroy(room.fd(), room.node.handle)));
    }
    for (auto each = made.rbegin(); each != made.rend(); ++each) {
        (void)devx_destroy(room.fd(), each->handle);
    }
}

void try_modify(const Room& room, const std::string& name, const Element& element, const Bytes& in)
{
    say("modify " + name,
        joined({devx_modify(room.fd(), element.handle, in).text(), "then " + room.state_of(element)}));
}

void say_changing(const Room& room)
{
    const auto leaf = [&](std::uint32_t select, std::uint32_t share, std::uint32_t rate) {
        return modify_element(room.leaf.id, select, share, rate);
    };
    try_modify(room, "the share", room.leaf, leaf(kSelectShare, 42, 999));
    try_modify(room, "the rate", room.leaf, leaf(kSelectRate, 7, 2500));
    try_modify(room, "both", room.leaf, leaf(kSelectShare | kSelectRate, 8, 3000));
    try_modify(room, "nothing", room.leaf, leaf(0, 9, 9));
    try_modify(room, "the share to 0", room.leaf, leaf(kSelectShare, 0, 0));
    try_modify(room, "the rate to 0", room.leaf, leaf(kSelectRate, 0, 0));
    try_modify(room, "the share to 101", room.leaf, leaf(kSelectShare, 101, 0));
    try_modify(room, "the rate to 2^32-1", room.leaf, leaf(kSelectRate, 0, 0xffffffff));
    try_modify(room, "by an unknown bit", room.leaf, leaf(0x10, 5, 5));
    try_modify(room, "by a known and an unknown bit", room.leaf, leaf(0x10 | kSelectShare, 5, 5));
    try_modify(room, "the parent", room.leaf, with(leaf(kSelectShare, 6, 0), ELEMENT_CONTEXT + 64, 32, room.root.id));
    try_modify(room, "the type", room.leaf, with(leaf(kSelectShare, 6, 0), ELEMENT_CONTEXT, 8, kTsar));
    try_modify(room, "another hierarchy", room.leaf, with(leaf(kSelectShare, 7, 0), 128 + 64, 8, 2));
    try_modify(room, "with another's uid", room.leaf, with(leaf(kSelectShare, 8, 0), 16, 16, 0xffff));
    try_modify(room, "another type of object", room.leaf, with(leaf(kSelectShare, 9, 0), 48, 16, 0x25));
    try_modify(room, "the root's share", room.root, modify_element(room.root.id, kSelectShare, 5, 0));
    try_modify(room, "the root's rate", room.root, modify_element(room.root.id, kSelectRate, 0, 5000));
    try_modify(room, "the node", room.node, modify_element(room.node.id, kSelectShare | kSelectRate, 21, 9000));
}

void say_outboxes(const Room& room)
{
    const Bytes query = element_command(OP_QUERY_GENERAL_OBJECT, room.leaf.id);
    for (const std::size_t length : {8U, 12U, 15U, 16U, 17U, 64U, 112U, 144U, 4096U}) {
        Answer answer = devx_query(room.fd(), room.leaf.handle, query, length);
        // The parent depends on what was made before.
        if (length >= 64 && prm_get(answer.out.data(), ELEMENT_CONTEXT + 64, 32) == room.node.id) {
            prm_set(answer.out.data(), ELEMENT_CONTEXT + 64, 32, 0x0000beef);
        }
        say(fmt::format("query with an outbox of {}", length), answer.text());
    }
    for (const std::size_t length : {8U, 15U, 20U, 64U}) {
        say(fmt::format("modify with an outbox of {}", length),
            devx_modify(room.fd(), room.leaf.handle, modify_element(room.leaf.id, kSelectShare, 3, 0), length).text());
        try_create(room, fmt::format("create with an outbox of {}", length), create_element(kQueueGroup, room.node.id),
                   length);
    }
    for (const std::size_t length : {2U, 8U, 12U, 15U, 16U, 17U}) {
        Bytes in = query;
        in.resize(length);
        const Answer answer = devx_query(room.fd(), room.leaf.handle, in, 16);
        say(fmt::format("query with an inbox of {}", length), answer.text());
    }
    for (const std::size_t length : {8U, 16U, 32U, 64U}) {
        Bytes in = modify_element(room.leaf.id, kSelectShare, 4, 0);
        in.resize(length);
        say(fmt::format("modify with an inbox of {}", length),
            joined({devx_modify(room.fd(), room.leaf.handle, in).text(), "then " + room.state_of(room.leaf)}));
    }
    for (const std::size_t length : {8U, 16U, 48U}) {
        Bytes in = create_element(kQueueGroup, room.node.id);
        in.resize(length);
        try_create(room, fmt::format("create with an inbox of {}", length), in);
    }
}

void say_destroying(Room& room)
{
    say("destroy the root with a node in it", spelled(devx_destroy(room.fd(), room.root.handle)));
    say("destroy the node with a leaf in it", spelled(devx_destroy(room.fd(), room.node.handle)));
    say("and then the node", room.state_of(room.node));
    say("destroy the leaf", spelled(devx_destroy(room.fd(), room.leaf.handle)));
    say("destroy it again", spelled(devx_destroy(room.fd(), room.leaf.handle)));
    say("query it", room.state_of(room.leaf));
    say("modify it", devx_modify(room.fd(), room.leaf.handle, modify_element(room.leaf.id, kSelectShare, 3, 0)).text());
    say("destroy the node", spelled(devx_destroy(room.fd(), room.node.handle)));
    say("destroy the root", spelled(devx_destroy(room.fd(), room.root.handle)));
    room.root = room.node = room.leaf = {};
}

// ---- commands that are not for the object, the method or the file ----

void say_wrong_objects(const Room& room, const Room& other)
{
    const Bytes query = element_command(OP_QUERY_GENERAL_OBJECT, room.leaf.id);
    const Bytes modify = modify_element(room.leaf.id, kSelectShare, 4, 0);
    const int fd = room.fd();
    const auto all = [&](const std::string& name, std::uint64_t handle) {
        say("query by " + name, devx_query(fd, handle, query, kElementOut).text());
        say("modify by " + name, devx_modify(fd, handle, modify).text());
        say("destroy by " + name, spelled(devx_destroy(fd, handle)));
    };
    all("no handle", 0xfffff);
    all("a handle of 64 bits", 1ULL << 32);
    all("the handle of a PD", room.world.pd->handle);
    say("query another's number",
        devx_query(fd, room.leaf.handle, element_command(OP_QUERY_GENERAL_OBJECT, room.node.id), kElementOut).text());
    say("query nobody's number",
        devx_query(fd, room.leaf.handle, element_command(OP_QUERY_GENERAL_OBJECT, kNobody), kElementOut).text());
    say("modify another's number",
        devx_modify(fd, room.leaf.handle, modify_element(room.node.id, kSelectShare, 4, 0)).text());
    say("query another file's number",
        devx_query(fd, room.leaf.handle, element_command(OP_QUERY_GENERAL_OBJECT, other.leaf.id), kElementOut).text());
    say("modify another file's number",
        devx_modify(fd, room.leaf.handle, modify_element(other.leaf.id, kSelectShare, 4, 0)).text());
    try_create(room, "create below another file's node", create_element(kQueueGroup, other.node.id));
    say("the other file's leaf is as before", other.state_of(other.leaf));
}

void say_wrong_opcodes(const Room& room)
{
    const int fd = room.fd();
    for (const std::uint32_t opcode :
         {0U, 0x100U, 0x500U, 0x50bU, 0x802U, 0x905U, 0xa00U, 0xa01U, 0xa02U, 0xa03U, 0xa04U, 0xa06U, 0xfffU}) {
        const std::string name = fmt::format("{:#05x}", opcode);
        Bytes in = modify_element(room.leaf.id, kSelectShare, 4, 0);
        prm_set(in.data(), 0, 16, opcode);
        if (opcode != 0xa01) {
            say("modify by opcode " + name, devx_modify(fd, room.leaf.handle, in).text());
        }
        if (opcode != 0xa02) {
            say("query by opcode " + name, devx_query(fd, room.leaf.handle, in, kElementOut).text());
        }
        if (opcode != 0xa00 && opcode != 0x500) {
            try_create(room, "create by opcode " + name, in);
        }
        if (opcode != 0x100) {
            say("general by opcode " + name, devx_other(fd, in, kElementOut).text());
        }
    }
    say("the leaf is as before", room.state_of(room.leaf));
    for (const std::uint32_t opcode :
         {0x102U, 0x105U, 0x10bU, 0x10cU, 0x116U, 0x805U, 0x80aU, 0x81eU, 0x826U, 0x842U}) {
        Bytes in(16);
        prm_set(in.data(), 0, 16, opcode);
        // What the firmware makes of it is not the question.
        const int error = devx_other(fd, in, 64).error;
        say(fmt::format("general by opcode {:#05x}", opcode),
            error == 0 || error == EREMOTEIO ? "reaches the firmware" : spelled(error));
    }
}

void say_capabilities(const Room& room)
{
    const auto ask = [&](std::uint32_t type, std::uint32_t current) {
        Bytes in(16);
        prm_query_capability(in.data(), type);
        prm_set(in.data(), 48, 16, type << 1 | current);
        return devx_other(room.fd(), in, CAPABILITY_OUT);
    };
    say("QoS capabilities", ask(0xc, 1).text());
    say("possible QoS capabilities", ask(0xc, 0).text());
    const Answer general = ask(0, 1);
    say("general capabilities",
        fmt::format("{}, status {}, qos {}, qpc extension {}, object types {:x} {:x}", spelled(general.error),
                    prm_status(general.out.data()), prm_get(general.out.data(), 128 + 539, 1),
                    prm_get(general.out.data(), 128 + 290, 1), prm_get(general.out.data(), 128 + 1024, 32),
                    prm_get(general.out.data(), 128 + 1056, 32)));
    const Answer none = ask(0x3f, 1);
    say("capabilities of no type", fmt::format("{}, status {:#x}", spelled(none.error), prm_status(none.out.data())));
    Bytes in(16);
    prm_query_capability(in.data(), 0xc);
    for (const std::size_t length : {8U, 16U, 64U}) {
        say(fmt::format("QoS capabilities in {} bytes", length), devx_other(room.fd(), in, length).text());
    }
    in.resize(8);
    say("QoS capabilities, an inbox of 8", devx_other(room.fd(), in, 64).text());
}

// ---- libmlx5's own functions ----

void say_library(const Room& room)
{
    const mlx5dv_sched_attr root_attr = element_attr(nullptr, 0, 0);
    errno = 0;
    mlx5dv_sched_node* root = mlx5dv_sched_node_create(room.world.context, &root_attr);
    say("mlx5dv_sched_node_create of a second root", spelled(root != nullptr ? 0 : errno));
    if (root != nullptr) {
        mlx5dv_sched_node_destroy(root);
    }
}

}    // namespace

void say_elements()
{
    Room room;
    say_creating(room);
    say_depth(room);
    say_changing(room);
    say_outboxes(room);
    say_library(room);
    say_destroying(room);
}

void say_commands()
{
    const Room other;
    const Room room;
    say_wrong_objects(room, other);
    say_wrong_opcodes(room);
    say_capabilities(room);
}

}    // namespace rdmaqos::test::agreement
