// OpenSM's compatibility cases, answered by our own readers and matcher.
//
//   opensm_cases answer [--strict] [--topology FILE | --fabric FILE] [--root DIR] --queries FILE [POLICY]
//   opensm_cases import --topology FILE POLICY
//   opensm_cases corpus [--default | --imported] DIRECTORY...
//
// `answer` prints an answer for each line of the queries (batch_answer.h); `import` the YAML that `rdma-qosctl
// import-opensm` makes of a native policy. Exit status: that of the cases (0 answered, 2 the policy cannot be read, 3
// it is not valid), 1 for anything else.
//
// `corpus` compares cases (corpus.h) with what OpenSM's own code answered: a line for each that differs, and at the end
// `N passed, N failed`. Exit status: 0 none differs, 1 some do.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lib/base/text.h"
#include "tests/opensm/case_answer.h"
#include "tests/opensm/corpus.h"
#include "tools/rdma-qosctl/output/terminal.h"

namespace rdmaqos::ctl {
namespace {

Result<int> say(const Result<CaseAnswer>& answer)
{
    if (!answer) {
        return fail(answer.error());
    }
    print_error(answer->messages);
    print(answer->text);
    return answer->status;
}

Result<int> compare(const std::vector<std::string>& directories, CorpusMode mode)
{
    const auto result = compare_cases(directories, mode);
    if (!result) {
        return fail(result.error());
    }
    for (const std::string& failure : result->failures) {
        print(fmt::format("FAIL {}\n", failure));
    }
    print(fmt::format("{} passed, {} failed\n", result->passed, result->failures.size()));
    return result->failures.empty() ? 0 : 1;
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
    CLI::App* comparing = app.add_subcommand("corpus", "Compare cases with what OpenSM answered");
    std::vector<std::string> directories;
    comparing->add_option("DIRECTORY", directories, "A case, or what holds cases")->required();
    bool as_the_daemon = false;
    bool imported = false;
    CLI::Option* by_default = comparing->add_flag("--default", as_the_daemon, "As the daemon reads native policies");
    comparing->add_flag("--imported", imported, "The YAML of those that OpenSM accepts")->excludes(by_default);
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
    if (comparing->parsed()) {
        return compare(directories, imported        ? CorpusMode::Imported
                                    : as_the_daemon ? CorpusMode::Default
                                                    : CorpusMode::Strict);
    }
    return say(answering->parsed() ? answer_case(options) : import_case(policy, fabric));
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
