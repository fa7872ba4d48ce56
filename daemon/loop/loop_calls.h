// Work for another thread, whose answer is wanted on the main loop.
//
//     main loop                                       worker thread
//     run(worker, work, done) ── work, ticket ──▶     work()
//     done, found by the ticket ◀── result, ticket ── post
//
// What crosses is data: `work` must be copyable, which a callback of the loop is not (lib/base/loop_callback.h). `done`
// stays here. It is called once, with what `work` returned, or with an error of the code Internal if it threw, or with
// the error of cancel(). Only when this object goes first is it destroyed without being called.
//
// Thread: the main loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>

#include "lib/base/executor.h"
#include "lib/base/loop_callback.h"
#include "lib/base/result.h"
#include "lib/reconcile/worker.h"

namespace rdmaqos {

// What a callback gets: the result of work that may fail.
template <typename T>
struct ResultOf {
    using type = Result<T>;
};
template <typename T>
struct ResultOf<Result<T>> {
    using type = Result<T>;
};

class LoopCalls {
public:
    // `loop` must outlive this and every worker that was given work.
    explicit LoopCalls(Executor& loop);
    ~LoopCalls();
    LoopCalls(const LoopCalls&) = delete;
    LoopCalls& operator=(const LoopCalls&) = delete;

    // `done(Result<what work returns>)`, never before this returns.
    template <typename Work, typename Done>
    void run(Worker& worker, Work work, Done done)
    {
        using Outcome = typename ResultOf<std::invoke_result_t<Work&>>::type;
        static_assert(std::is_copy_constructible_v<Work>, "what goes to another thread may hold data only");
        const std::uint64_t ticket = table_->add(std::make_unique<WaitsFor<Outcome>>(std::move(done)));
        worker.submit_always([work = std::move(work), ticket, table = std::weak_ptr<Table>(table_),
                              &loop = loop_]() mutable {
            auto outcome = std::make_shared<Outcome>(attempt<Outcome>(work));
            loop.post([ticket, table, outcome = std::move(outcome)] { answer(table, ticket, std::move(*outcome)); });
        });
    }

    // Calls `function` soon, from the loop itself: for what must not happen in the middle of what happens now.
    void defer(LoopCallback<void()> function);

    // Answers everything that waits with this error. What the workers still say to it is not heard.
    void cancel(const Error& error);

    // How many wait for an answer.
    [[nodiscard]] std::size_t waiting() const { return table_->size(); }

private:
    struct Waiting {
        Waiting() = default;
        virtual ~Waiting() = default;
        Waiting(const Waiting&) = delete;
        Waiting& operator=(const Waiting&) = delete;
        virtual void refuse(const Error& error) = 0;
    };
    template <typename Outcome>
    struct WaitsFor final : Waiting {
        explicit WaitsFor(LoopCallback<void(Outcome)> callback) : done(std::move(callback)) {}
        void refuse(const Error& error) override { done(fail(error)); }
        LoopCallback<void(Outcome)> done;
    };
    // By ticket. Other threads hold weak pointers to it, and look into none.
    class Table {
    public:
        std::uint64_t add(std::unique_ptr<Waiting> waiting);
        // Null: it was cancelled.
        [[nodiscard]] std::unique_ptr<Waiting> take(std::uint64_t ticket);
        [[nodiscard]] std::map<std::uint64_t, std::unique_ptr<Waiting>> take_all();
        [[nodiscard]] std::size_t size() const { return waiting_.size(); }

    private:
        std::map<std::uint64_t, std::unique_ptr<Waiting>> waiting_;
        std::uint64_t last_ = 0;
    };

    // On the worker.
    template <typename Outcome, typename Work>
    static Outcome attempt(Work& work)
    {
        try {
            if constexpr (std::is_void_v<std::invoke_result_t<Work&>>) {
                work();
                return {};
            } else {
                return work();
            }
        } catch (const std::exception& error) {
            return fail(failed(error.what()));
        } catch (...) {
            return fail(failed("an unknown exception"));
        }
    }
    // Logs it.
    static Error failed(const char* what);

    // On the loop.
    template <typename Outcome>
    static void answer(const std::weak_ptr<Table>& table, std::uint64_t ticket, Outcome outcome)
    {
        if (const auto alive = table.lock()) {
            if (const auto waiting = alive->take(ticket)) {
                static_cast<WaitsFor<Outcome>&>(*waiting).done(std::move(outcome));
            }
        }
    }

    Executor& loop_;
    std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}    // namespace rdmaqos
