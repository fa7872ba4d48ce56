// Every message about a native OpenSM policy, in both modes, as people see it. A case is tests/golden/opensm/NAME.conf.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/golden.h"
#include "tests/unit/opensm/opensm_support.h"

namespace rdmaqos::test {
namespace {

std::vector<std::string> cases()
{
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(source_dir() + "/tests/golden/opensm")) {
        if (entry.path().extension() == ".conf") {
            names.push_back(entry.path().stem().string());
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

class GoldenOpensm : public testing::TestWithParam<std::string> {};

TEST_P(GoldenOpensm, IsAsAccepted)
{
    const std::string text = read_text(source_dir() + "/tests/golden/opensm/" + GetParam() + ".conf");
    std::string both;
    for (const OpensmMode mode : {OpensmMode::Default, OpensmMode::Strict}) {
        const auto result = read_native(text, mode);
        both += mode == OpensmMode::Default ? "default mode:\n" : "strict mode:\n";
        both += shown(result);
        both += result.value ? "accepted\n" : "refused\n";
    }
    expect_golden("opensm/" + GetParam() + ".txt", both);
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenOpensm, testing::ValuesIn(cases()), [](const auto& test) {
    std::string name = test.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

}    // namespace
}    // namespace rdmaqos::test
