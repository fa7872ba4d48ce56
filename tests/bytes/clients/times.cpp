// How long messages take on a link, by the completions of a program: never less than their bits take at the slowest
// rate on the way. No longest time is looked at, as that depends on the machine.
//
//   times EMULATOR DEVICE
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <infiniband/verbs.h>

#include "tests/emulator/clients/check.h"

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kMebibyte = 1 << 20;
constexpr std::chrono::nanoseconds kAtOneGigabit = 8'388'608ns;
// What was idle for longer than the emulator lets anybody catch up with.
constexpr auto kLongIdle = 150ms;

template <typename T>
T need(T value, const char* what)
{
    if (!value) {
        std::perror(what);
        std::exit(2);
    }
    return value;
}

// Two queue pairs of one device, connected to each other; the first sends.
class Pair {
public:
    Pair(ibv_context* context, ibv_rate static_rate) : context_(context)
    {
        domain_ = need(ibv_alloc_pd(context), "ibv_alloc_pd");
        constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
        region_ = need(ibv_reg_mr(domain_, memory_.data(), memory_.size(), kAccess), "ibv_reg_mr");
        for (int end : {0, 1}) {
            queues_[end] = need(ibv_create_cq(context, 64, nullptr, nullptr, 0), "ibv_create_cq");
            ibv_qp_init_attr attributes{};
            attributes.send_cq = attributes.recv_cq = queues_[end];
            attributes.cap = {64, 64, 1, 1, 0};
            attributes.qp_type = IBV_QPT_RC;
            queue_pairs_[end] = need(ibv_create_qp(domain_, &attributes), "ibv_create_qp");
        }
        connect(queue_pairs_[0], *queue_pairs_[1], static_rate);
        connect(queue_pairs_[1], *queue_pairs_[0], IBV_RATE_MAX);
    }
    ~Pair()
    {
        for (int end : {0, 1}) {
            check_errno(ibv_destroy_qp(queue_pairs_[end]), 0, "the queue pair goes");
            check_errno(ibv_destroy_cq(queues_[end]), 0, "the completion queue goes");
        }
        ibv_dereg_mr(region_);
        ibv_dealloc_pd(domain_);
    }
    Pair(const Pair&) = delete;
    Pair& operator=(const Pair&) = delete;

