// A native file in the place of a host's YAML policy.
#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "policy/load/host_files.h"
#include "policy/load/policy_reader.h"
#include "policy/model/name_service.h"
#include "policy/text/read_result.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/opensm/opensm_support.h"

namespace rdmaqos::test {
namespace {

namespace fs = std::filesystem;

const std::string kYaml = "version: 1\nqos-levels: [{name: DEFAULT}]\n";
const std::string kNative = kDefaultLevel;

class NativeHostPolicy : public ::testing::Test {
protected:
    [[nodiscard]] ReadResult<Policy> read() const
    {
        return read_host_policy(root_.path(), NameService::host(), sample_fabric());
    }
    [[nodiscard]] std::string message() const
    {
        const auto result = read();
        EXPECT_FALSE(result.value);
        return result.diagnostics.all().empty() ? "" : render(result.diagnostics.all().front(), Colour::Off);
    }

    TempDir root_;
};

TEST_F(NativeHostPolicy, IsReadByItsName)
{
    root_.write("etc/rdma-qos/policy.conf", kNative);
    const auto result = read();
    ASSERT_TRUE(result.value) << render(result.diagnostics, Colour::Off);
    EXPECT_EQ(result.value->levels.front().sl, 0);
    EXPECT_EQ(result.value->sources.front()->name, "/etc/rdma-qos/policy.conf");
    EXPECT_FALSE(result.value->revision.empty());
}

TEST_F(NativeHostPolicy, TakesThePlaceOfEitherKindInUsrLib)
{
    root_.write("usr/lib/rdma-qos/policy.yaml", kYaml);
    root_.write("etc/rdma-qos/policy.conf", kNative);
    ASSERT_EQ(host_policy_files(root_.path()), std::vector<fs::path>{"/etc/rdma-qos/policy.conf"});
    const auto skipped = skipped_policy_files(root_.path());
    ASSERT_EQ(skipped.size(), 1U);
    EXPECT_EQ(skipped.front().path, "/usr/lib/rdma-qos/policy.yaml");
    EXPECT_EQ(skipped.front().why, WhySkipped::Masked);

    const TempDir other;
    other.write("usr/lib/rdma-qos/policy.conf", kNative);
    other.write("etc/rdma-qos/policy.yaml", kYaml);
    EXPECT_EQ(host_policy_files(other.path()), std::vector<fs::path>{"/etc/rdma-qos/policy.yaml"});
}

TEST_F(NativeHostPolicy, BothKindsAtOnceAreAnError)
{
    root_.write("etc/rdma-qos/policy.yaml", kYaml);
    root_.write("etc/rdma-qos/policy.conf", kNative);
    EXPECT_EQ(message(), "/etc/rdma-qos/policy.conf: error: a native OpenSM policy cannot be combined with other "
                         "files, but there is also /etc/rdma-qos/policy.yaml\n      = hint: remove one of them, or "
                         "disable it with a link to /dev/null; `rdma-qosctl import-opensm` turns a native policy "
                         "into YAML\n");
}

TEST_F(NativeHostPolicy, DropInsBesideItAreAnError)
{
    root_.write("usr/lib/rdma-qos/policy.d/60-site.yaml", kYaml);
    root_.write("etc/rdma-qos/policy.conf", kNative);
    EXPECT_NE(message().find("/usr/lib/rdma-qos/policy.d/60-site.yaml"), std::string::npos);
    fs::create_directories(root_.path() / "etc/rdma-qos/policy.d");
    fs::create_symlink("/dev/null", root_.path() / "etc/rdma-qos/policy.d/60-site.yaml");
    EXPECT_TRUE(read().value);
}

TEST_F(NativeHostPolicy, ADisabledYamlIsNotInTheWay)
{
    root_.write("etc/rdma-qos/policy.conf", kNative);
    fs::create_symlink("/dev/null", root_.path() / "etc/rdma-qos/policy.yaml");
    EXPECT_TRUE(read().value);
}

TEST_F(NativeHostPolicy, SeveralGivenFilesMustBeOfOneKind)
{
    const auto source = [](std::string name, const std::string& text) {
        return std::make_shared<const SourceFile>(SourceFile{std::move(name), text});
    };
    EXPECT_TRUE(read_policy({source("a.conf", kNative)}, NameService::host()).value);
    EXPECT_FALSE(read_policy({source("a.conf", kNative), source("b.conf", kNative)}, NameService::host()).value);
    EXPECT_FALSE(read_policy({source("a.yaml", kYaml), source("b.conf", kNative)}, NameService::host()).value);
}

}    // namespace
}    // namespace rdmaqos::test
