#include "tools/rdma-qosctl/verbs/verb.h"

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "policy/load/host_files.h"
#include "policy/load/policy_reader.h"
#include "policy/model/name_service.h"
#include "policy/yaml/settings_reader.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/show_config.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

struct ShowConfigOptions {
    std::vector<std::string> files;    // empty: the host's
    bool offline = false;
};

void add_options(CLI::App& command, ShowConfigOptions& options)
{
    command.add_option("FILE", options.files, "Policy files, merged in this order; -: stdin; none: the host's files");
    command.add_flag("--offline", options.offline, "Do not ask the daemon which policy it runs");
}

constexpr const char* kSettingsFile = "/etc/rdma-qos/rdma-qosd.yaml";

Result<ShownNode> settings_of_host(const std::string& root)
{
    const auto path = below_root(root, kSettingsFile);
    std::error_code error;
    if (std::filesystem::symlink_status(path, error).type() == std::filesystem::file_type::not_found) {
        return show_settings(nullptr);
    }
    auto text = read_regular_file(path, kMaxConfigFileSize);
    if (!text) {
        return fail(text.error().with_context(kSettingsFile));
    }
    const auto source = std::make_shared<const SourceFile>(SourceFile{kSettingsFile, std::move(*text)});
    const auto read = read_settings(source);
    if (!read.value) {
        return fail(ErrorCode::InvalidPolicy, "the settings file is refused\n" + render(read.diagnostics, Colour::Off));
    }
    return show_settings(source);
}

// What the daemon says, or why it says nothing.
Result<void> ask_daemon(const Context& context, const ShowConfigOptions& options, ConfigReport& report)
{
    if (options.offline) {
        report.no_daemon = "whether the daemon runs it is not known: it was not asked";
        return {};
    }
    auto client = connect(context);
    if (!client) {
        // What is in the files can be said all the same.
        report.no_daemon = client.error().code == ErrorCode::NoDaemon
                               ? "no daemon runs"
                               : fmt::format("whether the daemon runs it is not known: {}", to_string(client.error()));
        return {};
    }
    report.daemon = TRY(fetch_manager(*client));
    // Others would be refused, which the daemon logs.
    if (report.of_host && report.daemon->trial && geteuid() == 0) {
        if (auto text = call_manager<std::string>(*client, "TriedText", {})) {
            report.tried = std::make_shared<const SourceFile>(SourceFile{kMainPolicyFile, std::move(*text)});
        }
    }
    return {};
}

// The given files; of the host, with the text that is being tried in its place, as far as we may see it.
Result<std::shared_ptr<const Policy>> policy_to_show(const ConfigReport& report, const ShowConfigOptions& options,
                                                     const std::string& root)
{
    if (!report.tried) {
        return require_policy(options.files, root);
    }
    const auto fabric = load_fabric(root);
    auto read = read_host_policy(root, ProposedFile{kMainPolicyFile, report.tried}, NameService::host(),
                                 fabric.value ? *fabric.value : Fabric{});
    if (!read.value) {
        return fail(invalid_policy(read.diagnostics, "what is tried, with the other files,"));
    }
    return std::move(read.value);
}

Result<ConfigReport> make_report(const Context& context, const ShowConfigOptions& options)
{
    ConfigReport report;
    report.of_host = options.files.empty();
    TRY(ask_daemon(context, options, report));
    const auto policy = policy_to_show(report, options, context.root);
    if (!policy) {
        return fail(policy.error());
    }
    for (const auto& source : (*policy)->sources) {
        if (is_opensm_file(source->name)) {
            return fail(ErrorCode::Unsupported,
                        fmt::format("{} is a native OpenSM policy, which is not merged with anything: what it states "
                                    "is all there is; `rdma-qosctl import-opensm` shows it as YAML",
                                    source->name));
        }
        report.files.push_back(source->name);
    }
    report.revision = (*policy)->revision;
    const QosLevel& default_level = (*policy)->levels.at((*policy)->default_level);
    report.default_level = default_level.name;
    report.default_level_at = default_level.location;
    report.policy = show_policy(**policy);
    if (report.of_host) {
        report.skipped = skipped_policy_files(context.root);
        report.settings_file = kSettingsFile;
        report.settings = TRY(settings_of_host(context.root));
    }
    return report;
}

Result<ExitStatus> show_config(const Context& context, const ShowConfigOptions& options)
{
    const auto report = TRY(make_report(context, options));
    print(context.json ? to_text(config_json(report)) : render_config(report));
    return ExitStatus::Ok;
}

}    // namespace

extern const Verb kShowConfigVerb{
    .name = "show-config",
    .summary = "Print the merged policy with the origin of every value, and the defaults",
    .examples = "  rdma-qosctl show-config                        the host's files; do they run?\n"
                "  rdma-qosctl show-config base.yaml site.yaml    these, merged in this order\n"
                "  rdma-qosctl show-config >one-file.yaml         a policy by itself: `check one-file.yaml` reads it",
    .paged = true,
    .prepare = with_options<ShowConfigOptions, add_options, show_config>,
};

}    // namespace rdmaqos::ctl
