// Questions to the kernel whose answers are rows of a dump, or one answer.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <linux/netlink.h>

#include "lib/base/result.h"
#include "lib/rdma_netlink/connection.h"

namespace rdmaqos::rdma_netlink {

// Calls `take(content)` for each entry of a table; all are of one type.
template <typename Take>
void for_each_entry(Bytes attributes, std::uint16_t table, Take take)
{
    for (auto next = first_of(content_of(attributes, table)); next; next = first_of(next->rest)) {
        take(next->content);
    }
}

// Everything that `command` lists. `read_rows(datagram, sequence, rows, failed)` adds what a datagram says. `what`
// names the rows in the error: "RDMA devices". Errors: Io.
template <typename Row, typename Read>
Result<std::vector<Row>> ask_for_dump(Connection& kernel, std::uint16_t command,
                                      const std::vector<std::uint8_t>& attributes, Read read_rows,
                                      std::string_view what)
{
    struct DumpEnd {
        AnswerEnd end = AnswerEnd::More;
    };
    std::vector<Row> rows;
    int failed = kernel.ask(command, NLM_F_DUMP, attributes);
    if (failed == 0) {
        failed = ETIMEDOUT;    // unless the dump ends
        kernel.read([&](Bytes datagram) { return DumpEnd{read_rows(datagram, kernel.sequence(), rows, failed)}; });
    }
    if (failed != 0) {
        return fail(Error{ErrorCode::Io, failed, fmt::format("the kernel does not list the {}", what)});
    }
    return rows;
}

// What `read(attributes)` makes of the one answer, an optional. Empty: there is none, or it says nothing of that;
// `failed` is the errno then, 0 if the kernel has answered.
template <typename Read>
auto ask_for_one(Connection& kernel, std::uint16_t command, const std::vector<std::uint8_t>& attributes, Read read,
                 int& failed) -> decltype(read(Bytes()))
{
    struct Answer {
        AnswerEnd end = AnswerEnd::More;
        decltype(read(Bytes())) value;
    };
    failed = kernel.ask(command, 0, attributes);
    if (failed != 0) {
        return std::nullopt;
    }
    failed = ETIMEDOUT;    // unless there is an answer
    auto answer = kernel.read([&](Bytes datagram) {
        Answer found;
        found.end = read_datagram(
            datagram, kernel.sequence(),
            [&](Bytes content) {
                found.value = read(content);
                failed = 0;
                return AnswerEnd::Found;
            },
            &failed);
        return found;
    });
    return std::move(answer.value);
}

}    // namespace rdmaqos::rdma_netlink
