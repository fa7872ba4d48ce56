// A device that fails, is pulled out and comes back while files are open.
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "tests/emulator/clients/prm.h"
#include "tests/kernel/agreement/handles.h"
#include "tests/kernel/agreement/transcript.h"

namespace rdmaqos::test::agreement {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

bool wait_for(const std::function<bool()>& condition)
{
    const auto end = std::chrono::steady_clock::now() + 90s;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(20ms);
    }
    return true;
}

bool library_sees_it()
{
    int count = 0;
    ibv_device** devices = ibv_get_device_list(&count);
    if (devices != nullptr) {
        ibv_free_device_list(devices);
    }
    return count > 0;
}

// It is there before it can be used.
bool can_be_used()
{
    ibv_device** devices = ibv_get_device_list(nullptr);
    ibv_context* context = devices != nullptr && devices[0] != nullptr ? ibv_open_device(devices[0]) : nullptr;
    if (devices != nullptr) {
        ibv_free_device_list(devices);
    }
    ibv_pd* pd = context != nullptr ? ibv_alloc_pd(context) : nullptr;
    if (pd != nullptr) {
        ibv_dealloc_pd(pd);
    }
    if (context != nullptr) {
        ibv_close_device(context);
    }
    return pd != nullptr;
}

// The name of the first device's node, and what it is.
struct Node {
    std::string name;
    struct stat status {};
};
Node node_now()
{
    Node node;
    ibv_device** devices = ibv_get_device_list(nullptr);
    if (devices != nullptr && devices[0] != nullptr) {
        node.name = devices[0]->dev_name;
        (void)stat(("/dev/infiniband/" + node.name).c_str(), &node.status);
    }
    if (devices != nullptr) {
        ibv_free_device_list(devices);
    }
    return node;
}

std::string compared(const Node& before, const Node& after)
{
    return fmt::format("{} name, {} number, {} inode", before.name == after.name ? "the same" : "another",
                       before.status.st_rdev == after.status.st_rdev ? "the same" : "another",
                       before.status.st_ino == after.status.st_ino ? "the same" : "another");
}

// What /proc calls it.
std::string link_of(int fd)
{
    char text[128] = {};
    const std::string path = fmt::format("/proc/self/fd/{}", fd);
    return readlink(path.c_str(), text, sizeof(text) - 1) > 0 ? text : spelled(errno);
}

// ---- a dead file ----

struct Held {
    Held() : pair(room, IBV_QPT_RC, IBV_QPS_RTS), before(node_now())
    {
        (void)devx_modify(room.fd(), pair.qp->handle,
                          attach(OP_RTS2RTS_QP, pair.qp->qp_num, room.leaf.id, room.leaf.id));
    }
    [[nodiscard]] int modify() const
    {
        return devx_modify(room.fd(), room.leaf.handle, modify_element(room.leaf.id, kSelectShare, 5, 0)).error;
    }

    Room room;
    QueuePair pair;
    Node before;
};

// Which refusals a modify gets, in their order, until `over`. How long it still succeeds says nothing.
std::string window(const Held& held, const std::function<bool()>& over)
{
    std::string text;
    std::string last;
    for (const auto end = std::chrono::steady_clock::now() + 90s; std::chrono::steady_clock::now() < end;) {
        const bool done = over();
        const std::string now = spelled(held.modify());
        if (now != last && now != "ok") {
            text += (text.empty() ? "" : ", then ") + now;
            last = now;
        }
        if (done) {
            return text;
        }
        std::this_thread::sleep_for(5ms);
    }
    return text + ", and it did not end";
}

