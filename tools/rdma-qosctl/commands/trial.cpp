#include "tools/rdma-qosctl/commands/trial.h"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/units.h"
#include "policy/load/host_files.h"
#include "policy/load/policy_reader.h"
#include "policy/model/name_service.h"
#include "policy/model/policy.h"
#include "tools/rdma-qosctl/commands/manage.h"
#include "tools/rdma-qosctl/commands/password_agent.h"
#include "tools/rdma-qosctl/commands/transient_change.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/rendering/world_json.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

namespace fs = std::filesystem;

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

Result<TrialView> fetch_trial(bus::Client& client)
{
    const auto manager = fetch_manager(client);
    if (!manager) {
        return fail(manager.error());
    }
    if (!manager->trial) {
        return fail(ErrorCode::InvalidArgument, "no policy is being tried: the trial has ended, or there was none");
    }
    return *manager->trial;
}

// policy.yaml while a trial is confirmed: written, and put back if the daemon does not agree.
class MainFile {
public:
    explicit MainFile(const std::string& root) : path_(below_root(root, kMainPolicyFile)) {}

    Result<void> read()
    {
        auto text = read_regular_file(path_, kMaxConfigFileSize);
        if (text) {
            before_ = std::move(*text);
        } else if (text.error().sys_errno != ENOENT) {
            return fail(std::move(text).error().with_context(kMainPolicyFile));
        }
        return {};
    }
    // Before anybody asks polkit for what it cannot grant.
    [[nodiscard]] Result<void> may_be_written() const
    {
        std::error_code error;
        const fs::path file = fs::canonical(path_, error);    // where it is a link, that is replaced
        const fs::path folder = (error ? path_ : file).parent_path();
        if (access(folder.c_str(), W_OK) == 0 || errno == ENOENT) {
            return {};
        }
        const Error refused = error_from_errno(ErrorCode::Io, errno, folder.string() + " cannot be written to");
        return fail(not_written("only root may confirm a trial", refused));
    }
    // As TrialView::file_revision.
    [[nodiscard]] std::string revision() const
    {
        return before_ ? revision_of({std::make_shared<const SourceFile>(SourceFile{kMainPolicyFile, *before_})})
                       : std::string{};
    }
    [[nodiscard]] bool says(const std::string& text) const { return before_ == text; }
    Result<void> write(const std::string& text)
    {
        auto written = replace_file(path_, text);
        if (!written) {
            return fail(not_written("only root may confirm a trial", written.error()));
        }
        is_written_ = true;
        return written;
    }
    // A sentence that says how it went.
    [[nodiscard]] std::string put_back() const
    {
        if (!is_written_) {
            return fmt::format("{} was not changed", kMainPolicyFile);
        }
        std::error_code error;
        Result<void> done = before_ ? replace_file(path_, *before_) : Result<void>{};
        if (!before_ && !fs::remove(path_, error)) {
            done = fail(error_from_errno(ErrorCode::Io, error.value(), "cannot be removed"));
        }
        return done ? fmt::format("{} is as it was before", kMainPolicyFile)
                    : fmt::format("{} has the text that was tried, and could not be put back: {}", kMainPolicyFile,
                                  to_string(done.error()));
    }

private:
    const fs::path path_;
    std::optional<std::string> before_;    // empty: there was none
    bool is_written_ = false;
};

// The trial may have gone back to the files while they had the other text.
void agree_with_files(const Context& context)
{
    if (auto client = connect(context); client && !fetch_trial(*client)) {
        static_cast<void>(reload_files(context, *client));
    }
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

}    // namespace

Result<ExitStatus> try_policy(const Context& context, const TrialOptions& options)
{
    const auto timeout = seconds_of(options.timeout);
    if (!timeout) {
        return fail(timeout.error());
    }
    if (const auto can = can_be_tried(options.file, below_root(context.root, kMainPolicyFile)); !can) {
        return fail(can.error());
    }
    const auto source = readable_source(options.file, context.root);
    if (!source) {
        return fail(source.error());
    }
    auto client = connect(context);
    if (!client) {
        return fail(client.error());
    }
    const auto file = as_file((*source)->text);
    if (!file) {
        return fail(file.error());
    }
    const auto report = with_password(context, *client, [&] {
        return call_manager<bus::Dict>(*client, "Try", {bus::Value(*file), bus::Value(*timeout)}, kDeviceTimeout);
    });
    if (!report) {
        return fail(report.error());
    }
    const ReloadView reload = to_reload(*report);
    if (!reload.accepted) {
        return fail(ErrorCode::InvalidPolicy,
                    "the policy is refused, the running one stays\n" + to_text(reload, Colour::Off));
    }
    print_trial(context, reload, number_of(*report, "seconds-left"));
    return status_of(reload);
}

Result<ExitStatus> confirm(const Context& context, bool force)
{
    auto client = connect(context);
    if (!client) {
        return fail(client.error());
    }
    const auto trial = fetch_trial(*client);
    if (!trial) {
        return fail(trial.error());
    }
    MainFile file(context.root);
    if (auto may = file.may_be_written(); !may) {
        return fail(may.error().with_context("not confirmed"));
    }
    const auto text = with_password(context, *client,
                                    [&] { return call_manager<std::string>(*client, "TriedText", {}); });
    if (!text) {
        return fail(text.error());
    }
    if (auto read = file.read(); !read) {
        return fail(std::move(read).error());
    }
    if (!force && !file.says(*text) && file.revision() != trial->file_revision) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("{} has changed since the trial began: not confirmed; `--force` overwrites it",
                                kMainPolicyFile));
    }
    if (!file.says(*text)) {
        if (auto written = file.write(*text); !written) {
            return fail(written.error().with_context("not confirmed, " + file.put_back()));
        }
    }
    const auto confirmed = with_password(context, *client, [&] {
        return client->call(kManagerPath, kManagerInterface, "Confirm", {bus::Value(trial->revision)});
    });
    if (!confirmed) {
        Error error = confirmed.error();
        error.message = fmt::format("not confirmed: {}; {}", error.message, file.put_back());
        agree_with_files(context);
        return fail(std::move(error));
    }
    print(context.json ? to_text({{"revision", trial->revision}, {"file", kMainPolicyFile}})
                       : fmt::format("policy {} is confirmed, and written to {}\n", trial->revision, kMainPolicyFile));
    return ExitStatus::Ok;
}

Result<ExitStatus> revert(const Context& context)
{
    auto client = connect(context);
    if (!client) {
        return fail(client.error());
    }
    const auto trial = fetch_trial(*client);
    if (!trial) {
        return fail(trial.error());
    }
    const auto report = with_password(context, *client,
                                      [&] { return call_manager<bus::Dict>(*client, "Revert", {}, kDeviceTimeout); });
    if (!report) {
        return fail(report.error());
    }
    const ReloadView reload = to_reload(*report);
    if (!reload.accepted) {
        return fail(ErrorCode::InvalidPolicy,
                    fmt::format("the files cannot be used: policy {}, from before the trial, is running\n{}",
                                printable(reload.revision), to_text(reload, Colour::Off)));
    }
    if (context.json) {
        Json json = reload_json(reload);
        json["revision"] = reload.revision;
        print(to_text(json));
    } else {
        print(to_text(reload, context.screen.colour) +
              fmt::format("policy {} is running{}: {}\n", printable(reload.revision), but_not_on_devices(reload),
                          reload.revision == trial->goes_back_to
                              ? "it is the one from before the trial"
                              : fmt::format("the files say so; before the trial it was policy {}",
                                            printable(trial->goes_back_to))));
    }
    return status_of(reload);
}

}    // namespace rdmaqos::ctl
