// The manual pages: how docgen draws a part of a document, that nothing is missing in the pages, and that each is
// installed.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/support/golden.h"
#include "tools/docgen/page.h"

namespace rdmaqos::test {
namespace {

using namespace docgen;
namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string text_of(const std::string& name)
{
    return read_text(source_dir() + "/" + name);
}

// By its name as it is installed: "rdmaqosd.8". Those that docgen completes are in the build tree.
std::string page(const std::string& name)
{
    const std::string written = text_of("docs/man/" + name);
    return written.empty() ? read_text(RDMAQOS_BINARY_DIR "/docs/man/" + name) : written;
}

std::set<std::string> pages()
{
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(source_dir() + "/docs/man")) {
        names.insert(entry.path().extension() == ".in" ? entry.path().stem() : entry.path().filename());
    }
    return names;
}

// Without fonts and escapes: what one reads.
std::string read_aloud(std::string page)
{
    page = std::regex_replace(page, std::regex(R"(\\f[BIRP])"), "");
    return std::regex_replace(page, std::regex(R"(\\-)"), "-");
}

TEST(PageOf, MakesManOfMarkdown)
{
    EXPECT_EQ(roff_of("`--x` is **not** *quite* a [link](to.md#there), 4.096 µs · 2ⁿ"),
              "\\fB\\-\\-x\\fR is \\fBnot\\fR \\fIquite\\fR a link, 4.096 \\(mcs * 2^n");
    EXPECT_EQ(page_of("# A\n\n## B\n\none\ntwo\n\n### C\n\n| key | type | default | |\n|---|---|---|---|\n"
                      "| `a-b` | u | 1 | what `it` is |\n\n```\n.x\n```\n* item\n\n## D\nnot this\n",
                      "B", "D"),
              ".SH \"B\"\n.PP\none two\n.SS \"C\"\n.TP\n\\fBa\\-b\\fR (u; default: 1)\nwhat \\fBit\\fR is\n"
              ".PP\n.nf\n\\&.x\n.fi\n.IP \\(bu 2\nitem\n");
    EXPECT_THROW(static_cast<void>(page_of("## B\n", "X", "")), std::runtime_error);
}

TEST(PageOf, CompletesAPage)
{
    const auto read = [](const std::string& document) { return "# T\n\n## A\n\nof " + document + "\n\n## B\n\nend\n"; };
    EXPECT_EQ(completed_page(".TH X\n.\\\" docgen: d.md from \"A\" to \"B\"\n.SH Y\n", read),
              ".TH X\n.SH \"A\"\n.PP\nof d.md\n.SH Y\n");
    EXPECT_EQ(completed_page(".\\\" docgen: d.md from \"B\"\n", read), ".SH \"B\"\n.PP\nend\n");
}

// Every name of a property in a schema.
void add_keys(const nlohmann::json& schema, std::set<std::string>& keys)
{
    if (schema.is_object() && schema.contains("properties")) {
        for (const auto& [key, value] : schema.at("properties").items()) {
            keys.insert(key);
        }
    }
    for (const auto& part : schema) {
        if (part.is_structured()) {
            add_keys(part, keys);
        }
    }
}

TEST(Manuals, HaveEveryKeyOfTheSettings)
{
    std::set<std::string> keys;
    add_keys(nlohmann::json::parse(read_text(RDMAQOS_BINARY_DIR "/config/rdma-qosd-settings.schema.json")), keys);
    const std::string text = read_aloud(page("rdma-qosd.yaml.5"));
    for (const auto& key : keys) {
        EXPECT_THAT(text, HasSubstr(key));
    }
}

// What each says of itself, and what it refers to.
TEST(Manuals, HaveTheirNamesAndReferToPagesThatThereAre)
{
    const std::set<std::string> names = pages();
    EXPECT_GE(names.size(), 9U);
    for (const auto& file : names) {
        const std::string text = page(file);
        const auto dot = file.rfind('.');
        std::string title = file.substr(0, dot);
        const std::string section = file.substr(dot + 1);
        EXPECT_THAT(text, HasSubstr(".SH NAME\n" + title)) << file;
        std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
        EXPECT_TRUE(text.starts_with(".TH " + title + " " + section + " ")) << file << ": " << text.substr(0, 40);
        const std::regex reference(R"(\.BR (\S*rdma\S*) \(([1-9])\))");
        for (std::sregex_iterator each(text.begin(), text.end(), reference); each != std::sregex_iterator(); ++each) {
            const std::string to = read_aloud((*each)[1].str()) + "." + (*each)[2].str();
            EXPECT_TRUE(names.contains(to)) << file << " refers to " << to;
        }
    }
}

// Of a macro that sets its arguments in alternating fonts: quotes come in pairs, and no sentence goes on behind one.
TEST(Manuals, EndTheirMacros)
{
    const std::regex alternating(R"(^\.(BR|RB|BI|IB|IR|RI) .*)");
    const std::regex goes_on(R"(.* [^" ]*[.:] [A-Z][a-z]* .*)");
    std::size_t macros = 0;
    for (const auto& name : pages()) {
        std::istringstream lines(page(name));
        for (std::string line; std::getline(lines, line);) {
            if (std::regex_match(line, alternating)) {
                ++macros;
                EXPECT_EQ(std::ranges::count(line, '"') % 2, 0) << name << ": " << line;
                EXPECT_FALSE(std::regex_match(line, goes_on)) << name << ": " << line;
            }
        }
    }
    EXPECT_GE(macros, 200U);
}

TEST(Manuals, AreInstalled)
{
    std::string rules;
    for (const auto& entry : fs::recursive_directory_iterator(source_dir())) {
        const std::string path = entry.path().lexically_relative(source_dir());
        if (entry.path().filename() == "CMakeLists.txt" && !path.starts_with("build")) {
            rules += read_text(entry.path());
        }
    }
    for (const auto& entry : fs::directory_iterator(source_dir() + "/docs/man")) {
        EXPECT_THAT(rules, HasSubstr("docs/man/" + entry.path().filename().string()));
    }
}

}    // namespace
}    // namespace rdmaqos::test
