#include "lib/bus/credentials.h"

#include <string_view>

#include "lib/bus/names.h"

namespace rdmaqos::bus {
namespace {

int read_groups(sd_bus_message* reply, std::vector<std::uint32_t>& gids)
{
    int result = sd_bus_message_enter_container(reply, 'v', "au");
    if (result <= 0) {
        return result;
    }
    const void* data = nullptr;
    std::size_t size = 0;
    result = sd_bus_message_read_array(reply, 'u', &data, &size);
    if (result < 0) {
        return result;
    }
    const auto* groups = static_cast<const std::uint32_t*>(data);
    gids.assign(groups, groups + size / sizeof(std::uint32_t));
    return sd_bus_message_exit_container(reply);
}

// One entry of the a{sv}; keys that say nothing to us are skipped.
int read_entry(sd_bus_message* reply, Credentials& credentials)
{
    const char* key = nullptr;
    if (const int result = sd_bus_message_read_basic(reply, 's', &key); result <= 0) {
        return result;
    }
    const std::string_view name = key;
    std::uint32_t number = 0;
    if (name == "UnixUserID") {
        const int result = sd_bus_message_read(reply, "v", "u", &number);
        if (result > 0) {
            credentials.uid = number;
        }
        return result;
    }
    if (name == "ProcessID") {
        const int result = sd_bus_message_read(reply, "v", "u", &number);
        credentials.pid = static_cast<pid_t>(number);
        return result;
    }
    if (name == "ProcessFD") {
        return sd_bus_message_read(reply, "v", "h", &credentials.pidfd);
    }
    if (name == "UnixGroupIDs") {
        return read_groups(reply, credentials.gids);
    }
    return sd_bus_message_skip(reply, "v");
}

}    // namespace

Result<sd_bus_message*> new_credentials_call(sd_bus* bus, const char* unique_name)
{
    sd_bus_message* call = nullptr;
    int result = sd_bus_message_new_method_call(bus, &call, names::kBus, names::kBusPath, names::kBus,
                                                "GetConnectionCredentials");
    if (result >= 0) {
        result = sd_bus_message_append_basic(call, 's', unique_name);
    }
    if (result < 0) {
        sd_bus_message_unref(call);
        return fail(error_from_errno(ErrorCode::Io, -result, "the bus cannot be asked who a client is"));
    }
    return call;
}

Result<Credentials> read_credentials(sd_bus_message* reply)
{
    Credentials credentials;
    int result = sd_bus_message_enter_container(reply, 'a', "{sv}");
    while (result > 0 && (result = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
        result = read_entry(reply, credentials);
        if (result >= 0) {
            result = sd_bus_message_exit_container(reply);
        }
    }
    if (result < 0) {
        return fail(error_from_errno(ErrorCode::Io, -result, "the bus does not say who a client is"));
    }
    return credentials;
}

}    // namespace rdmaqos::bus
