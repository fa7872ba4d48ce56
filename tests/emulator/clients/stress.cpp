// stress [--processes N] [--threads N] [--seconds S] [--faults] [--kills] [--seed N]: processes of threads that use
// random verbs and know what must come back. Every other thread shares a context with others of its process.
//
// With --faults scheduling commands may fail; with --kills a process is killed now and then, and another begins.
// The last line is "N operations, 0 wrong".
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/signal_process.h"
#include "tests/emulator/clients/stress_worker.h"

namespace {

using Clock = std::chrono::steady_clock;
using stress::Device;
using stress::Options;
using stress::Totals;
using stress::Worker;

int run_process(Totals& totals, const Options& options, std::uint64_t seed, Clock::time_point until)
{
    // Without a fault it would show little, and on a busy machine the first one comes late.
    const auto enough = [&] { return Clock::now() >= until && (!options.faults || totals.refused > 0); };
    Device shared;
    Worker keeper(totals, options, seed, nullptr);
    if (!keeper.open(shared)) {
        return 1;
    }
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < options.threads; ++i) {
        threads.emplace_back([&, i] {
            Worker worker(totals, options, seed + 1 + i, i % 2 == 0 ? &shared : nullptr);
            worker.run(enough);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    keeper.close(shared);
    return 0;
}

class Processes {
public:
    Processes(Totals& totals, const Options& options)
        : totals_(totals), options_(options),
          until_(Clock::now() +
                 std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds)))
    {
        for (unsigned i = 0; i < options.processes; ++i) {
            start();
        }
    }

    // How many ended badly.
    unsigned wait()
    {
        while (options_.kills && Clock::now() + std::chrono::milliseconds(500) < until_) {
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            kill_one();
        }
        for (const pid_t child : children_) {
            collect(child, 0);
        }
        return bad_;
    }

    [[nodiscard]] unsigned killed() const { return killed_; }

private:
    void start()
    {
        const std::uint64_t seed = options_.seed * 1'000'003 + 1000 * started_++;
        const pid_t child = fork();
        if (child == 0) {
            const int status = run_process(totals_, options_, seed, until_);
            std::fflush(nullptr);
            _exit(status);
        }
        children_.push_back(child);
    }

    void collect(pid_t child, int killed_by)
    {
        int status = 0;
        waitpid(child, &status, 0);
        const bool as_wanted = killed_by != 0 ? WIFSIGNALED(status) && WTERMSIG(status) == killed_by : status == 0;
        if (!as_wanted) {
            std::fprintf(stderr, "a process ended with status %#x\n", static_cast<unsigned>(status));
            ++bad_;
        }
    }

    void kill_one()
    {
        const pid_t child = children_[killed_ % children_.size()];
        std::erase(children_, child);
        rdmaqos::signal_process(child, SIGKILL);
        collect(child, SIGKILL);
        ++killed_;
        start();
    }

    Totals& totals_;
    const Options& options_;
    Clock::time_point until_;
    std::vector<pid_t> children_;
    unsigned started_ = 0;
    unsigned killed_ = 0;
    unsigned bad_ = 0;
};

bool parse(int argc, char** argv, Options& options)
{
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
        if (name == "--faults") {
            options.faults = true;
        } else if (name == "--kills") {
            options.kills = true;
        } else if (value == nullptr) {
            return false;
        } else {
            ++i;
            if (name == "--processes") {
                options.processes = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
            } else if (name == "--threads") {
                options.threads = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
            } else if (name == "--seconds") {
                options.seconds = std::strtod(value, nullptr);
            } else if (name == "--seed") {
                options.seed = std::strtoull(value, nullptr, 10);
            } else {
                return false;
            }
        }
    }
    return options.processes > 0 && options.threads > 0;
}

}    // namespace

int main(int argc, char** argv)
{
    Options options;
    options.seed = static_cast<std::uint64_t>(getpid());
    if (!parse(argc, argv, options)) {
        std::fprintf(stderr,
                     "usage: stress [--processes N] [--threads N] [--seconds S] [--faults] [--kills] [--seed N]\n");
        return 2;
    }
    void* memory = mmap(nullptr, sizeof(Totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        std::perror("mmap");
        return 2;
    }
    auto& totals = *new (memory) Totals{};
    std::printf("%u processes of %u threads, %.0f seconds, seed %llu\n", options.processes, options.threads,
                options.seconds, static_cast<unsigned long long>(options.seed));
    std::fflush(stdout);
    Processes processes(totals, options);
    const unsigned bad = processes.wait();
    std::printf("%llu refused by order, %u processes killed, %u ended badly\n",
                static_cast<unsigned long long>(totals.refused), processes.killed(), bad);
    std::printf("%llu operations, %llu wrong\n", static_cast<unsigned long long>(totals.operations),
                static_cast<unsigned long long>(totals.wrong));
    return totals.wrong == 0 && bad == 0 && totals.operations > 0 ? 0 : 1;
}
