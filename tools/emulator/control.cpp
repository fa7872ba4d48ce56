#include "tools/emulator/control.h"

#include <algorithm>
#include <cerrno>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/time.h>

#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/base/units.h"
#include "tools/emulator/control_state.h"
#include "tools/emulator/controlled.h"
#include "tools/emulator/device.h"
#include "tools/emulator/trace.h"

namespace rdmaqos::emulator {
namespace {

using Words = std::vector<std::string>;

tl::unexpected<Error> wrong(std::string message)
{
    return fail(ErrorCode::InvalidArgument, std::move(message));
}

// ---- faults ----

Result<std::optional<CommandKind>> parse_kind(const std::string& word)
{
    if (word == "any") {
        return std::optional<CommandKind>();
    }
    for (std::size_t kind = 0; kind < kCommandKinds; ++kind) {
        if (to_string(static_cast<CommandKind>(kind)) == word) {
            return std::optional(static_cast<CommandKind>(kind));
        }
    }
    return wrong(fmt::format("`{}` is no kind of command: create, modify, query, destroy, attach, set-rate, "
                             "query-queue-pair or any",
                             word));
}

Result<std::uint64_t> parse_count(const std::string& word, const char* what)
{
    const auto number = parse_number(word);
    if (!number || *number > UINT32_MAX) {
        return wrong(fmt::format("`{}` is no {}", word, what));
    }
    return *number;
}

Result<std::string> fail_command(Controlled& host, const Words& words)
{
    const auto kind = parse_kind(words.at(0));
    const auto nth = parse_count(words.at(1), "number of a command, counted from the next (1)");
    if (!kind || !nth) {
        return fail(kind ? nth.error() : kind.error());
    }
    rdmaqos::Failure failure;
    std::uint64_t times = 1;
    for (std::size_t at = 2; at < words.size(); ++at) {
        if (words[at] == "errno-only") {
            failure.mailbox = false;
        } else if (words[at] == "times" && at + 1 < words.size()) {
            times = TRY(parse_count(words[++at], "number of times"));
        } else {
            const auto status = TRY(parse_count(words[at], "status byte, `errno-only` or `times N`"));
            failure.status = static_cast<FirmwareStatus>(status);
        }
    }
    for (const auto& device : host.devices()) {
        device->firmware().faults().fail(*kind, *nth, failure, times);
    }
    return std::string();
}

Result<std::string> busy(Controlled& host, const Words& words)
{
    const auto kind = parse_kind(words.at(0));
    const auto times = parse_count(words.at(1), "number of times");
    if (!kind || !times || !*kind) {
        return wrong("busy KIND TIMES");
    }
    for (const auto& device : host.devices()) {
        device->firmware().faults().busy(**kind, *times);
    }
    return std::string();
}

Result<std::string> clear(Controlled& host, const Words&)
{
    for (const auto& device : host.devices()) {
        device->firmware().faults().clear();
        device->clear_dcb_faults();
    }
    return std::string();
}

// ---- how the kernel behaves ----

Result<std::string> set_behaviour(Controlled& host, const Words& words)
{
    Behaviour& behaviour = host.behaviour();
    const std::string& name = words.at(0);
    const std::string& value = words.at(1);
    TRY(host.check_setting(name, value));
    const auto choose = [&](const std::function<void(bool)>& set, const char* yes,
                            const char* no) -> Result<std::string> {
        if (value != yes && value != no) {
            return wrong(fmt::format("{} is {} or {}, not `{}`", name, yes, no, value));
        }
        set(value == yes);
        return std::string();
    };
    const auto set_in_all = [&](auto set, auto to) {
        for (const auto& device : host.devices()) {
            (device->firmware().*set)(to);
        }
    };
    const auto choose_of_firmware = [&](void (Firmware::*set)(bool), const char* yes, const char* no) {
        return choose([&](bool on) { set_in_all(set, on); }, yes, no);
    };
    if (name == "modify-lock") {
        return choose([&](bool on) { behaviour.exclusive_modify = on; }, "exclusive", "shared");
    }
    if (name == "mailbox-on-error") {
        return choose([&](bool on) { behaviour.mailbox_on_error = on; }, "yes", "no");
    }
    if (name == "counters") {
        return choose([&](bool on) { behaviour.counts_bytes = on; }, "bytes", "requests");
    }
    if (name == "queue-groups") {
        const auto isolation = isolation_of(value);
        if (!isolation) {
            return wrong(
                fmt::format("{} is shared, isolated, isolated-objects or isolated-attach, not `{}`", name, value));
        }
        set_in_all(&Firmware::set_isolation, *isolation);
        return std::string();
    }
    if (name == "busy-leaf") {
        return choose_of_firmware(&Firmware::set_refuse_busy_leaf, "refused", "released");
    }
    if (name == "default-share" || name == "next-element") {
        const auto number = TRY(parse_count(value, name == "default-share" ? "share" : "id"));
        if (name == "default-share") {
            set_in_all(&Firmware::set_default_share_reads_as, static_cast<std::uint32_t>(number));
        } else {
            set_in_all(&Firmware::set_next_object, ObjectId{static_cast<std::uint32_t>(number)});
        }
        return std::string();
    }
    if (name == "close-ms" || name == "call-us") {
        const auto time = TRY(
            parse_count(value, name == "close-ms" ? "number of milliseconds" : "number of microseconds"));
        (name == "close-ms" ? behaviour.close_milliseconds
                            : behaviour.call_microseconds) = static_cast<std::uint32_t>(time);
        return std::string();
    }
    return wrong(fmt::format("there is no setting `{}`: modify-lock, mailbox-on-error, queue-groups, busy-leaf, "
                             "default-share, next-element, close-ms, call-us, counters",
                             name));
}

// ---- what happens to devices ----

Result<std::shared_ptr<ControlledDevice>> device_named(Controlled& host, const std::string& name)
{
    Words names;
    for (auto& each : host.devices()) {
        if (each->name() == name) {
            return each;
        }
        names.push_back(each->name());
    }
    return wrong(fmt::format("there is no device {}; there are: {}", name, fmt::join(names, ", ")));
}

Result<std::string> done(const Result<void>& result)
{
    return result ? Result<std::string>(std::string()) : fail(result.error());
}

Result<std::string> delay(Controlled& host, const Words& words)
{
    const auto kind = parse_kind(words.at(0));
    const auto time = parse_count(words.at(1), "number of milliseconds");
    const auto only = words.size() > 2 ? device_named(host, words[2]) : std::shared_ptr<ControlledDevice>();
    if (!kind || !time || !only) {
        return fail(!kind ? kind.error() : !time ? time.error() : only.error());
    }
    for (const auto& device : *only ? std::vector{*only} : host.devices()) {
        device->firmware().faults().delay(*kind, std::chrono::milliseconds(*time));
    }
    return std::string();
}

template <Result<void> (ControlledDevice::*Action)()>
Result<std::string> with_device(Controlled& host, const Words& words)
{
    const auto device = TRY(device_named(host, words.at(0)));
    return done(((*device).*Action)());
}

Result<std::string> drift(Controlled& host, const Words& words)
{
    const auto device = device_named(host, words.at(0));
    const auto element = parse_count(words.at(1), "id of an element");
    const auto share = parse_count(words.at(2), "share");
    const auto rate = parse_count(words.at(3), "rate in Mbit/s");
    if (!device || !element || !share || !rate) {
        return fail(!device ? device.error() : !element ? element.error() : !share ? share.error() : rate.error());
    }
    if (!(*device)->firmware().drift(ObjectId{static_cast<std::uint32_t>(*element)}, static_cast<std::uint32_t>(*share),
                                     static_cast<std::uint32_t>(*rate))) {
        return wrong(fmt::format("{} has no element {}", (*device)->name(), *element));
    }
    return std::string();
}

Result<std::string> lose(Controlled& host, const Words& words)
{
    const auto device = device_named(host, words.at(0));
    const auto element = parse_count(words.at(1), "id of an element");
    if (!device || !element) {
        return fail(!device ? device.error() : element.error());
    }
    if (!(*device)->firmware().lose(ObjectId{static_cast<std::uint32_t>(*element)})) {
        return wrong(fmt::format("{} has no element {}", (*device)->name(), *element));
    }
    return std::string();
}

// The third word, or the first port.
Result<std::uint32_t> port_of(const ControlledDevice& device, const Words& words)
{
    const auto port = words.size() > 2 ? parse_count(words[2], "port") : Result<std::uint64_t>(1);
    if (!port || *port == 0 || *port > device.ports()) {
        return wrong(fmt::format("{} has ports 1 to {}", device.name(), device.ports()));
    }
    return static_cast<std::uint32_t>(*port);
}

Result<std::string> event(Controlled& host, const Words& words)
{
    const auto device = device_named(host, words.at(0));
    if (!device) {
        return fail(device.error());
    }
    const auto port = port_of(**device, words);
    if (!port) {
        return fail(port.error());
    }
    if (words.at(1) == "port-active" || words.at(1) == "port-error") {
        return done((*device)->set_port(*port, words.at(1) == "port-active"));
    }
    if (words.at(1) == "device-fatal") {
        return done((*device)->send_device_fatal());
    }
    return wrong(fmt::format("there is no event `{}`: port-active, port-error, device-fatal", words.at(1)));
}

Result<std::string> link_speed(Controlled& host, const Words& words)
{
    const auto device = TRY(device_named(host, words.at(0)));
    const auto port = TRY(port_of(*device, words));
    const auto speed = parse_bandwidth(words.at(1)).value;
    if (!speed) {
        return wrong(fmt::format("`{}` is not a rate, as 25Gbps is", words.at(1)));
    }
    return done(device->set_link_speed(port, *speed));
}

Result<std::string> set_port_classes(Controlled& host, const Words& words)
{
    const auto device = TRY(device_named(host, words.at(0)));
    const Words stated(words.begin() + 1, words.end());
    const auto classes = TRY(parse_port_classes(stated == Words{"none"} ? Words() : stated));
    return done(device->set_port_classes(classes));
}

struct DcbFaultWord {
    const char* word;
    DcbFaultKind kind;
};
constexpr DcbFaultWord kDcbFaults[] = {
    {"refuse", DcbFaultKind::Refuse},          {"half", DcbFaultKind::Half},
    {"kill-before", DcbFaultKind::KillBefore}, {"kill-after", DcbFaultKind::KillAfter},
    {"silent", DcbFaultKind::Silent},
};

// As a byte with a sign carries it in the answer.
Result<int> parse_errno(const std::string& word)
{
    constexpr std::uint64_t kLargest = 127;
    const std::uint64_t number = TRY(parse_count(word, "errno or `times N`"));
    if (number == 0 || number > kLargest) {
        return wrong(fmt::format("an errno here is 1 to {}, not {}", kLargest, number));
    }
    return static_cast<int>(number);
}

Result<std::string> fail_dcb(Controlled& host, const Words& words)
{
    const auto device = TRY(device_named(host, words.at(0)));
    const auto nth = TRY(parse_count(words.at(1), "number of a request, counted from the next (1)"));
    const auto found = std::ranges::find_if(kDcbFaults, [&](const auto& each) { return words.at(2) == each.word; });
    if (nth == 0 || found == std::end(kDcbFaults)) {
        return wrong("dcb-fault DEVICE NTH refuse|half|kill-before|kill-after|silent, with NTH from 1");
    }
    DcbFault fault;
    fault.kind = found->kind;
    std::uint64_t times = 1;
    for (std::size_t at = 3; at < words.size(); ++at) {
        if (words[at] == "times" && at + 1 < words.size()) {
            times = TRY(parse_count(words[++at], "number of times"));
        } else {
            fault.error = TRY(parse_errno(words[at]));
        }
    }
    return done(device->order_dcb_fault(nth, times, fault));
}

Result<std::string> set_pkeys(Controlled& host, const Words& words)
{
    const auto device = device_named(host, words.at(0));
    const auto port = parse_count(words.at(1), "port");
    if (!device || !port) {
        return fail(!device ? device.error() : port.error());
    }
    if (*port == 0 || *port > (*device)->ports()) {
        return wrong(fmt::format("{} has ports 1 to {}", (*device)->name(), (*device)->ports()));
    }
    std::vector<std::uint16_t> pkeys;
    for (std::size_t at = 2; at < words.size(); ++at) {
        const auto pkey = parse_count(words[at], "P_Key");
        if (!pkey || *pkey > 0xffff) {
            return wrong(fmt::format("`{}` is no P_Key: it has 16 bits", printable(words[at])));
        }
        pkeys.push_back(static_cast<std::uint16_t>(*pkey));
    }
    return done((*device)->set_pkeys(static_cast<std::uint32_t>(*port), std::move(pkeys)));
}

Result<std::string> queue_pair_fatal(Controlled& host, const Words& words)
{
    const auto device = device_named(host, words.at(0));
    const auto number = parse_count(words.at(1), "queue pair number");
    if (!device || !number) {
        return fail(!device ? device.error() : number.error());
    }
    return done((*device)->fail_queue_pair(static_cast<std::uint32_t>(*number)));
}

Result<std::string> next_queue_pairs(Controlled& host, const Words& words)
{
    const auto device = TRY(device_named(host, words.at(0)));
    std::vector<std::uint32_t> numbers;
    for (std::size_t at = 1; at < words.size(); ++at) {
        const auto number = TRY(parse_count(words[at], "queue pair number"));
        numbers.push_back(static_cast<std::uint32_t>(number));
    }
    if (!device->order_queue_pairs(numbers)) {
        return wrong(fmt::format(
            "{} cannot number queue pairs so: a number has 24 bits, is 2 or more, and nobody has it", device->name()));
    }
    return std::string();
}

Result<std::string> mark(Controlled& host, const Words& words)
{
    CallRecord record;
    record.method = "mark";
    record.notes.push_back({"text", words.at(0)});
    record.ends(std::chrono::steady_clock::now());
    host.trace().show(record);
    return std::string();
}

struct ControlRequest {
    const char* name;
    std::size_t words;    // at least, behind the name
    const char* usage;
    const char* help;
    Result<std::string> (*run)(Controlled&, const Words&);
};

constexpr ControlRequest kRequests[] = {
    {"state", 0, "state [--json]", "devices, elements, queue pairs", describe_state},
    {"resource", 1, "resource qp", "who owns which queue pair, a JSON line each", describe_resource},
    {"mark", 1, "mark TEXT", "a line in every trace, behind the calls that have ended", mark},
    {"fail", 2, "fail KIND NTH [STATUS] [errno-only] [times N]",
     "the NTH command of KIND from now fails with this status byte (0x1)", fail_command},
    {"busy", 2, "busy KIND TIMES", "the next commands of KIND find their object in use: EBUSY", busy},
    {"delay", 2, "delay KIND MILLISECONDS [DEVICE]", "every command of KIND takes so long; 0 ends it", delay},
    {"clear", 0, "clear", "takes back what fail, busy, delay and dcb-fault ordered", clear},
    {"set", 2, "set modify-lock exclusive|shared", "as kernels before and since 2024 lock a DEVX modify",
     set_behaviour},
    {"set", 2, "set mailbox-on-error yes|no", "no: as older kernels, which give only an errno", set_behaviour},
    {"set", 2, "set queue-groups shared|isolated|isolated-objects|isolated-attach",
     "what belongs to its context only: nothing; elements; those made as general objects; a leaf, but no parent",
     set_behaviour},
    {"set", 2, "set busy-leaf refused|released", "whether a leaf with queue pairs can be destroyed", set_behaviour},
    {"set", 2, "set default-share SHARE", "what a query says of an element without a share; 0: no share",
     set_behaviour},
    {"set", 2, "set next-element ID", "the id of the next element, if none has it or a higher one", set_behaviour},
    {"set", 2, "set counters bytes|requests", "what counters of queue pairs count: as Linux since and before 6.16",
     set_behaviour},
    {"set", 2, "set close-ms MILLISECONDS", "how long the last close of a file takes and blocks", set_behaviour},
    {"set", 2, "set call-us MICROSECONDS", "how much longer every call takes", set_behaviour},
    {"drift", 4, "drift DEVICE ELEMENT SHARE MBITS", "changes an element behind everybody's back", drift},
    {"lose", 2, "lose DEVICE ELEMENT", "loses an element, and all below it, the same way", lose},
    {"reset", 1, "reset DEVICE", "device fatal: open files are dead, a new device appears",
     with_device<&ControlledDevice::reset>},
    {"unplug", 1, "unplug DEVICE", "takes the device away", with_device<&ControlledDevice::unplug>},
    {"plug", 1, "plug DEVICE", "brings it back, as a new one", with_device<&ControlledDevice::plug>},
    {"event", 2, "event DEVICE port-active|port-error|device-fatal [PORT]", "sends an asynchronous event", event},
    {"link-speed", 2, "link-speed DEVICE RATE [PORT]", "the link trains again, with this rate (25Gbps)", link_speed},
    {"port-classes", 2, "port-classes DEVICE none|WORD...",
     "traffic classes: tc1=70 tc2=30,10Gbps tc6=strict prio3=2 dscp26=3", set_port_classes},
    {"dcb-fault", 3, "dcb-fault DEVICE NTH refuse|half|... [ERRNO] [times N]",
     "the NTH request from now that sets DCB: refuse, half, kill-before, kill-after, silent", fail_dcb},
    {"pkeys", 3, "pkeys DEVICE PORT PKEY...", "the port gets this P_Key table, as by a subnet manager", set_pkeys},
    {"next-qp", 2, "next-qp DEVICE QPN...", "the next queue pairs get these numbers, in this order", next_queue_pairs},
    {"qp-fatal", 2, "qp-fatal DEVICE QPN", "moves a queue pair to ERR and tells its owner", queue_pair_fatal},
};

void send_all(int socket, std::string_view text)
{
    while (!text.empty()) {
        const ssize_t sent = send(socket, text.data(), text.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return;
        }
        text.remove_prefix(static_cast<std::size_t>(sent));
    }
}

std::string receive_line(int socket)
{
    constexpr std::size_t kLongest = 4096;
    std::string line;
    char byte = 0;
    while (line.size() < kLongest && recv(socket, &byte, 1, 0) == 1 && byte != '\n') {
        line.push_back(byte);
    }
    return line;
}

}    // namespace

std::optional<Isolation> isolation_of(std::string_view word)
{
    const auto* const found = std::ranges::find(kIsolations, word, [](Isolation each) { return to_string(each); });
    return found == kIsolations.end() ? std::nullopt : std::optional(*found);
}

Result<std::string> control(Controlled& host, const std::vector<std::string>& words)
{
    if (words.empty()) {
        return wrong("what is to be done?\n" + control_help());
    }
    for (const auto& request : kRequests) {
        if (words.front() == request.name) {
            const Words rest(words.begin() + 1, words.end());
            if (rest.size() < request.words) {
                return wrong(fmt::format("usage: {}", request.usage));
            }
            try {
                return request.run(host, rest);
            } catch (const std::exception& mistake) {    // of the file system, below sysfs
                return fail(ErrorCode::Io, fmt::format("{}: {}", words.front(), mistake.what()));
            }
        }
    }
    return wrong(fmt::format("`{}` is not known\n{}", words.front(), control_help()));
}

std::string control_help()
{
    std::string text;
    for (const auto& request : kRequests) {
        text += fmt::format("  {:<58} {}\n", request.usage, request.help);
    }
    return text;
}

void serve_control(Controlled& host, UniqueFd client)
{
    // Who connects and says nothing, or does not listen, must not keep a thread.
    const timeval patience{2, 0};
    setsockopt(client.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(client.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    const auto request = nlohmann::json::parse(receive_line(client.get()), nullptr, false);
    Words words;
    if (request.is_array()) {
        for (const auto& word : request) {
            words.push_back(word.is_string() ? word.get<std::string>() : word.dump());
        }
    }
    if (!words.empty() && words.front() == "trace") {
        send_all(client.get(), "0\n");
        host.trace().watch(std::move(client), std::find(words.begin(), words.end(), "--json") != words.end());
        return;
    }
    const auto answer = control(host, words);
    send_all(client.get(), answer ? "0\n" + *answer : "1\n" + answer.error().message + "\n");
}

}    // namespace rdmaqos::emulator