    void receive()
    {
        ibv_sge piece{address(kMebibyte), kMebibyte, region_->lkey};
        ibv_recv_wr request{1, nullptr, &piece, 1};
        ibv_recv_wr* bad = nullptr;
        need(ibv_post_recv(queue_pairs_[1], &request, &bad) == 0, "ibv_post_recv");
    }
    // From before it is posted until its completion at this end is there.
    std::chrono::nanoseconds time_of(ibv_wr_opcode opcode, int end = 0)
    {
        const auto begin = Clock::now();
        post(opcode);
        ibv_wc completion{};
        while (ibv_poll_cq(queues_[end], 1, &completion) == 0) {
        }
        const auto taken = Clock::now() - begin;
        check_number(completion.status, IBV_WC_SUCCESS, "its status");
        if (end != 0) {
            while (ibv_poll_cq(queues_[0], 1, &completion) == 0) {
            }
        }
        while (ibv_poll_cq(queues_[1], 1, &completion) != 0) {
        }
        return taken;
    }
    // Until its last byte is in the other end's memory.
    std::chrono::nanoseconds time_of_last_byte()
    {
        volatile char& last = memory_[2 * kMebibyte - 1];
        memory_[kMebibyte - 1] = 1;
        last = 0;
        const auto begin = Clock::now();
        post(IBV_WR_RDMA_WRITE);
        while (last == 0) {
        }
        const auto taken = Clock::now() - begin;
        ibv_wc completion{};
        while (ibv_poll_cq(queues_[0], 1, &completion) == 0) {
        }
        return taken;
    }

private:
    [[nodiscard]] std::uint64_t address(std::size_t offset) const
    {
        return reinterpret_cast<std::uint64_t>(memory_.data() + offset);
    }
    void post(ibv_wr_opcode opcode)
    {
        ibv_sge piece{address(0), kMebibyte, region_->lkey};
        ibv_send_wr request{};
        request.sg_list = &piece;
        request.num_sge = 1;
        request.opcode = opcode;
        request.send_flags = IBV_SEND_SIGNALED;
        request.wr.rdma = {address(kMebibyte), region_->rkey};
        ibv_send_wr* bad = nullptr;
        need(ibv_post_send(queue_pairs_[0], &request, &bad) == 0, "ibv_post_send");
    }
    void connect(ibv_qp* queue_pair, const ibv_qp& to, ibv_rate static_rate)
    {
        ibv_qp_attr values{};
        values.port_num = 1;
        values.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
        values.path_mtu = IBV_MTU_1024;
        values.dest_qp_num = to.qp_num;
        values.max_dest_rd_atomic = 1;
        values.max_rd_atomic = 1;
        values.min_rnr_timer = 12;
        values.retry_cnt = 7;
        values.rnr_retry = 7;
        values.timeout = 14;
        values.ah_attr.is_global = 1;
        values.ah_attr.port_num = 1;
        values.ah_attr.grh.hop_limit = 1;
        values.ah_attr.static_rate = static_rate;
        need(ibv_query_gid(context_, 1, 0, &values.ah_attr.grh.dgid) == 0, "ibv_query_gid");
        const auto go = [&](ibv_qp_state state, int mask) {
            values.qp_state = state;
            need(ibv_modify_qp(queue_pair, &values, IBV_QP_STATE | mask) == 0, "ibv_modify_qp");
        };
        go(IBV_QPS_INIT, IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
        go(IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                            IBV_QP_MIN_RNR_TIMER);
        go(IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    }

    ibv_context* const context_;
    std::vector<char> memory_ = std::vector<char>(2 * kMebibyte);
    ibv_pd* domain_ = nullptr;
    ibv_mr* region_ = nullptr;
    ibv_cq* queues_[2]{};
    ibv_qp* queue_pairs_[2]{};
};

std::chrono::nanoseconds waited_for_a_processor()
{
    unsigned long long computed = 0;
    unsigned long long waited = 0;
    std::ifstream("/proc/thread-self/schedstat") >> computed >> waited;
    return std::chrono::nanoseconds(waited);
}

// What the program has waited for a processor since the message before had arrived, the link makes up for. It had when
// the program was still waiting for it: since the check before that.
void check_at_least(std::chrono::nanoseconds taken, std::chrono::nanoseconds least, const char* name)
{
    static std::chrono::nanoseconds checks[2] = {};
    const auto now = waited_for_a_processor();
    const auto waited = now - std::exchange(checks[0], std::exchange(checks[1], now));
    const auto milliseconds = [](std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1e6; };
    check(taken + waited >= least, name, "it took %.3f ms and waited %.3f, and its bits take %.3f", milliseconds(taken),
          milliseconds(waited), milliseconds(least));
    std::printf("    %.3f ms, waited %.3f, of at least %.3f\n", milliseconds(taken), milliseconds(waited),
                milliseconds(least));
}

void check_messages(ibv_context* context)
{
    check_group("1 MiB at 1 Gbit/s");
    Pair pair(context, IBV_RATE_MAX);
    check_at_least(pair.time_of(IBV_WR_RDMA_WRITE), kAtOneGigabit, "the first message of all");
    std::this_thread::sleep_for(kLongIdle);
    check_at_least(pair.time_of(IBV_WR_RDMA_WRITE), kAtOneGigabit, "a write after the link was idle");
    std::this_thread::sleep_for(kLongIdle);
    check_at_least(pair.time_of(IBV_WR_RDMA_READ), kAtOneGigabit, "a read");
    std::this_thread::sleep_for(kLongIdle);
    pair.receive();
    check_at_least(pair.time_of(IBV_WR_SEND), kAtOneGigabit, "a send");
    std::this_thread::sleep_for(kLongIdle);
    pair.receive();
    check_at_least(pair.time_of(IBV_WR_SEND, 1), kAtOneGigabit, "a send, by what receives it");
    std::this_thread::sleep_for(kLongIdle);
    check_at_least(pair.time_of_last_byte(), kAtOneGigabit, "a write, by its last byte");

    // As of a program that waits for an answer each time.
    constexpr int kMessages = 10;
    std::chrono::nanoseconds taken{0};
    for (int message = 0; message < kMessages; ++message) {
        taken += pair.time_of(IBV_WR_RDMA_WRITE);
        std::this_thread::sleep_for(20ms);
    }
    check_at_least(taken, kMessages * kAtOneGigabit, "ten with pauses between them");
}

// The slowest there is, on a link that is forty times as fast.
void check_static_rate(ibv_context* context)
{
    check_group("1 MiB at 100 Gbit/s, to an address of 2.5 Gbit/s");
    constexpr std::chrono::nanoseconds kAtTwoAndAHalf = 3'355'443ns;
    Pair pair(context, IBV_RATE_2_5_GBPS);
    check_at_least(pair.time_of(IBV_WR_RDMA_WRITE), kAtTwoAndAHalf, "a write");
    std::this_thread::sleep_for(kLongIdle);
    pair.receive();
    check_at_least(pair.time_of(IBV_WR_SEND), kAtTwoAndAHalf, "a send");
}

}    // namespace

int main(int argc, char** argv)
{
    if (argc != 3) {
        std::fprintf(stderr, "usage: times EMULATOR DEVICE\n");
        return 2;
    }
    const std::string control = std::string(argv[1]) + " ctl link-speed " + argv[2] + " ";
    int count = 0;
    ibv_device** const all = need(ibv_get_device_list(&count), "ibv_get_device_list");
    ibv_context* context = nullptr;
    for (int i = 0; i < count; ++i) {
        if (std::string(argv[2]) == ibv_get_device_name(all[i])) {
            context = ibv_open_device(all[i]);
        }
    }
    ibv_free_device_list(all);
    need(context, "ibv_open_device");
    need(std::system((control + "1Gbps").c_str()) == 0, "ctl link-speed");
    check_messages(context);
    need(std::system((control + "100Gbps").c_str()) == 0, "ctl link-speed");
    check_static_rate(context);
    ibv_close_device(context);
    return check_result();
}
