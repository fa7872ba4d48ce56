// OpenSM's compatibility cases, answered by our own readers and matcher.
//
//   opensm_cases answer [--strict] [--topology FILE | --fabric FILE] [--root DIR] --queries FILE [POLICY]
//   opensm_cases import --topology FILE POLICY
//
// `answer` prints an answer for each line of the queries (batch_answer.h); `import` the YAML that `rdma-qosctl
// import-opensm` makes of a native policy. Exit status: that of the cases (0 answered, 2 the policy cannot be read, 3
// it is not valid), 1 for anything else.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lib/base/text.h"
#include "policy/load/policy_reader.h"
#include "policy/match/matcher.h"
#include "policy/match/resolve.h"
#include "policy/opensm/reader.h"
#include "tests/opensm/batch_answer.h"
#include "tests/opensm/topology.h"
#include "tools/rdma-qosctl/import/opensm.h"
#include "tools/rdma-qosctl/offline/files.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {
namespace {

struct AnswerOptions {
    std::string queries;     // "-": stdin
    std::string policy;      // empty: the host's files
    bool strict = false;     // a native OpenSM policy, rejected where OpenSM rejects it
    std::string topology;    // the fabric: of a compatibility case,
    std::string fabric;      // or a fabric file; neither: the host's
    std::string root;        // before the paths of the host
};

// The exit status of OpenSM's compatibility cases (their file `rc`), for a policy of either kind.
constexpr int kParseError = 2;
constexpr int kValidationError = 3;

struct ReadPolicy {
    std::shared_ptr<const Policy> value;
    Diagnostics diagnostics;
    int status = 0;    // of a refused one
};

Result<ReadPolicy> read_policy_of(const AnswerOptions& options, const Fabric& fabric)
{
    if (!options.strict && !is_opensm_file(options.policy)) {
        auto read = load_policy(options.policy.empty() ? std::vector<std::string>{} : std::vector{options.policy},
                                options.root, fabric);
        return ReadPolicy{std::move(read.value), std::move(read.diagnostics), kParseError};
    }
    auto source = read_source(options.policy);
    if (!source) {
        return fail(source.error());
    }
    const OpensmMode mode = options.strict ? OpensmMode::Strict : OpensmMode::Default;
    auto read = read_opensm_policy(*source, mode, fabric);
    return ReadPolicy{std::move(read.value), std::move(read.diagnostics),
                      read.rejected == OpensmResult::Rejected::Validate ? kValidationError : kParseError};
}

Result<std::string> answer_all(const BatchAnswers& answers, std::string_view queries)
{
    std::string text;
    std::size_t number = 0;
    for (const auto line : lines_of(queries)) {
        ++number;
        if (without_blanks(line, " \t\r").empty()) {
            continue;
        }
        const auto answer = answers.answer(line);
        if (!answer) {
            return fail(answer.error().with_context(fmt::format("line {} of the queries", number)));
        }
        text += *answer;
        text += '\n';
    }
    return text;
}

// `SELF` of a YAML policy: the subnet manager's port is this host's.
std::vector<LocalPort> local_ports_of(const Fabric& fabric)
{
    std::vector<LocalPort> local;
    for (const FabricPort& port : fabric.ports) {
        if (port.subnet_manager) {
            local.push_back({port.guid, port.node_guid, port.port, {}, port.pkeys, port.description});
        }
    }
    return local;
}

Result<int> answer(const AnswerOptions& options)
{
    const auto fabric = options.topology.empty() ? require_fabric(options.fabric, options.root)
                                                 : read_topology(options.topology);
    if (!fabric) {
        return fail(fabric.error());
    }
    const auto policy = read_policy_of(options, *fabric);
    if (!policy) {
        return fail(policy.error());
    }
    print_error(render(policy->diagnostics, Colour::Off));
    if (!policy->value) {
        print(policy->status == kValidationError ? "REJECT validate\n" : "REJECT parse\n");
        return policy->status;
    }
    const auto queries = read_source(options.queries);
    if (!queries) {
        return fail(queries.error());
    }
    const Matcher matcher(*policy->value, resolve(*policy->value, *fabric, local_ports_of(*fabric)));
    const auto text = answer_all(BatchAnswers(matcher, *fabric), (*queries)->text);
    if (!text) {
        return fail(text.error());
    }
    print(*text);
    return 0;
}

Result<int> import(const std::string& policy, const std::string& topology)
{
    const auto fabric = read_topology(topology);
    if (!fabric) {
        return fail(fabric.error());
    }
    const auto source = read_source(policy);
    if (!source) {
        return fail(source.error());
    }
    const auto yaml = import_opensm(*source, *fabric);
    print_error(render(yaml.diagnostics, Colour::Off));
    if (!yaml.value) {
        return kParseError;
    }
    print(*yaml.value);
    return 0;
}

Result<int> run(int argc, char** argv)
{
    CLI::App app("OpenSM's compatibility cases", "opensm_cases");
    app.require_subcommand(1);
    AnswerOptions options;
    CLI::App* answering = app.add_subcommand("answer", "Answer the queries of a case");
    answering->add_option("--queries", options.queries, "One a line; -: stdin")->required();
    answering->add_option("POLICY", options.policy, "None: the host's files");
    answering->add_flag("--strict", options.strict, "A native policy, rejected where OpenSM does")->needs("POLICY");
    CLI::Option* topology = answering->add_option("--topology", options.topology, "The fabric of a case");
    answering->add_option("--fabric", options.fabric, "A fabric file; none: the host's")->excludes(topology);
    answering->add_option("--root", options.root, "Before the paths of the host's files");
    CLI::App* importing = app.add_subcommand("import", "Print a native policy as YAML");
    std::string policy;
    std::string fabric;
    importing->add_option("POLICY", policy, "OpenSM's file")->required();
    importing->add_option("--topology", fabric, "The fabric of a case")->required();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 1;
    }
    return answering->parsed() ? answer(options) : import(policy, fabric);
}

}    // namespace
}    // namespace rdmaqos::ctl

int main(int argc, char** argv)
{
    using namespace rdmaqos;
    try {
        const Result<int> status = ctl::run(argc, argv);
        if (!status) {
            ctl::print_error(fmt::format("opensm_cases: error: {}\n", printable(to_string(status.error()))));
            return 1;
        }
        return std::fflush(stdout) == 0 ? *status : 1;
    } catch (const std::exception& error) {
        ctl::print_error(fmt::format("opensm_cases: error: {}\n", printable(error.what())));
        return 1;
    }
}
