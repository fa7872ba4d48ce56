// A kernel with one network interface whose driver behaves as its row says: DCB netlink without a socket.
//
//     FakeDcb kernel(*dcb::find_driver("ice"));
//     auto report = dcb::write_port(kernel, "ens1", writes, &kernel.driver());
//
// It reads requests byte by byte as the kernel does (net/dcb/dcbnl.c), not with lib/dcb. Faults and other programs can
// be put behind any write. What it does not have: CEE, QCN, peers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/file.h"
#include "lib/dcb/driver.h"
#include "lib/dcb/port.h"
#include "lib/dcb/port_settings.h"
#include "lib/dcb/transport.h"
#include "lib/dcb/watcher.h"

namespace rdmaqos::test {

// The row of a driver; throws if there is none.
[[nodiscard]] const dcb::Driver& driver_row(std::string_view name);

class FakeDcb final : public dcb::Transport {
public:
    // `classes`: how many traffic classes the port has, if the row does not say it.
    explicit FakeDcb(const dcb::Driver& driver, std::string interface = "ens1", std::uint8_t classes = 8);

    [[nodiscard]] tl::expected<std::vector<std::uint8_t>, int> ask(std::uint16_t type,
                                                                   const std::vector<std::uint8_t>& request) override;
    [[nodiscard]] bool has_sent(std::uint32_t sequence) const override;

    [[nodiscard]] const dcb::Driver& driver() const { return driver_; }
    [[nodiscard]] const std::string& interface() const { return interface_; }

    // ---- what there is ----

    [[nodiscard]] const dcb::PortSettings& settings() const { return settings_; }
    // The entries that the NIC goes by: not those that its driver ignores or refused, and still those that were deleted
    // by the kernel alone.
    [[nodiscard]] const std::vector<dcb::AppEntry>& nic_apps() const { return nic_apps_; }
    // Without a notification, as a firmware tool.
    void have(const dcb::PortSettings& settings);
    // An agent in the firmware negotiates, or does no longer.
    void have_agent(bool on);
    // The other end sends DCBX, and both agree on IEEE.
    void have_operational_dcbx(bool on) { operational_ = on; }
    void have_privileges(bool on) { privileged_ = on; }
    void have_interface(bool on) { present_ = on; }
    // As before the end of 2025: rates that do not fit are cut off, and classes without ETS have a weight.
    void have_old_kernel(bool on) { old_kernel_ = on; }
    // All that was set is lost, as when a device recovers from a fatal error. The kernel does not notify.
    void reset();

    // ---- faults: `nth` write or read from now on, 1 is the next ----

    // Refused with an errno of the driver; half written unless its row says that it is atomic.
    void fail_write(unsigned nth, int error) { faults_[writes_ + nth] = {error, false}; }
    // Done, but the answer does not come.
    void lose_answer(unsigned nth) { faults_[writes_ + nth] = {0, true}; }
    void fail_read(unsigned nth, int error) { read_faults_[reads_ + nth] = error; }
    // Runs when the write has been answered, before anything is read.
    void after_write(unsigned nth, std::function<void(FakeDcb&)> act) { behind_[writes_ + nth] = std::move(act); }
    // Another program, whose request has this number. The errno of the kernel or the driver.
    int write_as_other(const dcb::Write& write, std::uint32_t sequence = 7);

    [[nodiscard]] unsigned writes() const { return writes_; }
    [[nodiscard]] unsigned reads() const { return reads_; }
    // What the writes disturbed, without those that disturbed nothing.
    [[nodiscard]] const std::vector<dcb::Disruption>& disruptions() const { return disruptions_; }

    // ---- notifications ----

    // Changes from now on; one at a time.
    [[nodiscard]] dcb::Watcher watch();
    // As the driver sends it when its firmware has changed something.
    void notify_of_driver();
    // The watcher has been too slow: its next receive says ENOBUFS. Of all watchers of the process.
    static void overflow();

private:
    struct Fault {
        int error = 0;
        bool silent = false;
    };
    using Bytes = netlink::Bytes;

    [[nodiscard]] tl::expected<std::vector<std::uint8_t>, int> handle(std::uint16_t type, Bytes request,
                                                                      std::uint32_t sequence, const Fault& fault);
    [[nodiscard]] std::vector<std::uint8_t> fill(std::uint8_t command) const;
    [[nodiscard]] std::vector<std::uint8_t> answer(std::uint8_t command, std::uint16_t attribute, int byte) const;
    void notify(std::uint8_t command, std::uint32_t sequence) const;

    // As the functions of a driver: 0 or an errno, in one place negative numbers as theirs.
    [[nodiscard]] int set_all(Bytes ieee, const Fault& fault);
    [[nodiscard]] int set_ets(Bytes attribute, const Fault& fault);
    [[nodiscard]] int set_rates(Bytes attribute, const Fault& fault);
    [[nodiscard]] int set_app(const dcb::AppEntry& entry, const Fault& fault);
    [[nodiscard]] int delete_app(const dcb::AppEntry& entry, const Fault& fault);
    [[nodiscard]] int set_dcbx(std::uint8_t bits);

    [[nodiscard]] bool allows_writes() const;
    [[nodiscard]] int objection_to(const dcb::Ets& ets) const;
    [[nodiscard]] std::uint64_t rate_in_nic(std::uint64_t kbps, bool& refused) const;
    void disturb(dcb::Disruption disruption);
    [[nodiscard]] bool has_dscp() const;

    const dcb::Driver& driver_;
    const std::string interface_;
    const std::uint8_t classes_;
    dcb::PortSettings settings_;
    std::vector<dcb::AppEntry> nic_apps_;
    bool operational_ = false;
    bool privileged_ = true;
    bool present_ = true;
    bool old_kernel_ = false;

    std::uint32_t sequence_ = 1000;
    unsigned writes_ = 0;
    unsigned reads_ = 0;
    std::map<unsigned, Fault> faults_;
    std::map<unsigned, int> read_faults_;
    std::map<unsigned, std::function<void(FakeDcb&)>> behind_;
    std::vector<dcb::Disruption> disruptions_;
    UniqueFd watcher_;
};

}    // namespace rdmaqos::test
