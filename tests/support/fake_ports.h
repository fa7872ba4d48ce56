// Network interfaces whose traffic classes a test sets: in place of the kernel, for a service.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "daemon/port_classes/port_kernel.h"
#include "lib/dcb/driver.h"
#include "lib/port_classes/rules.h"
#include "lib/port_classes/steps.h"

namespace rdmaqos::test {

class FakePorts final : public PortKernel {
public:
    Result<PortAnswer> read(const std::string& netdev) override
    {
        const auto wait = [&] {
            const std::lock_guard lock(mutex_);
            return before_answer_;
        }();
        if (wait) {
            wait();
        }
        const std::lock_guard lock(mutex_);
        ++reads_[netdev];
        if (error_) {
            return fail(*error_);
        }
        const auto found = settings_.find(netdev);
        if (found == settings_.end()) {
            return fail(ErrorCode::Unsupported, "its driver has no DCB");
        }
        return PortAnswer{driver_, found->second, {}};
    }

    // As the driver of the row does, with the next refusal, if there is one.
    dcb::WriteReport write(const std::string& netdev, const std::vector<dcb::Write>& writes) override
    {
        const auto wait = [&] {
            const std::lock_guard lock(mutex_);
            return before_write_;
        }();
        if (wait) {
            wait();
        }
        const std::lock_guard lock(mutex_);
        const auto found = settings_.find(netdev);
        if (found == settings_.end()) {
            return {{}, fail(ErrorCode::DeviceGone, "there is no such interface")};
        }
        dcb::WriteReport report{{}, found->second};
        const auto rules = port_classes::rules_of(dcb::find_driver(driver_));
        bool stopped = false;
        for (const dcb::Write& write : writes) {
            dcb::Written part{write, dcb::WriteEnd::NotTried, 0, {}};
            if (!stopped) {
                ++writes_[netdev];
                if (refusals_ > 0 && --refusals_before_ < 0) {
                    --refusals_;
                    stopped = true;
                    part.end = dcb::WriteEnd::Refused;
                    part.error = refusal_;
                    part.message = netdev + ": refused by the test";
                } else {
                    part.end = dcb::WriteEnd::Taken;
                    found->second = port_classes::after(found->second, write, rules);
                }
            }
            report.parts.push_back(std::move(part));
        }
        report.now = found->second;
        return report;
    }

    [[nodiscard]] dcb::PortSettings settings(const std::string& netdev)
    {
        const std::lock_guard lock(mutex_);
        return settings_[netdev];
    }
    void set_driver(const std::string& driver)
    {
        const std::lock_guard lock(mutex_);
        driver_ = driver;
    }
    // Of the writes behind the next `before` ones, so many are refused.
    void refuse(int before, int count, int error)
    {
        const std::lock_guard lock(mutex_);
        refusals_before_ = before;
        refusals_ = count;
        refusal_ = error;
    }
    // Called on the thread that writes, before the first of a list.
    void set_before_write(std::function<void()> before_write)
    {
        const std::lock_guard lock(mutex_);
        before_write_ = std::move(before_write);
    }
    // Single writes, refused ones included.
    [[nodiscard]] int writes(const std::string& netdev)
    {
        const std::lock_guard lock(mutex_);
        return writes_[netdev];
    }

    void set(const std::string& netdev, dcb::PortSettings settings)
    {
        const std::lock_guard lock(mutex_);
        settings_[netdev] = std::move(settings);
    }
    // Of every reading from now on; empty: none.
    void set_error(std::optional<Error> error)
    {
        const std::lock_guard lock(mutex_);
        error_ = std::move(error);
    }
    // Called on the thread that reads.
    void set_before_answer(std::function<void()> before_answer)
    {
        const std::lock_guard lock(mutex_);
        before_answer_ = std::move(before_answer);
    }
    [[nodiscard]] int reads(const std::string& netdev)
    {
        const std::lock_guard lock(mutex_);
        return reads_[netdev];
    }

    // ---- notices; on the main loop ----

    [[nodiscard]] WatchPorts watch()
    {
        return [this](std::function<void(const PortNotice&)> take) {
            const auto watcher = std::make_shared<std::function<void(const PortNotice&)>>(std::move(take));
            watcher_ = watcher;
            return watcher;
        };
    }
    [[nodiscard]] bool is_watched() const { return !watcher_.expired(); }
    void notify(const PortNotice& notice) const
    {
        if (const auto watcher = watcher_.lock()) {
            (*watcher)(notice);
        }
    }

private:
    std::mutex mutex_;
    std::map<std::string, dcb::PortSettings> settings_;
    std::map<std::string, int> reads_;
    std::map<std::string, int> writes_;
    std::string driver_ = "mlx5_core";
    int refusals_before_ = 0;
    int refusals_ = 0;
    int refusal_ = 0;
    std::optional<Error> error_;
    std::function<void()> before_answer_;
    std::function<void()> before_write_;
    std::weak_ptr<std::function<void(const PortNotice&)>> watcher_;
};

// Three traffic classes: 0 with 10 %, 1 with 60 % and at most 40 Gbit/s, 2 with 30 %; DSCP 26 has priority 1, which is
// lossless, and DSCP 10 priority 2.
inline dcb::PortSettings three_classes()
{
    dcb::PortSettings settings;
    dcb::Ets& ets = settings.ets.emplace();
    ets.traffic_class[0] = {dcb::Selection::Ets, 10, {}};
    ets.traffic_class[1] = {dcb::Selection::Ets, 60, Bandwidth::from_gbps(40)};
    ets.traffic_class[2] = {dcb::Selection::Ets, 30, {}};
    ets.class_of_priority = {0, 1, 2, 0, 0, 0, 0, 0};
    settings.has_max_rates = true;
    settings.apps = {{dcb::Selector::Dscp, 10, 2}, {dcb::Selector::Dscp, 26, 1}};
    settings.pfc.emplace().capacity = 8;
    settings.pfc->lossless[1] = true;
    settings.dcbx = dcb::Dcbx{.host = true, .firmware = false, .ieee = true, .cee = false};
    return settings;
}

}    // namespace rdmaqos::test
