#include "tools/rdma-qosctl/changes/transient_change.h"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "policy/load/policy_reader.h"
#include "policy/model/name_service.h"
#include "tools/rdma-qosctl/changes/daemon_calls.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/terminal.h"
#include "tools/rdma-qosctl/world/online.h"
#include "tools/rdma-qosctl/world/reports.h"

namespace rdmaqos::ctl {
namespace {

namespace fs = std::filesystem;

// What is said of the new file alone.
Diagnostics about(const std::shared_ptr<const SourceFile>& source, const Diagnostics& all)
{
    Diagnostics own;
    for (const auto& diagnostic : all.all()) {
        if (diagnostic.location.file == source && diagnostic.severity == Severity::Warning) {
            own.warning(diagnostic.location, diagnostic.message).hint = diagnostic.hint;
        }
    }
    return own;
}

}    // namespace

Error not_written(std::string_view who_may, const Error& error)
{
    const bool is_refused = error.sys_errno == EACCES || error.sys_errno == EPERM || error.sys_errno == EROFS;
    return is_refused && geteuid() != 0
               ? Error{ErrorCode::AuthorizationRequired, error.sys_errno, fmt::format("{}: {}", who_may, error.message)}
               : error;
}

Result<TransientLock> lock_transient_files(const std::string& root)
{
    auto lock = TransientLock::wait(root);
    if (!lock) {
        return fail(not_written(kOnlyRootChanges, lock.error()));
    }
    return lock;
}

std::shared_ptr<const Policy> Base::policy(const std::string& root) const
{
    if (!running) {
        return load_policy({}, root).value;
    }
    const auto fabric = load_fabric(root);
    return read_running_policy(root, *running, NameService::host(), fabric.value ? *fabric.value : Fabric{}).value;
}

Result<Base> base_of_change(const Context& context)
{
    auto client = connect(context);
    if (!client) {
        return client.error().code == ErrorCode::NoDaemon ? Result<Base>(Base{}) : fail(client.error());
    }
    const auto files = TRY(call_manager<std::vector<api::RunningFile>>(*client, "RunningFiles", {}));
    Base base;
    for (const auto& file : files) {
        if (!base.running) {
            base.running.emplace();
        }
        base.running->push_back(std::make_shared<const SourceFile>(SourceFile{file.name, file.text}));
    }
    return base;
}

Result<ProposedPolicy> check_with(const Context& context, const Base& base, const fs::path& place,
                                  const std::string& text, std::string_view what)
{
    const auto source = std::make_shared<const SourceFile>(SourceFile{place.string(), text});
    const auto fabric = load_fabric(context.root);
    const Fabric known = fabric.value ? *fabric.value : Fabric{};
    const ProposedFile proposed_file{place, source};
    auto read = base.running
                    ? read_running_policy(context.root, *base.running, proposed_file, NameService::host(), known)
                    : read_host_policy(context.root, proposed_file, NameService::host(), known);
    if (!read.value) {
        return fail(invalid_policy(read.diagnostics, what));
    }
    ProposedPolicy proposed{std::move(read.value), about(source, read.diagnostics)};
    if (!proposed.own.empty()) {
        print_error(render(proposed.own, context.error_colour));
    }
    return proposed;
}

Result<std::optional<ReloadView>> reload_if_it_runs(const Context& context)
{
    auto client = connect(context);
    if (!client) {
        return client.error().code == ErrorCode::NoDaemon ? Result<std::optional<ReloadView>>(std::nullopt)
                                                          : fail(client.error());
    }
    auto reloaded = refresh_files(context, *client);
    return reloaded ? Result<std::optional<ReloadView>>(std::move(*reloaded)) : fail(reloaded.error());
}

void warn_of_failures(const std::optional<ReloadView>& reload)
{
    if (reload && !but_not_on_devices(*reload).empty()) {
        print_error(failures_text(*reload) + fmt::format("rdma-qosctl: warning: policy {} is in force{}\n",
                                                         printable(reload->revision), but_not_on_devices(*reload)));
    }
}

Result<void> RemovedFiles::remove(const std::string& root, const fs::path& path)
{
    const fs::path file = below_root(root, path);
    auto text = read_regular_file(file, kMaxConfigFileSize);
    std::error_code error;
    if (!text || !fs::remove(file, error)) {
        return fail(ErrorCode::Io, fmt::format("{} cannot be removed: {}", path.string(),
                                               text ? error.message() : to_string(text.error())));
    }
    files_.emplace_back(file, std::move(*text));
    return {};
}

void RemovedFiles::put_back() const
{
    for (const auto& [file, text] : files_) {
        if (const auto written = write_file_atomically(file, text); !written) {
            print_error(
                fmt::format("rdma-qosctl: {} could not be put back: {}\n", file.string(), to_string(written.error())));
        }
    }
}

}    // namespace rdmaqos::ctl
