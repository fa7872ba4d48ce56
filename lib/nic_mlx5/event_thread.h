// Listens to a device's asynchronous events on a thread of its own.
#pragma once

#include <thread>

#include <infiniband/verbs.h>

#include "lib/base/file.h"
#include "lib/nic/backend.h"

namespace rdmaqos::mlx5 {

// Until the device is dead or this object goes.
class EventThread {
public:
    // `context` must outlive it.
    explicit EventThread(ibv_context& context);
    ~EventThread();
    EventThread(const EventThread&) = delete;
    EventThread& operator=(const EventThread&) = delete;

    void start(Backend::EventHandler handler);

private:
    void listen(const Backend::EventHandler& handler);
    // False: the device is dead.
    bool take(const Backend::EventHandler& handler);

    ibv_context& context_;
    UniqueFd stop_;
    std::thread thread_;
};

}    // namespace rdmaqos::mlx5
