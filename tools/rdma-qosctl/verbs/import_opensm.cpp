#include "tools/rdma-qosctl/verbs/verb.h"

#include <filesystem>
#include <string>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/base/units.h"
#include "tools/rdma-qosctl/import/opensm.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/generated.h"

namespace rdmaqos::ctl {
namespace {

struct ImportOpensmOptions {
    std::string file;        // native policy; "-": stdin
    std::string fabric;      // fabric file; empty: the host's
    std::string output;      // empty: stdout
    bool replace = false;    // an output file that is there, whatever is in it
};

void add_options(CLI::App& command, ImportOpensmOptions& options)
{
    command.add_option("FILE", options.file, "OpenSM's policy file; -: stdin")->required();
    command.add_option("--fabric", options.fabric, "A fabric file; none: the host's")->type_name("FILE");
    command.add_option("--output", options.output, "Write here, not to stdout")->type_name("FILE");
    command.add_flag("--force", options.replace, "Replace the output file, also if it was edited")->needs("--output");
}

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
    return fail(ErrorCode::Io,
                fmt::format("`{}` exists, and may have been edited; --force replaces it", printable(output)));
}

Result<ExitStatus> import_opensm(const Context& context, const ImportOpensmOptions& options)
{
    const auto fabric = TRY(require_fabric(options.fabric, context.root));
    ReadResult<std::string> result;
    if (const auto source = load_source(options.file, result.diagnostics)) {
        result = rdmaqos::import_opensm(source, fabric);
    }
    if (result.value && !options.output.empty() && !options.replace) {
        TRY(may_write(options.output, *result.value));
    }
    return deliver(context, result.value.get(), result.diagnostics, options.output);
}

}    // namespace

extern const Verb kImportOpensmVerb{
    .name = "import-opensm",
    .summary = "Convert OpenSM's native policy to YAML, with comments and blocks to fill in",
    .examples = "  rdma-qosctl import-opensm /etc/opensm/qos-policy.conf >policy.yaml\n"
                "  rdma-qosctl import-opensm qos-policy.conf --fabric fabric.yaml --output policy.yaml",
    .prepare = with_options<ImportOpensmOptions, add_options, import_opensm>,
};

}    // namespace rdmaqos::ctl
