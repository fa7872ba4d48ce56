// A message to write into, without any connection to somebody.
#pragma once

#include <stdexcept>

#include <sys/socket.h>

#include "lib/bus/message.h"

namespace rdmaqos::test {

class LoneBus {
public:
    LoneBus()
    {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds_) < 0) {
            throw std::runtime_error("socketpair");
        }
        other_end_ = UniqueFd(fds_[1]);
        sd_bus* raw = nullptr;
        if (sd_bus_new(&raw) < 0) {
            throw std::runtime_error("sd_bus_new");
        }
        bus_.reset(raw);
        if (sd_bus_set_fd(raw, fds_[0], fds_[0]) < 0 || sd_bus_negotiate_fds(raw, 1) < 0 || sd_bus_start(raw) < 0) {
            throw std::runtime_error("sd_bus_start");
        }
    }

    [[nodiscard]] bus::MessageRef message() const
    {
        sd_bus_message* raw = nullptr;
        if (sd_bus_message_new_signal(bus_.get(), &raw, "/test", "org.rdmaqos1.Test", "Test") < 0) {
            throw std::runtime_error("sd_bus_message_new_signal");
        }
        return bus::MessageRef::adopt(raw);
    }
    // What `write(bus::Writer&)` wrote, ready to be read.
    template <typename Write>
    [[nodiscard]] bus::MessageRef written(const Write& write) const
    {
        auto result = message();
        bus::Writer writer(result.get());
        write(writer);
        if (writer.result() < 0 || sd_bus_message_seal(result.get(), 1, 0) < 0) {
            throw std::runtime_error("the message cannot be written");
        }
        return result;
    }

private:
    int fds_[2] = {-1, -1};
    UniqueFd other_end_;
    bus::BusPtr bus_;
};

}    // namespace rdmaqos::test
