#include "daemon/bus/authorize.h"

#include <exception>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "daemon/model/administrator.h"
#include "lib/base/log.h"

namespace rdmaqos {
namespace {

constexpr const char* kPolkit = "org.freedesktop.PolicyKit1";
constexpr std::uint32_t kAllowUserInteraction = 1;
constexpr std::uint64_t kTimeToAnswer = 25ULL * 1'000'000U;
constexpr std::uint64_t kTimeToTypeAPassword = 300ULL * 1'000'000U;

struct Question {
    const char* action;
    Call call;
    std::shared_ptr<const Identity> client;
    std::function<void()> then;
};

const char* name_of(Action action)
{
    return action == Action::Reload ? "org.rdmaqos1.reload" : "org.rdmaqos1.manage";
}

Error refusal(std::string message)
{
    return {ErrorCode::AuthorizationRequired, 0, std::move(message)};
}

void refuse(const Call& call, const Identity& client, const char* action, const Error& why)
{
    // With interactive authorization the client may come again.
    if (why.code == ErrorCode::AuthorizationRequired) {
        log_event(LogLevel::Warning, LogEvent::RequestRefused, LogOrigin::user(client.uid),
                  {{"UID", fmt::format("{}", client.uid)},
                   {"PID", fmt::format("{}", client.pid)},
                   {"UNIT", client.unit},
                   {"ACTION", action}},
                  "uid {}, pid {} is refused {}: {}", client.uid, client.pid, action, why.message);
    }
    call.refuse(why);
}

Result<void> verdict(sd_bus_message* reply, const char* action)
{
    if (const auto* error = sd_bus_message_get_error(reply); error != nullptr) {
        return fail(refusal(fmt::format("polkit cannot be asked about {} ({}); without it only root may do this",
                                        action, error->message == nullptr ? error->name : error->message)));
    }
    int authorized = 0;
    int challenge = 0;
    if (sd_bus_message_enter_container(reply, 'r', "bba{ss}") <= 0 ||
        sd_bus_message_read(reply, "bb", &authorized, &challenge) <= 0) {
        return fail(refusal(fmt::format("polkit's answer for {} is not understood", action)));
    }
    if (authorized != 0) {
        return {};
    }
    if (challenge != 0) {
        return fail(ErrorCode::InteractiveAuthorizationRequired,
                    fmt::format("{} needs authentication; allow interactive authorization in the call, or call as "
                                "root",
                                action));
    }
    return fail(refusal(fmt::format("polkit does not authorize you for {}", action)));
}

int on_answer(sd_bus_message* reply, void* userdata, sd_bus_error* /*error*/) noexcept
{
    try {
        auto& question = *static_cast<Question*>(userdata);
        if (const auto allowed = verdict(reply, question.action)) {
            question.then();
        } else {
            refuse(question.call, *question.client, question.action, allowed.error());
        }
    } catch (const std::exception& error) {
        write_log(LogLevel::Error, {}, error.what());
    }
    return 1;
}

// (sa{sv}) s a{ss} u s: subject, action, details, flags, cancellation id
void write_question(bus::Writer& writer, const char* sender, const char* action, bool interactive)
{
    writer.open('r', "sa{sv}");
    writer.put("system-bus-name");
    {
        bus::DictWriter subject(writer);
        subject.set("name", std::string(sender));
    }
    writer.close();
    writer.put(action);
    writer.open('a', "{ss}");
    writer.close();
    writer.put(interactive ? kAllowUserInteraction : 0U);
    writer.put("");
}

}    // namespace

void when_authorized(BusEndpoint& endpoint, const Call& call, const Peer& peer, Action action,
                     std::function<void()> then)
{
    if (is_administrator(peer.identity->uid)) {
        then();
        return;
    }
    const char* sender = sd_bus_message_get_sender(call.message());
    if (!endpoint.is_system_bus() || sender == nullptr) {
        refuse(call, *peer.identity, name_of(action),
               refusal("on this socket only root and the user of rdma-qosd may do this; on the system bus polkit decides"));
        return;
    }
    const auto& connection = endpoint.connection;
    sd_bus_message* raw = nullptr;
    int result = sd_bus_message_new_method_call(connection->bus(), &raw, kPolkit,
                                                "/org/freedesktop/PolicyKit1/Authority",
                                                "org.freedesktop.PolicyKit1.Authority", "CheckAuthorization");
    const auto question = bus::MessageRef::adopt(raw);
    if (result >= 0) {
        const bool interactive = sd_bus_message_get_allow_interactive_authorization(call.message()) > 0;
        bus::Writer writer(raw);
        write_question(writer, sender, name_of(action), interactive);
        result = writer.result();
        auto context = std::make_unique<Question>(Question{name_of(action), call, peer.identity, std::move(then)});
        sd_bus_slot* slot = nullptr;
        if (result >= 0) {
            result = sd_bus_call_async(connection->bus(), &slot, raw, &on_answer, context.get(),
                                       interactive ? kTimeToTypeAPassword : kTimeToAnswer);
        }
        if (result >= 0) {
            sd_bus_slot_set_destroy_callback(
                slot, [](void* userdata) { std::unique_ptr<Question>(static_cast<Question*>(userdata)).reset(); });
            // Floating: the bus frees it after the answer, or when it is closed.
            result = sd_bus_slot_set_floating(slot, 1);
            sd_bus_slot_unref(slot);
            [[maybe_unused]] auto* owned_by_slot = context.release();
        }
    }
    if (result < 0) {
        refuse(call, *peer.identity, name_of(action),
               refusal("polkit cannot be asked; without it only root may do this"));
        return;
    }
    connection->flush();
}

}    // namespace rdmaqos
