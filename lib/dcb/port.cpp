#include "lib/dcb/port.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/rtnetlink.h>

#include "lib/base/overloaded.h"
#include "lib/dcb/advice.h"
#include "lib/dcb/messages.h"
#include "lib/dcb/words.h"

namespace rdmaqos::dcb {
namespace {

Error error_of_reading(const std::string& interface, int error)
{
    switch (error) {
    case ENODEV:
        return {ErrorCode::DeviceGone, error,
                fmt::format("there is no network interface {} in this network namespace", interface)};
    case EOPNOTSUPP:
        return {ErrorCode::Unsupported, error,
                fmt::format("the driver of {} has no DCB netlink, or not for this kind of function", interface)};
    case ETIMEDOUT:
        return {ErrorCode::Timeout, error, fmt::format("the kernel does not answer about {}", interface)};
    case EPROTONOSUPPORT:
    case EMFILE:
    case ENFILE:
        return {ErrorCode::Io, error, "there is no socket for DCB netlink"};
    default:
        return {ErrorCode::DeviceFailed, error, fmt::format("the traffic classes of {} cannot be read", interface)};
    }
}

// Asks, and reads the answer with `parse`.
template <typename Value, typename Parse>
Result<Value> ask(Transport& kernel, const std::string& interface, const std::vector<std::uint8_t>& request,
                  Parse parse)
{
    const auto answer = kernel.ask(RTM_GETDCB, request);
    if (!answer) {
        return fail(error_of_reading(interface, answer.error()));
    }
    if (auto value = parse(netlink::Bytes(*answer))) {
        return std::move(*value);
    }
    return fail(error_of_reading(interface, EPROTO));
}

MaxRates rates_in(const PortSettings& settings)
{
    MaxRates rates;
    for (std::size_t i = 0; settings.ets && i < kTrafficClasses; ++i) {
        rates.at(i) = settings.ets->traffic_class.at(i).max_rate;
    }
    return rates;
}

// Without maximum rates, and what is not weighted without weights.
Ets scheduling_of(Ets ets)
{
    for (TrafficClass& one : ets.traffic_class) {
        one.max_rate.reset();
        one.weight = one.selection == Selection::Ets ? one.weight : std::uint8_t{0};
    }
    return ets;
}

bool has_entry(const PortSettings& settings, const AppEntry& entry)
{
    return std::ranges::find(settings.apps, entry) != settings.apps.end();
}

bool has_ets(const PortSettings& settings, const Ets& asked)
{
    if (!settings.ets) {
        return false;
    }
    const Ets present = scheduling_of(*settings.ets);
    Ets wanted = scheduling_of(asked);
    wanted.classes = present.classes;
    // Drivers do not answer for classes and priorities beyond what the port has.
    for (std::size_t i = present.classes; i < kTrafficClasses; ++i) {
        wanted.traffic_class.at(i) = present.traffic_class.at(i);
        if (present.class_of_priority.at(i) == 0) {
            wanted.class_of_priority.at(i) = 0;
        }
    }
    return wanted == present;
}

bool has_rates(const PortSettings& settings, const MaxRates& asked)
{
    if (!settings.has_max_rates || !settings.ets) {
        return std::ranges::none_of(asked, [](const auto& rate) { return rate.has_value(); });
    }
    return std::equal(asked.begin(), asked.begin() + settings.ets->classes, rates_in(settings).begin());
}

bool has(const PortSettings& settings, const Write& write)
{
    return std::visit(Overloaded{[&](const SetEts& set) { return has_ets(settings, set.ets); },
                                 [&](const SetMaxRates& set) { return has_rates(settings, set.rates); },
                                 [&](const SetApp& set) { return has_entry(settings, set.entry); },
                                 [&](const DeleteApp& set) { return !has_entry(settings, set.entry); },
                                 [&](const SetDcbx& set) { return settings.dcbx == set.dcbx; }},
                      write);
}

// Whether what a write is about is the same in both.
bool is_unchanged(const PortSettings& before, const PortSettings& after, const Write& write)
{
    const auto same_entry = [&](const AppEntry& entry) { return has_entry(before, entry) == has_entry(after, entry); };
    return std::visit(Overloaded{[&](const SetEts&) {
                                     return before.ets.has_value() == after.ets.has_value() &&
                                            (!before.ets || scheduling_of(*before.ets) == scheduling_of(*after.ets));
                                 },
                                 [&](const SetMaxRates&) { return rates_in(before) == rates_in(after); },
                                 [&](const SetApp& set) { return same_entry(set.entry); },
                                 [&](const DeleteApp& set) { return same_entry(set.entry); },
                                 [&](const SetDcbx&) { return before.dcbx == after.dcbx; }},
                      write);
}

// As the NIC will have it. Rates between two steps of one unit, and those that a kernel would cut off, are none.
Write rounded(const Write& write, const Driver* driver)
{
    const auto* set = std::get_if<SetMaxRates>(&write);
    if (set == nullptr || driver == nullptr) {
        return write;
    }
    SetMaxRates result = *set;
    for (auto& rate : result.rates) {
        if (rate) {
            rate = rounded_rate(*driver, *rate).value_or(*rate);
        }
    }
    return result;
}

// A rate above the driver's largest is not even sent: kernels before the end of 2025 cut it off to one far below.
bool must_not_be_sent(const Write& write, const Driver* driver)
{
    const auto* set = std::get_if<SetMaxRates>(&write);
    return set != nullptr && driver != nullptr && !objections(*driver, set->rates).empty();
}

// The kernel's table knows the entry already, or does not know it: as asked.
bool is_no_error(const Write& write, int error)
{
    return (error == EEXIST && std::holds_alternative<SetApp>(write)) ||
           (error == ENOENT && std::holds_alternative<DeleteApp>(write));
}

// The errno of the kernel or the driver; empty: no answer that can be read.
std::optional<int> send(Transport& kernel, const std::string& interface, const Write& write)
{
    const auto answer = kernel.ask(RTM_SETDCB, write_request(interface, write));
    return answer ? read_write_error(*answer, write) : std::optional(answer.error());
}

WriteEnd end_of(const Write& write, const PortSettings& before, const PortSettings& after, int error)
{
    const bool there = has(after, write);
    if (error == 0 || is_no_error(write, error)) {
        return there ? WriteEnd::Taken : WriteEnd::Differs;
    }
    if (error == ETIMEDOUT) {
        return WriteEnd::Unknown;
    }
    return is_unchanged(before, after, write) ? WriteEnd::Refused : WriteEnd::Partly;
}

constexpr const char* kHalfWritten = "; the NIC may have a part of it all the same, though it reads as before";

std::string message_of(const PortKnown& port, const Written& written, const PortSettings& after)
{
    const std::string what = fmt::format("{}: {}: ", port.interface, in_words(written.write));
    const std::string why = std::generic_category().message(written.error);
    switch (written.end) {
    case WriteEnd::Taken:
    case WriteEnd::NotTried:
        return {};
    case WriteEnd::Refused:
        return fmt::format("{}refused ({}): {}{}", what, why, advice_on(port, written.write, written.error),
                           may_be_half_written(written, port.driver) ? kHalfWritten : "");
    case WriteEnd::Partly:
        return fmt::format("{}refused ({}), and partly done: {}; {}", what, why,
                           advice_on(port, written.write, written.error),
                           advice_on_difference(port, written.write, after));
    case WriteEnd::Differs:
        return fmt::format("{}the driver says that it is done, but it is not: {}", what,
                           advice_on_difference(port, written.write, after));
    case WriteEnd::Unknown:
        break;
    }
    return fmt::format("{}the outcome is not known ({}): {}", what, why, advice_on(port, written.write, written.error));
}

// One write, and what is there afterwards. `now`: what was there before; then what is there.
Written write_one(Transport& kernel, PortKnown& port, const Write& asked, Result<PortSettings>& now)
{
    Written written;
    written.write = rounded(asked, port.driver);
    port.before = *now;
    if (must_not_be_sent(asked, port.driver)) {
        written.end = WriteEnd::Refused;
        written.error = EINVAL;
        written.message = message_of(port, written, *now);
        return written;
    }
    const auto error = send(kernel, port.interface, written.write);
    written.error = error.value_or(EPROTO);
    now = read_port(kernel, port.interface);
    if (!now || !error) {
        written.end = WriteEnd::Unknown;
        written.error = written.error != 0 ? written.error : now.error().sys_errno;
        written.message = message_of(port, written, {});
        return written;
    }
    written.end = end_of(written.write, port.before, *now, written.error);
    if (written.end == WriteEnd::Taken) {
        written.error = 0;
    }
    written.message = message_of(port, written, *now);
    return written;
}

}    // namespace

Result<PortSettings> read_port(Transport& kernel, const std::string& interface)
{
    return ask<PortSettings>(kernel, interface, get_request(interface), read_settings);
}

Result<AgentFeatures> read_agent(Transport& kernel, const std::string& interface)
{
    return ask<AgentFeatures>(kernel, interface, agent_request(interface), read_features);
}

std::string driver_of_interface(const std::string& interface, const std::filesystem::path& sys)
{
    std::error_code none;
    const auto driver = std::filesystem::read_symlink(sys / "class/net" / interface / "device/driver", none);
    return none ? std::string() : driver.filename().string();
}

std::string driver_of_interface(const std::string& interface)
{
    const char* given = secure_getenv("SYSFS_PATH");
    return driver_of_interface(interface, given != nullptr && *given == '/' ? given : "/sys");
}

std::string in_words(const Write& write)
{
    return std::visit(
        Overloaded{[](const SetEts& set) { return fmt::format("set traffic classes (ETS): {}", in_words(set.ets)); },
                   [](const SetMaxRates& set) {
                       std::vector<std::string> rates;
                       for (std::size_t i = 0; i < kTrafficClasses; ++i) {
                           if (const auto& rate = set.rates.at(i)) {
                               rates.push_back(fmt::format("class {}: {}", i, to_string(*rate)));
                           }
                       }
                       return rates.empty() ? std::string("remove all maximum rates")
                                            : fmt::format("set maximum rates: {}, others none", fmt::join(rates, ", "));
                   },
                   [](const SetApp& set) { return fmt::format("map {}", in_words(set.entry)); },
                   [](const DeleteApp& set) { return fmt::format("delete the entry {}", in_words(set.entry)); },
                   [](const SetDcbx& set) { return fmt::format("set DCBX {}", in_words(set.dcbx)); }},
        write);
}

bool WriteReport::complete() const
{
    return now.has_value() &&
           std::ranges::all_of(parts, [](const Written& part) { return part.end == WriteEnd::Taken; });
}

bool may_be_half_written(const Written& written, const Driver* driver)
{
    const bool has_reached_driver = written.error != EPERM && written.error != EOPNOTSUPP && written.error != ENODEV;
    return std::holds_alternative<SetEts>(written.write) && written.end != WriteEnd::Taken &&
           written.end != WriteEnd::NotTried && has_reached_driver && (driver == nullptr || !driver->atomic);
}

std::string WriteReport::message() const
{
    std::vector<std::string> messages;
    for (const Written& part : parts) {
        if (!part.message.empty()) {
            messages.push_back(part.message);
        }
    }
    if (!now) {
        messages.push_back(to_string(now.error()));
    }
    return fmt::format("{}", fmt::join(messages, "; "));
}

WriteReport write_port(Transport& kernel, const std::string& interface, std::span<const Write> writes,
                       const Driver* driver)
{
    WriteReport report{{}, read_port(kernel, interface)};
    PortKnown port{interface, driver, {}};
    bool stopped = !report.now;
    for (const Write& write : writes) {
        if (stopped) {
            report.parts.push_back({.write = write, .end = WriteEnd::NotTried, .error = 0, .message = {}});
            continue;
        }
        report.parts.push_back(write_one(kernel, port, write, report.now));
        stopped = report.parts.back().end != WriteEnd::Taken;
    }
    return report;
}

}    // namespace rdmaqos::dcb
