#include "policy/yaml/yaml_reader.h"

#include <chrono>

#include "tests/support/processor_time.h"
#include "tests/unit/policy/reader_support.h"

namespace rdmaqos::test {
namespace {

using reader::Context;
using reader::Node;
using reader::NodeKind;

struct Yaml {
    explicit Yaml(std::string text) : context({source("a.yaml", std::move(text))}, diagnostics)
    {
        root = reader::read_yaml(context, 0);
    }

    Diagnostics diagnostics;
    Context context;
    std::optional<Node> root;
};

std::string outline(const Node& node)
{
    switch (node.kind) {
    case NodeKind::Missing:
        return "-";
    case NodeKind::Null:
        return "null";
    case NodeKind::Scalar:
        return node.quoted ? '"' + node.text + '"' : node.text;
    case NodeKind::Sequence:
    case NodeKind::Mapping:
        break;
    }
    std::string text;
    for (std::size_t i = 0; i < node.children.size(); ++i) {
        const bool value = node.is_mapping() && i % 2 == 1;
        text += (i == 0 ? "" : value ? ":" : ",") + outline(node.children[i]);
    }
    return node.is_mapping() ? '{' + text + '}' : '[' + text + ']';
}

struct Case {
    std::string text;
    std::string outline;
};

class YamlOutline : public testing::TestWithParam<Case> {};

TEST_P(YamlOutline, IsAsWritten)
{
    const Yaml yaml(GetParam().text);
    ASSERT_TRUE(yaml.root) << render(yaml.diagnostics, Colour::Off);
    EXPECT_EQ(outline(*yaml.root), GetParam().outline);
    EXPECT_TRUE(yaml.diagnostics.empty()) << render(yaml.diagnostics, Colour::Off);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, YamlOutline,
    testing::Values(Case{"", "-"}, Case{"# nothing\n", "-"}, Case{"---\na: 1\n...\n", "{a:1}"},
                    Case{"a: yes\nb: 010\nc: 1_000\n", "{a:yes,b:010,c:1_000}"},
                    Case{"a:\nnull-like: 1\n", "{a:-,null-like:1}"},
                    Case{"a: ~\nb: null\nc: [~, null , NULL]\n", "{a:null,b:null,c:[null,null,null]}"},
                    Case{"a: \"~\"\nb: nullable\n", "{a:\"~\",b:nullable}"}, Case{"- a\n-\n- b\n", "[a,-,b]"},
                    Case{"a: 'it''s'\nb: \"\\\"\"\n", "{a:\"it's\",b:\"\"\"}"},
                    Case{"a: |\n  x\n  y\nb: >\n  x\n  y\n", "{a:\"x\ny\n\",b:\"x y\n\"}"},
                    Case{"a: x\n  y\n", "{a:x y}"}, Case{"\"quoted key\": 1\n", "{\"quoted key\":1}"},
                    Case{"a: 0:255\n", "{a:0:255}"}, Case{"'<<': 1\n", "{\"<<\":1}"},
                    Case{"a: 1\r\nb: [x,\r\n y]\r\n", "{a:1,b:[x,y]}"}, Case{"%YAML 1.2\n---\na: 1\n", "{a:1}"},
                    Case{"{a: 1, b}\n", "{a:1,b:-}"}));

TEST(YamlReader, LocatesByLineAndByteColumn)
{
    const Yaml yaml("é: \"ü\"\nkey:\n  - plain text # comment\n  - 'a ''b'\n");
    ASSERT_TRUE(yaml.root);
    const auto& children = yaml.root->children;
    const auto place = [&](const Node& node) {
        return yaml.context.locate(node).to_string() + "+" + std::to_string(node.at.length);
    };
    EXPECT_EQ(place(children[0]), "a.yaml:1:1+2");
    EXPECT_EQ(place(children[1]), "a.yaml:1:5+4");
    EXPECT_EQ(place(children[2]), "a.yaml:2:1+3");
    EXPECT_EQ(place(children[3].children[0]), "a.yaml:3:5+10");
    EXPECT_EQ(place(children[3].children[1]), "a.yaml:4:5+7");
}

TEST(YamlReader, GoesOnAfterWhatItRefuses)
{
    const Yaml yaml("a: &x 1\nb: !!int 2\na: 3\n<<: {c: 1}\nd: 4\n");
    ASSERT_TRUE(yaml.root);
    EXPECT_EQ(outline(*yaml.root), "{a:1,b:2,d:4}");
    EXPECT_EQ(yaml.diagnostics.error_count(), 4U) << render(yaml.diagnostics, Colour::Off);
}

// Texts made to hurt: refused, and soon.
class HostileText : public testing::TestWithParam<std::pair<std::string, std::string>> {};

std::string repeated(const std::string& piece, std::size_t bytes)
{
    std::string text;
    while (text.size() < bytes) {
        text += piece;
    }
    return text;
}

constexpr std::size_t kMiB = 1U << 20U;

TEST_P(HostileText, IsRefusedSoon)
{
    const auto begin = test::own_processor_time();
    const auto result = read_policy({source("hostile.yaml", GetParam().second)}, fake_names());
    EXPECT_EQ(result.value, nullptr);
    EXPECT_TRUE(result.diagnostics.has_errors());
    static_cast<void>(shown(result));
    // Generous: sanitizers.
    EXPECT_LT(test::own_processor_time() - begin, std::chrono::seconds(20));
}

std::string many_names(const std::string& section, bool same)
{
    std::string text = "version: 1\nqos-levels: [{name: DEFAULT}]\n" + section + ":\n";
    for (int i = 0; i < 5000; ++i) {
        text += "  - {name: n" + std::to_string(same ? 0 : i) + ", parent: m" + std::to_string(i) + "}\n";
    }
    return text;
}

std::string chain(bool closed)
{
    std::string text = "version: 1\nqos-levels: [{name: DEFAULT}]\nscheduling-nodes:\n";
    for (int i = 0; i < 5000; ++i) {
        text += "  - {name: n" + std::to_string(i) +
                (i == 4999 && !closed ? "" : ", parent: n" + std::to_string((i + 1) % 5000)) + "}\n";
    }
    return text;
}

INSTANTIATE_TEST_SUITE_P(
    Cases, HostileText,
    testing::Values(std::pair{"brackets", repeated("[", kMiB)}, std::pair{"braces", repeated("{", kMiB)},
                    std::pair{"braces_with_keys", repeated("{a: ", kMiB)}, std::pair{"dashes", repeated("- ", kMiB)},
                    std::pair{"question_marks", repeated("? ", kMiB)}, std::pair{"colons", repeated(":\n", kMiB)},
                    std::pair{"brackets_and_items", repeated("[a,", kMiB)},
                    std::pair{"quote", "a: \"" + repeated("x", kMiB)}, std::pair{"tags", repeated("!a ", kMiB)},
                    std::pair{"anchors", repeated("&a ", kMiB)}, std::pair{"documents", repeated("---\n", kMiB)},
                    std::pair{"self_reference", std::string("&x [*x]")},
                    std::pair{"alias_bomb", std::string("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n")},
                    std::pair{"unknown_parents", many_names("scheduling-nodes", false)},
                    std::pair{"one_name", many_names("scheduling-nodes", true)}, std::pair{"chain", chain(false)},
                    std::pair{"cycle", chain(true)}),
    [](const auto& test) { return test.param.first; });

}    // namespace
}    // namespace rdmaqos::test
