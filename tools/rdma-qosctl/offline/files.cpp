#include "tools/rdma-qosctl/offline/files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/base/units.h"
#include "policy/load/policy_reader.h"
#include "policy/model/name_service.h"
#include "policy/yaml/fabric_reader.h"
#include "policy/yaml/settings_reader.h"

namespace rdmaqos::ctl {
namespace {

constexpr const char* kFabricPath = "/etc/rdma-qos/fabric.yaml";

// Unlike read_regular_file: stdin may be a pipe.
Result<std::string> read_stdin()
{
    std::string text;
    std::string chunk(65536, '\0');
    while (true) {
        const ssize_t got = read(STDIN_FILENO, chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail(error_from_errno(ErrorCode::Io, errno, "stdin"));
        }
        if (got == 0) {
            return text;
        }
        text.append(chunk, 0, static_cast<std::size_t>(got));
        if (text.size() > kMaxConfigFileSize) {
            return fail(ErrorCode::Io, fmt::format("stdin holds more than {}", bytes_to_string(kMaxConfigFileSize)));
        }
    }
}

}    // namespace

Error invalid_policy(const Diagnostics& diagnostics, std::string_view what)
{
    return Error{ErrorCode::InvalidPolicy, 0, fmt::format("{} is refused\n{}", what, render(diagnostics, Colour::Off))};
}

CLI::Validator policy_file(const std::string& advice)
{
    const auto check = [advice](const std::string& text) -> std::string {
        return text.find('=') == std::string::npos || std::filesystem::exists(text)
                   ? ""
                   : fmt::format("there is no file `{}`{}", text, advice);
    };
    return {check, ""};
}

void add_policy_files(CLI::App& command, PolicyFiles& policy)
{
    CLI::Option* files = command.add_option("FILE", policy.files,
                                            "Policy files, merged in this order; -: stdin; none: the host's files");
    command
        .add_option("--as", policy.as,
                    "The host's files with FILE in this place: policy.d/60-new.yaml, or policy.yaml; a path is below "
                    "/etc/rdma-qos")
        ->type_name("PLACE")
        ->needs(files);
}

Result<std::shared_ptr<const SourceFile>> read_source(const std::string& file)
{
    auto text = TRY(file == "-" ? read_stdin() : read_regular_file(file, kMaxConfigFileSize));
    return std::make_shared<const SourceFile>(SourceFile{file == "-" ? "<stdin>" : file, std::move(text)});
}

std::shared_ptr<const SourceFile> load_source(const std::string& file, Diagnostics& diagnostics)
{
    auto source = read_source(file);
    if (source) {
        return std::move(*source);
    }
    const auto name = std::make_shared<const SourceFile>(SourceFile{file == "-" ? "<stdin>" : file, {}});
    diagnostics.error(Location{name, 0, 0, 0}, to_string(source.error()));
    return nullptr;
}

ReadResult<Policy> load_policy(const std::vector<std::string>& files, const std::string& root)
{
    const auto fabric = load_fabric(root);    // who needs it reports what is wrong with it
    return load_policy(files, root, fabric.value ? *fabric.value : Fabric{});
}

ReadResult<Policy> load_policy(const std::vector<std::string>& files, const std::string& root, const Fabric& fabric)
{
    const NameService names = NameService::host();
    if (files.empty()) {
        return read_host_policy(root, names, fabric);
    }
    Diagnostics unreadable;
    std::vector<std::shared_ptr<const SourceFile>> sources;
    for (const auto& file : files) {
        if (auto source = load_source(file, unreadable)) {
            sources.push_back(std::move(source));
        }
    }
    if (unreadable.has_errors()) {
        return {nullptr, std::move(unreadable)};
    }
    return read_policy(std::move(sources), names, fabric);
}

Result<void> is_valid(const PolicyFiles& files)
{
    if (files.as.empty()) {
        return {};
    }
    if (files.files.size() != 1) {
        return fail(ErrorCode::InvalidArgument, "`--as` takes one FILE");
    }
    const auto place = place_of(files.as);
    return place ? Result<void>{} : fail(place.error());
}

ReadResult<Policy> load_given_policy(const PolicyFiles& files, const std::string& root)
{
    if (files.as.empty()) {
        return load_policy(files.files, root);
    }
    ReadResult<Policy> refused;
    const auto place = place_of(files.as);
    if (!place) {
        refused.diagnostics.error({}, place.error().message);
        return refused;
    }
    auto source = load_source(files.files.front(), refused.diagnostics);
    if (!source) {
        return refused;
    }
    const auto fabric = load_fabric(root);
    auto read = read_host_policy(root, {*place, source}, NameService::host(), fabric.value ? *fabric.value : Fabric{});
    if (read.value && std::ranges::find(read.value->sources, source) == read.value->sources.end()) {
        read.value = nullptr;
        read.diagnostics
            .error(Location{source, 0, 0, 1},
                   fmt::format("as {} it would not be read: a file of the same name masks it", place->string()))
            .hint = "`rdma-qosctl show-config` lists the host's files";
    }
    return read;
}

Result<std::shared_ptr<const Policy>> require_policy(const std::vector<std::string>& files, const std::string& root)
{
    auto read = load_policy(files, root);
    if (!read.value) {
        return fail(invalid_policy(read.diagnostics, "the policy"));
    }
    return std::move(read.value);
}

ReadResult<Settings> load_settings(const std::string& root)
{
    return read_settings(below_root(root, kSettingsPath));
}

ReadResult<Fabric> load_fabric(const std::string& root)
{
    return read_fabric(below_root(root, kFabricPath));
}

Result<Fabric> require_fabric(const std::string& file, const std::string& root)
{
    const auto read = file.empty() ? load_fabric(root) : read_fabric(std::filesystem::path(file));
    if (!read.value) {
        return fail(invalid_policy(read.diagnostics, "the fabric file"));
    }
    return *read.value;
}

}    // namespace rdmaqos::ctl
