#include "tests/kernel/agreement/routes.h"

#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_verbs.h>

#include "tests/emulator/clients/prm.h"

namespace rdmaqos::test::agreement {
namespace {

using namespace std::chrono_literals;

std::string gid_text(const std::uint8_t* gid, const Place& place)
{
    if (std::memcmp(gid, place.gid.raw, sizeof(place.gid.raw)) == 0) {
        return "own";
    }
    if (std::memcmp(gid, place.gid.raw, sizeof(place.gid.raw) - 1) == 0) {
        return "a neighbour's";
    }
    std::string text;
    for (std::size_t at = 0; at < sizeof(place.gid.raw); ++at) {
        text += fmt::format("{:02x}", gid[at]);
    }
    return text.find_first_not_of('0') == std::string::npos ? "none" : text;
}

std::string number_text(std::uint32_t number, std::uint32_t own)
{
    return number == own ? "itself" : std::to_string(number);
}

// `gid`: of the destination. Without one, the index is that of nothing.
std::string index_text(unsigned index, const std::uint8_t* gid, const Place& place)
{
    return index == place.gid_index && gid_text(gid, place) != "none" ? "own" : std::to_string(index);
}

std::string text_of(const ib_uverbs_qp_dest& to, const Place& place)
{
    return fmt::format("lid {} sl {} bits {} rate {} port {} global {} gid {} flow {:#x} from {} hops {} class {:#x}",
                       to.dlid, to.sl, to.src_path_bits, to.static_rate, to.port_num, to.is_global,
                       gid_text(to.dgid, place), to.flow_label, index_text(to.sgid_index, to.dgid, place), to.hop_limit,
                       to.traffic_class);
}

}    // namespace

Place::Place(ibv_context* context)
{
    ibv_port_attr port{};
    (void)ibv_query_port(context, 1, &port);
    ethernet = port.link_layer == IBV_LINK_LAYER_ETHERNET;
    // They come after the port.
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (ethernet && !find_gid(context, port.gid_tbl_len) && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(20ms);
    }
    (void)ibv_query_gid(context, 1, gid_index, &gid);
}

bool Place::find_gid(ibv_context* context, int count)
{
    for (int index = 0; index < count; ++index) {
        ibv_gid_entry entry{};
        if (ibv_query_gid_ex(context, 1, static_cast<std::uint32_t>(index), &entry, 0) == 0 &&
            entry.gid_type == IBV_GID_TYPE_ROCE_V2) {
            gid_index = static_cast<std::uint8_t>(index);
            return true;
        }
    }
    return false;
}

ibv_qp_attr values_at(const Place& place, ibv_qp* queue_pair)
{
    ibv_qp_attr attributes = values_for(queue_pair);
    attributes.ah_attr.grh.sgid_index = place.gid_index;
    attributes.ah_attr.grh.dgid = place.gid;
    return attributes;
}

int connect(ibv_qp* queue_pair, ibv_qp_attr attributes, ibv_qp_state to)
{
    for (int state = IBV_QPS_INIT; state <= static_cast<int>(to); ++state) {
        attributes.qp_state = static_cast<ibv_qp_state>(state);
        const int mask = needed_for(queue_pair, attributes.qp_state) | IBV_QP_STATE;
        if (const int error = ibv_modify_qp(queue_pair, &attributes, mask); error != 0) {
            return error;
        }
    }
    return 0;
}

std::string verbs_answer(int fd, std::uint32_t handle, const Place& place, std::uint32_t number)
{
    ib_uverbs_query_qp request{};
    request.qp_handle = handle;
    request.attr_mask = (IBV_QP_DEST_QPN << 1) - 1;
    ib_uverbs_query_qp_resp answer{};
    const int error = Ioctl(fd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE)
                          .in_pointer(UVERBS_ATTR_CORE_IN, &request, sizeof(request))
                          .out(UVERBS_ATTR_CORE_OUT, &answer, sizeof(answer))
                          .value(UVERBS_ATTR_WRITE_CMD, std::uint64_t{IB_USER_VERBS_CMD_QUERY_QP})
                          .run();
    if (error != 0) {
        return spelled(error);
    }
    std::string text = fmt::format("ok, state {} psn {:#x} {:#x} dest {} pkey {} port {} to: {}", answer.qp_state,
                                   answer.rq_psn, answer.sq_psn, number_text(answer.dest_qp_num, number),
                                   answer.pkey_index, answer.port_num, text_of(answer.dest, place));
    if (answer.alt_port_num != 0 || answer.alt_dest.port_num != 0) {
        text += fmt::format(", or pkey {} port {} timeout {} to: {}", answer.alt_pkey_index, answer.alt_port_num,
                            answer.alt_timeout, text_of(answer.alt_dest, place));
    }
    return text;
}

std::string devx_answer(int fd, std::uint32_t handle, const Place& place, std::uint32_t number)
{
    const Answer answer = devx_query(fd, handle, queue_command(kQueryQp, number), kQueryQueuePairOut);
    if (answer.error != 0) {
        return answer.text();
    }
    constexpr unsigned kContext = 192;
    constexpr unsigned kPath = kContext + 192;
    const auto field = [&](unsigned bit, unsigned width) { return prm_get(answer.out.data(), bit, width); };
    const std::uint8_t* gid = answer.out.data() + (kPath + 128) / 8;
    const auto path = [&](unsigned bit, unsigned width) { return field(kPath + bit, width); };
    return fmt::format(
        "ok, state {} psn {:#x} {:#x} dest {} pkey {} port {} to: lid {} sl {} priority {} dscp {} bits {} "
        "rate {} global {} gid {} flow {:#x} from {} hops {} class {:#x}",
        field(kContext, 4), field(kContext + 1192, 24), field(kContext + 968, 24),
        number_text(field(kContext + 168, 24), number), path(16, 16), path(296, 8), path(48, 16), path(292, 4),
        path(289, 3), path(266, 6), path(41, 7), path(84, 4), path(40, 1), gid_text(gid, place), path(108, 20),
        index_text(path(72, 8), gid, place), path(88, 8), path(100, 8));
}

namespace {

void say_both(const Room& room, const Place& place, const std::string& name, ibv_qp* pair)
{
    say(name, verbs_answer(room.fd(), pair->handle, place, pair->qp_num));
    say(name + ": for DEVX", devx_answer(room.fd(), pair->handle, place, pair->qp_num));
}

// One that has all that an address can have.
ibv_qp_attr everything_at(const Place& place, ibv_qp* pair)
{
    ibv_qp_attr attributes = values_at(place, pair);
    attributes.ah_attr.sl = 5;
    attributes.ah_attr.dlid = 0x123;
    attributes.ah_attr.src_path_bits = 3;
    attributes.ah_attr.static_rate = IBV_RATE_10_GBPS;
    attributes.ah_attr.grh.traffic_class = 0x6a;
    attributes.ah_attr.grh.hop_limit = 9;
    attributes.ah_attr.grh.flow_label = 0x12345;
    if (!place.ethernet) {
        attributes.ah_attr.grh.dgid.raw[15] ^= 1;    // on Ethernet somebody must know the address
    }
    return attributes;
}

void say_life(const Room& room, const Place& place, ibv_qp_type type)
{
    const std::string name = name_of_type(type);
    QueuePair pair(room, type, IBV_QPS_RESET);
    ibv_qp_attr attributes = everything_at(place, pair.qp);
    bool again = false;
    for (const ibv_qp_state state :
         {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR, IBV_QPS_RESET, IBV_QPS_INIT}) {
        attributes.qp_state = state;
        const int error = ibv_modify_qp(pair.qp, &attributes, needed_for(pair.qp, state) | IBV_QP_STATE);
        const std::string now = fmt::format("{} in {}{}", name, name_of_state(state), again ? " again" : "");
        if (error != 0) {
            say(now + ": not reached", spelled(error));
        }
        say_both(room, place, now, pair.qp);
        again = again || state == IBV_QPS_RESET;
    }
    attributes.qp_state = IBV_QPS_RESET;
    (void)ibv_modify_qp(pair.qp, &attributes, IBV_QP_STATE);
    say(name + " connected anew", spelled(connect(pair.qp, values_at(place, pair.qp))));
    say_both(room, place, name + " in RTS again", pair.qp);
}

struct Route {
    const char* name;
    void (*change)(ibv_qp_attr& attributes);
};
constexpr Route kRoutes[] = {
    {"as little as there must be", [](ibv_qp_attr&) {}},
    {"without a GID",
     [](ibv_qp_attr& attributes) {
         attributes.ah_attr.is_global = 0;
         attributes.ah_attr.dlid = 9;
         attributes.ah_attr.sl = 2;
     }},
    {"a service level of 21", [](ibv_qp_attr& attributes) { attributes.ah_attr.sl = 21; }},
    {"a traffic class of 255", [](ibv_qp_attr& attributes) { attributes.ah_attr.grh.traffic_class = 255; }},
    {"more path bits than there are", [](ibv_qp_attr& attributes) { attributes.ah_attr.src_path_bits = 200; }},
    {"a flow label of 32 bits", [](ibv_qp_attr& attributes) { attributes.ah_attr.grh.flow_label = 0xfff12345; }},
    {"a rate of nothing", [](ibv_qp_attr& attributes) { attributes.ah_attr.static_rate = 1; }},
    {"a rate above all", [](ibv_qp_attr& attributes) { attributes.ah_attr.static_rate = 200; }},
    {"a rate of 25 Gbit/s", [](ibv_qp_attr& attributes) { attributes.ah_attr.static_rate = IBV_RATE_25_GBPS; }},
    {"a GID index of nothing", [](ibv_qp_attr& attributes) { attributes.ah_attr.grh.sgid_index = 200; }},
    {"port 2", [](ibv_qp_attr& attributes) { attributes.ah_attr.port_num = 2; }},
    {"no port", [](ibv_qp_attr& attributes) { attributes.ah_attr.port_num = 0; }},
    {"a PSN of 32 bits", [](ibv_qp_attr& attributes) { attributes.rq_psn = attributes.sq_psn = 0x12345678; }},
    {"a destination of 32 bits", [](ibv_qp_attr& attributes) { attributes.dest_qp_num = 0x12345678; }},
};

void say_route(const Room& room, const Place& place, const Route& route)
{
    const QueuePair pair(room, IBV_QPT_RC, IBV_QPS_RESET);
    ibv_qp_attr attributes = values_at(place, pair.qp);
    route.change(attributes);
    if (const int error = connect(pair.qp, attributes); error != 0) {
        say(route.name, joined({spelled(error), "then " + std::string(name_of_state(state_of_qp(pair.qp)))}));
        return;
    }
    say_both(room, place, route.name, pair.qp);
}

void say_second_path(const Room& room, const Place& place)
{
    const QueuePair pair(room, IBV_QPT_RC, IBV_QPS_INIT);
    ibv_qp_attr attributes = values_at(place, pair.qp);
    attributes.alt_ah_attr = everything_at(place, pair.qp).ah_attr;
    attributes.alt_port_num = 1;
    attributes.alt_timeout = 11;
    attributes.qp_state = IBV_QPS_RTR;
    const int error = ibv_modify_qp(pair.qp, &attributes,
                                    needed_for(pair.qp, IBV_QPS_RTR) | IBV_QP_STATE | IBV_QP_ALT_PATH);
    say("a second path",
        error != 0 ? spelled(error) : verbs_answer(room.fd(), pair.qp->handle, place, pair.qp->qp_num));
}

void say_pkeys(const Room& room, const Place& place)
{
    for (const std::uint16_t index : {1, 5, 127, 128, 1000}) {
        const QueuePair pair(room, IBV_QPT_RC, IBV_QPS_RESET);
        ibv_qp_attr attributes = values_at(place, pair.qp);
        attributes.pkey_index = index;
        const std::string name = fmt::format("P_Key {}", index);
        if (const int error = connect(pair.qp, attributes); error != 0) {
            say(name, spelled(error));
        } else {
            say_both(room, place, name, pair.qp);
        }
    }
}

}    // namespace

void say_routes()
{
    const Room room;
    const Place place(room.world.context);
    for (const ibv_qp_type type : {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD}) {
        say_life(room, place, type);
    }
    for (const Route& route : kRoutes) {
        say_route(room, place, route);
    }
    say_second_path(room, place);
    say_pkeys(room, place);
}

}    // namespace rdmaqos::test::agreement
