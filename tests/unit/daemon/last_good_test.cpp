#include "daemon/service/last_good.h"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace rdmaqos {
namespace {

TEST(LastGood, ComesBackAsItWasSaved)
{
    const test::TempDir root;
    const Sources sources{
        std::make_shared<SourceFile>(SourceFile{"/etc/rdma-qos/policy.yaml", "version: 1\n# \"ü\"\n"}),
        std::make_shared<SourceFile>(SourceFile{"/etc/rdma-qos/policy.d/60-b.yaml", "version: 1\n"})};
    ASSERT_TRUE(save_last_good(root.path(), sources));
    const auto loaded = load_last_good(root.path());
    ASSERT_TRUE(loaded);
    ASSERT_EQ(loaded->size(), 2U);
    EXPECT_EQ(loaded->at(0)->name, sources[0]->name);
    EXPECT_EQ(loaded->at(0)->text, sources[0]->text);
    EXPECT_EQ(loaded->at(1)->name, sources[1]->name);
}

TEST(LastGood, NoneIsNotAnError)
{
    const test::TempDir root;
    const auto loaded = load_last_good(root.path());
    ASSERT_TRUE(loaded);
    EXPECT_TRUE(loaded->empty());
}

TEST(LastGood, ADamagedFileIsAnError)
{
    const test::TempDir root;
    std::filesystem::create_directories(root.path() / "var/lib/rdma-qos");
    for (const std::string text :
         {"", "[]", "{\"schema\": 2, \"files\": []}", "{\"schema\": \"1\", \"files\": []}",
          "{\"schema\": 1, \"files\": [1]}", "{\"schema\": 1, \"files\": [{\"name\": 1, \"text\": \"\"}]}"}) {
        std::ofstream(root.path() / "var/lib/rdma-qos/last-good-policy.json") << text;
        EXPECT_FALSE(load_last_good(root.path())) << text;
    }
}

TEST(LastGood, ALinkToItselfIsAnErrorAndReplaced)
{
    const test::TempDir root;
    const auto folder = root.path() / "var/lib/rdma-qos";
    std::filesystem::create_directories(folder);
    std::filesystem::create_symlink("last-good-policy.json", folder / "last-good-policy.json");
    const auto loaded = load_last_good(root.path());
    ASSERT_FALSE(loaded);
    EXPECT_EQ(loaded.error().sys_errno, ELOOP);
    ASSERT_TRUE(save_last_good(root.path(), {}));
    EXPECT_TRUE(load_last_good(root.path()));
}

}    // namespace
}    // namespace rdmaqos
