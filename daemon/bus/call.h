// One method call that will be answered, now or later; copies answer the same call, once. When the last of them goes
// and none has answered, because an exception came in between, the call is refused: nobody waits in vain.
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
        : state_(std::make_shared<State>(bus::MessageRef(message), std::move(connection), counters))
    {
    }

    [[nodiscard]] sd_bus_message* message() const { return state_->message.get(); }
    // Of its arguments, with what its descriptors are. While its handler runs: descriptors go afterwards.
    [[nodiscard]] bus::ReadLimits limits() const
    {
        bus::ReadLimits limits = kRequestLimits;
        limits.descriptors = state_->connection->descriptors();
        return limits;
    }
    // Somebody may still wait for the answer.
    [[nodiscard]] bool is_wanted() const { return state_->connection->is_open(); }

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
    void refuse(const Error& error) const { state_->refuse(error); }
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
    struct State {
        State(bus::MessageRef call, std::shared_ptr<bus::Connection> connection_of_it,
              TransportCounters& counters_of_it)
            : message(std::move(call)), connection(std::move(connection_of_it)), counters(counters_of_it)
        {
        }
        ~State();
        State(const State&) = delete;
        State& operator=(const State&) = delete;

        [[nodiscard]] bool is_awaited() const;
        void refuse(const Error& error);
        void send(sd_bus_message* answer);

        const bus::MessageRef message;
        const std::shared_ptr<bus::Connection> connection;
        TransportCounters& counters;
        bool answered = false;
    };

    // Null: nobody waits for it.
    [[nodiscard]] bus::MessageRef new_reply() const;
    void send(const bus::MessageRef& answer, int written) const;

    std::shared_ptr<State> state_;    // never null
};

}    // namespace rdmaqos
