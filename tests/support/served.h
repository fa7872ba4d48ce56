// What rdma-qosd serves, on a thread of this process: service and transports on a loop, with devices that a test adds
// and changes. Clients come by the direct socket below the root and by the system bus of DBUS_SYSTEM_BUS_ADDRESS.
#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "daemon/bus/transports.h"
#include "daemon/loop/gathering.h"
#include "daemon/service/service.h"
#include "lib/base/file.h"
#include "lib/bus/event.h"
#include "lib/bus/names.h"

namespace rdmaqos::test {

class Served {
public:
    // Each throws when it does not become ready.
    explicit Served(const std::filesystem::path& root) : Served(ServiceOptions{root, NameService::host(), true}) {}
    explicit Served(const ServiceOptions& options) : thread_([this, options] { run(options); })
    {
        ready_.get_future().get();
    }
    ~Served()
    {
        loop_->post([this] { loop_->exit(0); });
    }
    Served(const Served&) = delete;
    Served& operator=(const Served&) = delete;

    // Runs `what` where the service lives, and waits for it.
    void on_loop(const std::function<void(Service&)>& what)
    {
        std::packaged_task<void()> task([&] { what(*service_); });
        auto done = task.get_future();
        loop_->post([&task] { task(); });
        done.get();
    }

private:
    void run(const ServiceOptions& options)
    {
        try {
            bus::EventLoop loop;
            const SteadyClock clock;
            Service service(options, loop, clock);
            BusTransports transports(service, loop, {below_root(options.root, bus::names::kSocket), true});
            std::optional<ReloadOutcome> started;
            const auto ready = Gathering::begin([this, &started](const Gathering::Missing&) {
                if (started->accepted) {
                    ready_.set_value();
                } else {
                    ready_.set_exception(std::make_exception_ptr(std::runtime_error(started->to_text())));
                }
            });
            ready->expect("policy");
            ready->expect("transports");
            ready->all_expected();
            service.start([&started, ready](ReloadOutcome outcome) {
                started = std::move(outcome);
                ready->came("policy");
            });
            loop_ = &loop;
            service_ = &service;
            if (const auto opened = transports.open([ready] { ready->came("transports"); }); !opened) {
                throw std::runtime_error(to_string(opened.error()));
            }
            loop.run();
        } catch (...) {
            ready_.set_exception(std::current_exception());
        }
    }

    std::promise<void> ready_;
    bus::EventLoop* loop_ = nullptr;
    Service* service_ = nullptr;
    std::jthread thread_;    // last: uses the others
};

}    // namespace rdmaqos::test
