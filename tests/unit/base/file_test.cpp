#include "lib/base/file.h"

#include <cerrno>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace rdmaqos {
namespace {

class FileTest : public testing::Test {
protected:
    void SetUp() override
    {
        std::string name = (std::filesystem::temp_directory_path() / "rdmaqos-file-test.XXXXXX").string();
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        dir_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(dir_); }

    std::filesystem::path make(const std::string& name, const std::string& text)
    {
        std::ofstream(dir_ / name, std::ios::binary) << text;
        return dir_ / name;
    }
    [[nodiscard]] std::size_t entries() const
    {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(dir_), {}));
    }

    std::filesystem::path dir_;
};

bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

TEST_F(FileTest, UniqueFdClosesOnceAndMoves)
{
    UniqueFd first(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const int number = first.get();
    ASSERT_TRUE(first);
    UniqueFd second(std::move(first));
    EXPECT_TRUE(is_open(number));
    UniqueFd third(open("/dev/null", O_RDONLY | O_CLOEXEC));
    const int replaced = third.get();
    third = std::move(second);
    EXPECT_FALSE(is_open(replaced));
    EXPECT_EQ(third.get(), number);
    auto& self = third;
    third = std::move(self);
    EXPECT_TRUE(is_open(number));
    const int released = third.release();
    EXPECT_FALSE(third);
    EXPECT_TRUE(is_open(released));
    UniqueFd(released).reset();
    EXPECT_FALSE(is_open(released));
}

TEST_F(FileTest, ReadsWholeRegularFiles)
{
    const std::string binary("a\0b\xff\n", 5);
    for (const std::string& text : {std::string(), std::string("x"), binary, std::string(100'000, 'y')}) {
        const auto path = make("file", text);
        const auto read = read_regular_file(path, 100'000);
        ASSERT_TRUE(read) << read.error().message;
        EXPECT_EQ(*read, text);
    }
}

TEST_F(FileTest, LimitIsInclusive)
{
    const auto path = make("file", std::string(10, 'x'));
    EXPECT_TRUE(read_regular_file(path, 10));
    const auto refused = read_regular_file(path, 9);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "is 10 bytes large; at most 9 B is read");
    EXPECT_EQ(refused.error().code, ErrorCode::Io);
}

TEST_F(FileTest, LargeSparseFileIsRefusedWithoutReading)
{
    const auto path = make("file", "");
    std::filesystem::resize_file(path, 1ULL << 40U);
    const auto refused = read_regular_file(path, kMaxConfigFileSize);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("at most 16 MiB"), std::string::npos);
}

TEST_F(FileTest, WhatIsNotARegularFileIsRefusedByName)
{
    const auto fifo = dir_ / "fifo";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    EXPECT_EQ(read_regular_file(fifo, 100).error().message, "is a FIFO, not a regular file");
    EXPECT_EQ(read_regular_file(dir_, 100).error().message, "is a directory, not a regular file");
    EXPECT_EQ(read_regular_file("/dev/null", 100).error().message, "is a device, not a regular file");

    int pair[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    const UniqueFd one(pair[0]);
    const UniqueFd two(pair[1]);
    EXPECT_EQ(read_regular_file(one.get(), 100).error().message, "is a socket, not a regular file");
}

TEST_F(FileTest, OpenErrorsCarryTheirErrno)
{
    const auto missing = read_regular_file(dir_ / "none", 100);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().sys_errno, ENOENT);
    std::filesystem::create_symlink("loop", dir_ / "loop");
    EXPECT_EQ(read_regular_file(dir_ / "loop", 100).error().sys_errno, ELOOP);
}

TEST_F(FileTest, LinksAreFollowed)
{
    make("file", "text");
    std::filesystem::create_symlink("file", dir_ / "link");
    EXPECT_EQ(*read_regular_file(dir_ / "link", 100), "text");
}

// Not "no such file": the link is there, and a unit may not see where it leads.
TEST_F(FileTest, ALinkThatLeadsNowhereIsNamed)
{
    std::filesystem::create_symlink("/home/nobody/policy.yaml", dir_ / "to-home");
    const auto hidden = read_regular_file(dir_ / "to-home", 100);
    ASSERT_FALSE(hidden);
    EXPECT_EQ(hidden.error().sys_errno, 0) << "it does not count as absent";
    EXPECT_EQ(
        hidden.error().message,
        "is a link to /home/nobody/policy.yaml, which is not there; rdma-qosd.service does not see /home, /root and "
        "/run/user (ProtectHome=)");
    std::filesystem::create_symlink(dir_ / "gone", dir_ / "elsewhere");
    EXPECT_EQ(read_regular_file(dir_ / "elsewhere", 100).error().message,
              "is a link to " + (dir_ / "gone").string() + ", which is not there");
}

TEST_F(FileTest, DescriptorKeepsItsOffset)
{
    const auto path = make("file", "0123456789");
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(lseek(fd.get(), 4, SEEK_SET), 4);
    EXPECT_EQ(*read_regular_file(fd.get(), 100), "0123456789");
    EXPECT_EQ(lseek(fd.get(), 0, SEEK_CUR), 4);
}

TEST_F(FileTest, DescriptorMayBeAMemfdButMustBeReadable)
{
    const UniqueFd memory(memfd_create("policy", MFD_CLOEXEC));
    ASSERT_EQ(write(memory.get(), "abc", 3), 3);
    EXPECT_EQ(*read_regular_file(memory.get(), 100), "abc");

    const auto path = make("file", "x");
    const UniqueFd write_only(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(read_regular_file(write_only.get(), 100).error().sys_errno, EBADF);
    const UniqueFd by_path(open(path.c_str(), O_PATH | O_CLOEXEC));
    EXPECT_EQ(read_regular_file(by_path.get(), 100).error().sys_errno, EBADF);
    EXPECT_EQ(read_regular_file(-1, 100).error().sys_errno, EBADF);
}

TEST_F(FileTest, ReadsKernelFilesOfUnknownSize)
{
    const auto status = read_kernel_file("/proc/self/status");
    ASSERT_TRUE(status);
    EXPECT_NE(status->find("Pid:"), std::string::npos);
    const auto big = make("big", std::string(10'000, 'z'));
    EXPECT_EQ(read_kernel_file(big, 10'000)->size(), 10'000U);
    const auto refused = read_kernel_file(big, 9'999);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, big.string() + ": is larger than 9999 B, the most that is read");
}

TEST_F(FileTest, KernelFileErrorsNameThePath)
{
    const auto missing = read_kernel_file(dir_ / "none");
    EXPECT_EQ(missing.error().sys_errno, ENOENT);
    EXPECT_EQ(missing.error().message, (dir_ / "none").string() + ": cannot be opened");
    EXPECT_EQ(read_kernel_file(dir_).error().sys_errno, EISDIR);
    ASSERT_EQ(mkfifo((dir_ / "fifo").c_str(), 0600), 0);
    EXPECT_FALSE(read_kernel_file(dir_ / "fifo"));
}

TEST_F(FileTest, WritesAtomically)
{
    const auto path = dir_ / "state";
    ASSERT_TRUE(write_file_atomically(path, "one"));
    const UniqueFd reader(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(write_file_atomically(path, "two"));
    EXPECT_EQ(*read_regular_file(path, 100), "two");
    EXPECT_EQ(*read_regular_file(reader.get(), 100), "one");
    EXPECT_EQ(entries(), 1U);
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0644U);
}

TEST_F(FileTest, NobodyElseReadsAStateFile)
{
    const auto path = dir_ / "state";
    ASSERT_TRUE(write_file_atomically(path, "readable, as an earlier version wrote it"));
    ASSERT_TRUE(write_state_file(path, "three"));
    EXPECT_EQ(*read_regular_file(path, 100), "three");
    EXPECT_EQ(entries(), 1U);
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(FileTest, FailedWriteLeavesNothingBehind)
{
    EXPECT_EQ(write_file_atomically(dir_ / "no" / "file", "x").error().sys_errno, ENOENT);
    EXPECT_EQ(write_state_file(dir_ / "no" / "file", "x").error().sys_errno, ENOENT);
    std::filesystem::create_directories(dir_ / "busy" / "child");
    const auto refused = write_file_atomically(dir_ / "busy", "x");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, (dir_ / "busy").string() + ": cannot be replaced");
    EXPECT_EQ(entries(), 1U);
}

TEST_F(FileTest, AReplacedFileKeepsOwnerModeAndLink)
{
    const auto file = make("site.yaml", "old");
    const bool is_root = geteuid() == 0;
    ASSERT_EQ(chmod(file.c_str(), 0640), 0);
    ASSERT_TRUE(!is_root || chown(file.c_str(), 65534, 65533) == 0);
    std::filesystem::create_symlink("site.yaml", dir_ / "policy.yaml");
    const auto replaced = replace_file(dir_ / "policy.yaml", "new");
    ASSERT_TRUE(replaced) << to_string(replaced.error());
    EXPECT_EQ(read_regular_file(file, 100), "new");
    EXPECT_TRUE(std::filesystem::is_symlink(dir_ / "policy.yaml"));
    struct stat status {};
    ASSERT_EQ(stat(file.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0640U);
    EXPECT_TRUE(!is_root || (status.st_uid == 65534 && status.st_gid == 65533));
    EXPECT_EQ(entries(), 2U) << "nothing else is left";
}

TEST_F(FileTest, AFileThatIsNotThereIsMade)
{
    ASSERT_TRUE(replace_file(dir_ / "new", "text"));
    struct stat status {};
    ASSERT_EQ(stat((dir_ / "new").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0644U);
}

TEST_F(FileTest, WhatIsNoRegularFileIsNotReplaced)
{
    std::filesystem::create_directories(dir_ / "folder");
    EXPECT_EQ(replace_file(dir_ / "folder", "x").error().message,
              (dir_ / "folder").string() + ": is a directory, not a regular file");
    std::filesystem::create_symlink("/dev/null", dir_ / "masked");
    EXPECT_FALSE(replace_file(dir_ / "masked", "x"));
    std::filesystem::create_symlink("gone", dir_ / "dangling");
    EXPECT_EQ(replace_file(dir_ / "dangling", "x").error().sys_errno, ENOENT);
    EXPECT_EQ(replace_file(dir_ / "no" / "file", "x").error().sys_errno, ENOENT);
    EXPECT_EQ(entries(), 3U);
}

TEST_F(FileTest, AStampTellsAFileThatWasTouched)
{
    const auto file = make("a", "1");
    const FileStamp before = stamp_of(file);
    EXPECT_NE(before, FileStamp{});
    EXPECT_EQ(stamp_of(file), before);
    std::filesystem::create_symlink(file, dir_ / "link");
    EXPECT_EQ(stamp_of(dir_ / "link").inode, before.inode);
    make("a", "12");
    EXPECT_NE(stamp_of(file), before);
    const FileStamp written = stamp_of(file);
    std::filesystem::rename(make("b", "12"), file);
    EXPECT_NE(stamp_of(file), written);
    std::filesystem::remove(file);
    EXPECT_EQ(stamp_of(file), FileStamp{});
    EXPECT_EQ(stamp_of(dir_ / "link"), FileStamp{});
}

TEST(BelowRoot, Joins)
{
    EXPECT_EQ(below_root("", "/etc/rdma-qos"), "/etc/rdma-qos");
    EXPECT_EQ(below_root("/", "/etc/rdma-qos"), "/etc/rdma-qos");
    EXPECT_EQ(below_root("/tmp/r", "/etc/rdma-qos"), "/tmp/r/etc/rdma-qos");
    EXPECT_EQ(below_root("/tmp/r/", "/proc"), "/tmp/r/proc");
}

}    // namespace
}    // namespace rdmaqos
