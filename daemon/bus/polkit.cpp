#include "daemon/bus/polkit.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "lib/base/log.h"

namespace rdmaqos {
namespace {

constexpr const char* kPolkit = "org.freedesktop.PolicyKit1";
constexpr const char* kAuthority = "/org/freedesktop/PolicyKit1/Authority";
constexpr std::uint32_t kAllowUserInteraction = 1;
constexpr std::uint64_t kTimeToAnswer = 25ULL * 1'000'000U;
constexpr std::uint64_t kTimeToTypeAPassword = 300ULL * 1'000'000U;
constexpr std::ptrdiff_t kQuestionsPerUser = 8;    // each may wait for a password

Error refusal(std::string message)
{
    return {ErrorCode::AuthorizationRequired, 0, std::move(message)};
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

// (sa{sv})
void write_subject(bus::Writer& writer, const PolkitQuestion& question)
{
    const bool by_name = !question.sender.empty();
    writer.open('r', "sa{sv}");
    writer.put(by_name ? "system-bus-name" : "unix-process");
    {
        bus::DictWriter subject(writer);
        if (by_name) {
            subject.set("name", question.sender);
        } else {
            subject.set("pid", static_cast<std::uint32_t>(question.client->pid));
            subject.set("start-time", question.client->start_time);
            subject.open("uid", "i");
            writer.put(static_cast<std::int32_t>(question.client->uid));
            subject.close();
        }
    }
    writer.close();
}

// (sa{sv}) s a{ss} u s: subject, action, details, flags, cancellation id
void write_question(bus::Writer& writer, const PolkitQuestion& question, const std::string& id)
{
    write_subject(writer, question);
    writer.put(question.action);
    writer.open('a', "{ss}");
    writer.close();
    writer.put(question.interactive ? kAllowUserInteraction : 0U);
    writer.put(id);
}

}    // namespace

int Polkit::on_answer(sd_bus_message* reply, void* userdata, sd_bus_error* /*error*/) noexcept
{
    try {
        auto& asked = *static_cast<Asked*>(userdata);
        asked.polkit.end(asked, verdict(reply, asked.action));
    } catch (const std::exception& error) {
        write_log(LogLevel::Error, {}, error.what());
    }
    return 1;
}

void Polkit::end(const Asked& asked, const Result<void>& verdict)
{
    std::list<Asked> ended;
    ended.splice(ended.end(), asked_, std::ranges::find(asked_, &asked, [](const Asked& each) { return &each; }));
    ended.front().answered(verdict);
}

void Polkit::cancel(const Asked& asked) const
{
    sd_bus_message* raw = nullptr;
    const int made = sd_bus_message_new_method_call(system_bus_->bus(), &raw, kPolkit, kAuthority,
                                                    "org.freedesktop.PolicyKit1.Authority", "CancelCheckAuthorization");
    const auto message = bus::MessageRef::adopt(raw);
    if (made >= 0 && sd_bus_message_append(raw, "s", asked.id.c_str()) >= 0 &&
        sd_bus_message_set_expect_reply(raw, 0) >= 0 && sd_bus_send(system_bus_->bus(), raw, nullptr) >= 0) {
        system_bus_->flush();
    }
}

void Polkit::left(const Identity& client)
{
    const auto of_client = [&client](const Asked& asked) { return asked.client.get() == &client; };
    for (auto next = std::ranges::find_if(asked_, of_client); next != asked_.end();
         next = std::ranges::find_if(asked_, of_client)) {
        cancel(*next);
        end(*next, fail(ErrorCode::Busy, "the caller has left"));
    }
}

void Polkit::leave()
{
    system_bus_.reset();
    while (!asked_.empty()) {
        end(asked_.front(), fail(refusal("the system bus went away before polkit answered")));
    }
}

Result<void> Polkit::send(const PolkitQuestion& question, Asked& asked) const
{
    sd_bus_message* raw = nullptr;
    int result = sd_bus_message_new_method_call(system_bus_->bus(), &raw, kPolkit, kAuthority,
                                                "org.freedesktop.PolicyKit1.Authority", "CheckAuthorization");
    const auto message = bus::MessageRef::adopt(raw);
    if (result >= 0) {
        bus::Writer writer(raw);
        write_question(writer, question, asked.id);
        result = writer.result();
    }
    if (result >= 0) {
        sd_bus_slot* slot = nullptr;
        result = sd_bus_call_async(system_bus_->bus(), &slot, raw, &on_answer, &asked,
                                   question.interactive ? kTimeToTypeAPassword : kTimeToAnswer);
        asked.slot.reset(slot);
    }
    if (result < 0) {
        return fail(refusal("polkit cannot be asked; without it only root may do this"));
    }
    system_bus_->flush();
    return {};
}

void Polkit::ask(const PolkitQuestion& question, Answered answered)
{
    if (!system_bus_) {
        answered(fail(refusal("only root may do this: polkit, which could allow it to others, is asked by the system "
                              "bus, and rdma-qosd is "
                              "not on it")));
        return;
    }
    if (std::ranges::count(asked_, question.client->uid, [](const Asked& each) { return each.client->uid; }) >=
        kQuestionsPerUser) {
        answered(fail(ErrorCode::LimitReached,
                      fmt::format("{} of your calls wait for polkit; answer those first", kQuestionsPerUser)));
        return;
    }
    Asked& asked = asked_.emplace_back(
        Asked{*this, question.action, question.client, fmt::format("{}", ++last_id_), std::move(answered)});
    if (const auto sent = send(question, asked); !sent) {
        end(asked, sent);
    }
}

}    // namespace rdmaqos
