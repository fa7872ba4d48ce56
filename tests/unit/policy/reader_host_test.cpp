// Files and directories: what is read of a host, and what cannot be read.
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/file.h"
#include "policy/load/host_files.h"
#include "policy/load/transient_files.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/policy/reader_support.h"

namespace rdmaqos::test {
namespace {

namespace fs = std::filesystem;

class HostPolicy : public testing::Test {
protected:
    HostPolicy()
    {
        std::string pattern = (fs::temp_directory_path() / "rdmaqos-reader-XXXXXX").string();
        root_ = mkdtemp(pattern.data());
    }
    ~HostPolicy() override { fs::remove_all(root_); }

    void write(const std::string& path, const std::string& text)
    {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
    }
    void link(const std::string& path, const std::string& target)
    {
        fs::create_directories((root_ / path).parent_path());
        fs::create_symlink(target, root_ / path);
    }
    [[nodiscard]] std::vector<std::string> files() const
    {
        std::vector<std::string> names;
        for (const auto& path : host_policy_files(root_)) {
            names.push_back(path.string());
        }
        return names;
    }
    [[nodiscard]] ReadResult<Policy> read() const { return read_host_policy(root_, fake_names()); }

    fs::path root_;
};

const std::string kGood = "version: 1\nqos-levels: [{name: DEFAULT}]\n";

TEST_F(HostPolicy, FilesMergeByNameWhicheverDirectoryTheyAreIn)
{
    for (const auto* path :
         {"usr/lib/rdma-qos/policy.d/10-a.yaml", "usr/lib/rdma-qos/policy.d/90-z.yaml", "usr/lib/rdma-qos/policy.yaml",
          "etc/rdma-qos/policy.yaml", "etc/rdma-qos/policy.d/20-b.yaml", "etc/rdma-qos/policy.d/50-policy.yaml",
          "etc/rdma-qos/policy.d/90-z.yaml", "etc/rdma-qos/policy.d/.hidden.yaml", "etc/rdma-qos/policy.d/notes.txt",
          "etc/rdma-qos/policy.d/20-b.yaml~"}) {
        write(path, kGood);
    }
    EXPECT_EQ(files(),
              (std::vector<std::string>{"/usr/lib/rdma-qos/policy.d/10-a.yaml", "/etc/rdma-qos/policy.d/20-b.yaml",
                                        "/etc/rdma-qos/policy.yaml", "/etc/rdma-qos/policy.d/50-policy.yaml",
                                        "/etc/rdma-qos/policy.d/90-z.yaml"}));
}

TEST_F(HostPolicy, RunStandsBetweenUsrLibAndEtc)
{
    for (const auto* path :
         {"usr/lib/rdma-qos/policy.yaml", "run/rdma-qos/policy.yaml", "usr/lib/rdma-qos/policy.d/10-a.yaml",
          "run/rdma-qos/policy.d/10-a.yaml", "etc/rdma-qos/policy.d/10-a.yaml", "usr/lib/rdma-qos/policy.d/20-b.yaml",
          "run/rdma-qos/policy.d/20-b.yaml", "run/rdma-qos/policy.d/30-c.yaml", "usr/lib/rdma-qos/policy.d/40-d.yaml",
          "run/rdma-qos/fabric.yaml"}) {
        write(path, kGood);
    }
    link("run/rdma-qos/policy.d/40-d.yaml", "/dev/null");
    EXPECT_EQ(files(), (std::vector<std::string>{"/etc/rdma-qos/policy.d/10-a.yaml", "/run/rdma-qos/policy.d/20-b.yaml",
                                                 "/run/rdma-qos/policy.d/30-c.yaml", "/run/rdma-qos/policy.yaml"}));
    std::vector<std::string> masked;
    for (const auto& file : skipped_policy_files(root_)) {
        masked.push_back(file.path.string() + " " + file.masked_by.string());
    }
    EXPECT_EQ(masked, (std::vector<std::string>{"/run/rdma-qos/policy.d/10-a.yaml /etc/rdma-qos/policy.d/10-a.yaml",
                                                "/run/rdma-qos/policy.d/40-d.yaml ",
                                                "/usr/lib/rdma-qos/policy.d/10-a.yaml /run/rdma-qos/policy.d/10-a.yaml",
                                                "/usr/lib/rdma-qos/policy.d/20-b.yaml /run/rdma-qos/policy.d/20-b.yaml",
                                                "/usr/lib/rdma-qos/policy.d/40-d.yaml /run/rdma-qos/policy.d/40-d.yaml",
                                                "/usr/lib/rdma-qos/policy.yaml /run/rdma-qos/policy.yaml"}));
}

TEST_F(HostPolicy, AFileOfAnotherNameThatWasMeantIsAWarning)
{
    write("etc/rdma-qos/policy.yaml", kGood);
    for (const auto* path :
         {"etc/rdma-qos/policy.yml", "etc/rdma-qos/policy.d/60-a.yml", "run/rdma-qos/policy.d/B.YAML",
          "etc/rdma-qos/policy.d/70-c.conf", "etc/rdma-qos/policy.d/README", "etc/rdma-qos/policy.d/60-a.yaml~",
          "etc/rdma-qos/policy.d/60-a.yaml.dpkg-old"}) {
        write(path, kGood);
    }
    const auto result = read();
    EXPECT_TRUE(result.value);
    EXPECT_EQ(shown(result),
              R"(/etc/rdma-qos/policy.d/60-a.yml: warning: is not read: the names of policy files end in .yaml
      = hint: rename it to 60-a.yaml
/etc/rdma-qos/policy.d/70-c.conf: warning: is not read: the names of policy files end in .yaml
      = hint: rename it to 70-c.yaml
/etc/rdma-qos/policy.yml: warning: is not read: the names of policy files end in .yaml
      = hint: rename it to policy.yaml
/run/rdma-qos/policy.d/B.YAML: warning: is not read: the names of policy files end in .yaml
      = hint: rename it to B.yaml
4 warnings
)");
}

TEST_F(HostPolicy, AProposedFileIsReadInItsPlace)
{
    write("etc/rdma-qos/policy.yaml", kGood);
    write("etc/rdma-qos/policy.d/60-a.yaml", "broken: [");
    const auto tried = [&](const char* place, const char* text) {
        return read_host_policy(root_, {place, with_version(text, "new.yaml")}, fake_names());
    };
    EXPECT_FALSE(tried("/etc/rdma-qos/policy.d/70-b.yaml", "").value) << "with the broken one beside it";
    const auto instead = tried("/etc/rdma-qos/policy.d/60-a.yaml", "qos-levels: [{name: DEFAULT, sl: 3}]");
    ASSERT_TRUE(instead.value) << shown(instead);
    EXPECT_EQ(instead.value->levels.at(0).sl, 3);
    EXPECT_EQ(instead.value->sources.at(1)->name, "new.yaml");
    link("etc/rdma-qos/policy.d/80-off.yaml", "/dev/null");
    fs::remove(root_ / "etc/rdma-qos/policy.d/60-a.yaml");
    EXPECT_EQ(tried("/etc/rdma-qos/policy.d/80-off.yaml", "").value->sources.size(), 2U) << "no longer disabled";
    EXPECT_EQ(tried("/run/rdma-qos/policy.d/80-off.yaml", "").value->sources.size(), 1U) << "masked by the link";
    EXPECT_EQ(tried("/run/rdma-qos/policy.d/10-first.yaml", "").value->sources.front()->name, "new.yaml");
    EXPECT_EQ(tried("/etc/rdma-qos/policy.yaml", "qos-levels: [{name: DEFAULT, sl: 4}]").value->levels.at(0).sl, 4);
}

TEST_F(HostPolicy, WhatHasEndedIsAsIfItWereNotThere)
{
    const std::string past = "version: 1\ntransient: {until: 2020-01-01T00:00:00Z}\n";
    const std::string future = "version: 1\ntransient: {until: 9999-12-31T23:59:59+01:00, owner: me}\n";
    write("etc/rdma-qos/policy.yaml", kGood);
    write("usr/lib/rdma-qos/policy.d/10-masked.yaml", kGood);
    write("run/rdma-qos/policy.d/10-masked.yaml", past);
    write("run/rdma-qos/policy.d/20-future.yaml", future);
    write("run/rdma-qos/policy.d/30-gone.yaml", "version: 1\ntransient: {cgroup: /job/one}\n");
    write("run/rdma-qos/policy.d/40-there.yaml", "version: 1\ntransient: {cgroup: /job}\n");
    EXPECT_EQ(files().size(), 5U) << "without cgroup v2 nobody knows";
    write("sys/fs/cgroup/cgroup.controllers", "cpu\n");
    fs::create_directories(root_ / "sys/fs/cgroup/job");
    EXPECT_EQ(files(), (std::vector<std::string>{"/usr/lib/rdma-qos/policy.d/10-masked.yaml",
                                                 "/run/rdma-qos/policy.d/20-future.yaml",
                                                 "/run/rdma-qos/policy.d/40-there.yaml", "/etc/rdma-qos/policy.yaml"}));
    const auto skipped = skipped_policy_files(root_);
    ASSERT_EQ(skipped.size(), 2U);
    EXPECT_EQ(skipped[0].ended, "its time has passed (2020-01-01T00:00:00Z)");
    EXPECT_EQ(skipped[1].ended, "the cgroup /job/one is gone");
    EXPECT_TRUE(read().value) << shown(read());

    write("etc/rdma-qos/policy.d/50-for-good.yaml", future);
    expect_only_error(read(), "`transient` is for files in /run/rdma-qos: this one stays for good");
}

// What is in force keeps its text; only the transient files are those of the disk.
TEST_F(HostPolicy, TransientFilesAreMergedIntoWhatIsInForce)
{
    write("etc/rdma-qos/policy.yaml", kGood);
    write("etc/rdma-qos/policy.d/60-a.yaml", "version: 1\n# in force\n");
    write("usr/lib/rdma-qos/policy.d/20-b.yaml", "version: 1\n# vendor\n");
    write("run/rdma-qos/policy.d/20-b.yaml", "version: 1\n");
    const auto before = read();
    ASSERT_TRUE(before.value);
    const auto names_of = [&](const ReadResult<Policy>& read) {
        std::vector<std::string> names;
        for (const auto& source : read.value->sources) {
            names.push_back(source->name + (source->text.find('#') == std::string::npos ? "" : " #"));
        }
        return names;
    };
    using Names = std::vector<std::string>;
    const Names in_force{"/run/rdma-qos/policy.d/20-b.yaml", "/etc/rdma-qos/policy.yaml",
                         "/etc/rdma-qos/policy.d/60-a.yaml #"};
    ASSERT_EQ(names_of(before), in_force);

    write("etc/rdma-qos/policy.yaml", "not a policy");
    fs::remove(root_ / "etc/rdma-qos/policy.d/60-a.yaml");
    link("etc/rdma-qos/policy.d/60-a.yaml", "/dev/null");
    write("etc/rdma-qos/policy.d/70-new.yaml", kGood);
    write("etc/rdma-qos/policy.d/30-c.yaml", kGood);
    link("etc/rdma-qos/policy.d/40-d.yaml", "/dev/null");
    write("usr/lib/rdma-qos/policy.yaml", kGood);
    EXPECT_EQ(read().value, nullptr);
    const auto same = read_running_policy(root_, before.value->sources, fake_names());
    ASSERT_TRUE(same.value) << render(same.diagnostics, Colour::Off);
    EXPECT_EQ(names_of(same), in_force);
    EXPECT_EQ(same.value->revision, before.value->revision);

    // One that comes, one that /etc disables, one that goes and shows what it has masked.
    write("run/rdma-qos/policy.d/30-c.yaml", "version: 1\n");
    write("run/rdma-qos/policy.d/40-d.yaml", "version: 1\n");
    fs::remove(root_ / "run/rdma-qos/policy.d/20-b.yaml");
    const auto changed = read_running_policy(root_, before.value->sources, fake_names());
    ASSERT_TRUE(changed.value) << render(changed.diagnostics, Colour::Off);
    EXPECT_EQ(names_of(changed), (Names{"/usr/lib/rdma-qos/policy.d/20-b.yaml #", "/run/rdma-qos/policy.d/30-c.yaml",
                                        "/etc/rdma-qos/policy.yaml", "/etc/rdma-qos/policy.d/60-a.yaml #"}));
    const auto text = std::make_shared<SourceFile>(SourceFile{"/run/rdma-qos/policy.d/10-x.yaml", "version: 1\n"});
    const auto proposed = read_running_policy(root_, before.value->sources, {"/run/rdma-qos/policy.d/10-x.yaml", text},
                                              fake_names());
    ASSERT_TRUE(proposed.value);
    EXPECT_EQ(names_of(proposed).front(), "/run/rdma-qos/policy.d/10-x.yaml");
}

TEST_F(HostPolicy, ABrokenTransientFileIsReportedAndDoesNotEnd)
{
    write("etc/rdma-qos/policy.yaml", kGood);
    write("run/rdma-qos/policy.d/10-broken.yaml", "version: 1\ntransient: {until: 2020-01-01T00:00:00Z, untill: 1}\n");
    EXPECT_EQ(files().size(), 2U);
    EXPECT_FALSE(read().value);
    EXPECT_EQ(find_transient_files(root_, std::chrono::system_clock::now()).at(0).transient, Transient{});
}

TEST(TransientLock, IsHeldByOneAtATime)
{
    const TempDir root;
    {
        const auto lock = TransientLock::wait(root.path());
        ASSERT_TRUE(lock) << to_string(lock.error());
        const auto second = TransientLock::try_now(root.path());
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().code, ErrorCode::Busy);
    }
    EXPECT_TRUE(TransientLock::try_now(root.path()));
    using fs::perms;
    EXPECT_EQ(fs::status(root.path() / "var/lib/rdma-qos/policy.lock").permissions(),
              perms::owner_read | perms::owner_write);
    EXPECT_EQ(fs::status(root.path() / "var/lib/rdma-qos").permissions(), perms::owner_all);
    EXPECT_FALSE(fs::exists(root.path() / "run/rdma-qos/.policy.lock")) << "containers have this folder";
}

TEST(TimeOfATransient, IsReadAndWritten)
{
    for (const char* text :
         {"2026-11-23T22:00:00Z", "2024-02-29T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"}) {
        const auto time = parse_time(text);
        ASSERT_TRUE(time) << text;
        EXPECT_EQ(utc_text(*time), text);
    }
    EXPECT_EQ(utc_text(*parse_time("2026-11-24 00:30:00+02:30")), "2026-11-23T22:00:00Z");
    EXPECT_EQ(utc_text(*parse_time("2026-11-23t20:00:00-02:00")), "2026-11-23T22:00:00Z");
    for (const char* text :
         {"", "2026-11-23", "2026-11-23T22:00:00", "2026-11-23T22:00Z", "2026-13-01T00:00:00Z", "2025-02-29T00:00:00Z",
          "2026-11-23T24:00:00Z", "2026-11-23T22:60:00Z", "2026-11-23T22:00:60Z", "2026-11-23T22:00:00Z ",
          "2026-11-23T22:00:00+0100", "26-11-23T22:00:00Z"}) {
        EXPECT_FALSE(parse_time(text)) << text;
    }
}

TEST(PlaceOf, IsWhereAPolicyIsLookedFor)
{
    EXPECT_EQ(*place_of("policy.d/60-new.yaml"), "/etc/rdma-qos/policy.d/60-new.yaml");
    EXPECT_EQ(*place_of("./policy.yaml"), "/etc/rdma-qos/policy.yaml");
    EXPECT_EQ(*place_of("policy.conf"), "/etc/rdma-qos/policy.conf");
    EXPECT_EQ(*place_of("/run/rdma-qos/policy.d/10-x.yaml"), "/run/rdma-qos/policy.d/10-x.yaml");
    for (const char* name : {"", "60-new.yaml", "policy.d/60-new.yml", "policy.d/.yaml", "policy.d/x/y.yaml",
                             "../policy.yaml", "/etc/policy.d/60-new.yaml", "policy.d/../../x.yaml"}) {
        EXPECT_FALSE(place_of(name)) << name;
    }
}

TEST_F(HostPolicy, ALinkToDevNullDisables)
{
    write("usr/lib/rdma-qos/policy.yaml", kGood);
    write("usr/lib/rdma-qos/policy.d/10-a.yaml", "broken: [");
    link("etc/rdma-qos/policy.d/10-a.yaml", "/dev/null");
    EXPECT_EQ(files(), std::vector<std::string>{"/usr/lib/rdma-qos/policy.yaml"});
    EXPECT_TRUE(read().value);
    link("etc/rdma-qos/policy.yaml", "/dev/null");
    EXPECT_TRUE(files().empty());
    expect_only_error(read(), "there is no policy file");
}

TEST_F(HostPolicy, NamesFilesAsTheUserKnowsThem)
{
    write("etc/rdma-qos/policy.yaml", "version: 1\nqos-levels: [{name: DEFAULT, sl: 99}]\n");
    EXPECT_EQ(read().diagnostics.all().at(0).location.to_string(), "/etc/rdma-qos/policy.yaml:2:34");
}

TEST_F(HostPolicy, NoFileSaysWhereOneIsExpected)
{
    const auto result = read();
    expect_only_error(result, "there is no policy file");
    EXPECT_NE(shown(result).find("/etc/rdma-qos/policy.yaml"), std::string::npos);
}

TEST_F(HostPolicy, WhatCannotBeReadIsReportedWithTheRest)
{
    write("etc/rdma-qos/policy.yaml", "version: 1\nqos-levels: [{name: DEFAULT, sl: 99}]\n"
                                      "qos-match-rules: [{pkey: 1, qos-level-name: perhaps-there}]\n");
    fs::create_directories(root_ / "etc/rdma-qos/policy.d/60-dir.yaml");
    ASSERT_EQ(mkfifo((root_ / "etc/rdma-qos/policy.d/70-fifo.yaml").c_str(), 0600), 0);
    link("etc/rdma-qos/policy.d/80-dangling.yaml", "nowhere");
    const auto result = read();
    EXPECT_EQ(result.value, nullptr);
    EXPECT_EQ(shown(result), R"(/etc/rdma-qos/policy.d/60-dir.yaml: error: is a directory, not a regular file
/etc/rdma-qos/policy.d/70-fifo.yaml: error: is a FIFO, not a regular file
/etc/rdma-qos/policy.d/80-dangling.yaml: error: is a link to nowhere, which is not there
/etc/rdma-qos/policy.yaml:2:34: error: `sl` must be from 0 to 15, not 99
    2 | qos-levels: [{name: DEFAULT, sl: 99}]
      |                                  ^~
4 errors
)");
}

TEST_F(HostPolicy, ADirectoryThatCannotBeListedIsReported)
{
    write("etc/rdma-qos/policy.yaml", kGood);
    write("etc/rdma-qos/policy.d", "a file where a directory should be");
    const auto result = read();
    expect_only_error(result, "cannot be listed (Not a directory)");
}

TEST_F(HostPolicy, OneFileOfAnyKindGivesADiagnostic)
{
    write("good.yaml", kGood);
    EXPECT_TRUE(read_policy_file(root_ / "good.yaml", fake_names()).value);
    expect_only_error(read_policy_file(root_ / "none.yaml", fake_names()),
                      "cannot be opened (No such file or directory)");
    expect_only_error(read_policy_file(root_, fake_names()), "is a directory, not a regular file");
    expect_only_error(read_policy_file("/dev/zero", fake_names()), "is a device, not a regular file");
    const fs::path fifo = root_ / "fifo";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    expect_only_error(read_policy_file(fifo, fake_names()), "is a FIFO, not a regular file");
    write("huge.yaml", "");
    fs::resize_file(root_ / "huge.yaml", 1ULL << 30U);
    expect_only_error(read_policy_file(root_ / "huge.yaml", fake_names()),
                      "is 1073741824 bytes large; at most 8 MiB is read");
}

TEST_F(HostPolicy, ADescriptorIsReadFromItsStart)
{
    write("good.yaml", kGood);
    const UniqueFd fd(open((root_ / "good.yaml").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_EQ(lseek(fd.get(), 5, SEEK_SET), 5);
    const auto result = read_policy_fd(fd.get(), "passed.yaml", fake_names());
    ASSERT_TRUE(result.value) << shown(result);
    EXPECT_EQ(result.value->sources.at(0)->name, "passed.yaml");
    EXPECT_EQ(lseek(fd.get(), 0, SEEK_CUR), 5);
    expect_only_error(read_policy_fd(-1, "closed.yaml", fake_names()), "cannot be read (Bad file descriptor)");
}

TEST(HostNames, KnowRoot)
{
    const NameService names = NameService::host();
    EXPECT_EQ(names.uid_of("root"), 0U);
    EXPECT_EQ(names.gid_of("root"), 0U);
    EXPECT_EQ(names.uid_of("no-such-user-here"), std::nullopt);
    EXPECT_EQ(names.gid_of("no-such-group-here"), std::nullopt);
}

}    // namespace
}    // namespace rdmaqos::test
