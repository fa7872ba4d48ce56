#include "tests/attack/mutation.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "lib/bus/names.h"
#include "tests/attack/requests.h"

namespace rdmaqos::attack {
namespace {

namespace names = bus::names;

constexpr const char* kOwnSession = "/session";    // stands for the sender's
constexpr const char* kDevice = "/org/rdmaqos1/device/mlx5_5f0_2f1";
constexpr const char* kProperties = "org.freedesktop.DBus.Properties";

Body text(const std::string& value)
{
    return {"s", Bytes().text(value).str()};
}

Body two_texts(const std::string& first, const std::string& second)
{
    return {"ss", Bytes().text(first).text(second).str()};
}

// With every kind of key.
Body full_request()
{
    const auto put = [](const char* value) { return [value](Bytes& out) { out.text(value); }; };
    Bytes body;
    dict(body, [&](Bytes& out) {
        out.entry("source", "s", put("fd00:20::1"));
        out.entry("destination", "s", put("fd00:20::2"));
        out.entry("port-space", "s", put("tcp"));
        out.entry("destination-port", "q", [](Bytes& value) { value.align(2).u8(1).u8(2); });
        out.entry("qos-class", "u", [](Bytes& value) { value.u32(7); });
        out.entry("device", "s", put("mlx5_0"));
        out.entry("pkey", "q", [](Bytes& value) { value.align(2).u8(0xff).u8(0xff); });
        out.entry("x-any", "as", [&](Bytes& value) { value.array(4, put("text")); });
    });
    return {"a{sv}", body.str()};
}

Body request_with_queue_pairs()
{
    const Body pairs = queue_pairs(100, 3);
    Bytes body;
    dict(body, [&](Bytes& out) {
        out.entry("level", "s", [](Bytes& value) { value.text("bulk"); });
        // Where the list begins in its own body and here is a multiple of 8, as it takes.
        out.entry("queue-pairs", "aa{sv}", [&](Bytes& value) { value.align(8).raw(pairs.bytes); });
    });
    return {"a{sv}", body.str()};
}

Body rate()
{
    Bytes body;
    body.text("mlx5_0").u32(100);
    dict(body, [](Bytes& out) { out.entry("rate", "t", [](Bytes& value) { value.u64(1'000'000); }); });
    return {"sua{sv}", body.str()};
}

Body page_of_sessions()
{
    Bytes body;
    dict(body, [](Bytes& out) {
        out.entry("after", "t", [](Bytes& value) { value.u64(1); });
        out.entry("limit", "u", [](Bytes& value) { value.u32(7); });
        out.entry("pid", "u", [](Bytes& value) { value.u32(1); });
        out.entry("level", "s", [](Bytes& value) { value.text("rpc"); });
    });
    return {"a{sv}", body.str()};
}

Body plan_of_a_policy()
{
    Bytes body;
    dict(body, [](Bytes& out) { out.entry("policy", "h", [](Bytes& value) { value.u32(0); }); });
    return {"a{sv}", body.str(), 1};
}

}    // namespace

Mutator::Mutator(std::uint64_t seed) : random_(seed)
{
    const auto add = [this](const char* path, const char* interface, const char* member, Body body = {}) {
        real_.push_back({{path, interface, member}, std::move(body)});
    };
    for (const char* method : {"Register", "QueryPath", "Explain", "Plan"}) {
        add(names::kRoot, names::kManager, method, empty_dict());
        add(names::kRoot, names::kManager, method, request_for("rpc"));
        add(names::kRoot, names::kManager, method, full_request());
    }
    add(names::kRoot, names::kManager, "Register", request_with_queue_pairs());
    add(names::kRoot, names::kManager, "ListSessions", empty_dict());
    add(names::kRoot, names::kManager, "ListSessions", page_of_sessions());
    add(names::kRoot, names::kManager, "Check", policy_descriptor());
    add(names::kRoot, names::kManager, "Plan", plan_of_a_policy());
    add(names::kRoot, names::kManager, "Try", {"hu", Bytes().u32(0).u32(60).str(), 1});
    for (const char* method : {"GetDevice", "EnableDevice", "Confirm"}) {
        add(names::kRoot, names::kManager, method, text("mlx5_0"));
    }
    for (const char* method : {"Reconcile", "Verify", "Disable", "Enable", "Release"}) {
        add(kDevice, names::kDevice, method);
    }
    for (const char* method : {"Reload", "Refresh", "TriedText", "Revert", "ListLevels", "ReconcileAll", "VerifyAll",
                               "DisableAll", "EnableAll", "CountSessions", "Metrics", "Subscribe", "Unsubscribe"}) {
        add(names::kRoot, names::kManager, method);
    }
    add(kOwnSession, names::kSession, "Attach", queue_pairs(1, 4));
    add(kOwnSession, names::kSession, "Attach", queue_pairs(1, 2, true));
    add(kOwnSession, names::kSession, "Detach", {"su", Bytes().text("mlx5_0").u32(1).str()});
    add(kOwnSession, names::kSession, "SetRate", rate());
    add(kOwnSession, names::kSession, "Release");
    add(kDevice, names::kDevice, "Counters");
    for (const auto& [path, interface] :
         {std::pair{names::kRoot, names::kManager}, std::pair{kOwnSession, names::kSession},
          std::pair{kDevice, names::kDevice}}) {
        add(path, kProperties, "GetAll", text(interface));
        add(path, kProperties, "Get", two_texts(interface, "Statistics"));
        add(path, kProperties, "Set", {"ssv", Bytes().text(interface).text("Version").signature("s").text("1").str()});
        add(path, "org.freedesktop.DBus.Introspectable", "Introspect");
        add(path, "org.freedesktop.DBus.Peer", "Ping");
        add(path, "org.freedesktop.DBus.Peer", "GetMachineId");
    }
    add(names::kRoot, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects");
}

// ---- what is changed ----

std::uint32_t Mutator::telling_number()
{
    static constexpr std::array<std::uint32_t, 12> kNumbers{
        0, 1, 2, 7, 0xff, 0xffff, 0x10000, 64U << 20U, (64U << 20U) + 1, 0x7fffffff, 0x80000000, 0xffffffff};
    return below(3) == 0 ? static_cast<std::uint32_t>(random_()) : kNumbers[below(kNumbers.size())];
}

std::string Mutator::noise(std::size_t most)
{
    std::string bytes(below(static_cast<std::uint32_t>(most)) + 1, '\0');
    std::ranges::generate(bytes, [this] { return static_cast<char>(random_()); });
    return bytes;
}

void Mutator::flip(std::string& bytes, std::uint32_t most)
{
    for (std::uint32_t count = below(most) + 1; count > 0 && !bytes.empty(); --count) {
        char& byte = bytes[below(static_cast<std::uint32_t>(bytes.size()))];
        byte = static_cast<char>(byte ^ (1U << below(8)));
    }
}

void Mutator::put_number(std::string& bytes)
{
    const std::uint32_t number = telling_number();
    if (bytes.size() >= sizeof(number)) {
        const std::size_t at = below(static_cast<std::uint32_t>(bytes.size() / sizeof(number))) * sizeof(number);
        std::memcpy(bytes.data() + at, &number, sizeof(number));
    }
}

// Containers in containers, more of them than anybody should follow.
void Mutator::nest(Call& call)
{
    const std::uint32_t depth = below(80) + 1;
    std::string value;
    for (std::uint32_t level = 0; level < depth; ++level) {
        value += std::string("\x01v\0", 3);
    }
    value += std::string("\x01y\0*", 4);
    if (below(2) == 0) {
        Bytes body;
        dict(body, [&](Bytes& out) { out.entry("level", "v", [&](Bytes& inside) { inside.raw(value); }); });
        call.body = {"a{sv}", body.str()};
    } else {
        const std::uint32_t arrays = below(32) + 1;
        call.body = {std::string(arrays, 'a') + "y", std::string(4 * std::size_t{arrays}, '\0')};
    }
}

void Mutator::change_inside(Call& call)
{
    std::string& body = call.body.bytes;
    switch (below(12)) {
    case 0:
    case 1:
        return flip(body, 8);
    case 2:
    case 3:
        return put_number(body);
    case 4:
        return body.resize(below(static_cast<std::uint32_t>(body.size() + 1)));
    case 5:
        body += noise(64);
        return;
    case 6:
        body = any().body.bytes;    // of another signature
        return;
    case 7: {
        const std::string& other = any().body.bytes;
        body = body.substr(0, below(static_cast<std::uint32_t>(body.size() + 1))) +
               other.substr(below(static_cast<std::uint32_t>(other.size() + 1)));
        return;
    }
    case 8: {
        const Method& other = any().method;
        (below(2) == 0 ? call.method.path : call.method.member) = below(2) == 0 ? other.path
                                                                                : "/org/rdmaqos1/session/7";
        if (call.method.member.starts_with('/')) {
            call.method.member = other.member;
        }
        return;
    }
    case 9:
        return nest(call);
    case 10:
        call.flags = static_cast<std::uint8_t>(random_());
        return;
    default:
        // Fields nobody knows are passed over.
        call.more.push_back(
            {static_cast<std::uint8_t>(10 + below(240)), "s", Bytes().text(std::string(below(64), 'x')).str()});
        return;
    }
}

void Mutator::change_bytes(std::string& message)
{
    const auto anywhere = [&] { return below(static_cast<std::uint32_t>(message.size())); };
    switch (below(8)) {
    case 0:
        return flip(message, 16);
    case 1: {    // a length
        const std::uint32_t number = telling_number();
        std::memcpy(message.data() + (below(2) == 0 ? 4 : 12), &number, sizeof(number));
        return;
    }
    case 2:    // byte order, type, flags, version
        message[below(4)] = static_cast<char>(random_());
        return;
    case 3:
        return message.resize(anywhere());
    case 4:
        message = noise(1024);
        return;
    case 5:
        message.insert(anywhere(), noise(32));
        return;
    case 6:
        message = message.substr(0, anywhere()) + serialised(any(), "/").substr(anywhere() % 64);
        return;
    default:
        return put_number(message);
    }
}

// ---- messages ----

std::string Mutator::serialised(const Call& call, const std::string& session)
{
    const auto field = [](Bytes& out, std::uint8_t code, std::string_view type, const std::string& value) {
        out.align(8).u8(code).signature(type);
        type == "g" ? out.signature(value) : out.text(value);
    };
    const Method& method = call.method;
    Bytes out;
    out.u8('l')
        .u8(call.type)
        .u8(call.flags)
        .u8(1)
        .u32(static_cast<std::uint32_t>(call.body.bytes.size()))
        .u32(call.serial);
    out.array(8, [&](Bytes& fields) {
        field(fields, 1, "o", method.path == kOwnSession ? session : method.path);
        field(fields, 2, "s", method.interface);
        field(fields, 3, "s", method.member);
        if (!call.body.signature.empty()) {
            field(fields, 8, "g", call.body.signature);
        }
        if (call.body.descriptors > 0) {
            fields.align(8).u8(9).signature("u").u32(call.body.descriptors);
        }
        for (const Field& more : call.more) {
            fields.align(8).u8(more.code).signature(more.type).align(4).raw(more.value);
        }
    });
    return out.align(8).raw(call.body.bytes).str();
}

std::vector<Piece> Mutator::wrong_inside(std::size_t count, const std::string& session)
{
    std::vector<Piece> pieces(1);
    for (std::uint32_t number = 1; number <= count; ++number) {
        Call call = any();
        const std::uint32_t descriptors = below(16) == 0 ? 1 + below(3) : call.body.descriptors;
        for (std::uint32_t changes = below(3) + 1; changes > 0; --changes) {
            change_inside(call);
        }
        call.body.descriptors = descriptors;
        call.serial = number;
        if (call.body.bytes.empty() != call.body.signature.empty()) {
            call.body.signature = call.body.bytes.empty() ? "" : "s";
        }
        if (descriptors > 0) {
            pieces.emplace_back().descriptors = descriptors;
        }
        pieces.back().bytes += serialised(call, session);
    }
    return pieces;
}

Piece Mutator::wrong_outside(const std::string& session)
{
    static constexpr std::array<std::uint32_t, 6> kDescriptors{0, 0, 1, 2, 20, 253};
    Call call = any();
    const std::uint32_t descriptors = kDescriptors[below(kDescriptors.size())];
    call.body.descriptors = below(4) == 0 ? below(3) : descriptors;
    if (below(3) == 0) {
        change_inside(call);
    }
    switch (below(6)) {
    case 0:    // the same field again
        call.more.push_back({static_cast<std::uint8_t>(1 + below(3)), "s", Bytes().text(any().method.member).str()});
        break;
    case 1:    // a field of another type
        call.more.push_back({static_cast<std::uint8_t>(below(12)), "u", Bytes().u32(telling_number()).str()});
        break;
    case 2:
        call.body.signature = noise(255);
        break;
    case 3:
        call.type = static_cast<std::uint8_t>(below(6));
        break;
    default:
        break;
    }
    std::string message = serialised(call, session);
    if (below(2) == 0) {
        change_bytes(message);
    }
    return {message, descriptors};
}

}    // namespace rdmaqos::attack
