// What `explain` and `query-path` have in common: a request, who makes it, and whether the daemon answers or files do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/result.h"
#include "lib/base/try.h"
#include "lib/bus/client.h"
#include "tools/rdma-qosctl/offline/offline_world.h"
#include "tools/rdma-qosctl/output/context.h"
#include "tools/rdma-qosctl/request/request_options.h"
#include "tools/rdma-qosctl/world/online.h"

namespace CLI {
class App;
}

namespace rdmaqos::ctl {

struct PathQuestion {
    RequestOptions request;
    IdentityOptions identity;
    std::string policy;          // empty: the daemon's, or the host's files
    std::string devices_file;    // of simulated devices
    bool offline = false;
};
void add_options(CLI::App& command, PathQuestion& question);

// Either a connection, or the reason in words why the answer comes from files.
struct PathSource {
    std::optional<bus::Client> client;
    std::string why_offline;
};
[[nodiscard]] Result<PathSource> choose_source(const Context& context, const PathQuestion& question);

[[nodiscard]] std::string offline_note(const OfflineWorld& world, std::string_view why);

// Of explain a text, of query-path the paths.
template <typename T>
struct PathAnswer {
    bool offline = false;
    std::string note;
    T value;

    [[nodiscard]] std::string_view mode() const { return offline ? "offline" : "daemon"; }
};

// By the daemon's `method`, whose dictionary holds `more` too, or by `by_files`, a Result<T>(const OfflineWorld&).
template <typename T, typename ByFiles>
Result<PathAnswer<T>> ask_for_path(const Context& context, const PathQuestion& question, const std::string& method,
                                   const bus::Dict& more, ByFiles by_files)
{
    auto source = TRY(choose_source(context, question));
    if (source.client) {
        auto request = TRY(to_dict(question.request));
        for (const auto& [key, value] : more.entries()) {
            request.set(key, value);
        }
        auto answer = call_manager<T>(*source.client, method, {bus::Value(std::move(request))});
        return answer
                   ? Result<PathAnswer<T>>(PathAnswer<T>{false, "answered by the running daemon", std::move(*answer)})
                   : fail(answer.error());
    }
    const auto world = TRY(load_world(question.policy, context.root, question.devices_file, question.identity));
    auto answer = by_files(world);
    return answer
               ? Result<PathAnswer<T>>(PathAnswer<T>{true, offline_note(world, source.why_offline), std::move(*answer)})
               : fail(answer.error());
}

}    // namespace rdmaqos::ctl
