// Where a queue pair sends to, as its holder can ask without a struct ibv_qp.
#pragma once

#include "tests/kernel/agreement/transcript.h"

namespace rdmaqos::test::agreement {

// Of the port: what addresses are made of here, and what they are called in what is said.
struct Place {
    explicit Place(ibv_context* context);

    // Its first GID that routers take: on Ethernet one of RoCE v2, which need not be the first of all.
    std::uint8_t gid_index = 0;
    union ibv_gid gid {
    };
    bool ethernet = false;

private:
    bool find_gid(ibv_context* context, int count);
};

// Global, to the port itself; the rest of the attributes is as of values_for().
[[nodiscard]] ibv_qp_attr values_at(const Place& place, ibv_qp* queue_pair);
// From RESET to RTS, with these attributes. 0 or errno.
[[nodiscard]] int connect(ibv_qp* queue_pair, ibv_qp_attr attributes, ibv_qp_state to = IBV_QPS_RTS);

// What QUERY_QP says, by the ioctl that stands for the old command, and by DEVX. `number`: the queue pair's own.
[[nodiscard]] std::string verbs_answer(int fd, std::uint32_t handle, const Place& place, std::uint32_t number);
[[nodiscard]] std::string devx_answer(int fd, std::uint32_t handle, const Place& place, std::uint32_t number);

}    // namespace rdmaqos::test::agreement
