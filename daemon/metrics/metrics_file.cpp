#include "daemon/metrics/metrics_file.h"

#include <cerrno>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "daemon/metrics/metrics_text.h"
#include "daemon/service/context.h"
#include "daemon/service/metrics_collector.h"
#include "daemon/service/policy_in_force.h"
#include "lib/base/file.h"
#include "lib/base/log.h"

namespace rdmaqos {
namespace {

// Says once what is wrong, and once that it is well again.
void report_outcome(const std::string& path, const Result<void>& written, std::string& problem)
{
    const std::string now = written ? std::string{} : to_string(written.error());
    if (now == problem) {
        return;
    }
    if (now.empty()) {
        log(LogLevel::Notice, {{"PATH", path}}, "the metrics are written to {} again", path);
    } else {
        log(LogLevel::Error, {{"PATH", path}},
            "the metrics cannot be written (`metrics: textfile`): {}; this is retried without another message", now);
    }
    problem = now;
}

}    // namespace

MetricsFile::MetricsFile(Service& service, Executor& executor, std::filesystem::path root)
    : service_(service), executor_(executor), root_(std::move(root)), calls_(executor)
{
    service_.context().add_observer(*this);
}

MetricsFile::~MetricsFile()
{
    service_.context().remove_observer(*this);
    timer_.reset();
    remove();
}

std::filesystem::path MetricsFile::path() const
{
    return below_root(root_, settings_.textfile);
}

void MetricsFile::start()
{
    const MetricsSettings& wanted = service_.in_force().settings().metrics;
    if (wanted == settings_) {
        return;
    }
    if (wanted.textfile != settings_.textfile) {
        remove();
    }
    settings_ = wanted;
    timer_.reset();
    if (!settings_.textfile.empty()) {
        tick();
    }
}

void MetricsFile::tick()
{
    timer_ = executor_.after(settings_.interval, [this] { tick(); });
    if (std::exchange(writing_, true)) {
        return;
    }
    service_.metrics().collect([this, alive = std::weak_ptr<int>(alive_)](const Metrics& metrics) {
        if (!alive.expired()) {
            write(metrics);
        }
    });
}

void MetricsFile::write(const Metrics& metrics)
{
    if (settings_.textfile.empty()) {
        writing_ = false;
        return;
    }
    calls_.run(
        worker_,
        [metrics, file = path().string(), problem = problem_] {
            report_outcome(file, write_file_atomically(file, to_prometheus(metrics)), *problem);
        },
        [this](const Result<void>&) { writing_ = false; });
}

void MetricsFile::remove()
{
    if (settings_.textfile.empty()) {
        return;
    }
    worker_.submit_always([file = path().string()] {
        if (unlink(file.c_str()) != 0 && errno != ENOENT) {
            log(LogLevel::Warning, {{"PATH", file}}, "the previous metrics remain: {}",
                to_string(error_from_errno(ErrorCode::Io, errno, file + " cannot be removed")));
        }
    });
}

}    // namespace rdmaqos