void say_dead_file(const std::string& after, Held& held)
{
    const int fd = held.room.fd();
    const auto say_it = [&](const std::string& name, const std::string& text) {
        say(after + ", the old file: " + name, text);
    };
    const Element& leaf = held.room.leaf;
    say_it("modify", devx_modify(fd, leaf.handle, modify_element(leaf.id, kSelectShare, 5, 0)).text());
    say_it("query", devx_query(fd, leaf.handle, element_command(OP_QUERY_GENERAL_OBJECT, leaf.id), kElementOut).text());
    say_it("create", devx_create(fd, create_element(kQueueGroup, held.room.node.id)).text());
    say_it("an unknown handle", devx_modify(fd, 0xfffff, modify_element(leaf.id, kSelectShare, 5, 0)).text());
    say_it("an unknown method", spelled(Ioctl(fd, MLX5_IB_OBJECT_DEVX_OBJ, 0x0fff).run()));
    Bytes capability(16);
    prm_query_capability(capability.data(), 0xc);
    say_it("QUERY_HCA_CAP", spelled(devx_other(fd, capability, CAPABILITY_OUT).error));
    say_it("move a queue pair",
           devx_modify(fd, held.pair.qp->handle, attach(OP_RTS2RTS_QP, held.pair.qp->qp_num, 0, 0)).text());
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    say_it("ibv_query_qp", spelled(ibv_query_qp(held.pair.qp, &attr, IBV_QP_STATE, &init)));
    attr.qp_state = IBV_QPS_ERR;
    say_it("ibv_modify_qp", spelled(ibv_modify_qp(held.pair.qp, &attr, IBV_QP_STATE)));
    say_it("which queue pairs", list_handles(fd, UVERBS_OBJECT_QP, 64).text({{held.pair.qp->handle, "pair"}}));
    say_it("which DEVX objects", list_handles(fd, MLX5_IB_OBJECT_DEVX_OBJ, 64).text({}));
    ibv_device_attr device{};
    say_it("ibv_query_device", spelled(ibv_query_device(held.room.world.context, &device)));
    ibv_pd* pd = ibv_alloc_pd(held.room.world.context);
    say_it("ibv_alloc_pd", spelled(pd != nullptr ? 0 : errno));
    void* page = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 5L * 256 * 4096);
    say_it("mmap of the clock", spelled(page != MAP_FAILED ? 0 : errno));
    struct stat status {};
    const int error = fstat(fd, &status) == 0 ? 0 : errno;
    say_it("fstat", fmt::format("{}, {}", spelled(error),
                                status.st_rdev == held.before.status.st_rdev ? "its old number" : "another number"));
    say_it("its link", link_of(fd));
    say_it("its names", std::to_string(status.st_nlink));
    pollfd readable{fd, POLLIN, 0};
    (void)poll(&readable, 1, 0);
    say_it("poll", fmt::format("{:#x}", static_cast<unsigned>(readable.revents)));
    say_it("destroy", spelled(devx_destroy(fd, leaf.handle)));
    say_it("destroy it again", spelled(devx_destroy(fd, leaf.handle)));
    say_it("destroy an unknown handle", spelled(devx_destroy(fd, 0xfffff)));
    say_it("an unknown object", spelled(Ioctl(fd, 0x0fff, 0).run()));
}

void say_events(const std::string& after, const Held& held)
{
    ibv_context* context = held.room.world.context;
    fcntl(context->async_fd, F_SETFL, fcntl(context->async_fd, F_GETFL) | O_NONBLOCK);
    pollfd readable{context->async_fd, POLLIN, 0};
    (void)poll(&readable, 1, 1000);
    say(after + ", its events: poll", fmt::format("{:#x}", static_cast<unsigned>(readable.revents)));
    // How often the same event comes differs from run to run: on 6.12 once or twice.
    std::string text;
    std::string_view last;
    int error = 0;
    for (bool more = true; more;) {
        ibv_async_event event{};
        errno = 0;
        const int result = ibv_get_async_event(context, &event);
        error = result == 0 ? 0 : errno;
        more = result == 0;
        if (more) {
            const std::string_view name = ibv_event_type_str(event.event_type);
            if (name != last) {
                text += std::string(name) + ", ";
            }
            last = name;
            ibv_ack_async_event(&event);
        }
    }
    say(after + ", its events", text + (error == 0 ? "end of file" : spelled(error)));
    (void)poll(&readable, 1, 0);
    say(after + ", its events: poll after them", fmt::format("{:#x}", static_cast<unsigned>(readable.revents)));
}

void say_closing(const std::string& after, Held& held)
{
    say(after + ": ibv_destroy_qp", spelled(ibv_destroy_qp(held.pair.qp)));
    held.pair.qp = nullptr;
    held.room.root = held.room.node = held.room.leaf = {};
}

// A new file on the device that came back.
void say_new_file(const std::string& after)
{
    const Room room;
    say(after + ", a new file", room.state_of(room.leaf));
}

void say_unplugged()
{
    Node after;
    {
        auto held = std::make_unique<Held>();
        control("unplug mlx5_0");
        say("unplug, a modify until it is gone", window(*held, [] { return !library_sees_it(); }));
        say("unplug, a modify later", spelled(held->modify()));
        say("unplug, open of the old path", [&] {
            const int fd = open(("/dev/infiniband/" + held->before.name).c_str(), O_RDWR | O_CLOEXEC);
            return spelled(fd >= 0 ? 0 : errno);
        }());
        say("unplug, the link of the old file", link_of(held->room.fd()));
        say_events("unplug", *held);
        control("plug mlx5_0");
        (void)wait_for(can_be_used);
        after = node_now();
        say("plug while the old file is open", compared(held->before, after));
        say_new_file("plug");
        say_dead_file("plug", *held);
        say_closing("plug", *held);
    }
    control("unplug mlx5_0");
    (void)wait_for([] { return !library_sees_it(); });
    control("plug mlx5_0");
    (void)wait_for(library_sees_it);
    say("plug with all files closed", compared(after, node_now()));
}

void say_failed()
{
    auto held = std::make_unique<Held>();
    const auto old_file_is_dead = [&] { return held->modify() == EIO; };
    control("reset mlx5_0");
    say("reset, a modify until it fails for good", window(*held, old_file_is_dead));
    (void)wait_for([&] { return node_now().status.st_ino != held->before.status.st_ino; });
    (void)wait_for(can_be_used);
    say("reset while the old file is open", compared(held->before, node_now()));
    say_events("reset", *held);
    say_new_file("reset");
    say_dead_file("reset", *held);
    say_closing("reset", *held);
}

}    // namespace

void say_reset()
{
    say_unplugged();
    say_failed();
}

}    // namespace rdmaqos::test::agreement
