// The threads that read policies, look up what they name and compile them, and the order in which they do so.
//
//     the host (a reload, the fabric file, what is kept on disk)    straight to the first thread
//     root (Plan, Check)                                            there, too, one at a time
//     others                                                        on the second, one at a time, one of each user, a
//                                                                   few in all
//
// So a reload waits for a plan of root's at most, and for none of others, however large it is.
//
// Thread: the main loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <utility>

#include "daemon/loop/loop_calls.h"
#include "lib/base/account.h"

namespace rdmaqos {

class Loader {
public:
    static constexpr std::size_t kMostOfRoot = 16;
    static constexpr std::size_t kMostOfOthers = 4;

    explicit Loader(Executor& loop) : calls_(loop) {}

    // `work` for the host; `done` gets its result.
    template <typename Work, typename Done>
    void run(Work work, Done done)
    {
        calls_.run(worker_, std::move(work), std::move(done));
    }

    // May this user have something read now? Busy, with a sentence, if one of theirs is, or too many wait.
    [[nodiscard]] Result<void> has_room(Account account) const;
    // `prepare` is called on the loop when it is this user's turn, and returns the work. After has_room().
    template <typename Prepare, typename Done>
    void run_for(Account account, Prepare prepare, Done done)
    {
        enqueue(account, [this, account, prepare = std::move(prepare), done = std::move(done)]() mutable {
            auto work = [this, account, &prepare] {
                try {
                    return prepare();
                } catch (...) {
                    finished(account);    // or nobody had a turn again
                    throw;
                }
            }();
            calls_.run(account.is_root() ? worker_ : worker_of_others_, std::move(work),
                       [this, account, done = std::move(done)](auto outcome) mutable {
                           finished(account);
                           done(std::move(outcome));
                       });
        });
    }

    // Destroys something large there, and gives its memory back to the system.
    void discard(std::shared_ptr<const void> garbage);

private:
    void enqueue(Account account, LoopCallback<void()> start);
    void finished(Account account);
    void next();
    static void start_first(std::deque<LoopCallback<void()>>& lane, bool& reading);

    std::deque<LoopCallback<void()>> of_root_;
    std::deque<LoopCallback<void()>> of_others_;
    std::set<Account> users_;    // but root: whose policies wait or are being read
    bool reading_of_root_ = false;
    bool reading_of_others_ = false;
    Worker worker_{"loader", 64};
    Worker worker_of_others_{"loader-others", 64};
    LoopCalls calls_;    // goes first: what the thread says then is not heard
};

}    // namespace rdmaqos
