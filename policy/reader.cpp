#include "policy/reader.h"

#include <fmt/format.h>

#include "lib/base/file.h"
#include "policy/build.h"
#include "policy/file_reader.h"
#include "policy/hash.h"
#include "policy/host_files.h"

namespace rdmaqos {
namespace {

using namespace reader;

Policy build_policy(Context& context, const Sections& sections, const NameService& names)
{
    UserDirectory users(names);
    Build build(context, users, sections);
    read_groups(build);
    read_class_names(build);
    read_scheduling_nodes(build);
    read_levels(build);
    read_partitions(build);
    read_ulps(build);
    read_match_rules(build);
    read_setups(build);
    choose_default_level(build);
    check_tree(build);
    return std::move(build.policy);
}

// Over texts alone: renaming a file changes nothing.
std::string revision_of(const std::vector<std::shared_ptr<const SourceFile>>& sources)
{
    std::uint64_t hash = kFnvOffset;
    for (const auto& source : sources) {
        hash = fnv1a(source->text, hash);
        hash = fnv1a(std::string_view("\0", 1), hash);
    }
    return fmt::format("{:016x}", hash);
}

// `so_far` holds what is known to be wrong already: a policy comes out only if nothing is.
ReadResult<Policy> read_sources(std::vector<std::shared_ptr<const SourceFile>> sources, const NameService& names,
                                Diagnostics so_far)
{
    ReadResult<Policy> result{nullptr, std::move(so_far)};
    Context context(std::move(sources), result.diagnostics);
    const Sections sections = read_sections(context, result.diagnostics.has_errors());
    Policy policy = build_policy(context, sections, names);
    if (!context.has_errors()) {
        policy.sources = context.files();
        policy.revision = revision_of(policy.sources);
        result.value = std::make_shared<const Policy>(std::move(policy));
    }
    result.diagnostics.sort_by_location();
    result.diagnostics.append(context.take_remarks());
    return result;
}

ReadResult<Policy> unreadable(const std::string& name, const Error& error)
{
    ReadResult<Policy> result;
    add_unreadable(result.diagnostics, name, error);
    return result;
}

}    // namespace

ReadResult<Policy> read_policy(std::vector<std::shared_ptr<const SourceFile>> sources, const NameService& names)
{
    ReadResult<Policy> result;
    if (sources.empty()) {
        result.diagnostics.error({}, "there is no policy file");
        return result;
    }
    return read_sources(std::move(sources), names, std::move(result.diagnostics));
}

ReadResult<Policy> read_policy_file(const std::filesystem::path& path, const NameService& names)
{
    auto source = load(path, path.string());
    return source ? read_policy({std::move(*source)}, names) : unreadable(path.string(), source.error());
}

ReadResult<Policy> read_policy_fd(int fd, const std::string& name, const NameService& names)
{
    auto source = load(fd, name);
    return source ? read_policy({std::move(*source)}, names) : unreadable(name, source.error());
}

ReadResult<Policy> read_host_policy(const std::filesystem::path& root, const NameService& names)
{
    Diagnostics unreadable_files;
    std::vector<std::shared_ptr<const SourceFile>> sources;
    const HostFiles files = find_host_files(root);
    for (const auto& [path, error] : files.unreadable) {
        add_unreadable(unreadable_files, path.string(), error);
    }
    for (const auto& path : files.paths) {
        auto source = load(below_root(root, path), path.string());
        if (source) {
            sources.push_back(std::move(*source));
        } else {
            add_unreadable(unreadable_files, path.string(), source.error());
        }
    }
    if (sources.empty()) {
        if (!unreadable_files.has_errors()) {
            unreadable_files.error({}, "there is no policy file").hint =
                "write /etc/rdma-qos/policy.yaml or a file in /etc/rdma-qos/policy.d";
        }
        return {nullptr, std::move(unreadable_files)};
    }
    return read_sources(std::move(sources), names, std::move(unreadable_files));
}

}    // namespace rdmaqos
