// Every reader of text that people write: for any text it ends soon, with a value or with errors, each at a place of
// the file; and what is accepted can be used.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include "lib/base/net.h"
#include "lib/base/units.h"
#include "lib/model/profile.h"
#include "policy/load/policy_reader.h"
#include "policy/model/request.h"
#include "policy/opensm/reader.h"
#include "policy/text/read_result.h"
#include "policy/yaml/fabric_reader.h"
#include "policy/yaml/settings_reader.h"
#include "policy/yaml/simulation_reader.h"
#include "tests/fuzz/support/mutator.h"
#include "tests/fuzz/support/reader_checks.h"
#include "tools/rdma-qosctl/simulate/loads.h"
#include "tools/rdma-qosctl/simulate/report.h"

namespace rdmaqos {
namespace {

std::shared_ptr<const SourceFile> source(const std::string& text)
{
    return std::make_shared<SourceFile>(SourceFile{"fuzz.yaml", text});
}

template <typename T>
void check_result(const ReadResult<T>& result)
{
    ASSERT_EQ(test::problem_of(result), "");
}

// The policies of the compatibility cases, if they have been unpacked, and those of the golden files.
std::vector<std::string> opensm_policies()
{
    std::vector<std::string> texts = test::corpus({"tests/golden/opensm"}, ".conf");
    std::error_code error;
    for (std::filesystem::recursive_directory_iterator entry(RDMAQOS_OPENSM_CORPUS, error), end; !error && entry != end;
         entry.increment(error)) {
        if (entry->path().filename() == "policy.conf") {
            std::ifstream file(entry->path(), std::ios::binary);
            texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
        }
    }
    std::sort(texts.begin(), texts.end());
    return texts;
}

TEST(ReaderFuzz, Policy)
{
    test::fuzz("policy", test::corpus({"config", "tests/golden/diagnostics"}, ".yaml"), [](const std::string& text) {
        const auto result = read_policy({source(text)}, test::fuzz_names());
        ASSERT_NO_FATAL_FAILURE(check_result(result));
        if (result.value) {
            ASSERT_EQ(test::problem_of_use(*result.value), "");
        }
    });
}

TEST(ReaderFuzz, MergedPolicies)
{
    test::fuzz("merged", test::corpus({"config", "tests/golden/diagnostics"}, ".yaml"), [](const std::string& text) {
        const auto middle = text.find('\n', text.size() / 2);
        const auto first = source(text.substr(0, middle));
        const auto second = source("version: 1" + (middle == std::string::npos ? "" : text.substr(middle)));
        const auto result = read_policy({first, second}, test::fuzz_names());
        ASSERT_NO_FATAL_FAILURE(check_result(result));
    });
}

// One native text in one mode.
OpensmResult read_native(const std::string& text, OpensmMode mode, const Fabric& fabric)
{
    return read_opensm_policy(std::make_shared<const SourceFile>(SourceFile{"fuzz.conf", text}), mode, fabric);
}

void check_native(const OpensmResult& result)
{
    ASSERT_EQ(result.value == nullptr, result.rejected != OpensmResult::Rejected::No);
    ASSERT_NE(result.file, nullptr);
    ASSERT_NO_FATAL_FAILURE(check_result(ReadResult<Policy>{result.value, result.diagnostics}));
}

// What OpenSM takes, default mode takes too, but for numbers that OpenSM cuts; and it means the same.
void compare_modes(const OpensmResult& strict, const OpensmResult& forgiving)
{
    if (!forgiving.value) {
        for (const Diagnostic& diagnostic : forgiving.diagnostics.all()) {
            ASSERT_TRUE(diagnostic.severity != Severity::Error ||
                        diagnostic.message.find("must be from 0 to") != std::string::npos)
                << diagnostic.message;
        }
        return;
    }
    ASSERT_EQ(strict.value->levels.size(), forgiving.value->levels.size());
    ASSERT_EQ(strict.value->groups.size(), forgiving.value->groups.size());
    ASSERT_EQ(strict.value->rules.size(), forgiving.value->rules.size());
    ASSERT_EQ(strict.value->default_level, forgiving.value->default_level);
    for (std::size_t i = 0; i < strict.value->rules.size(); ++i) {
        const MatchRule& a = strict.value->rules[i];
        const MatchRule& b = forgiving.value->rules[i];
        ASSERT_EQ(a.level, b.level);
        ASSERT_EQ(a.source, b.source);
        ASSERT_EQ(a.destination, b.destination);
        ASSERT_EQ(a.service_id, b.service_id);
        ASSERT_EQ(a.qos_class, b.qos_class);
        ASSERT_EQ(a.pkey, b.pkey);
    }
}

TEST(ReaderFuzz, OpensmPolicy)
{
    const auto fabric = read_fabric(std::filesystem::path(RDMAQOS_SOURCE_DIR "/config/examples/fabric.yaml"));
    ASSERT_TRUE(fabric.value);
    test::fuzz("opensm", opensm_policies(), [&](const std::string& text) {
        const auto strict = read_native(text, OpensmMode::Strict, *fabric.value);
        ASSERT_NO_FATAL_FAILURE(check_native(strict));
        ASSERT_EQ(strict.diagnostics.error_count(), strict.value ? 0U : 1U);
        const auto forgiving = read_native(text, OpensmMode::Default, *fabric.value);
        ASSERT_NO_FATAL_FAILURE(check_native(forgiving));
        if (forgiving.value) {
            ASSERT_EQ(test::problem_of_use(*forgiving.value), "");
        }
        // Default mode takes these for blanks, OpenSM for parts of names.
        if (strict.value && text.find_first_of("\r\f\v") == std::string::npos) {
            compare_modes(strict, forgiving);
        }
    });
}

TEST(ReaderFuzz, Fabric)
{
    test::fuzz("fabric", test::corpus({"config/examples", "tests/golden/diagnostics"}, ".yaml"),
               [](const std::string& text) { check_result(read_fabric(source(text))); });
}

TEST(ReaderFuzz, Settings)
{
    test::fuzz("settings", test::corpus({"config", "tests/golden/diagnostics"}, ".yaml"),
               [](const std::string& text) { check_result(read_settings(source(text))); });
}

TEST(ReaderFuzz, Simulation)
{
    test::fuzz("simulation", test::corpus({"config/examples", "tests/golden/diagnostics"}, ".yaml"),
               [](const std::string& text) { check_result(read_simulation(source(text), default_capabilities())); });
}

TEST(ReaderFuzz, Loads)
{
    test::fuzz("loads", test::corpus({"config/examples", "tests/golden/diagnostics"}, ".yaml"),
               [](const std::string& text) {
                   const auto result = read_loads(source(text));
                   ASSERT_NO_FATAL_FAILURE(check_result(result));
                   if (result.value) {
                       ASSERT_FALSE(result.value->steps.empty());
                   }
               });
}

TEST(ReaderFuzz, LoadOptions)
{
    test::fuzz("load-options", {"rpc=50Gbps,bulk=inf", "rpc*8=1 Gbit/s", "a b=2.5 Gbps,", "x=unlimited"},
               [](const std::string& text) {
                   const std::vector<std::string> options{text, "rpc=1Gbps"};
                   ASSERT_NO_FATAL_FAILURE(check_result(parse_loads(options)));
               });
}

// Scalars: what is printed is read back as the same value.
TEST(ReaderFuzz, Scalars)
{
    const std::vector<std::string> seeds{"40Gbps",       "2.5 Gbps",
                                         "25 Gbit/s",    "64KiB",
                                         "1500",         "4096 bytes",
                                         "500ms",        "0x10",
                                         "fd00:10::/32", "::ffff:10.1.0.0/112",
                                         "10.1.0.7",     "0x0002c90300a1b2c3"};
    test::fuzz("scalars", seeds, [](const std::string& text) {
        if (const auto parsed = parse_bandwidth(text); parsed.value) {
            const std::string printed = to_string(*parsed.value);    // "40 Gbit/s"
            ASSERT_EQ(parse_bandwidth(printed).value, parsed.value) << printed;
        }
        if (const auto parsed = parse_gid_prefix(text)) {
            ASSERT_EQ(parse_gid_prefix(to_string(*parsed)), parsed);
        }
        if (const auto parsed = parse_endpoint(text)) {
            ASSERT_EQ(parse_endpoint(to_string(*parsed)), parsed);
        }
        if (const auto parsed = parse_bytes(text); parsed.value) {
            const std::string printed = bytes_to_string(*parsed.value);    // "64 KiB"
            ASSERT_EQ(parse_bytes(printed).value, parsed.value) << printed;
        }
        if (const auto parsed = parse_milliseconds(text); parsed.value) {
            const std::string printed = ctl::time_in_words(std::chrono::milliseconds(*parsed.value));    // "60 s"
            ASSERT_EQ(parse_milliseconds(printed).value, parsed.value) << printed;
        }
        static_cast<void>(parse_number(text));
    });
}

}    // namespace
}    // namespace rdmaqos
