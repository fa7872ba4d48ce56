#include "daemon/metrics/metrics_file.h"

#include <mutex>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "lib/base/log.h"
#include "tests/support/golden.h"
#include "tests/support/service_fixture.h"

namespace rdmaqos {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class KeptLog final : public LogSink {
public:
    void write(const LogRecord& record) noexcept override
    {
        if (record.level >= LogLevel::Notice && record.message.find("metrics") != std::string_view::npos) {
            const std::lock_guard lock(mutex_);
            lines_.emplace_back(record.message);
        }
    }
    [[nodiscard]] std::vector<std::string> lines() const
    {
        const std::lock_guard lock(mutex_);
        return lines_;
    }

private:
    mutable std::mutex mutex_;
    std::vector<std::string> lines_;
};

class MetricsFileTest : public test::ServiceFixture {
protected:
    void SetUp() override
    {
        auto sink = std::make_unique<KeptLog>();
        log = sink.get();
        set_log_sink(std::move(sink));
        fs::create_directories(root.path() / "out");
        policy("version: 1\nqos-levels: [{name: DEFAULT}]\n");
        settings("version: 1\nmetrics: {textfile: /out/rdma-qos.prom, interval: 10s}\n");
        start();
        ASSERT_TRUE(started.accepted) << started.to_text();
        file = std::make_unique<MetricsFile>(*service, loop, root.path());
        file->start();
    }
    void TearDown() override
    {
        file.reset();
        set_log_sink(nullptr);
    }

    [[nodiscard]] fs::path path(const std::string& name = "rdma-qos.prom") const { return root.path() / "out" / name; }
    [[nodiscard]] std::string text() const { return test::read_text(path().string()); }
    // Everything there is in the folder.
    [[nodiscard]] std::vector<std::string> files() const
    {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(root.path() / "out")) {
            names.push_back(entry.path().filename());
        }
        return names;
    }
    // Until the write that was begun is over.
    void written()
    {
        ASSERT_TRUE(loop.run_until([this] { return !file->is_writing(); }));
    }
    void round()
    {
        loop.advance(10s);
        written();
    }

    KeptLog* log = nullptr;
    std::unique_ptr<MetricsFile> file;
};

TEST_F(MetricsFileTest, IsWrittenAtOnceAndReplaced)
{
    written();
    EXPECT_NE(text().find("rdmaqos_sessions_registered_total 0\n"), std::string::npos);
    struct stat status {};
    ASSERT_EQ(stat(path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0644U);
    ASSERT_TRUE(register_as(PeerId{1}, process(1), asking_for("")));
    round();
    EXPECT_NE(text().find("rdmaqos_sessions_registered_total 1\n"), std::string::npos);
    EXPECT_EQ(files(), std::vector<std::string>{"rdma-qos.prom"}) << "no temporary file is left";
    EXPECT_TRUE(log->lines().empty());
}

TEST_F(MetricsFileTest, IsGoneWithTheDaemon)
{
    written();
    ASSERT_TRUE(fs::exists(path()));
    file.reset();
    EXPECT_TRUE(files().empty());
}

TEST_F(MetricsFileTest, AReloadMovesItOrEndsIt)
{
    written();
    settings("version: 1\nmetrics: {textfile: /out/other.prom}\n");
    ASSERT_TRUE(reload().accepted);
    written();
    EXPECT_EQ(files(), std::vector<std::string>{"other.prom"});
    settings("version: 1\n");
    ASSERT_TRUE(reload().accepted);
    round();
    file.reset();
    EXPECT_TRUE(files().empty());
}

TEST_F(MetricsFileTest, WhatIsWrongIsSaidOnceAndItsEndToo)
{
    written();
    fs::remove_all(root.path() / "out");
    round();
    round();
    ASSERT_EQ(log->lines().size(), 1U);
    EXPECT_NE(log->lines()[0].find("No such file or directory"), std::string::npos) << log->lines()[0];
    fs::create_directories(root.path() / "out");
    round();
    ASSERT_EQ(log->lines().size(), 2U);
    EXPECT_NE(log->lines()[1].find("again"), std::string::npos);
    EXPECT_TRUE(fs::exists(path()));
}

}    // namespace
}    // namespace rdmaqos
