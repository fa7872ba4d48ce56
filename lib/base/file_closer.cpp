#include "lib/base/file_closer.h"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <pthread.h>

#include "lib/base/log.h"

namespace rdmaqos {
namespace {

constexpr std::size_t kThreadsPerUser = 2;
// Users beyond these share what becomes free; root has its own two besides.
constexpr std::size_t kThreads = 62;
constexpr auto kStay = std::chrono::seconds(1);
constexpr auto kRetry = std::chrono::milliseconds(100);

// Signals are for the main loop; a new thread inherits the mask of the one that makes it.
void block_all_signals()
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}    // namespace

struct FileCloser::State : std::enable_shared_from_this<State> {
    struct User {
        struct Closing {
            UniqueFd fd;
            std::shared_ptr<void> held;
        };
        std::deque<Closing> waiting;
        std::condition_variable added;
        std::size_t threads = 0;
        std::size_t closing = 0;    // of these threads
    };

    explicit State(StartThread starter) : start_thread(std::move(starter)) {}

    const StartThread start_thread;
    mutable std::mutex mutex;
    std::condition_variable changed;    // of the two that follow
    bool is_short = false;              // a thread could not be started
    bool is_ended = false;
    std::map<Account, User> users;    // with something to close, or that had something a moment ago
    std::size_t threads = 0;          // but root's

    // With `mutex` held. True: this user's next descriptor may be closed now.
    [[nodiscard]] bool may_start(Account account, const User& user) const
    {
        return user.waiting.size() > user.threads - user.closing && user.threads < kThreadsPerUser &&
               (account.is_root() || threads < kThreads);
    }

    // With `mutex` held. False: no thread can be had, and retry() was called.
    bool start(Account account, User& user)
    {
        try {
            start_thread([self = shared_from_this(), account] {
                pthread_setname_np(pthread_self(), "closer");
                self->work(account);
            });
            ++user.threads;
            threads += account.is_root() ? 0 : 1;
            return true;
        } catch (const std::exception& error) {
            if (!is_short) {
                log(LogLevel::Error, "no thread can be started to close a descriptor, it is tried again: {}",
                    error.what());
            }
            is_short = true;
            changed.notify_one();
            return false;
        }
    }

    // With `mutex` held. False: as start().
    bool start_all()
    {
        for (auto& [account, user] : users) {
            while (may_start(account, user)) {
                if (!start(account, user)) {
                    return false;
                }
            }
        }
        return true;
    }

    // Until the end: tries again what could not be started.
    void retry()
    {
        std::unique_lock lock(mutex);
        while (true) {
            changed.wait(lock, [this] { return is_short || is_ended; });
            changed.wait_for(lock, kRetry, [this] { return is_ended; });
            if (is_ended) {
                return;
            }
            is_short = !start_all();
        }
    }

    void work(Account account)
    {
        std::unique_lock lock(mutex);
        auto user = users.find(account);    // stays while it has threads
        const auto has_work = [&] { return !user->second.waiting.empty(); };
        // Stays a moment: descriptors come in a row. Not while threads are scarce.
        while (has_work() || (threads < kThreads / 2 && user->second.added.wait_for(lock, kStay, has_work))) {
            User::Closing next = std::move(user->second.waiting.front());
            user->second.waiting.pop_front();
            ++user->second.closing;
            lock.unlock();
            next.fd.reset();
            next.held.reset();
            lock.lock();
            --user->second.closing;
        }
        --user->second.threads;
        threads -= account.is_root() ? 0 : 1;
        if (user->second.threads == 0) {
            users.erase(user);
        }
        start_all();
    }
};

FileCloser::FileCloser(StartThread start)
    : state_(std::make_shared<State>(std::move(start))), retries_([state = state_] {
          block_all_signals();
          pthread_setname_np(pthread_self(), "closer-retries");
          state->retry();
      })
{
}

FileCloser::~FileCloser()
{
    {
        const std::lock_guard lock(state_->mutex);
        state_->is_ended = true;
    }
    state_->changed.notify_one();
    retries_.join();
}

void FileCloser::start_detached(std::function<void()> work)
{
    std::thread([work = std::move(work)] {
        block_all_signals();
        work();
    }).detach();
}

void FileCloser::close(Account account, UniqueFd fd, std::shared_ptr<void> held)
{
    if (!fd) {
        return;
    }
    const std::lock_guard lock(state_->mutex);
    auto& user = state_->users[account];
    user.waiting.push_back({std::move(fd), std::move(held)});
    if (state_->may_start(account, user)) {
        state_->start(account, user);
    }
    user.added.notify_one();
}

std::size_t FileCloser::pending(Account account) const
{
    const std::lock_guard lock(state_->mutex);
    const auto user = state_->users.find(account);
    return user == state_->users.end() ? 0 : user->second.waiting.size() + user->second.closing;
}

}    // namespace rdmaqos
