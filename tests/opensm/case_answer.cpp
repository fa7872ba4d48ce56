#include "tests/opensm/case_answer.h"

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

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

}    // namespace

Result<CaseAnswer> answer_case(const AnswerOptions& options)
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
    CaseAnswer answer{0, {}, render(policy->diagnostics, Colour::Off)};
    if (!policy->value) {
        answer.status = policy->status;
        answer.text = policy->status == kValidationError ? "REJECT validate\n" : "REJECT parse\n";
        return answer;
    }
    const auto queries = read_source(options.queries);
    if (!queries) {
        return fail(queries.error());
    }
    const Matcher matcher(*policy->value, resolve(*policy->value, *fabric, local_ports_of(*fabric)));
    auto text = answer_all(BatchAnswers(matcher, *fabric), (*queries)->text);
    if (!text) {
        return fail(text.error());
    }
    answer.text = *std::move(text);
    return answer;
}

Result<CaseAnswer> import_case(const std::string& policy, const std::string& topology)
{
    const auto fabric = read_topology(topology);
    if (!fabric) {
        return fail(fabric.error());
    }
    const auto source = read_source(policy);
    if (!source) {
        return fail(source.error());
    }
    auto yaml = import_opensm(*source, *fabric);
    return CaseAnswer{yaml.value ? 0 : kParseError, yaml.value ? *yaml.value : std::string(),
                      render(yaml.diagnostics, Colour::Off)};
}

}    // namespace rdmaqos::ctl
