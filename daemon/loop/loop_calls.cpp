#include "daemon/loop/loop_calls.h"

#include <fmt/format.h>

#include "lib/base/log.h"

namespace rdmaqos {

std::uint64_t LoopCalls::Table::add(std::unique_ptr<Waiting> waiting)
{
    waiting_.emplace(++last_, std::move(waiting));
    return last_;
}

std::unique_ptr<LoopCalls::Waiting> LoopCalls::Table::take(std::uint64_t ticket)
{
    auto node = waiting_.extract(ticket);
    return node.empty() ? nullptr : std::move(node.mapped());
}

std::map<std::uint64_t, std::unique_ptr<LoopCalls::Waiting>> LoopCalls::Table::take_all()
{
    return std::exchange(waiting_, {});
}

LoopCalls::LoopCalls(Executor& loop) : loop_(loop) {}

LoopCalls::~LoopCalls()
{
    // A callback may hold what uses this object while it goes.
    while (table_->size() > 0) {
        static_cast<void>(table_->take_all());
    }
}

void LoopCalls::defer(LoopCallback<void()> function)
{
    auto call = [function = std::move(function)](const Result<void>&) { function(); };
    const std::uint64_t ticket = table_->add(std::make_unique<WaitsFor<Result<void>>>(std::move(call)));
    loop_.post([ticket, table = std::weak_ptr<Table>(table_)] { answer(table, ticket, Result<void>()); });
}

void LoopCalls::cancel(const Error& error)
{
    for (const auto& [ticket, waiting] : table_->take_all()) {
        try {
            waiting->refuse(error);
        } catch (const std::exception& problem) {
            log(LogLevel::Error, "an answer failed: {}", problem.what());    // the others are to be answered too
        }
    }
}

Error LoopCalls::failed(const char* what)
{
    Error error{ErrorCode::Internal, 0, fmt::format("a task failed: {}", what)};
    log(LogLevel::Error, "{}", error.message);
    return error;
}

}    // namespace rdmaqos
