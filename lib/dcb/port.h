// Reads and writes the traffic classes of a network interface.
//
//     KernelTransport kernel;
//     const auto before = read_port(kernel, "ens1");
//     const WriteReport report = write_port(kernel, "ens1", {SetEts{ets}, SetApp{{Selector::Dscp, 26, 3}}});
//     if (!report.complete()) { for (const Written& part : report.parts) { ... part.message ... } }
//     use(report.now);
//
// Every write is read back, and what was read counts: drivers answer "done" to what they do not have, and refuse what
// they have half written. A write needs CAP_NET_ADMIN in the first user namespace.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/result.h"
#include "lib/dcb/driver.h"
#include "lib/dcb/port_settings.h"
#include "lib/dcb/transport.h"

namespace rdmaqos::dcb {

// Errors: DeviceGone: there is no such interface in this network namespace. Unsupported: its driver has no DCB netlink,
// as of a virtual function. Timeout: no answer. Io: no socket. DeviceFailed: everything else.
[[nodiscard]] Result<PortSettings> read_port(Transport& kernel, const std::string& interface);

// What an agent of DCBX in the NIC or its driver does with a feature (DCB_FEATCFG_*).
struct AgentFeature {
    bool failed = false;    // "error"
    bool enabled = false;
    bool willing = false;       // takes the switch's settings
    bool advertised = false;    // offers its own to the switch

    friend bool operator==(const AgentFeature&, const AgentFeature&) = default;
};
struct AgentFeatures {
    AgentFeature classes;    // priority groups
    AgentFeature pfc;
    AgentFeature apps;

    friend bool operator==(const AgentFeatures&, const AgentFeatures&) = default;
};
// Unsupported where the driver has no such agent, which is most of them.
[[nodiscard]] Result<AgentFeatures> read_agent(Transport& kernel, const std::string& interface);

// The driver of an interface, by `sys`/class/net; "": it has none, or is not there. Without `sys`: /sys, or where
// SYSFS_PATH points, as for libibverbs.
[[nodiscard]] std::string driver_of_interface(const std::string& interface, const std::filesystem::path& sys);
[[nodiscard]] std::string driver_of_interface(const std::string& interface);

// ---- writing ----

// All traffic classes at once. The maximum rates in it are not written.
struct SetEts {
    Ets ets;
    friend bool operator==(const SetEts&, const SetEts&) = default;
};
// Of all traffic classes at once; empty: none.
struct SetMaxRates {
    MaxRates rates;
    friend bool operator==(const SetMaxRates&, const SetMaxRates&) = default;
};
// Adds an entry. An entry with another priority for the same DSCP stays: delete it.
struct SetApp {
    AppEntry entry;
    friend bool operator==(const SetApp&, const SetApp&) = default;
};
struct DeleteApp {
    AppEntry entry;
    friend bool operator==(const DeleteApp&, const DeleteApp&) = default;
};
// kHostDcbx, or the mode that the port had before.
struct SetDcbx {
    Dcbx dcbx;
    friend bool operator==(const SetDcbx&, const SetDcbx&) = default;
};
inline constexpr Dcbx kHostDcbx{.host = true, .firmware = false, .ieee = true, .cee = false};
using Write = std::variant<SetEts, SetMaxRates, SetApp, DeleteApp, SetDcbx>;

// "set the weights and classes of priorities (ETS)", "add DSCP 26 → priority 3", ...
[[nodiscard]] std::string in_words(const Write& write);

enum class WriteEnd : std::uint8_t {
    Taken,       // and read back as asked, or as rounded by the row of the driver
    Refused,     // with an errno; nothing of it is there
    Partly,      // with an errno, but what is there is neither as before nor as asked
    Differs,     // answered with "done", but what is there is not what was asked
    Unknown,     // no answer, or nothing could be read back
    NotTried,    // an earlier one was not taken
};

struct Written {
    Write write;
    WriteEnd end = WriteEnd::NotTried;
    int error = 0;          // errno: Refused, Partly, Unknown
    std::string message;    // for an administrator: what was asked, what happened, what to do. Empty if Taken
};

// Whether the NIC may have a part of it although it reads as before: some drivers write what they are asked for one
// after the other, and read again what they remember. `driver`: its row; null: unknown.
[[nodiscard]] bool may_be_half_written(const Written& written, const Driver* driver);

struct WriteReport {
    std::vector<Written> parts;    // as many as were asked, in their order
    Result<PortSettings> now;      // after the last part that was tried

    [[nodiscard]] bool complete() const;
    // All messages, or "".
    [[nodiscard]] std::string message() const;
};

// One after the other; stops behind the first that is not taken. `driver`: its row, for words and roundings; null:
// unknown.
[[nodiscard]] WriteReport write_port(Transport& kernel, const std::string& interface, std::span<const Write> writes,
                                     const Driver* driver = nullptr);

}    // namespace rdmaqos::dcb
