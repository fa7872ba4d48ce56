#include "daemon/survey/surveyor.h"

#include <chrono>
#include <utility>

namespace rdmaqos {
namespace {

// A user who asks all the time costs the device no more than one look a second.
constexpr Duration kFresh = std::chrono::seconds(1);

}    // namespace

Surveyor::Surveyor(Executor& loop, const Clock& clock, Look look) : clock_(clock), look_(std::move(look)), calls_(loop)
{
}

void Surveyor::survey(Callback<std::shared_ptr<const HostSurvey>> done)
{
    if (last_ && clock_.now() - seen_at_ < kFresh) {
        calls_.defer([done = std::move(done), seen = last_] { done(seen); });
        return;
    }
    waiting_.push_back(std::move(done));
    if (waiting_.size() > 1) {
        return;
    }
    calls_.run(worker_, look_, [this](Result<HostSurvey> seen) { take(std::move(seen)); });
}

void Surveyor::take(Result<HostSurvey> seen)
{
    last_ = seen ? std::make_shared<const HostSurvey>(std::move(*seen)) : nullptr;
    seen_at_ = clock_.now();
    for (const auto& done : std::exchange(waiting_, {})) {
        done(last_ ? Result<std::shared_ptr<const HostSurvey>>(last_) : fail(seen.error()));
    }
}

}    // namespace rdmaqos
