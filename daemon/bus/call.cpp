#include "daemon/bus/call.h"

#include <exception>

#include "daemon/bus/convert_report.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

namespace rdmaqos {

bool Call::State::is_awaited() const
{
    return !answered && connection->is_open() && sd_bus_message_get_expect_reply(message.get()) > 0;
}

Call::State::~State()
{
    if (!is_awaited()) {
        return;
    }
    try {
        refuse({ErrorCode::Internal, 0, "the call failed; see the journal of rdma-qosd"});
    } catch (const std::exception& error) {
        write_log(LogLevel::Error, {{"ERROR", error.what()}}, "a call cannot be answered");
    }
}

void Call::State::send(sd_bus_message* answer)
{
    answered = true;
    connection->send(answer);
}

bus::MessageRef Call::new_reply() const
{
    if (!state_->is_awaited()) {
        return {};
    }
    sd_bus_message* raw = nullptr;
    if (sd_bus_message_new_method_return(state_->message.get(), &raw) < 0) {
        return {};
    }
    return bus::MessageRef::adopt(raw);
}

void Call::send(const bus::MessageRef& answer, int written) const
{
    if (written < 0) {
        refuse(error_from_errno(ErrorCode::Internal, -written, "the answer cannot be written"));
        return;
    }
    state_->send(answer.get());
}

LoopCallback<void(Result<std::vector<DeviceReconcile>>)> Call::reply_of_device() const
{
    return [call = *this](const Result<std::vector<DeviceReconcile>>& results) {
        if (!results) {
            call.refuse(results.error());
        } else if (results->size() == 1) {
            call.reply([&](bus::Writer& writer) { write(writer, results->front()); });
        } else {
            call.refuse({ErrorCode::DeviceGone, 0, "the device went away"});
        }
    };
}

void Call::count_refused(const std::vector<QueuePairResult>& results) const
{
    for (const auto& result : results) {
        if (result.error) {
            ++state_->counters.queue_pair_refusals[result.error->code];
        }
    }
}

void Call::State::refuse(const Error& error)
{
    ++counters.refusals[error.code];
    if (error.code == ErrorCode::Internal) {
        log(LogLevel::Error, "a call failed: {}", to_string(error));
    }
    if (!is_awaited()) {
        return;
    }
    const std::string name(dbus_name(error.code));
    std::string text = to_string(error);
    if (!is_valid_utf8(text)) {
        text = printable(text);
    }
    const sd_bus_error as_sent{name.c_str(), text.c_str(), 0};
    sd_bus_message* raw = nullptr;
    if (sd_bus_message_new_method_error(message.get(), &raw, &as_sent) >= 0) {
        send(bus::MessageRef::adopt(raw).get());
    }
}

}    // namespace rdmaqos
