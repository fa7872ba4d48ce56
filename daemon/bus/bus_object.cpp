#include "daemon/bus/bus_object.h"

#include <string_view>

#include <fmt/format.h>

#include "daemon/bus/endpoint.h"
#include "daemon/bus/property.h"
#include "lib/bus/names.h"

namespace rdmaqos {
namespace {

namespace names = bus::names;
using bus::Writer;

constexpr const char* kNameOfClient = ":1.1";
constexpr std::uint32_t kAlreadyRunning = 2;    // DBUS_START_REPLY_ALREADY_RUNNING

std::string_view text_of(const Call& call)
{
    const char* text = nullptr;
    return sd_bus_message_read_basic(call.message(), 's', &text) > 0 ? text : "";
}

bool has_owner(std::string_view name)
{
    return name == names::kService || name == names::kBus || name == kNameOfClient;
}

void on_hello(BusEndpoint& /*endpoint*/, const Call& call, const Peer& /*peer*/)
{
    call.reply_text(kNameOfClient);
}

// Subscribe decides who gets signals. A library that adds matches for what it waits for need not know that.
void on_match(BusEndpoint& /*endpoint*/, const Call& call, const Peer& /*peer*/)
{
    call.reply();
}

void on_get_name_owner(BusEndpoint& /*endpoint*/, const Call& call, const Peer& /*peer*/)
{
    const std::string name(text_of(call));
    if (has_owner(name)) {
        call.reply_text(name);    // as the sender of every message
    } else {
        call.refuse({ErrorCode::InvalidArgument, 0,
                     fmt::format("`{}` is not at the socket of rdma-qosd, but {} alone", name, names::kService)});
    }
}

void on_name_has_owner(BusEndpoint& /*endpoint*/, const Call& call, const Peer& /*peer*/)
{
    call.reply([&](Writer& writer) { writer.put(has_owner(text_of(call))); });
}

void on_start_service(BusEndpoint& /*endpoint*/, const Call& call, const Peer& /*peer*/)
{
    call.reply([](Writer& writer) { writer.put(kAlreadyRunning); });
}

const sd_bus_vtable kMethods[] = {
    SD_BUS_METHOD_WITH_ARGS("Hello", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", unique_name), method<on_hello>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("AddMatch", SD_BUS_ARGS("s", rule), SD_BUS_NO_RESULT, method<on_match>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("RemoveMatch", SD_BUS_ARGS("s", rule), SD_BUS_NO_RESULT, method<on_match>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("GetNameOwner", SD_BUS_ARGS("s", name), SD_BUS_RESULT("s", owner),
                            method<on_get_name_owner>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("NameHasOwner", SD_BUS_ARGS("s", name), SD_BUS_RESULT("b", has_owner),
                            method<on_name_has_owner>, kOpen),
    SD_BUS_METHOD_WITH_ARGS("StartServiceByName", SD_BUS_ARGS("s", name, "u", flags), SD_BUS_RESULT("u", result),
                            method<on_start_service>, kOpen),
};

}    // namespace

Result<void> install_bus_object(BusEndpoint& endpoint)
{
    static const auto kVtable = make_vtable(kMethods, {}, {});
    sd_bus* bus = endpoint.connection->bus();
    // Libraries take signals from the owner of the name alone.
    int result = sd_bus_set_sender(bus, names::kService);
    if (result >= 0) {
        result = sd_bus_add_object_vtable(bus, nullptr, names::kBusPath, names::kBus, kVtable.data(), &endpoint);
    }
    if (result < 0) {
        return fail(error_from_errno(ErrorCode::Internal, -result, "the D-Bus objects cannot be registered"));
    }
    return {};
}

}    // namespace rdmaqos
