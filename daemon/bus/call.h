// One method call that will be answered, now or later; copies answer the same call, once.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "daemon/bus/convert_in.h"
#include "daemon/bus/convert_out.h"
#include "daemon/model/metrics.h"
#include "daemon/model/session.h"
#include "lib/base/loop_callback.h"
#include "lib/base/result.h"
#include "lib/bus/connection.h"
#include "lib/bus/message.h"

namespace rdmaqos {

class Call {
public:
    // `counters` must outlive every answer.
    Call(sd_bus_message* message, std::shared_ptr<bus::Connection> connection, TransportCounters& counters)
        : message_(message), connection_(std::move(connection)), counters_(&counters)
    {
    }

    [[nodiscard]] sd_bus_message* message() const { return message_.get(); }
    // Of its arguments, with what its descriptors are. While its handler runs: descriptors go afterwards.
    [[nodiscard]] bus::ReadLimits limits() const
    {
        bus::ReadLimits limits = kRequestLimits;
        limits.descriptors = connection_->descriptors();
        return limits;
    }
    // Somebody may still wait for the answer.
    [[nodiscard]] bool is_wanted() const { return connection_->is_open(); }

    // `write(bus::Writer&)` writes the results. A connection that is gone swallows the answer.
    template <typename Write>
    void reply(Write&& write) const
    {
        const bus::MessageRef answer = new_reply();
        if (answer) {
            bus::Writer writer(answer.get());
            std::forward<Write>(write)(writer);
            send(answer, writer.result());
        }
    }
    void reply() const
    {
        reply([](bus::Writer&) {});
    }
    // An answer that is written over several turns of the loop; null: nobody waits for it.
    [[nodiscard]] bus::MessageRef begin_reply() const { return new_reply(); }
    void finish_reply(const bus::MessageRef& answer, int written) const { send(answer, written); }
    void reply_text(const std::string& text) const
    {
        reply([&](bus::Writer& writer) { writer.put(text); });
    }
    void refuse(const Error& error) const;
    // `with`: further arguments of `write`.
    template <typename T, typename... With>
    void answer(const Result<T>& result, const With&... with) const
    {
        if (!result) {
            refuse(result.error());
        } else if constexpr (std::is_void_v<T>) {
            reply();
        } else {
            reply([&](bus::Writer& writer) { write(writer, *result, with...); });
        }
    }
    // What a call about one device gets.
    [[nodiscard]] LoopCallback<void(Result<std::vector<DeviceReconcile>>)> reply_of_device() const;
    // For queue pairs that are refused inside an answer.
    void count_refused(const std::vector<QueuePairResult>& results) const;

private:
    // Null: nobody waits for it.
    [[nodiscard]] bus::MessageRef new_reply() const;
    void send(const bus::MessageRef& answer, int written) const;

    bus::MessageRef message_;
    std::shared_ptr<bus::Connection> connection_;
    TransportCounters* counters_;    // never null
};

}    // namespace rdmaqos
