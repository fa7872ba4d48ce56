// What a process or a thread has had of the processors, and how long it had to wait for one: what it did in the time
// that passed, whatever else the machine did meanwhile.
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

namespace rdmaqos::test {

inline std::chrono::nanoseconds time_of_clock(clockid_t clock)
{
    timespec used{};
    return clock_gettime(clock, &used) == 0 ? std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec)
                                            : std::chrono::nanoseconds(0);
}

// Of the calling thread: what a function without threads and waits costs.
inline std::chrono::nanoseconds own_processor_time()
{
    return time_of_clock(CLOCK_THREAD_CPUTIME_ID);
}

// Of all threads of a process, in seconds.
inline double processor_time(pid_t pid)
{
    clockid_t clock = 0;
    return clock_getcpuclockid(pid, &clock) == 0 ? std::chrono::duration<double>(time_of_clock(clock)).count() : 0;
}

// How long threads have been ready to run while other programs had the processors: what is left of a time that passed
// meanwhile is what they did, or waited for somebody else.
class ReadyButWaiting {
public:
    // All threads of a process, or only its first one.
    void add(pid_t process) { folders_.push_back("/proc/" + std::to_string(process) + "/task"); }
    void add_main_thread(pid_t process) { add_thread(process, process); }
    void add_own_thread() { add_thread(getpid(), gettid()); }
    // Those that it has now.
    void add_all_threads(pid_t process)
    {
        std::error_code gone;
        for (const auto& thread :
             std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task", gone)) {
            files_.push_back(thread.path() / "schedstat");
        }
    }
    // Of a process that has ended, and was not waited for yet.
    void add_ended(pid_t process) { ended_ += seconds_in("/proc/" + std::to_string(process) + "/schedstat"); }

    // In seconds, of all together.
    [[nodiscard]] double so_far() const
    {
        double sum = ended_;
        for (const auto& file : files_) {
            sum += seconds_in(file);
        }
        for (const auto& folder : folders_) {
            std::error_code gone;
            for (const auto& thread : std::filesystem::directory_iterator(folder, gone)) {
                sum += seconds_in(thread.path() / "schedstat");
            }
        }
        return sum;
    }

private:
    void add_thread(pid_t process, pid_t thread)
    {
        files_.push_back("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/schedstat");
    }
    static double seconds_in(const std::filesystem::path& schedstat)
    {
        double ran = 0;
        double waited = 0;
        std::ifstream(schedstat) >> ran >> waited;
        return waited / 1e9;
    }

    std::vector<std::filesystem::path> folders_;
    std::vector<std::filesystem::path> files_;
    double ended_ = 0;
};

// The time since its construction, less what those threads waited for a processor.
class TimeOfOurs {
public:
    explicit TimeOfOurs(const ReadyButWaiting& waiting) : waiting_(waiting), waited_(waiting.so_far()) {}
    [[nodiscard]] double seconds() const
    {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
        return std::max(0.0, passed.count() - std::max(0.0, waiting_.so_far() - waited_));
    }

private:
    const ReadyButWaiting& waiting_;
    const double waited_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}    // namespace rdmaqos::test
