// The JSON schemas that docgen draws and the readers agree: both are fed the shipped files, the examples of the
// documents, the inputs of the golden diagnostics, and generated objects with every key and many good and bad values.
//
// A file is judged in parts, each entry of a list for itself, so that one mistake does not hide another. What the
// reader refuses the schema must refuse, but for the exceptions of schema_exceptions.cpp; what the reader takes the
// schema must take, without exception. The JSON is made from the reader's own nodes, which know what was quoted, by the
// rules of YAML 1.2 that editors go by; yaml-cpp's own idea of scalars (`yes`, octal 010) would be a third opinion.
#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/golden.h"
#include "tests/unit/policy/generated_files.h"
#include "tests/unit/policy/reader_support.h"
#include "tests/unit/policy/schema_exceptions.h"
#include "tests/unit/policy/schema_support.h"

namespace rdmaqos::test {
namespace {

// Judges units and remembers which exceptions they needed.
class Evaluator {
public:
    void judge(Format format, const std::shared_ptr<const SourceFile>& file,
               const std::shared_ptr<const SourceFile>& context = nullptr, bool must_be_good = false)
    {
        const auto root = yaml_of(file);
        if (!root) {
            return;    // no YAML that the reader could read: nothing to compare
        }
        for (const Unit& unit : units_of(format, file, *root, context)) {
            ++units_;
            judge(format, *root, unit);
            if (must_be_good && !unit.errors.empty()) {
                disagreements_.push_back(
                    fmt::format("an example is wrong: {}: {}", unit.document.dump(), unit.errors.front().message));
            }
        }
    }

    [[nodiscard]] std::size_t units() const { return units_; }
    [[nodiscard]] const std::vector<std::string>& disagreements() const { return disagreements_; }
    [[nodiscard]] std::vector<std::string> unneeded() const
    {
        std::vector<std::string> reasons;
        for (std::size_t i = 0; i < schema_exceptions().size(); ++i) {
            if (!needed_.contains(i)) {
                reasons.push_back(fmt::format("{}: {}", i, schema_exceptions()[i].reason));
            }
        }
        return reasons;
    }

private:
    void judge(Format format, const reader::Node& root, const Unit& unit)
    {
        if (!schema_accepts(format, unit.document)) {
            if (unit.errors.empty()) {
                disagreements_.push_back(
                    fmt::format("{} {}: the schema refuses what the reader takes", unit.what, unit.document.dump()));
            }
            return;
        }
        for (const Diagnostic& error : unit.errors) {
            const auto& all = schema_exceptions();
            const reader::Node* at = node_at(root, error.location);
            const auto found = std::find_if(all.begin(), all.end(), [&](const SchemaException& exception) {
                return exception.covers(error, at, unit);
            });
            if (found == all.end()) {
                disagreements_.push_back(fmt::format("{} {}: the schema takes what the reader refuses: {}", unit.what,
                                                     unit.document.dump(), error.message));
            } else {
                needed_.insert(static_cast<std::size_t>(found - all.begin()));
            }
        }
    }

    std::size_t units_ = 0;
    std::vector<std::string> disagreements_;
    std::set<std::size_t> needed_;
};

Format format_of(const std::string& name, const std::string& text)
{
    if (name == "fabric.yaml" || text.starts_with("# kind: fabric\n")) {
        return Format::Fabric;
    }
    if (name == "devices.yaml" || text.starts_with("# kind: simulation\n")) {
        return Format::Devices;
    }
    return text.starts_with("# kind: settings\n") ? Format::Settings : Format::Policy;
}

void judge_shipped_files(Evaluator& judge)
{
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir() + "/config")) {
        if (entry.path().extension() == ".yaml") {
            const std::string name = entry.path().filename();
            const std::string text = read_text(entry.path());
            judge.judge(format_of(name, text), source(name, text));
        }
    }
}

// The parts of a case one by one: what a later file would replace counts too.
void judge_golden_inputs(Evaluator& judge)
{
    for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/tests/golden/diagnostics")) {
        if (entry.path().extension() != ".yaml") {
            continue;
        }
        const std::string text = read_text(entry.path());
        const std::string name = entry.path().filename();
        const Format format = format_of("", text);
        std::size_t begin = 0;
        while (begin < text.size()) {
            const auto next = text.find("\n# file: ", begin);
            const auto end = next == std::string::npos ? text.size() : next + 1;
            judge.judge(format, source(name, text.substr(begin, end - begin)));
            begin = end;
        }
    }
}

void judge_generated(Evaluator& judge)
{
    const auto context = with_version(kGeneratedContext, "context.yaml");
    for (const GeneratedFile& file : generated_files()) {
        judge.judge(file.format, with_version(file.body, "generated.yaml"),
                    file.format == Format::Policy ? context : nullptr, file.is_example);
    }
}

TEST(Schema, AgreesWithTheReader)
{
    Evaluator judge;
    judge_shipped_files(judge);
    const std::size_t shipped = judge.units();
    judge_golden_inputs(judge);
    const std::size_t golden = judge.units() - shipped;
    judge_generated(judge);
    EXPECT_GE(shipped, 60U);
    EXPECT_GE(golden, 200U);
    EXPECT_GE(judge.units() - golden, 10'000U);
    EXPECT_EQ(judge.disagreements().size(), 0U) << fmt::format("{}", fmt::join(judge.disagreements(), "\n"));
    EXPECT_THAT(judge.unneeded(), testing::IsEmpty());
}

// A schema that takes everything would agree with exceptions only.
TEST(Schema, RefusesWhatItCan)
{
    EXPECT_TRUE(schema_accepts(Format::Policy, {{"version", 1}}));
    EXPECT_FALSE(schema_accepts(Format::Policy, {{"version", 2}}));
    EXPECT_FALSE(schema_accepts(Format::Policy, {{"version", 1}, {"qos-levles", nlohmann::json::array()}}));
    for (const Format format : {Format::Settings, Format::Fabric, Format::Devices}) {
        EXPECT_TRUE(schema_accepts(format, {{"version", 1}}));
        EXPECT_FALSE(schema_accepts(format, {{"version", 1}, {"x", 1}}));
    }
}

}    // namespace
}    // namespace rdmaqos::test
