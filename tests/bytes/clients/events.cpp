// The events of the data path, of two queue pairs of one program that are connected to each other: each is caused, and
// must come once, for the right object.
//
//   events EMULATOR DEVICE
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <infiniband/verbs.h>
#include <poll.h>

#include "tests/emulator/clients/check.h"
#include "tests/support/patience.h"

namespace {

using namespace std::chrono_literals;
using rdmaqos::test::eventually;

std::string emulator;
std::string device;

bool control(const std::string& words)
{
    return std::system((emulator + " ctl " + words).c_str()) == 0;
}

[[noreturn]] void give_up(const char* what)
{
    std::perror(what);
    std::exit(2);
}

template <typename T>
T* need(T* pointer, const char* what)
{
    return pointer != nullptr ? pointer : (give_up(what), pointer);
}

void modify(ibv_qp* queue_pair, ibv_qp_attr& values, int mask)
{
    errno = ibv_modify_qp(queue_pair, &values, mask);
    if (errno != 0) {
        give_up("ibv_modify_qp");
    }
}

struct Options {
    int entries = 64;    // of the completion queue that both use
    bool shared = false;
    unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    std::uint8_t retries = 2;
    std::uint8_t timeout = 12;       // 17 ms
    std::uint32_t first_sent = 0;    // PSN; 0 is expected
    bool only_receives = false;      // the second one stays in RTR
};

// Two queue pairs, connected to each other.
class Pair {
public:
    explicit Pair(const Options& options = {}) : options_(options)
    {
        int count = 0;
        ibv_device** const all = need(ibv_get_device_list(&count), "ibv_get_device_list");
        for (int i = 0; i < count; ++i) {
            if (device == ibv_get_device_name(all[i])) {
                context = ibv_open_device(all[i]);
            }
        }
        ibv_free_device_list(all);
        need(context, "ibv_open_device");
        domain_ = need(ibv_alloc_pd(context), "ibv_alloc_pd");
        queue = need(ibv_create_cq(context, options.entries, nullptr, nullptr, 0), "ibv_create_cq");
        region_ = need(ibv_reg_mr(domain_, memory.data(), memory.size(), static_cast<int>(options.access)),
                       "ibv_reg_mr");
        if (options.shared) {
            ibv_srq_init_attr attributes{nullptr, {16, 1, 0}};
            shared = need(ibv_create_srq(domain_, &attributes), "ibv_create_srq");
        }
        for (auto& each : queue_pairs) {
            ibv_qp_init_attr attributes{};
            attributes.send_cq = attributes.recv_cq = queue;
            attributes.srq = shared;
            attributes.cap = {64, shared != nullptr ? 0U : 64U, 1, 1, 0};
            attributes.qp_type = IBV_QPT_RC;
            each = need(ibv_create_qp(domain_, &attributes), "ibv_create_qp");
        }
        connect(queue_pairs[0], queue_pairs[1], IBV_QPS_RTS);
        connect(queue_pairs[1], queue_pairs[0], options.only_receives ? IBV_QPS_RTR : IBV_QPS_RTS);
    }
    ~Pair()
    {
        for (auto* each : queue_pairs) {
            check_errno(ibv_destroy_qp(each), 0, "the queue pair goes");
        }
        if (shared != nullptr) {
            check_errno(ibv_destroy_srq(shared), 0, "the shared receive queue goes");
        }
        check_errno(ibv_destroy_cq(queue), 0, "the completion queue goes");
        ibv_dereg_mr(region_);
        ibv_dealloc_pd(domain_);
        ibv_close_device(context);
    }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;

    void receive(int count)
    {
        for (int i = 0; i < count; ++i) {
            ibv_sge piece = first_half();
            ibv_recv_wr request{7, nullptr, &piece, 1};
            ibv_recv_wr* bad = nullptr;
            const int error = shared != nullptr ? ibv_post_srq_recv(shared, &request, &bad)
                                                : ibv_post_recv(queue_pairs[1], &request, &bad);
            if (error != 0) {
                give_up("a receive request");
            }
        }
    }
    void post(ibv_wr_opcode opcode, int count = 1)
    {
        for (int i = 0; i < count; ++i) {
            ibv_sge piece = first_half();
            ibv_send_wr request{};
            request.wr_id = 1;
            request.sg_list = &piece;
            request.num_sge = 1;
            request.opcode = opcode;
            request.send_flags = IBV_SEND_SIGNALED;
            request.wr.rdma = {reinterpret_cast<std::uint64_t>(memory.data() + memory.size() / 2), region_->rkey};
            ibv_send_wr* bad = nullptr;
            if (ibv_post_send(queue_pairs[0], &request, &bad) != 0) {
                give_up("ibv_post_send");
            }
        }
    }
    // The status of the next completion of a send request; -1: none comes.
    int sent()
    {
        ibv_wc completion{};
        return eventually([&] { return ibv_poll_cq(queue, 1, &completion) > 0 && completion.wr_id == 1; })
                   ? static_cast<int>(completion.status)
                   : -1;
    }
    // The second one begins a new life, with the parameters of the first.
    void reconnect_receiver()
    {
        ibv_qp_attr values{};
        values.qp_state = IBV_QPS_RESET;
        modify(queue_pairs[1], values, IBV_QP_STATE);
        connect(queue_pairs[1], queue_pairs[0], IBV_QPS_RTS);
    }
    // The next event must be this one, of this object; its end is acknowledged.
    void expect(ibv_event_type type, const void* object, const char* name)
    {
        pollfd wait{context->async_fd, POLLIN, 0};
        ibv_async_event event{};
        if (!check(poll(&wait, 1, HUNG_MS) == 1 && ibv_get_async_event(context, &event) == 0, name, "none came")) {
            return;
        }
        check(event.event_type == type, name, "it is %s", ibv_event_type_str(event.event_type));
        check(object == nullptr || event.element.qp == object, name, "it is of another object");
        ibv_ack_async_event(&event);
    }
    void expect_none(const char* name)
    {
        pollfd wait{context->async_fd, POLLIN, 0};
        ibv_async_event event{};
        const bool came = poll(&wait, 1, 100) == 1 && ibv_get_async_event(context, &event) == 0;
        check(!came, name, "%s came", came ? ibv_event_type_str(event.event_type) : "");
        if (came) {
            ibv_ack_async_event(&event);
        }
    }

