// Readers of what other programs write: for any text they end soon, with a value or with errors, each at a place of the
// file; and what is made of a value is a fabric file that is read back.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policy/load/policy_reader.h"
#include "policy/model/name_service.h"
#include "policy/opensm/reader.h"
#include "policy/yaml/fabric_reader.h"
#include "tests/fuzz/support/mutator.h"
#include "tools/rdma-qosctl/import/fabric.h"
#include "tools/rdma-qosctl/import/ibnetdiscover.h"
#include "tools/rdma-qosctl/import/node_name_map.h"
#include "tools/rdma-qosctl/import/opensm.h"
#include "tools/rdma-qosctl/import/partitions.h"

namespace rdmaqos {
namespace {

std::shared_ptr<const SourceFile> source(const std::string& text)
{
    return std::make_shared<const SourceFile>(SourceFile{"fuzz", text});
}

std::vector<std::string> seeds(const std::string& extension)
{
    return test::corpus({"tests/golden/import", "tests/golden/diagnostics"}, extension);
}

template <typename T>
void check_result(const ReadResult<T>& result)
{
    ASSERT_EQ(result.value == nullptr, result.diagnostics.has_errors());
    for (const Diagnostic& diagnostic : result.diagnostics.all()) {
        ASSERT_NE(diagnostic.location.file, nullptr) << diagnostic.message;
        const auto& text = diagnostic.location.file->text;
        const auto lines = 1 + static_cast<std::uint32_t>(std::count(text.begin(), text.end(), '\n'));
        ASSERT_LE(diagnostic.location.line, lines) << diagnostic.message;
        ASSERT_FALSE(diagnostic.message.empty());
    }
    for (const char byte : render(result.diagnostics, Colour::Off)) {
        ASSERT_TRUE(byte == '\n' || static_cast<unsigned char>(byte) >= 0x20) << "a control character in a diagnostic";
    }
}

void check_import(const FabricImport& input)
{
    const auto made = import_fabric(input);
    ASSERT_EQ(made.value == nullptr, made.diagnostics.has_errors());
    if (made.value) {
        const auto read = read_fabric(source(*made.value));
        ASSERT_TRUE(read.value) << render(read.diagnostics, Colour::Off) << *made.value;
        ASSERT_EQ(read.diagnostics.warning_count(), 0U) << render(read.diagnostics, Colour::Off) << *made.value;
    }
}

TEST(ImportFuzz, Ibnetdiscover)
{
    const auto partitions = source("P=1,ipoib:ALL=full,0x0002c90300a1b2c1;\n");
    test::fuzz("ibnetdiscover", seeds(".topology"), [&](const std::string& text) {
        const auto result = read_ibnetdiscover(source(text));
        ASSERT_NO_FATAL_FAILURE(check_result(result));
        if (result.value) {
            ASSERT_FALSE(result.value->nodes.empty());
            check_import({source(text), partitions, nullptr, std::nullopt});
        }
    });
}

TEST(ImportFuzz, Partitions)
{
    const auto topology = source("Ca 1 \"H-1\" # \"a\"\n[1](2c90300a1b2c1) \"S-2\"[1]\n");
    test::fuzz("partitions", seeds(".partitions"), [&](const std::string& text) {
        const auto result = read_partitions(source(text));
        ASSERT_NO_FATAL_FAILURE(check_result(result));
        if (result.value) {
            ASSERT_FALSE(result.value->partitions.empty());
            ASSERT_NO_FATAL_FAILURE(check_import({topology, source(text), nullptr, Guid{0x2c90300a1b2c1}}));
            check_import({nullptr, source(text), nullptr, std::nullopt});
        }
    });
}

TEST(ImportFuzz, NodeNameMap)
{
    const auto topology = source("Ca 1 \"H-0002c90200400d98\" # \"a\"\n[1](2) \"S-2\"[1]\n");
    test::fuzz("node-name-map", seeds(".names"), [&](const std::string& text) {
        const auto result = read_node_name_map(source(text));
        ASSERT_NO_FATAL_FAILURE(check_result(result));
        if (result.value) {
            check_import({topology, nullptr, source(text), std::nullopt});
        }
    });
}

// What the daemon reads can be imported, and is then a YAML policy.
TEST(ImportFuzz, OpensmPolicy)
{
    const auto seeds = test::corpus({"tests/golden/opensm", "tests/golden/import"}, ".conf");
    test::fuzz("import-opensm", seeds, [](const std::string& text) {
        const auto native = read_opensm_policy(source(text), OpensmMode::Default, Fabric{});
        if (!native.value) {
            return;
        }
        const auto made = import_opensm(*native.file, Fabric{});
        ASSERT_TRUE(made.value) << render(made.diagnostics, Colour::Off);
        const auto read = read_policy({source(*made.value)}, NameService{});
        ASSERT_TRUE(read.value) << render(read.diagnostics, Colour::Off) << *made.value;
        ASSERT_EQ(read.value->rules.size(), native.value->rules.size());
    });
}

}    // namespace
}    // namespace rdmaqos
