#include "tests/opensm/corpus.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "lib/base/file.h"
#include "lib/base/text.h"
#include "lib/base/try.h"
#include "lib/base/units.h"
#include "tests/opensm/case_answer.h"
#include "tests/support/temp_dir.h"
#include "tools/rdma-qosctl/offline/files.h"

namespace rdmaqos::ctl {
namespace {

using Path = std::filesystem::path;

Result<std::string> text_of(const Path& file)
{
    return read_regular_file(file.string(), kMaxConfigFileSize);
}

bool is_case(const Path& directory)
{
    return is_regular_file(directory / "policy.conf");
}

Result<std::vector<Path>> find_cases(const std::vector<std::string>& directories)
{
    std::vector<Path> cases;
    for (const Path directory : directories) {
        if (is_case(directory)) {
            cases.push_back(directory);
            continue;
        }
        std::vector<Path> found;
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
            if (is_case(entry.path())) {
                found.push_back(entry.path());
            }
        }
        if (found.empty()) {
            return fail(ErrorCode::InvalidArgument, fmt::format("{} holds no case", directory.string()));
        }
        std::ranges::sort(found);
        cases.insert(cases.end(), found.begin(), found.end());
    }
    return cases;
}

std::string_view first_line_with(std::string_view text, std::string_view wanted)
{
    for (const auto line : lines_of(text)) {
        if (line.find(wanted) != std::string_view::npos) {
            return line;
        }
    }
    return {};
}

std::string first_difference(std::string_view answered, std::string_view expected, std::string_view file)
{
    const auto answers = lines_of(answered);
    const auto wanted = lines_of(expected);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto answer = i < answers.size() ? answers[i] : std::string_view();
        if (answer != wanted[i]) {
            return fmt::format("{} line {}: `{}`, expected `{}`", file, i + 1, answer, wanted[i]);
        }
    }
    return answered == expected ? std::string()
                                : fmt::format("{}: {} lines, expected {}", file, answers.size(), wanted.size());
}

class Comparison {
public:
    explicit Comparison(CorpusMode mode) : mode_(mode) {}

    // Empty: as expected. None: not for this mode.
    Result<std::optional<std::string>> compare(const Path& directory)
    {
        const std::string rc = TRY(text_of(directory / "rc"));
        const auto status = parse_number(without_blanks(rc, " \n"));
        if (!status) {
            return fail(ErrorCode::InvalidArgument, fmt::format("{}/rc is no number", directory.string()));
        }
        AnswerOptions options;
        options.policy = directory / "policy.conf";
        options.topology = directory / "topology.txt";
        options.strict = mode_ == CorpusMode::Strict;
        if (mode_ == CorpusMode::Imported) {
            if (*status != 0) {
                return std::nullopt;
            }
            const auto yaml = TRY(import_case(options.policy, options.topology));
            if (yaml.status != 0) {
                const std::string_view message = first_line_with(yaml.messages, "error:");
                return fmt::format("not imported: {}", message.substr(directory.string().size() + 1));
            }
            imported_.write("policy.yaml", yaml.text);
            options.policy = imported_.path() / "policy.yaml";
        }
        for (const std::string_view kind : {"", "-pr"}) {
            options.queries = directory / fmt::format("queries{}.txt", kind);
            if (!std::filesystem::exists(options.queries) && !kind.empty()) {
                continue;
            }
            const auto answer = TRY(answer_case(options));
            if (static_cast<std::uint64_t>(answer.status) != *status) {
                return fmt::format("exit status {}, expected {}: {}", answer.status, *status,
                                   first_line_with(answer.messages, ""));
            }
            const std::string file = fmt::format("expected{}.txt", kind);
            std::string difference = first_difference(answer.text, TRY(text_of(directory / file)), file);
            if (!difference.empty()) {
                return difference;
            }
        }
        return std::string();
    }

private:
    CorpusMode mode_;
    test::TempDir imported_;
};

}    // namespace

Result<CorpusResult> compare_cases(const std::vector<std::string>& directories, CorpusMode mode)
{
    CorpusResult result;
    Comparison comparison(mode);
    for (const Path& directory : TRY(find_cases(directories))) {
        const auto compared = comparison.compare(directory);
        const std::optional<std::string> difference = compared ? *compared : to_string(compared.error());
        if (!difference) {
            continue;
        }
        if (difference->empty()) {
            ++result.passed;
            continue;
        }
        const auto label = text_of(directory / "label");
        result.failures.push_back(fmt::format("{}{}: {}", directory.filename().string(),
                                              label ? fmt::format(" ({})", first_line_with(*label, "")) : "",
                                              *difference));
    }
    return result;
}

}    // namespace rdmaqos::ctl
