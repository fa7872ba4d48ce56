#include "tools/rdma-qosctl/verbs/verb.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/base/units.h"
#include "policy/load/policy_reader.h"
#include "policy/model/name_service.h"
#include "policy/model/policy.h"
#include "tools/rdma-qosctl/changes/daemon_calls.h"
#include "tools/rdma-qosctl/changes/password_agent.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

namespace fs = std::filesystem;

struct TrialOptions {
    std::string file;              // "-": stdin
    std::string timeout = "60";    // "90", "5min"
};

void add_options(CLI::App& command, TrialOptions& options)
{
    command
        .add_option("FILE", options.file,
                    "What to put in the place of /etc/rdma-qos/policy.yaml, beside the host's other files; -: stdin")
        ->required();
    command
        .add_option("--timeout", options.timeout, "Time until it goes back: 90, 5m, 1h30min; at most 24h; none: 60 s")
        ->type_name("TIME");
}

// The daemon says which of them it takes.
Result<std::uint32_t> seconds_of(const std::string& text)
{
    const auto time = parse_milliseconds(text);
    if (!time.value) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("--timeout: `{}` is not a time: {}", printable(text), kTimeHint));
    }
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(std::chrono::milliseconds(*time.value));
    return static_cast<std::uint32_t>(std::min<std::int64_t>(seconds.count(), UINT32_MAX));
}

Result<void> can_be_tried(const std::string& file, const fs::path& main_file)
{
    if (is_opensm_file(file)) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("{} is a native OpenSM policy by its name; what is tried stands for {}, which is YAML: "
                                "`rdma-qosctl import-opensm` converts it",
                                printable(file), kMainPolicyFile));
    }
    std::error_code error;
    if (file != "-" && fs::equivalent(file, main_file, error)) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{} is the file that the trial would go back to: restore it, and try a copy with the "
                                "changes",
                                printable(file)));
    }
    return {};
}

// Read here first: diagnostics then have the file's own name.
Result<std::shared_ptr<const SourceFile>> readable_source(const std::string& file, const std::string& root)
{
    auto source = read_source(file);
    if (!source) {
        return fail(std::move(source).error().with_context(printable(file)));
    }
    const auto fabric = load_fabric(root);
    const auto read = read_host_policy(root, ProposedFile{kMainPolicyFile, *source}, NameService::host(),
                                       fabric.value ? *fabric.value : Fabric{});
    if (!read.value) {
        return fail(invalid_policy(read.diagnostics, "the policy"));
    }
    return source;
}

void print_trial(const Context& context, const ReloadView& reload, std::uint64_t seconds)
{
    if (context.json) {
        Json json = reload_json(reload);
        json["revision"] = reload.revision;
        json["seconds-left"] = seconds;
        print(to_text(json));
        return;
    }
    print(to_text(reload, context.screen.colour) +
          fmt::format("policy {} is running{}, for {}; then the policy of the files comes back\n"
                      "  rdma-qosctl confirm    keeps it: writes it to {}\n"
                      "  rdma-qosctl revert     goes back now\n",
                      printable(reload.revision), but_not_on_devices(reload), counted(seconds, "second"),
                      kMainPolicyFile));
}

Result<ExitStatus> try_policy(const Context& context, const TrialOptions& options)
{
    const auto timeout = TRY(seconds_of(options.timeout));
    TRY(can_be_tried(options.file, below_root(context.root, kMainPolicyFile)));
    const auto source = TRY(readable_source(options.file, context.root));
    auto client = TRY(connect(context));
    const auto file = TRY(as_file(source->text));
    const auto report = with_password(context, client, [&] {
        return call_manager<api::Reload>(client, "Try", {bus::Value(file), bus::Value(timeout)}, kDeviceTimeout);
    });
    if (!report) {
        return fail(report.error());
    }
    const ReloadView reload = to_reload(*report);
    if (!reload.accepted) {
        return fail(ErrorCode::InvalidPolicy,
                    "the policy is refused, the running one stays\n" + to_text(reload, Colour::Off));
    }
    print_trial(context, reload, report->seconds_left.value_or(0));
    return status_of(reload);
}

}    // namespace

extern const Verb kTryVerb{
    .name = "try",
    .summary = "Put a policy in force for a while: it goes back by itself unless it is confirmed",
    .examples = "  rdma-qosctl try new.yaml                       for a minute in the place of policy.yaml\n"
                "  rdma-qosctl try new.yaml --timeout 10min && sleep 300 && rdma-qosctl confirm",
    .prepare = with_options<TrialOptions, add_options, try_policy>,
};

}    // namespace rdmaqos::ctl
