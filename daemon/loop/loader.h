// The thread that reads policies, looks up what they name and compiles them, and the order in which it does so.
//
//     the host (a reload, the fabric file, what is kept on disk)    straight to the thread
//     root (Plan, Check)                                            one at a time, before
//     others                                                        one at a time, one of each user, a few in all
//
// So a reload waits for one plan at most, however many were asked for.
//
// Thread: the main loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <utility>

#include "daemon/loop/loop_calls.h"

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
    [[nodiscard]] Result<void> has_room(std::uint32_t uid) const;
    // `prepare` is called on the loop when it is this user's turn, and returns the work. After has_room().
    template <typename Prepare, typename Done>
    void run_for(std::uint32_t uid, Prepare prepare, Done done)
    {
        enqueue(uid, [this, uid, prepare = std::move(prepare), done = std::move(done)]() mutable {
            auto work = [this, uid, &prepare] {
                try {
                    return prepare();
                } catch (...) {
                    finished(uid);    // or nobody had a turn again
                    throw;
                }
            }();
            calls_.run(worker_, std::move(work), [this, uid, done = std::move(done)](auto outcome) mutable {
                finished(uid);
                done(std::move(outcome));
            });
        });
    }

    // Destroys something large there, and gives its memory back to the system.
    void discard(std::shared_ptr<const void> garbage);

private:
    void enqueue(std::uint32_t uid, LoopCallback<void()> start);
    void finished(std::uint32_t uid);
    void next();

    std::deque<LoopCallback<void()>> of_root_;
    std::deque<LoopCallback<void()>> of_others_;
    std::set<std::uint32_t> users_;    // but root: whose policies wait or are being read
    bool reading_ = false;             // one of a user
    Worker worker_{"loader", 64};
    LoopCalls calls_;    // goes first: what the thread says then is not heard
};

}    // namespace rdmaqos
