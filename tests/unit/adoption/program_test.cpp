// Device files of programs, found in /proc and taken.
#include "daemon/adoption/program.h"

#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <sys/eventfd.h>
#include <sys/sysmacros.h>

#include "tests/unit/adoption/verbs_file.h"

namespace rdmaqos {
namespace {

using test::open_device;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

const dev_t kNull = makedev(1, 3);
const dev_t kZero = makedev(1, 5);

class Programs : public test::VerbsFiles {
protected:
    static std::vector<VerbsFile> list(const Program& program)
    {
        auto files = list_verbs_files(program);
        EXPECT_TRUE(files) << to_string(files.error());
        return files.value_or(std::vector<VerbsFile>());
    }
    // Those of this process that were not there before; a test may run below something that has /dev/null open.
    std::vector<VerbsFile> list_new()
    {
        std::vector<VerbsFile> files = list(*self);
        std::erase_if(files, [&](const VerbsFile& file) { return std::ranges::count(before, file) > 0; });
        return files;
    }
    Result<UniqueFd> take(const VerbsFile& file)
    {
        return take_verbs_file(*self, file, [this](UniqueFd fd) { put_aside.push_back(std::move(fd)); });
    }

    void SetUp() override
    {
        VerbsFiles::SetUp();
        if (IsSkipped()) {
            return;
        }
        self = program();
        before = list(*self);
    }

