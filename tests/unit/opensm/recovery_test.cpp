// Default mode reports every mistake of a file once and goes on where it can.
#include <string>
#include <vector>

#include "tests/unit/opensm/opensm_support.h"

namespace rdmaqos::test {
namespace {

std::vector<std::string> errors_of(const std::string& text)
{
    const auto result = read_native(text, OpensmMode::Default);
    EXPECT_FALSE(result.value) << text;
    std::vector<std::string> errors;
    for (const Diagnostic& diagnostic : result.diagnostics.all()) {
        if (diagnostic.severity == Severity::Error) {
            errors.push_back(fmt::format("{}: {}", diagnostic.location.line, diagnostic.message));
        }
    }
    return errors;
}

using Errors = std::vector<std::string>;

TEST(OpensmRecovery, UnknownWordsInSeveralBlocks)
{
    EXPECT_EQ(errors_of("port-groups\nport-group\nnane: a\nport-guid: 1\nend-port-group\nport-group\nname: b\n"
                        "node-type: HCA\nend-port-group\nend-port-groups\nqos-levels\nqos-level\nname: DEFAULT\n"
                        "sl: x\nend-qos-level\nend-qos-levels\n"),
              (Errors{"3: `nane` is not allowed in a `port-group`", "8: `HCA` is not allowed in a list of node types",
                      "14: `x` is not allowed in a numeric value"}));
}

TEST(OpensmRecovery, BlocksThatAreNotClosed)
{
    EXPECT_EQ(errors_of("port-groups\nport-group\nname: a\nport-group\nname: b\nend-port-group\nend-port-groups\n" +
                        kDefaultLevel),
              Errors{"4: `port-group` is not allowed in a `port-group`"});
    EXPECT_EQ(errors_of("port-groups\nport-group\nname: a\nend-port-groups\n" + kDefaultLevel),
              Errors{"4: `end-port-groups` is not allowed in a `port-group`"});
    EXPECT_EQ(errors_of(kDefaultLevel + "qos-match-rules\nqos-match-rule\nqos-level-name: DEFAULT\n"),
              Errors{"10: the file ends inside a `qos-match-rule`"});
}

TEST(OpensmRecovery, WordsOutsideOfSections)
{
    EXPECT_EQ(errors_of("port-group\nname: a\nend-port-group\n" + kDefaultLevel + "bogus\n"),
              (Errors{"1: `port-group` is not allowed in the file outside all sections",
                      "10: `bogus` is not allowed in the file outside all sections"}));
}

TEST(OpensmRecovery, Ulps)
{
    EXPECT_EQ(errors_of("qos-ulps\nlustre : 1\nsdp : 1\nrds, port-num x : 3\niser 4\ndefault : 0\nipoib : 99\n"
                        "end-qos-ulps\n"),
              (Errors{"2: `lustre` is not allowed in `qos-ulps`", "4: `x` is not allowed in a numeric value",
                      "5: `iser` is not allowed in `qos-ulps`", "7: an SL must be from 0 to 15, not 99"}));
}

TEST(OpensmRecovery, MissingNamesAreNotReportedOfAFileThatWasNotUnderstood)
{
    EXPECT_EQ(errors_of("qos-levels\nqos-level\nnam: DEFAULT\nsl: 1\nend-qos-level\nend-qos-levels\nqos-match-rules\n"
                        "qos-match-rule\nqos-level-name: DEFAULT\nend-qos-match-rule\nend-qos-match-rules\n")
                  .size(),
              1U);
}

TEST(OpensmRecovery, NamesThatAreNotDefined)
{
    EXPECT_EQ(errors_of(kDefaultLevel +
                        "qos-match-rules\nqos-match-rule\nqos-level-name: nope\nsource: a, b\nend-qos-match-rule\n"
                        "end-qos-match-rules\n"),
              (Errors{"9: there is no qos-level `nope`", "10: there is no port-group `a`",
                      "10: there is no port-group `b`"}));
}

TEST(OpensmRecovery, HintsNameWhatWasMeant)
{
    const auto result = read_native(with_level("rate-limits: 3\n"), OpensmMode::Default);
    ASSERT_EQ(result.diagnostics.error_count(), 1U) << shown(result);
    EXPECT_EQ(result.diagnostics.all().front().hint, "did you mean `rate-limit`?");
}

}    // namespace
}    // namespace rdmaqos::test
