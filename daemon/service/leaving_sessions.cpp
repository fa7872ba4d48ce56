#include "daemon/service/leaving_sessions.h"

#include <chrono>

#include "daemon/service/client_log.h"

namespace rdmaqos {
namespace {

// The rest of the loop has its turn in between.
constexpr auto kTakenOutAtOnce = std::chrono::milliseconds(1);
constexpr std::size_t kQueuePairsTakenOut = 256;

}    // namespace

void LeavingSessions::begin(SessionId id, LoopCallback<void()> done)
{
    Session* session = sessions_.find(id);
    if (session == nullptr || session->leaving) {
        done();
        return;
    }
    session->leaving = true;
    log_gone(*session);
    leaving_[session->owner->account()].emplace_back(
        id, Gathering::begin([done = std::move(done)](const Gathering::Missing&) { done(); }));
}

void LeavingSessions::take_out()
{
    if (taking_out_) {
        return;    // a turn comes
    }
    const auto end = context_.clock.now() + kTakenOutAtOnce;
    while (!leaving_.empty() && context_.clock.now() < end) {
        take_out_some();
    }
    taking_out_ = !leaving_.empty();
    if (taking_out_) {
        context_.calls.defer([this] {
            taking_out_ = false;
            take_out();
        });
    }
}

void LeavingSessions::take_out_some()
{
    // One user after the other: who has little to take out does not wait for who has much.
    auto next = leaving_.upper_bound(last_to_leave_);
    if (next == leaving_.end()) {
        next = leaving_.begin();
    }
    last_to_leave_ = next->first;
    const auto [id, all] = next->second.front();
    Session& session = sessions_.at(id);
    const auto on_device = session.queue_pairs.begin();
    if (on_device != session.queue_pairs.end()) {
        auto& [key, numbers] = *on_device;
        std::vector<std::uint32_t> some;
        while (!numbers.empty() && some.size() < kQueuePairsTakenOut) {
            some.push_back(numbers.extract(numbers.begin()).value());
        }
        sessions_.limits.remove_queue_pairs(session.owner->account(), static_cast<std::uint32_t>(some.size()));
        ManagedDevice* device = devices_.find(key);
        if (device != nullptr && !some.empty()) {
            all->expect(key);
            device->remove(id, some, [this, all = all, key = key] {
                grants_.refresh_neighbours();
                all->came(key);
            });
        }
        if (numbers.empty()) {
            session.queue_pairs.erase(on_device);
        }
        return;
    }
    next->second.pop_front();
    if (next->second.empty()) {
        leaving_.erase(next);
    }
    static_cast<void>(sessions_.take(id));
    context_.notify([id = id](ServiceObserver& observer) { observer.session_removed(id); });
    all->all_expected();
}

}    // namespace rdmaqos
