// A client of the backend without daemon and bus: a context of libibverbs, its file as the daemon would hold it, and
// queue pairs.
#pragma once

#include <memory>
#include <stdexcept>
#include <vector>

#include <unistd.h>

#include "lib/nic/backend.h"
#include "tests/support/emulated.h"

namespace rdmaqos::test {

class Client {
public:
    Client()
    {
        if (!open_world(&world_)) {
            throw std::runtime_error("no world");
        }
        file_ = std::make_shared<ClientFile>(UniqueFd(dup(world_.context->cmd_fd)), nullptr);
    }
    ~Client() { close(); }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // As the end of its process: all at once, nothing is detached before. Without `file` the daemon goes on to hold it.
    void close()
    {
        file_.reset();
        if (world_.context == nullptr) {
            return;
        }
        for (auto* queue_pair : queue_pairs_) {
            ibv_destroy_qp(queue_pair);
        }
        ibv_destroy_cq(world_.cq);
        ibv_dealloc_pd(world_.pd);
        ibv_close_device(world_.context);
        world_ = {};
    }

    // The handle is what names it in its file.
    QueuePairRef make(ibv_qp_type type = IBV_QPT_RC, ibv_qp_state state = IBV_QPS_RTS)
    {
        ibv_qp* made = qp_in_state(&world_, type, state);
        if (made == nullptr) {
            throw std::runtime_error("no queue pair");
        }
        queue_pairs_.push_back(made);
        QueuePairRef ref;
        ref.number = made->qp_num;
        ref.type = type == IBV_QPT_RC   ? QueuePairType::Rc
                   : type == IBV_QPT_UC ? QueuePairType::Uc
                   : type == IBV_QPT_UD ? QueuePairType::Ud
                                        : QueuePairType::RawPacket;
        ref.handle = made->handle;
        ref.owner_pid = getpid();
        ref.file = file_;
        return ref;
    }
    // The one made last goes.
    void destroy_last()
    {
        ASSERT_EQ(ibv_destroy_qp(queue_pairs_.back()), 0);
        queue_pairs_.pop_back();
    }

    [[nodiscard]] ibv_qp* last() const { return queue_pairs_.back(); }
    [[nodiscard]] const std::shared_ptr<ClientFile>& file() const { return file_; }
    [[nodiscard]] ibv_context& context() { return *world_.context; }

private:
    world world_{};
    std::shared_ptr<ClientFile> file_;
    std::vector<ibv_qp*> queue_pairs_;
};

}    // namespace rdmaqos::test
