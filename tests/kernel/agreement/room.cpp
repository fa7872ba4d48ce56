#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <infiniband/mlx5dv.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emulator/clients/prm.h"
#include "tests/kernel/agreement/transcript.h"

namespace rdmaqos::test::agreement {
namespace {

std::map<std::uint32_t, std::string> element_names;

}    // namespace

// ---- the device ----

// What `rdma-qos-emulator ctl` does, without a process for each of some hundred calls.
std::string control(const std::string& words)
{
    const char* directory = std::getenv("RDMA_QOS_EMULATOR");    // NOLINT(concurrency-mt-unsafe): nobody sets it
    const std::string path = fmt::format("{}/control.sock", directory == nullptr ? "" : directory);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        throw std::runtime_error(fmt::format("{}: {}", path, std::strerror(errno)));
    }
    auto list = nlohmann::json::array();
    std::istringstream in(words);
    for (std::string word; in >> word;) {
        list.push_back(word);
    }
    const std::string request = list.dump() + "\n";
    (void)send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    std::string answer;
    char part[4096];
    for (ssize_t got = 0; (got = recv(fd, part, sizeof(part), 0)) > 0;) {
        answer.append(part, static_cast<std::size_t>(got));
    }
    close(fd);
    constexpr std::size_t kText = 2;    // behind "0\n"; else why it was refused
    if (answer.size() < kText || answer.front() != '0') {
        throw std::runtime_error(fmt::format("ctl {}: {}", words, answer));
    }
    return answer.substr(kText);
}

nlohmann::json device_state()
{
    return nlohmann::json::parse(control("state --json")).at("devices").at(0);
}

void name_element(std::uint32_t id, const std::string& name)
{
    element_names[id] = name;
}

std::string element_name(std::uint32_t id)
{
    const auto found = element_names.find(id);
    return id == 0 ? "-" : found == element_names.end() ? fmt::format("{:#x}", id) : found->second;
}

// ---- rooms ----

Room::Room()
{
    if (!open_world(&world)) {
        throw std::runtime_error("there is no device");
    }
    root = make(kTsar, 0);
    node = make(kTsar, root.id, 20, 10000);
    leaf = make(kQueueGroup, node.id, 3);
    name_element(root.id, "root");
    name_element(node.id, "node");
    name_element(leaf.id, "leaf");
}

Room::~Room()
{
    destroy_elements();
    ibv_destroy_cq(world.cq);
    ibv_dealloc_pd(world.pd);
    ibv_close_device(world.context);
}

void Room::destroy_elements()
{
    for (Element* each : {&leaf, &node, &root}) {
        if (each->id != 0) {
            (void)devx_destroy(fd(), each->handle);
            *each = {};
        }
    }
}

Element Room::make(std::uint32_t type, std::uint32_t parent, std::uint32_t share, std::uint32_t rate) const
{
    const Answer made = devx_create(fd(), create_element(type, parent, share, rate));
    if (made.error != 0) {
        throw std::runtime_error("no element: " + made.text());
    }
    return {made.handle, made.id()};
}

std::string Room::state_of(const Element& element) const
{
    const Answer answer = devx_query(fd(), element.handle, element_command(OP_QUERY_GENERAL_OBJECT, element.id),
                                     kElementOut);
    if (answer.error != 0) {
        return answer.text();
    }
    const prm_element found = prm_read_element(answer.out.data());
    return fmt::format("type {} parent {} share {} rate {}", found.type, element_name(found.parent), found.share,
                       found.max_rate);
}

std::string Room::place_of(ibv_qp* queue_pair) const
{
    const bool raw = queue_pair->qp_type == IBV_QPT_RAW_PACKET;
    const auto state = device_state();
    for (const std::uint32_t number : {queue_pair->qp_num, raw ? send_queue_of(queue_pair) : 0}) {
        for (const auto& each : state.at("queue-pairs")) {
            if (each.at("qpn") == number) {
                return fmt::format("{}/{}", element_name(each.at("requester")), element_name(each.at("responder")));
            }
        }
    }
    return "unknown";
}

std::uint32_t send_queue_of(ibv_qp* queue_pair)
{
    mlx5dv_qp direct{};
    direct.comp_mask = MLX5DV_QP_MASK_RAW_QP_HANDLES;
    mlx5dv_obj objects{};
    objects.qp.in = queue_pair;
    objects.qp.out = &direct;
    return mlx5dv_init_obj(&objects, MLX5DV_OBJ_QP) == 0 ? direct.sqn : 0;
}

// ---- what another process leaves ----

namespace {

[[noreturn]] void bequeath(int socket)
{
    Inherited left;
    ibv_device** devices = ibv_get_device_list(nullptr);
    struct world world {};
    world.context = devices != nullptr && devices[0] != nullptr ? ibv_open_device(devices[0]) : nullptr;
    if (world.context != nullptr) {
        world.pd = ibv_alloc_pd(world.context);
        world.cq = ibv_create_cq(world.context, 64, nullptr, nullptr, 0);
        if (ibv_qp* qp = create_qp(&world, IBV_QPT_RC); qp != nullptr && drive_qp(qp, IBV_QPS_INIT) == 0) {
            left.handle = qp->handle;
            left.number = qp->qp_num;
        }
        iovec part{&left, sizeof(left)};
        alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = space;
        message.msg_controllen = sizeof(space);
        cmsghdr* rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(rights), &world.context->cmd_fd, sizeof(int));
        (void)sendmsg(socket, &message, 0);
    }
    _exit(0);
}

}    // namespace

Inherited inherit()
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        throw std::runtime_error("no socket pair");
    }
    const pid_t pid = fork();
    if (pid == 0) {
        bequeath(ends[1]);
    }
    close(ends[1]);
    Inherited got;
    iovec part{&got, sizeof(got)};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof(space);
    const bool received = recvmsg(ends[0], &message, MSG_CMSG_CLOEXEC) == sizeof(got);
    if (const cmsghdr* rights = CMSG_FIRSTHDR(&message); received && rights != nullptr) {
        std::memcpy(&got.fd, CMSG_DATA(rights), sizeof(got.fd));
    }
    close(ends[0]);
    waitpid(pid, nullptr, 0);
    return got;
}

// ---- queue pairs ----

QueuePair::QueuePair(const Room& room, ibv_qp_type type, ibv_qp_state state)
{
    qp = create_qp(&room.world, type);
    if (qp == nullptr) {
        why_not = errno;
        return;
    }
    if (state == IBV_QPS_RESET) {
        return;
    }
    const ibv_qp_state by_steps = state <= IBV_QPS_RTS ? state : IBV_QPS_RTS;
    why_not = drive_qp(qp, by_steps);
    if (why_not == 0 && state > IBV_QPS_RTS) {
        why_not = step_qp(qp, state, 0);
    }
}

QueuePair::~QueuePair()
{
    if (qp != nullptr) {
        ibv_destroy_qp(qp);
    }
}

}    // namespace rdmaqos::test::agreement
