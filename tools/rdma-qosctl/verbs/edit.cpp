#include "tools/rdma-qosctl/verbs/verb.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "policy/load/host_files.h"
#include "tools/rdma-qosctl/changes/daemon_calls.h"
#include "tools/rdma-qosctl/changes/replaced_file.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/request/child.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNewFile = "version: 1\n";

struct EditOptions {
    std::string place = "policy.yaml";
};

void add_options(CLI::App& command, EditOptions& options)
{
    command
        .add_option("PLACE", options.place,
                    "policy.yaml, or policy.d/NAME.yaml, which is made if it is not there; a path is below "
                    "/etc/rdma-qos")
        ->capture_default_str();
}

// The editor's own, in a folder that only this user can enter; it stays if its text was not installed.
class Copy {
public:
    explicit Copy(const fs::path& place, const std::string& text)
    {
        const char* given = std::getenv("TMPDIR");    // NOLINT(concurrency-mt-unsafe)
        std::string folder = (fs::path(given == nullptr || *given == '\0' ? "/tmp" : given) / "rdma-qos-XXXXXX");
        if (mkdtemp(folder.data()) == nullptr) {
            error_ = error_from_errno(ErrorCode::Io, errno, folder);
            return;
        }
        file_ = fs::path(folder) / place.filename();    // the suffix tells the editor what it is
        if (auto written = write_file_atomically(file_, text); !written) {
            error_ = written.error();
        }
    }
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }
    [[nodiscard]] const fs::path& file() const { return file_; }
    void remove() const
    {
        std::error_code none;
        fs::remove_all(file_.parent_path(), none);
    }

private:
    fs::path file_;
    std::optional<Error> error_;
};

// As git and visudo start it: VISUAL or EDITOR may have arguments.
Result<void> run_editor(const fs::path& file)
{
    // A second one must not begin with the signals blocked that the first was awaited with.
    sigset_t mask;
    sigprocmask(SIG_SETMASK, nullptr, &mask);
    auto editor = Child::start({"/bin/sh", "-c",
                                R"(if [ -n "${VISUAL:-$EDITOR}" ]; then exec ${VISUAL:-$EDITOR} "$1"; fi
for editor in editor vi nano; do if command -v "$editor" >/dev/null; then exec "$editor" "$1"; fi; done
echo "no editor is installed: set EDITOR" >&2; exit 127)",
                                "rdma-qosctl", file.string()});
    if (!editor) {
        return fail(editor.error());
    }
    const int status = editor->wait();
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    if (status != 0) {
        return fail(ErrorCode::InvalidArgument, fmt::format("the editor ended with status {}", status));
    }
    return {};
}

// Whether the user wants to go on with the text that was refused.
bool is_edited_again()
{
    if (isatty(STDIN_FILENO) != 1) {
        return false;
    }
    print_error("edit again? [Y/n] ");
    std::string answer;
    return std::getline(std::cin, answer) && (answer.empty() || to_lower(answer).starts_with('y'));
}

// One file of the host, from the editor to the daemon.
class Edit {
public:
    Edit(const Context& context, fs::path place)
        : context_(context), place_(std::move(place)), file_(context.root, place_, "only root may edit the policy")
    {
    }

    Result<ExitStatus> run()
    {
        TRY(file_.may_be_written());
        TRY(file_.read());
        const std::string before = file_.before().value_or(kNewFile);
        const Copy copy(place_, before);
        if (copy.error()) {
            return fail(*copy.error());
        }
        while (true) {
            auto edited = run_editor(copy.file());
            auto text = edited ? read_regular_file(copy.file(), kMaxConfigFileSize) : fail(edited.error());
            if (text && *text == before) {
                copy.remove();
                print(fmt::format("{} is as it was\n", place_.string()));
                return ExitStatus::Ok;
            }
            auto status = text ? install(copy.file(), *text) : fail(text.error());
            if (status) {
                copy.remove();
                return status;
            }
            if (!text || !is_edited_again()) {
                Error error = status.error();
                error.message += fmt::format("\nyour text is kept in {}", copy.file().string());
                return fail(std::move(error));
            }
        }
    }

private:
    Result<ExitStatus> install(const fs::path& copy, const std::string& text)
    {
        const auto read = load_given_policy({{copy.string()}, place_.string()}, context_.root);
        if (!read.value) {
            return refuse(invalid_policy(read.diagnostics, "the edited policy"));
        }
        const std::optional<std::string> begun = file_.before();
        TRY(file_.read());
        if (file_.before() != begun) {
            return fail(
                ErrorCode::InvalidArgument,
                fmt::format("{} was changed by somebody else in the meantime, and stays as it is", place_.string()));
        }
        std::error_code error;
        fs::create_directories(below_root(context_.root, place_).parent_path(), error);    // else write() fails
        TRY(file_.write(text));
        auto client = connect(context_);
        if (!client) {
            print(fmt::format("{} is written; rdma-qosd does not answer, and reads it when it starts\n",
                              place_.string()));
            return ExitStatus::Ok;
        }
        const auto reload = reload_files(context_, *client);
        if (!reload) {
            Error refused = reload.error();
            refused.message += "\n" + file_.put_back();
            return refuse(std::move(refused));
        }
        print_reload(context_, *reload);
        return status_of(*reload);
    }

    // With all that is wrong before the question whether to go on.
    Result<ExitStatus> refuse(Error error) const
    {
        if (isatty(STDIN_FILENO) == 1) {
            print_error(render_error(error, context_.error_colour));
            return fail(error.code, "the edited policy was not installed");
        }
        return fail(std::move(error));
    }

    const Context& context_;
    const fs::path place_;
    ReplacedFile file_;
};

Result<ExitStatus> edit(const Context& context, const EditOptions& options)
{
    const auto place = TRY(place_of(options.place));
    return Edit(context, place).run();
}

}    // namespace

extern const Verb kEditVerb{
    .name = "edit",
    .summary = "Edit a policy file in an editor; it is installed and running only if nothing is wrong with it",
    .examples = "  rdma-qosctl edit                               /etc/rdma-qos/policy.yaml\n"
                "  rdma-qosctl edit policy.d/60-storage.yaml      a drop-in\n"
                "  EDITOR='sed -i s/40Gbps/50Gbps/' rdma-qosctl edit",
    .remarks = "The editor is that of VISUAL or EDITOR. What it leaves is checked together with the host's other "
               "files, and\n"
               "installed; the daemon reloads. What is refused changes nothing, and can be edited again.\n",
    .prepare = with_options<EditOptions, add_options, edit>,
};

}    // namespace rdmaqos::ctl
