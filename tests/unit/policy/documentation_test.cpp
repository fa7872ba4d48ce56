// Every example in the documents and manual pages is read, as what it is an example of; every link of theirs leads
// somewhere.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

#include "policy/yaml/fabric_reader.h"
#include "policy/yaml/settings_reader.h"
#include "policy/yaml/simulation_reader.h"
#include "tests/support/golden.h"
#include "tests/unit/policy/reader_support.h"
#include "tools/rdma-qosctl/simulate/loads.h"

namespace rdmaqos::test {
namespace {

struct Block {
    std::string place;    // "docs/policy-reference.md:12"
    std::string kind;     // what stands behind "```yaml"
    std::string text;
};

std::vector<std::string> lines_of(const std::string& name)
{
    std::vector<std::string> lines;
    std::istringstream text(read_text(source_dir() + "/" + name));
    for (std::string line; std::getline(text, line);) {
        lines.push_back(line);
    }
    return lines;
}

std::vector<Block> blocks_of_markdown(const std::string& name)
{
    std::vector<Block> blocks;
    bool inside = false;
    std::size_t number = 0;
    for (const auto& line : lines_of(name)) {
        ++number;
        if (!inside && line.starts_with("```yaml")) {
            inside = true;
            blocks.push_back({name + ":" + std::to_string(number), line.size() > 8 ? line.substr(8) : "", {}});
        } else if (inside && line == "```") {
            inside = false;
        } else if (inside) {
            blocks.back().text += line + '\n';
        }
    }
    return blocks;
}

// Between .nf and .fi, if it starts as every file does.
std::vector<Block> blocks_of_manual(const std::string& name)
{
    std::vector<Block> blocks;
    const std::string kind = name.ends_with("/rdma-qosd.yaml.5") ? "settings" : "";
    bool inside = false;
    std::size_t number = 0;
    for (const auto& line : lines_of(name)) {
        ++number;
        if (line == ".nf") {
            inside = true;
            blocks.push_back({name + ":" + std::to_string(number), kind, {}});
        } else if (line == ".fi") {
            inside = false;
        } else if (inside && !line.starts_with('.')) {
            std::string text;
            for (std::size_t i = 0; i < line.size(); ++i) {
                text += line[i == line.size() - 1 || line[i] != '\\' ? i : ++i];    // "\-"
            }
            blocks.back().text += text + '\n';
        }
    }
    std::erase_if(blocks, [](const Block& block) { return !block.text.starts_with("version: 1"); });
    return blocks;
}

std::vector<std::string> documents(const std::string& extension)
{
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_dir() + "/docs")) {
        if (entry.path().extension().string().starts_with(extension)) {
            names.push_back(std::filesystem::relative(entry.path(), source_dir()));
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<std::string> all_markdown()
{
    auto names = documents(".md");
    names.insert(names.end(), {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"});
    return names;
}

std::vector<Block> all_blocks()
{
    std::vector<Block> blocks;
    for (const auto& name : all_markdown()) {
        for (auto& block : blocks_of_markdown(name)) {
            blocks.push_back(std::move(block));
        }
    }
    for (const char* section : {".5", ".8", ".in"}) {
        for (const auto& name : documents(section)) {
            for (auto& block : blocks_of_manual(name)) {
                blocks.push_back(std::move(block));
            }
        }
    }
    return blocks;
}

// "fragment" blocks lack what every policy must have.
std::string completed(const Block& block)
{
    std::string text = block.text;
    if (text.find("version: 1") == std::string::npos) {
        text = "version: 1\n" + text;
    }
    if (text.find("qos-levels:") == std::string::npos) {
        text += "qos-levels: [{name: DEFAULT}, {name: rpc}, {name: bulk}]\n";
    }
    return text;
}

template <typename T>
std::string problem_of(const ReadResult<T>& result)
{
    return result.value ? "" : shown(result);
}

std::string problem_of(const Block& block)
{
    const auto file = source(block.place, block.kind == "fragment" ? completed(block) : block.text);
    if (block.kind == "settings") {
        return problem_of(read_settings(file));
    }
    if (block.kind == "fabric") {
        return problem_of(read_fabric(file));
    }
    if (block.kind == "devices") {
        return problem_of(read_simulation(file, Capabilities{}));
    }
    if (block.kind == "loads") {
        return problem_of(read_loads(file));
    }
    if (!block.kind.empty() && block.kind != "fragment") {
        return block.place + ": what is a yaml " + block.kind + "?";
    }
    return problem_of(read_policy({file}, fake_names()));
}

TEST(Documentation, ItsYamlIsGood)
{
    const auto blocks = all_blocks();
    for (const auto& block : blocks) {
        EXPECT_EQ(problem_of(block), "");
    }
    const auto count = [&](const std::string& prefix) {
        return std::count_if(blocks.begin(), blocks.end(),
                             [&](const Block& block) { return block.place.starts_with(prefix); });
    };
    EXPECT_GE(count("docs/policy-reference.md"), 25);
    EXPECT_GE(count("docs/tutorial.md"), 1);
    EXPECT_GE(count("docs/settings-reference.md"), 4);
    EXPECT_GE(count("docs/metrics.md"), 1);
    EXPECT_GE(count("docs/clients/"), 5);
    EXPECT_GE(count("README.md"), 1);
    EXPECT_GE(count("docs/man/rdma-qos-policy.5"), 1);
    EXPECT_GE(count("docs/man/rdma-qosd.yaml.5"), 1);
}

// Without blocks of code.
std::vector<std::string> prose_of(const std::string& name)
{
    std::vector<std::string> prose;
    bool inside = false;
    for (auto& line : lines_of(name)) {
        const bool fence = line.starts_with("```");
        inside = inside != fence;
        if (!inside && !fence) {
            prose.push_back(std::move(line));
        }
    }
    return prose;
}

// As GitHub makes it of a heading: "DEVX, and *more*" is devx-and-more. Letters beyond ASCII do not count here.
std::string anchor_of(const std::string& heading)
{
    static const std::regex link(R"(\[([^\]]*)\]\([^)]*\))");
    std::string anchor;
    for (const char c : std::regex_replace(heading, link, "$1")) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_') {
            anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        } else if (c == ' ') {
            anchor += '-';
        }
    }
    return anchor;
}

std::set<std::string> anchors_of(const std::string& name)
{
    static const std::regex heading("#+ +(.*)");
    static const std::regex id("<a id=\"([^\"]+)\"");
    std::set<std::string> anchors;
    for (const auto& line : prose_of(name)) {
        std::smatch match;
        if (std::regex_match(line, match, heading)) {
            anchors.insert(anchor_of(match[1]));
        }
        for (std::sregex_iterator each(line.begin(), line.end(), id); each != std::sregex_iterator(); ++each) {
            anchors.insert((*each)[1]);
        }
    }
    return anchors;
}

using Anchors = std::map<std::string, std::set<std::string>>;    // by document

// Of a link in this document; empty: it leads somewhere.
std::string problem_of_link(const Anchors& anchors, const std::string& name, const std::string& target)
{
    namespace fs = std::filesystem;
    const auto hash = target.find('#');
    const std::string file = target.substr(0, hash);
    const fs::path path = file.empty() ? fs::path(name) : (fs::path(name).parent_path() / file).lexically_normal();
    if (!fs::exists(source_dir() / path)) {
        return name + ": there is no file " + target;
    }
    const auto document = hash == std::string::npos ? anchors.end() : anchors.find(path);
    const bool is_there = document == anchors.end() || document->second.contains(anchor_of(target.substr(hash + 1)));
    return is_there ? "" : name + ": there is no place " + target;
}

TEST(Documentation, ItsLinksLeadSomewhere)
{
    static const std::regex link(R"(\]\(([^)\s]+)\))");
    Anchors anchors;
    for (const auto& name : all_markdown()) {
        anchors[name] = anchors_of(name);
    }
    std::size_t links = 0;
    for (const auto& name : all_markdown()) {
        for (const auto& line : prose_of(name)) {
            for (std::sregex_iterator each(line.begin(), line.end(), link); each != std::sregex_iterator(); ++each) {
                const std::string target = (*each)[1];
                if (!target.starts_with("https:")) {
                    EXPECT_EQ(problem_of_link(anchors, name, target), "");
                    ++links;
                }
            }
        }
    }
    EXPECT_GE(links, 200U);
}

// What settings-reference.md states as the defaults are the defaults.
TEST(Documentation, StatesTheDefaultsOfTheSettings)
{
    for (const auto& block : blocks_of_markdown("docs/settings-reference.md")) {
        if (block.kind == "settings") {
            const auto result = read_settings(source(block.place, block.text));
            ASSERT_TRUE(result.value) << shown(result);
            EXPECT_EQ(*result.value, Settings{});
            return;    // any that follow are examples
        }
    }
    FAIL() << "there is no list of the settings";
}

}    // namespace
}    // namespace rdmaqos::test