    std::shared_ptr<const Program> self;
    std::vector<VerbsFile> before;
    std::vector<UniqueFd> put_aside;
};

// ---- which process ----

TEST_F(Programs, APidIsAProcessOfItsTime)
{
    const test::IdleChild child;
    auto identity = std::make_shared<Identity>(*test::identity_of(child.pid()));
    ASSERT_TRUE(Program::open(identity));
    EXPECT_FALSE((*Program::open(identity))->has_ended());
    ++identity->start_time;
    const auto other = Program::open(identity);
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, ErrorCode::BadQueuePair);
    EXPECT_EQ(other.error().message, "process " + std::to_string(child.pid()) + " has ended");
}

TEST_F(Programs, ThatHasEnded)
{
    test::IdleChild child;
    const auto identity = test::identity_of(child.pid());
    const auto opened = program(child.pid());
    for (const bool reaped : {false, true}) {
        SCOPED_TRACE(reaped);
        child.end(reaped);
        EXPECT_TRUE(opened->has_ended());
        EXPECT_EQ(list_verbs_files(*opened).error().code, ErrorCode::BadQueuePair);
        const auto taken = take_verbs_file(*opened, {0, kNull}, [](UniqueFd) {});
        ASSERT_FALSE(taken);
        EXPECT_EQ(taken.error().code, ErrorCode::BadQueuePair);
    }
    EXPECT_EQ(Program::open(identity).error().code, ErrorCode::BadQueuePair);
}

TEST_F(Programs, ThatTheKernelRefuses)
{
    const test::IdleChild child([] { static_cast<void>(open("/dev/null", O_RDWR)); });
    const auto opened = program(child.pid());
    const auto says = [&](const auto& result) {
        return !result && result.error().code == ErrorCode::Unsupported &&
               result.error().message.find("use rdma-qos-run") != std::string::npos;
    };
    const int status = test::as_ordinary_user([&] {
        const bool listed = says(list_verbs_files(*opened));
        const bool taken = says(take_verbs_file(*opened, {0, kNull}, [](UniqueFd) {}));
        return (listed ? 1 : 0) + (taken ? 2 : 0);
    });
    EXPECT_EQ(status, 3);
}

// ---- which files ----

TEST_F(Programs, DeviceFilesAreListed)
{
    const UniqueFd null = open_device("/dev/null");
    const UniqueFd zero = open_device("/dev/zero");
    const UniqueFd full = open_device("/dev/full");
    const UniqueFd event(eventfd(0, 0));
    EXPECT_THAT(list_new(), UnorderedElementsAre(VerbsFile{null.get(), kNull}, VerbsFile{zero.get(), kZero}))
        << "/dev/full is no RDMA device here";
}

TEST_F(Programs, EachFileOnceHoweverManyDescriptorsItHas)
{
    const UniqueFd first = open_device("/dev/null");
    const UniqueFd same(dup(first.get()));
    const UniqueFd again = open_device("/dev/null");
    EXPECT_THAT(list_new(), ElementsAre(VerbsFile{first.get(), kNull}, VerbsFile{again.get(), kNull}));
}

// Both have it, and either's is the same file.
TEST_F(Programs, AFileSharedByFork)
{
    const UniqueFd mine = open_device("/dev/null");
    const test::IdleChild child;
    const auto other = program(child.pid());
    const auto here = list_new();
    ASSERT_THAT(here, SizeIs(1));
    auto there = list(*other);
    ASSERT_THAT(there, testing::Contains(here[0]));
    const auto taken = take_verbs_file(*other, here[0], [](UniqueFd) {});
    ASSERT_TRUE(taken);
    EXPECT_TRUE(is_same_open_file(taken->get(), mine.get()));
}

TEST_F(Programs, FilesThatAThreadHasOpened)
{
    UniqueFd opened;
    std::thread([&] { opened = open_device("/dev/null"); }).join();
    EXPECT_THAT(list_new(), ElementsAre(VerbsFile{opened.get(), kNull}));
}

TEST_F(Programs, ByTheNumberOfTheDeviceNotByItsName)
{
    const test::TempDir folder;
    const auto make = [&](const std::string& name, dev_t device) {
        const std::string path = (folder.path() / name).string();
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        return mknod(path.c_str(), S_IFCHR | 0600, device) == 0 ? open_device(path.c_str()) : UniqueFd();
    };
    folder.write("dev/infiniband/uverbs3", "a file");
    const UniqueFd regular = open_device((folder.path() / "dev/infiniband/uverbs3").c_str());
    ASSERT_TRUE(regular);
    EXPECT_THAT(list_new(), IsEmpty());
    const UniqueFd in_container = make("root/dev/whatever", kNull);
    const UniqueFd by_name = make("elsewhere/uverbs9", kZero);
    const UniqueFd other = make("root/dev/uverbs1", makedev(1, 7));
    if (!in_container || !by_name || !other) {
        GTEST_SKIP() << "no device files can be made there";
    }
    EXPECT_THAT(list_new(),
                UnorderedElementsAre(VerbsFile{in_container.get(), kNull}, VerbsFile{by_name.get(), kZero}));
}

TEST_F(Programs, MoreFilesThanAProgramHas)
{
    std::vector<UniqueFd> many;
    for (int i = 0; i < 65; ++i) {
        many.push_back(open_device("/dev/null"));
    }
    const auto listed = list_verbs_files(*self);
    ASSERT_FALSE(listed);
    EXPECT_EQ(listed.error().code, ErrorCode::LimitReached);
    EXPECT_THAT(listed.error().message, HasSubstr("it has to register, or be run with rdma-qos-run"));
}

// ---- taken ----

TEST_F(Programs, TheFileThatWasListed)
{
    const UniqueFd null = open_device("/dev/null");
    const auto taken = take({null.get(), kNull});
    ASSERT_TRUE(taken) << to_string(taken.error());
    EXPECT_NE(taken->get(), null.get());
    EXPECT_TRUE(is_same_open_file(taken->get(), null.get()));
    EXPECT_THAT(put_aside, IsEmpty());
}

// A program may put another file in its place between the look and the taking.
TEST_F(Programs, AnotherFileInItsPlace)
{
    struct Case {
        const char* path;
        bool is_aside;    // what was taken instead, which must not be closed here
    };
    const test::TempDir folder;
    folder.write("file", "");
    const std::string regular = (folder.path() / "file").string();
    for (const auto& each : {Case{"/dev/zero", true}, Case{regular.c_str(), true}, Case{nullptr, false}}) {
        UniqueFd null = open_device("/dev/null");
        const VerbsFile listed{null.get(), kNull};
        if (each.path == nullptr) {
            null.reset();
        } else {
            const UniqueFd other = open_device(each.path);
            ASSERT_EQ(dup2(other.get(), null.get()), null.get());
        }
        put_aside.clear();
        const auto taken = take(listed);
        ASSERT_FALSE(taken);
        EXPECT_EQ(taken.error().code, ErrorCode::BadQueuePair);
        EXPECT_THAT(taken.error().message, HasSubstr("has closed the device file that it had as descriptor"));
        ASSERT_THAT(put_aside, SizeIs(each.is_aside ? 1 : 0));
        if (each.is_aside) {
            EXPECT_TRUE(is_same_open_file(put_aside[0].get(), null.get()));
        }
    }
}

}    // namespace
}    // namespace rdmaqos