    ibv_context* context = nullptr;
    ibv_cq* queue = nullptr;
    ibv_srq* shared = nullptr;
    std::array<ibv_qp*, 2> queue_pairs{};
    std::vector<char> memory = std::vector<char>(8192);

private:
    [[nodiscard]] ibv_sge first_half() const
    {
        return {reinterpret_cast<std::uint64_t>(memory.data()), static_cast<std::uint32_t>(memory.size() / 2),
                region_->lkey};
    }
    void connect(ibv_qp* queue_pair, const ibv_qp* to, ibv_qp_state last)
    {
        ibv_qp_attr values{};
        values.qp_state = IBV_QPS_INIT;
        values.port_num = 1;
        values.qp_access_flags = options_.access & ~static_cast<unsigned>(IBV_ACCESS_LOCAL_WRITE);
        modify(queue_pair, values, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
        values.qp_state = IBV_QPS_RTR;
        values.path_mtu = IBV_MTU_1024;
        values.dest_qp_num = to->qp_num;
        values.max_dest_rd_atomic = 1;
        values.min_rnr_timer = 12;
        values.ah_attr.is_global = 1;
        values.ah_attr.port_num = 1;
        values.ah_attr.grh.hop_limit = 1;
        if (ibv_query_gid(context, 1, 0, &values.ah_attr.grh.dgid) != 0) {
            give_up("ibv_query_gid");
        }
        modify(queue_pair, values,
               IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
        if (last == IBV_QPS_RTR) {
            return;
        }
        values.qp_state = IBV_QPS_RTS;
        values.timeout = options_.timeout;
        values.retry_cnt = options_.retries;
        values.rnr_retry = 7;
        values.max_rd_atomic = 1;
        values.sq_psn = options_.first_sent;
        modify(queue_pair, values,
               IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                   IBV_QP_MAX_QP_RD_ATOMIC);
    }

    const Options options_;
    ibv_pd* domain_ = nullptr;
    ibv_mr* region_ = nullptr;
};

ibv_qp_state state_of(ibv_qp* queue_pair)
{
    ibv_qp_attr values{};
    ibv_qp_init_attr initial{};
    return ibv_query_qp(queue_pair, &values, IBV_QP_STATE, &initial) == 0 ? values.qp_state : IBV_QPS_UNKNOWN;
}

void check_limit_of_shared_queue()
{
    check_group("a shared receive queue with a limit");
    Options options;
    options.shared = true;
    Pair pair(options);
    pair.receive(10);
    ibv_srq_attr limit{0, 0, 8};
    check_errno(ibv_modify_srq(pair.shared, &limit, IBV_SRQ_LIMIT), 0, "the limit is 8");
    pair.post(IBV_WR_SEND, 2);
    check_number(pair.sent(), IBV_WC_SUCCESS, "the first message");
    check_number(pair.sent(), IBV_WC_SUCCESS, "the second message");
    pair.expect_none("8 are left: no event");
    pair.post(IBV_WR_SEND, 2);
    pair.expect(IBV_EVENT_SRQ_LIMIT_REACHED, pair.shared, "7 are left: the limit is reached");
    check_number(pair.sent(), IBV_WC_SUCCESS, "the third message");
    check_number(pair.sent(), IBV_WC_SUCCESS, "the fourth message");
    pair.expect_none("once");
    check_errno(ibv_query_srq(pair.shared, &limit), 0, "ibv_query_srq");
    check_number(limit.srq_limit, 0, "it is not armed any more");
    limit.srq_limit = 8;
    check_errno(ibv_modify_srq(pair.shared, &limit, IBV_SRQ_LIMIT), 0, "it is armed again");
    pair.expect(IBV_EVENT_SRQ_LIMIT_REACHED, pair.shared, "too few were there already");

    ibv_qp_attr values{};
    values.qp_state = IBV_QPS_ERR;
    modify(pair.queue_pairs[1], values, IBV_QP_STATE);
    pair.expect(IBV_EVENT_QP_LAST_WQE_REACHED, pair.queue_pairs[1], "in ERR it takes no more requests");
}

void check_overrun()
{
    check_group("a completion queue that nobody polls");
    Options options;
    options.entries = 7;    // and one in reserve
    Pair pair(options);
    pair.post(IBV_WR_RDMA_WRITE, 20);
    pair.expect(IBV_EVENT_CQ_ERR, pair.queue, "it is overrun");
    pair.expect(IBV_EVENT_QP_FATAL, pair.queue_pairs[0], "who has no room for completions fails");
    check_number(state_of(pair.queue_pairs[0]), IBV_QPS_ERR, "its state");
    pair.expect_none("each once");
}

void check_errors_of_responders()
{
    check_group("what must not be read");
    Options options;
    options.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    Pair pair(options);
    pair.post(IBV_WR_RDMA_READ);
    check_number(pair.sent(), IBV_WC_REM_ACCESS_ERR, "the reader is told");
    pair.expect(IBV_EVENT_QP_ACCESS_ERR, pair.queue_pairs[1], "and the owner");
    check_number(state_of(pair.queue_pairs[1]), IBV_QPS_ERR, "its state");
}

void check_first_message()
{
    check_group("a first message");
    Options options;
    options.only_receives = true;
    Pair pair(options);
    pair.receive(2);
    pair.post(IBV_WR_SEND, 2);
    pair.expect(IBV_EVENT_COMM_EST, pair.queue_pairs[1], "to a queue pair in RTR");
    pair.expect_none("once");
}

void check_packet_numbers()
{
    check_group("packets that are not those expected");
    Options options;
    options.first_sent = 7;
    Pair pair(options);
    pair.post(IBV_WR_RDMA_WRITE);
    check_number(pair.sent(), IBV_WC_RETRY_EXC_ERR, "they are dropped, as those of a connection that is over");

    Pair again;
    again.post(IBV_WR_RDMA_WRITE, 3);
    for (int i = 0; i < 3; ++i) {
        check_number(again.sent(), IBV_WC_SUCCESS, "a message");
    }
    again.reconnect_receiver();
    again.post(IBV_WR_RDMA_WRITE);
    check_number(again.sent(), IBV_WC_RETRY_EXC_ERR, "after its receiver was reset and reconnected with the same PSNs");
}

void check_port_down()
{
    check_group("a port that goes down");
    Pair pair;
    pair.post(IBV_WR_RDMA_WRITE);
    check_number(pair.sent(), IBV_WC_SUCCESS, "before");
    check(control("event " + device + " port-error"), "ctl event port-error", "it failed");
    pair.expect(IBV_EVENT_PORT_ERR, nullptr, "its event");
    const auto started = std::chrono::steady_clock::now();
    pair.post(IBV_WR_RDMA_WRITE);
    check_number(pair.sent(), IBV_WC_RETRY_EXC_ERR, "nobody answers");
    const auto waited = std::chrono::steady_clock::now() - started;
    check(waited > 30ms, "after the retries", "%lld ms", static_cast<long long>(waited / 1ms));
    check(control("event " + device + " port-active"), "ctl event port-active", "it failed");
    pair.expect(IBV_EVENT_PORT_ACTIVE, nullptr, "its event");

    Options options;
    options.retries = 7;
    options.timeout = 19;    // 2 s: all together longer than the orders below take on a busy machine
    Pair again(options);
    check(control("event " + device + " port-error"), "ctl event port-error", "it failed");
    again.post(IBV_WR_RDMA_WRITE);
    std::this_thread::sleep_for(20ms);
    check(control("event " + device + " port-active"), "ctl event port-active", "it failed");
    check_number(again.sent(), IBV_WC_SUCCESS, "what was posted meanwhile, when it is up again in time");
}

void check_fatal()
{
    check_group("a queue pair that the device gives up");
    Pair pair;
    pair.receive(1);
    check(control("qp-fatal " + device + " " + std::to_string(pair.queue_pairs[1]->qp_num)), "ctl qp-fatal",
          "it failed");
    pair.expect(IBV_EVENT_QP_FATAL, pair.queue_pairs[1], "its event");
    ibv_wc completion{};
    check(eventually([&] { return ibv_poll_cq(pair.queue, 1, &completion) > 0; }), "a completion", "none came");
    check(completion.wr_id == 7 && completion.status == IBV_WC_WR_FLUSH_ERR, "its receive request is flushed", "%s",
          ibv_wc_status_str(completion.status));
}

}    // namespace

int main(int argc, char** argv)
{
    if (argc != 3) {
        std::fprintf(stderr, "usage: events EMULATOR DEVICE\n");
        return 2;
    }
    emulator = argv[1];
    device = argv[2];
    check_limit_of_shared_queue();
    check_overrun();
    check_errors_of_responders();
    check_first_message();
    check_packet_numbers();
    check_port_down();
    check_fatal();
    return check_result();
}
