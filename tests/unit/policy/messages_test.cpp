// Every message the readers can give is produced by some golden case: the sentences are taken out of the sources and
// looked for in tests/golden/diagnostics and tests/golden/opensm.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

#include "tests/support/golden.h"

namespace rdmaqos::test {
namespace {

namespace fs = std::filesystem;

// The string literals of a C++ source; those with only blanks between them are one. Comments are left out.
std::vector<std::string> literals_of(const std::string& source)
{
    std::vector<std::string> literals;
    bool adjacent = false;
    for (std::size_t i = 0; i < source.size(); ++i) {
        const std::string_view rest = std::string_view(source).substr(i);
        if (rest.starts_with("//") || rest.starts_with("#include")) {
            i = std::min(source.find('\n', i), source.size() - 1);
        } else if (rest.starts_with("'\"'")) {
            i += 2;
            adjacent = false;
        } else if (source[i] == '"') {
            std::string text;
            for (++i; i < source.size() && source[i] != '"'; ++i) {
                if (source[i] == '\\') {
                    ++i;
                }
                text += source[i];
            }
            if (adjacent) {
                literals.back() += text;
            } else {
                literals.push_back(text);
            }
            adjacent = true;
        } else if (std::isspace(static_cast<unsigned char>(source[i])) == 0) {
            adjacent = false;
        }
    }
    return literals;
}

// The fixed parts of a format: "a {} needs a `name`" -> {"a ", " needs a `name`"}.
std::vector<std::string> fixed_parts(const std::string& format)
{
    std::vector<std::string> parts(1);
    for (std::size_t i = 0; i < format.size(); ++i) {
        const bool doubled = i + 1 < format.size() && format[i] == format[i + 1];
        if ((format[i] == '{' || format[i] == '}') && doubled) {
            parts.back() += format[i++];
        } else if (const auto end = format.find('}', i); format[i] == '{' && end != std::string::npos) {
            i = end;
            parts.emplace_back();
        } else {
            parts.back() += format[i];
        }
    }
    return parts;
}

bool says(const std::string& line, const std::vector<std::string>& parts)
{
    std::size_t at = 0;
    for (const auto& part : parts) {
        at = line.find(part, at);
        if (at == std::string::npos) {
            return false;
        }
        at += part.size();
    }
    return true;
}

// A sentence, as opposed to a key or a format's glue.
bool is_sentence(const std::string& literal)
{
    std::size_t letters = 0;
    for (const auto& part : fixed_parts(literal)) {
        letters += static_cast<std::size_t>(
            std::count_if(part.begin(), part.end(), [](unsigned char c) { return std::isalpha(c) != 0; }));
    }
    constexpr std::size_t kFewest = 4;
    return letters >= kFewest && literal.find(' ') != std::string::npos;
}

std::vector<std::string> golden_lines()
{
    std::vector<std::string> lines;
    for (const std::string folder : {"/tests/golden/diagnostics", "/tests/golden/opensm"}) {
        for (const auto& entry : fs::directory_iterator(source_dir() + folder)) {
            if (entry.path().extension() == ".txt") {
                std::istringstream text(read_text(entry.path()));
                for (std::string line; std::getline(text, line);) {
                    // Source lines quote what people wrote, not what the reader says.
                    if (line.find(" | ") == std::string::npos) {
                        lines.push_back(line);
                    }
                }
            }
        }
    }
    return lines;
}

// What is a sentence in a reader's source and no golden file shows, and why.
const std::map<std::string, std::string>& unreachable()
{
    static const std::map<std::string, std::string> kReasons{
        {"the root", "not of a reader: in the changes of a plan"},
        {"Chassis ", "not a message: a heading of ibnetdiscover"},
        {" tnvfr", "not a message: blanks, as isspace(3) has them"},
        {"Non-Chassis Nodes", "not a message: a heading of ibnetdiscover"},
        {"sl={}: of paths in the partition, where OpenSM runs with QoS and without a policy",
         "a comment in the fabric file"},
        {"{} (unknown)", "a comment in the fabric file"},
        {"{} (no valid value)", "a comment in the fabric file"},
        {"multicast group {}{}{}", "a comment in the fabric file"}};
    return kReasons;
}

// The sources of the readers: what turns text into values, as opposed to what uses the values.
std::vector<fs::path> reader_sources()
{
    static const std::set<std::string> kFolders{"policy/load", "policy/opensm", "policy/text", "policy/yaml",
                                                "tools/rdma-qosctl/import"};
    static const std::set<std::string> kOthers{"tools/rdma-qosctl/import/text_lines.cpp",
                                               "policy/text/yaml_text.cpp",
                                               "policy/load/show_config.cpp",
                                               "policy/load/show_config_yaml.cpp",
                                               "tools/rdma-qosctl/import/fabric.cpp",
                                               "tools/rdma-qosctl/import/opensm.cpp",
                                               "tools/rdma-qosctl/import/opensm_values.cpp"};
    static const std::set<std::string> kMore{"policy/model/ib.cpp", "policy/model/ulp_forms.cpp",
                                             "tools/rdma-qosctl/simulate/loads.cpp"};
    std::vector<fs::path> sources;
    std::set<std::string> seen;
    for (const auto& folder : kFolders) {
        for (const auto& entry : fs::directory_iterator(source_dir() + "/" + folder)) {
            const std::string name = folder + "/" + entry.path().filename().string();
            if (entry.path().extension() == ".cpp" && !kOthers.contains(name)) {
                sources.push_back(entry.path());
            }
            seen.insert(name);
        }
    }
    for (const auto& name : kOthers) {
        EXPECT_TRUE(seen.contains(name)) << name << " is gone";
    }
    for (const auto& name : kMore) {
        sources.emplace_back(source_dir() + "/" + name);
        EXPECT_TRUE(fs::exists(sources.back())) << name << " is gone";
    }
    return sources;
}

TEST(Messages, AllAreShownByGoldenFiles)
{
    const auto lines = golden_lines();
    std::set<std::string> missing;
    std::set<std::string> excused;
    std::size_t sentences = 0;
    for (const auto& path : reader_sources()) {
        for (const auto& literal : literals_of(read_text(path))) {
            if (!is_sentence(literal)) {
                continue;
            }
            ++sentences;
            const auto parts = fixed_parts(literal);
            const bool shown = std::any_of(lines.begin(), lines.end(),
                                           [&](const std::string& line) { return says(line, parts); });
            if (unreachable().contains(literal)) {
                EXPECT_FALSE(shown) << "can be reached after all: " << literal;
                excused.insert(literal);
            } else if (!shown) {
                missing.insert(path.filename().string() + ": " + literal);
            }
        }
    }
    EXPECT_THAT(missing, testing::IsEmpty());
    EXPECT_EQ(excused.size(), unreachable().size()) << "an excuse is about a message that is gone";
    EXPECT_GE(sentences, 150U);
}

TEST(Messages, AreFoundInSources)
{
    EXPECT_THAT(
        literals_of("error(node, \"a {} \"\n    \"b\", f(\"c\")); // \"d\"\nif (x == '\"') { g(\"e \\\"f\\\"\"); }"),
        testing::ElementsAre("a {} b", "c", "e \"f\""));
    EXPECT_THAT(fixed_parts("a {:x} `{{b}}`{}"), testing::ElementsAre("a ", " `{b}`", ""));
    EXPECT_TRUE(says("x: error: a 3 `{b}`!", {"a ", " `{b}`", ""}));
    EXPECT_FALSE(says("x: error: a `{b`", {"a ", " `{b}`"}));
}

}    // namespace
}    // namespace rdmaqos::test
