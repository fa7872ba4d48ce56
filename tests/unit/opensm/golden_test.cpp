// Every message about a native OpenSM policy, in both modes, as people see it. A case is tests/golden/opensm/NAME.conf.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "policy/load/policy_reader.h"
#include "policy/model/name_service.h"
#include "tests/support/golden.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/opensm/opensm_support.h"

namespace rdmaqos::test {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(source_dir()) / "tests/golden/opensm";

std::vector<std::string> cases()
{
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
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
    const std::string text = read_text(kFolder / (GetParam() + ".conf"));
    std::string both;
    for (const OpensmMode mode : {OpensmMode::Default, OpensmMode::Strict}) {
        const auto result = read_native(text, mode);
        both += mode == OpensmMode::Default ? "default mode:\n" : "strict mode:\n";
        both += shown(result);
        both += result.value ? "accepted\n" : "refused\n";
    }
    expect_golden("opensm/" + GetParam() + ".txt", both);
}

// What strict mode says of files with one mistake each: it stops at the first.
TEST(GoldenOpensmMistakes, AreAsAccepted)
{
    const auto sl2vl = [](const std::string& entries) {
        return "qos-setup\nsl2vl-tables\nsl2vl-scope\n" + entries +
               "end-sl2vl-scope\nend-sl2vl-tables\nend-qos-setup\n";
    };
    const std::string table = "sl2vl-table: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n";
    const std::vector<std::string> texts{
        "",
        "bogus\n",
        "qos-levels\n",
        "qos-ulps\nend-qos-ulps\n",
        with_group("use: x\n"),
        with_group("name: a\nname: b\n"),
        with_group("name: a\nport-name: vs3\n"),
        with_group("name: a\nport-name: vs3/P0\n"),
        with_group("name: a\nport-name: vs3/P9\n"),
        with_group("name: " + std::string(kLongestOpensmValue + 1, 'x') + "\n"),
        with_group("name:\nuse: x\n"),
        with_group("name: a\nport-guid: x\n"),
        with_group("name: a\nnode-type: HCA\n"),
        with_level("sl: 2\n"),
        with_level("mtu-limit: 9\n"),
        with_level("rate-limit: 1\n"),
        "qos-levels\nqos-level\nname: x\nend-qos-level\nend-qos-levels\n",
        "qos-levels\nqos-level\nsl: 1\nend-qos-level\nend-qos-levels\n",
        "qos-levels\nqos-level\nname: DEFAULT\nsl: 300\npacket-life: 300\nend-qos-level\nend-qos-levels\n",
        "qos-match-rules\nqos-match-rule\nuse: x\nend-qos-match-rule\nend-qos-match-rules\n",
        with_rule("source: nobody\n"),
        with_rule("destination: nobody\n"),
        with_rule("").replace(0, kDefaultLevel.size(), "qos-ulps\ndefault: 1\nend-qos-ulps\n"),
        with_ulps("rds, port-num 65536 : 1\n"),
        with_ulps("rds, port-num 65536 1\n"),
        with_ulps("sdp : 16\n"),
        with_ulps("ipoib, pkey 5 : 1\n"),
        with_ulps("ipoib, pkey 9 : 1\n"),
        "qos-setup\nvlarb-tables\nvlarb-scope\nend-vlarb-scope\nend-vlarb-tables\nend-qos-setup\n",
        "qos-setup\nvlarb-tables\nvlarb-scope\ngroup: a\nvlarb-high: "
        "1,2\nend-vlarb-scope\nend-vlarb-tables\nend-qos-setup\n",
        sl2vl(table),
        sl2vl("group: a\n"),
        sl2vl("from: 200\n"),
        sl2vl(table + table),
        sl2vl("sl2vl-table: 1\n"),
        sl2vl("sl2vl-table: 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,16\n"),
    };
    std::string all;
    for (const std::string& text : texts) {
        for (const OpensmMode mode : {OpensmMode::Strict, OpensmMode::Default}) {
            all += mode == OpensmMode::Strict ? "strict mode:\n" : "default mode:\n";
            all += shown(read_native(text, mode));
        }
    }
    expect_golden("opensm/mistakes.txt", all);
}

// What cannot be kept as a text file.
TEST(GoldenOpensmBytes, AreAsAccepted)
{
    std::string all;
    for (const std::string& text : {"\xef\xbb\xbf" + kDefaultLevel, std::string("qos-levels\r\nend-qos-levels\r\n"),
                                    "\f" + kDefaultLevel, with_group("name: caf\xe9\nport-guid: 1\n")}) {
        all += shown(read_native(text, OpensmMode::Default));
    }
    expect_golden("opensm/bytes.txt", all);
}

TEST(GoldenOpensmHost, IsAsAccepted)
{
    const TempDir root;
    root.write("etc/rdma-qos/policy.conf", kDefaultLevel);
    root.write("etc/rdma-qos/policy.yaml", "version: 1\n");
    expect_golden("opensm/host.txt",
                  render(read_host_policy(root.path(), NameService::host()).diagnostics, Colour::Off));
}

INSTANTIATE_TEST_SUITE_P(Cases, GoldenOpensm, testing::ValuesIn(cases()), [](const auto& test) {
    std::string name = test.param;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

}    // namespace
}    // namespace rdmaqos::test
