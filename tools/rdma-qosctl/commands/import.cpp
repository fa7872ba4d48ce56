#include "tools/rdma-qosctl/commands/import.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lib/base/file.h"
#include "lib/base/net.h"
#include "lib/base/text.h"
#include "policy/opensm/reader.h"
#include "tools/rdma-qosctl/import/fabric.h"
#include "tools/rdma-qosctl/import/opensm.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/json.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {
namespace {

// A file that somebody may have edited is not written over: blocks to fill in are meant to be edited.
Result<void> may_write(const std::string& output, const std::string& text)
{
    std::error_code none;
    if (!std::filesystem::exists(output, none)) {
        return {};
    }
    if (const auto present = read_regular_file(output, kMaxConfigFileSize); present && *present == text) {
        return {};
    }
    return fail(ErrorCode::Io, fmt::format("`{}` exists, and may have been edited; --force replaces it", printable(output)));
}

// The text goes to stdout or the file, what there is to say of it to stderr.
Result<ExitStatus> finish(const Context& context, const ReadResult<std::string>& result, const std::string& output)
{
    if (result.value && !output.empty()) {
        if (auto written = write_file_atomically(output, *result.value); !written) {
            return fail(written.error());
        }
    }
    if (context.json) {
        Json json{{"ok", result.value != nullptr}};
        if (result.value && output.empty()) {
            json["yaml"] = *result.value;
        }
        json["diagnostics"] = to_json(result.diagnostics);
        print(to_text(json));
    } else {
        print_error(render(result.diagnostics, context.error_colour));
        print(result.value && output.empty() ? *result.value : std::string());
    }
    return result.value ? ExitStatus::Ok : ExitStatus::BadPolicy;
}

Result<std::optional<Guid>> parse_subnet_manager(const std::string& text)
{
    if (text.empty()) {
        return std::optional<Guid>();
    }
    const auto number = parse_number(text);
    if (!number || *number == 0) {
        return fail(ErrorCode::InvalidArgument, fmt::format("`{}` is not the GUID of a port", printable(text)));
    }
    return std::optional(Guid{*number});
}

// What OpenSM takes is taken as it is; what it would reject is read as the daemon reads it.
OpensmResult read_native(const std::shared_ptr<const SourceFile>& source, const Fabric& fabric)
{
    OpensmResult strict = read_opensm_policy(source, OpensmMode::Strict, fabric);
    return strict.value ? std::move(strict) : read_opensm_policy(source, OpensmMode::Default, fabric);
}

}    // namespace

Result<ExitStatus> import_opensm(const Context& context, const ImportOpensmOptions& options)
{
    const auto fabric = require_fabric(options.fabric, context.root);
    return fabric ? import_opensm(context, options, *fabric) : fail(fabric.error());
}

Result<ExitStatus> import_opensm(const Context& context, const ImportOpensmOptions& options, const Fabric& fabric)
{
    ReadResult<std::string> result;
    if (const auto source = load_source(options.file, result.diagnostics)) {
        OpensmResult native = read_native(source, fabric);
        if (native.value) {
            result = rdmaqos::import_opensm(*native.file, fabric);
        }
        native.diagnostics.append(std::move(result.diagnostics));
        result.diagnostics = std::move(native.diagnostics);
        result.diagnostics.sort_by_location();
    }
    if (result.value && !options.output.empty() && !options.replace) {
        if (auto may = may_write(options.output, *result.value); !may) {
            return fail(may.error());
        }
    }
    return finish(context, result, options.output);
}

Result<ExitStatus> import_fabric(const Context& context, const ImportFabricOptions& options)
{
    if (options.discovery.empty() && options.partitions.empty()) {
        return fail(ErrorCode::InvalidArgument, "import-fabric needs --ibnetdiscover, --partitions or both");
    }
    const auto subnet_manager = parse_subnet_manager(options.subnet_manager);
    if (!subnet_manager) {
        return fail(subnet_manager.error());
    }
    ReadResult<std::string> result;
    const auto load = [&result](const std::string& file) {
        return file.empty() ? nullptr : load_source(file, result.diagnostics);
    };
    FabricImport input{load(options.discovery), load(options.partitions), load(options.node_names), *subnet_manager};
    if (!result.diagnostics.has_errors()) {
        result = rdmaqos::import_fabric(input);
    }
    return finish(context, result, options.output);
}

}    // namespace rdmaqos::ctl
