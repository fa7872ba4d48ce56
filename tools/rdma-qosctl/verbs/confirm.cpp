#include "tools/rdma-qosctl/verbs/verb.h"

#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "lib/base/file.h"
#include "policy/load/host_files.h"
#include "policy/load/policy_reader.h"
#include "tools/rdma-qosctl/changes/daemon_calls.h"
#include "tools/rdma-qosctl/changes/password_agent.h"
#include "tools/rdma-qosctl/changes/transient_change.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/online.h"

namespace rdmaqos::ctl {
namespace {

namespace fs = std::filesystem;

struct ConfirmOptions {
    bool force = false;    // also over what somebody else has written to policy.yaml since the trial began
};

void add_options(CLI::App& command, ConfirmOptions& options)
{
    command.add_flag("--force", options.force, "Overwrite the file, also if it has changed since the trial began");
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

// Writes what is tried to policy.yaml, and tells the daemon.
Result<ExitStatus> confirm(const Context& context, const ConfirmOptions& options)
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
    if (!options.force && !file.says(*text) && file.revision() != trial->file_revision) {
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

}    // namespace

extern const Verb kConfirmVerb{
    .name = "confirm",
    .summary = "Keep the policy that is being tried: write it to /etc/rdma-qos/policy.yaml",
    .examples = "  rdma-qosctl confirm\n"
                "  rdma-qosctl confirm --force                    although somebody has edited policy.yaml meanwhile",
    .prepare = with_options<ConfirmOptions, add_options, confirm>,
};

}    // namespace rdmaqos::ctl
