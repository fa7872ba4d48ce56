// What goes wrong with requests that set traffic classes: below the emulator as its control orders it; on a kernel by
// the firmware of the device (tests/kernel/module), and by stopping the daemon at what it sends.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include "lib/base/signal_process.h"
#include "tests/faults/call_watch.h"
#include "tests/kernel/firmware.h"
#include "tests/support/emulated.h"

namespace rdmaqos::test {

class PortFaults {
public:
    PortFaults() : watch_(on_kernel() ? std::make_unique<CallWatch>() : nullptr) {}

    // What a daemon that is to be killed is started with.
    [[nodiscard]] std::vector<std::string> launcher() const
    {
        return watch_ != nullptr ? watch_->launcher() : std::vector<std::string>();
    }

    // The next request is refused as a whole, with an error that may be none the next time.
    void refuse_once() const { order("1 refuse", "1 abc001 1"); }
    // Every one is, with an error that will be the same.
    void refuse_always() const { order(fmt::format("1 refuse {} times 1000", EINVAL), "3 abc002 1000"); }
    // The next one is refused when half of the priorities have their classes.
    void write_half() const { order("1 half", "1 abc003 1 4"); }
    // The firmware says that it did the next ones, and does not. On a kernel.
    static void do_nothing(int times) { tell_firmware(fmt::format("refuse {} 0 0 {}", kClassesOfPriorities, times)); }

    // Who makes the `nth` request from now is killed, before it is made or when it is done.
    void kill_at(std::uint64_t nth, bool before) const
    {
        if (watch_ == nullptr) {
            emulator(fmt::format("dcb-fault mlx5_0 {} {}", nth, before ? "kill-before" : "kill-after"));
            return;
        }
        watch_->set_judge([nth, before, made = std::uint64_t{0}, killed = pid_t{0}](const StoppedCall& call) mutable {
            const int type = netlink_type_of(call);
            const bool is_behind = !before && made == nth && (type == RTM_SETDCB || type == RTM_GETDCB);
            made += type == RTM_SETDCB ? 1U : 0U;
            if (killed == 0 && (is_behind || (before && made == nth && type == RTM_SETDCB))) {
                killed = call.process;    // the next one that is watched is not
                signal_process(killed, SIGKILL);
            }
            // It might still be made before its thread ends.
            return call.process == killed ? Verdict{.error = EINTR} : Verdict{};
        });
    }

    void clear() const
    {
        emulator("clear");
        if (watch_ != nullptr) {
            tell_firmware(fmt::format("refuse {} 0 0 0", kClassesOfPriorities));
            watch_->set_judge({});
        }
    }

private:
    static constexpr const char* kClassesOfPriorities = "400a";    // the register that mlx5e writes first for ETS

    void order(const std::string& of_emulator, const std::string& of_firmware) const
    {
        if (watch_ != nullptr) {
            tell_firmware(fmt::format("refuse {} {}", kClassesOfPriorities, of_firmware));
        } else {
            emulator("dcb-fault mlx5_0 " + of_emulator);
        }
    }
    // 0: it sends something else.
    [[nodiscard]] static int netlink_type_of(const StoppedCall& call)
    {
        nlmsghdr header{};
        if (call.beginning.size() < sizeof(header)) {
            return 0;
        }
        std::memcpy(&header, call.beginning.data(), sizeof(header));
        return (header.nlmsg_flags & NLM_F_REQUEST) != 0 ? header.nlmsg_type : 0;
    }

    std::unique_ptr<CallWatch> watch_;
};

}    // namespace rdmaqos::test
