#include "policy/load/policy_reader.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "lib/base/file.h"
#include "policy/load/host_files.h"
#include "policy/load/transient_files.h"
#include "policy/opensm/reader.h"
#include "policy/text/source_file.h"
#include "policy/yaml/build_policy.h"
#include "policy/yaml/sections.h"
#include "policy/yaml/transient_reader.h"

namespace rdmaqos {
namespace {

using namespace reader;

void check_transients(Context& context, const Sections& sections)
{
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    for (const Node& transient : sections.transients) {
        static_cast<void>(read_transient(context, transient, now));
        const std::string& name = context.files().at(transient.at.file)->name;
        if (name.starts_with("/etc/rdma-qos/") || name.starts_with("/usr/lib/rdma-qos/")) {
            context.error(transient, "`transient` is for files in /run/rdma-qos: this one stays for good",
                          "omit the key, or write the file to /run/rdma-qos/policy.d");
        }
    }
}

// `so_far` holds what is known to be wrong already: a policy comes out only if nothing is.
ReadResult<Policy> read_sources(std::vector<std::shared_ptr<const SourceFile>> sources, const NameService& names,
                                Diagnostics so_far)
{
    ReadResult<Policy> result{nullptr, std::move(so_far)};
    Context context(std::move(sources), result.diagnostics);
    const Sections sections = read_sections(context, result.diagnostics.has_errors());
    Policy policy = build_policy(context, sections, names);
    check_transients(context, sections);
    if (!context.has_errors()) {
        policy.sources = context.files();
        policy.revision = revision_of(policy.sources);
        result.value = std::make_shared<const Policy>(std::move(policy));
    }
    result.diagnostics.sort_by_location();
    result.diagnostics.append(context.take_remarks());
    return result;
}

// A native file says all there is: it has no keys to merge by.
ReadResult<Policy> refuse_mixture(const std::vector<std::shared_ptr<const SourceFile>>& sources, Diagnostics so_far)
{
    const auto native = std::find_if(sources.begin(), sources.end(),
                                     [](const auto& source) { return is_opensm_file(source->name); });
    const auto other = std::find_if(sources.begin(), sources.end(),
                                    [&](const auto& source) { return source != *native; });
    ReadResult<Policy> result{nullptr, std::move(so_far)};
    result.diagnostics
        .error(Location{*native, 0, 0, 1},
               fmt::format("a native OpenSM policy cannot be combined with other files, but there is also {}",
                           (*other)->name))
        .hint =
        "remove one of them, or disable it with a link to /dev/null; `rdma-qosctl import-opensm` turns a native "
        "policy into YAML";
    return result;
}

ReadResult<Policy> read_native(const std::shared_ptr<const SourceFile>& source, const Fabric& fabric,
                               Diagnostics so_far)
{
    auto read = read_opensm_policy(source, OpensmMode::Default, fabric);
    const bool refused = so_far.has_errors();
    so_far.append(std::move(read.diagnostics));
    return {refused ? nullptr : std::move(read.value), std::move(so_far)};
}

// YAML files, or one native file.
ReadResult<Policy> read_any(std::vector<std::shared_ptr<const SourceFile>> sources, const NameService& names,
                            const Fabric& fabric, Diagnostics so_far)
{
    const bool has_native = std::any_of(sources.begin(), sources.end(),
                                        [](const auto& source) { return is_opensm_file(source->name); });
    if (!has_native) {
        return read_sources(std::move(sources), names, std::move(so_far));
    }
    return sources.size() > 1 ? refuse_mixture(sources, std::move(so_far))
                              : read_native(sources.front(), fabric, std::move(so_far));
}

ReadResult<Policy> unreadable(const std::string& name, const Error& error)
{
    ReadResult<Policy> result;
    add_unreadable(result.diagnostics, name, error);
    return result;
}

void warn_of_names(const std::vector<SkippedFile>& skipped, Diagnostics& diagnostics)
{
    for (const SkippedFile& skip : skipped) {
        const auto& path = skip.path;
        if (skip.why == WhySkipped::OtherName && looks_like_policy(path)) {
            const auto file = std::make_shared<const SourceFile>(SourceFile{path.string(), {}});
            diagnostics.warning(Location{file, 0, 0, 1}, "is not read: the names of policy files end in .yaml")
                .hint = fmt::format("rename it to {}.yaml", path.stem().string());
        }
    }
}

// Of a file that is in force, with its text. Null: it is to be read from the disk.
std::shared_ptr<const SourceFile> kept_text(const SourceFiles* running, const std::filesystem::path& path)
{
    if (running == nullptr || path.parent_path() == kTransientDirectory) {
        return nullptr;
    }
    const auto kept = std::ranges::find_if(*running, [&](const auto& source) { return source->name == path; });
    return kept == running->end() ? nullptr : *kept;
}

// `running`: as for read_running_policy(); null: all files are read.
ReadResult<Policy> read_of_host(const std::filesystem::path& root, const ProposedFile* proposed,
                                const SourceFiles* running, const NameService& names, const Fabric& fabric)
{
    Diagnostics so_far;
    SourceFiles sources;
    std::set<std::filesystem::path> paths_in_force;
    for (const auto& source : running == nullptr ? SourceFiles{} : *running) {
        paths_in_force.insert(source->name);
    }
    const HostFiles files = find_host_files(root, proposed == nullptr ? nullptr : &proposed->place,
                                            running == nullptr ? nullptr : &paths_in_force);
    for (const auto& [path, error] : files.unreadable) {
        add_unreadable(so_far, path.string(), error);
    }
    warn_of_names(files.skipped, so_far);
    for (const auto& path : files.paths) {
        if (proposed != nullptr && path == proposed->place) {
            sources.push_back(proposed->source);
            continue;
        }
        if (auto kept = kept_text(running, path)) {
            sources.push_back(std::move(kept));
            continue;
        }
        auto source = load(below_root(root, path), path.string());
        if (source) {
            sources.push_back(std::move(*source));
        } else {
            add_unreadable(so_far, path.string(), source.error());
        }
    }
    if (sources.empty()) {
        if (!so_far.has_errors()) {
            so_far.error({}, "there is no policy file")
                .hint = "write /etc/rdma-qos/policy.yaml or a file in /etc/rdma-qos/policy.d";
        }
        return {nullptr, std::move(so_far)};
    }
    return read_any(std::move(sources), names, fabric, std::move(so_far));
}

}    // namespace

bool is_opensm_file(std::string_view name)
{
    return name.ends_with(".conf");
}

ReadResult<Policy> read_policy(std::vector<std::shared_ptr<const SourceFile>> sources, const NameService& names,
                               const Fabric& fabric)
{
    ReadResult<Policy> result;
    if (sources.empty()) {
        result.diagnostics.error({}, "there is no policy file");
        return result;
    }
    return read_any(std::move(sources), names, fabric, std::move(result.diagnostics));
}

ReadResult<Policy> read_policy_file(const std::filesystem::path& path, const NameService& names, const Fabric& fabric)
{
    auto source = load(path, path.string());
    return source ? read_policy({std::move(*source)}, names, fabric) : unreadable(path.string(), source.error());
}

ReadResult<Policy> read_policy_fd(int fd, const std::string& name, const NameService& names, const Fabric& fabric)
{
    auto source = load(fd, name);
    return source ? read_policy({std::move(*source)}, names, fabric) : unreadable(name, source.error());
}

ReadResult<Policy> read_host_policy(const std::filesystem::path& root, const NameService& names, const Fabric& fabric)
{
    return read_of_host(root, nullptr, nullptr, names, fabric);
}

ReadResult<Policy> read_host_policy(const std::filesystem::path& root, const ProposedFile& proposed,
                                    const NameService& names, const Fabric& fabric)
{
    return read_of_host(root, &proposed, nullptr, names, fabric);
}

ReadResult<Policy> read_running_policy(const std::filesystem::path& root, const SourceFiles& running,
                                       const NameService& names, const Fabric& fabric)
{
    return read_of_host(root, nullptr, &running, names, fabric);
}

ReadResult<Policy> read_running_policy(const std::filesystem::path& root, const SourceFiles& running,
                                       const ProposedFile& proposed, const NameService& names, const Fabric& fabric)
{
    return read_of_host(root, &proposed, &running, names, fabric);
}

}    // namespace rdmaqos
