#include "daemon/service/adoption_review.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/service/adoption_stages.h"

namespace rdmaqos {

void AdoptionReview::begin()
{
    session_ = {};
    queue_pair_.reset();
    go_on();
}

void AdoptionReview::go_on()
{
    const bool adopting = adopts_();
    const TimePoint until = context_.clock.now() + kAdoptionTurn;
    std::map<std::string, std::vector<std::uint32_t>> unwanted;
    bool more = true;
    while (more && context_.clock.now() < until) {
        const Session* session = sessions_.find(session_);
        auto name = session == nullptr || !session->adopted ? std::nullopt : session->next_queue_pair(queue_pair_);
        if (!name) {
            const auto next = sessions_.next_after(session_);
            more = next.has_value();
            session_ = next.value_or(session_);
            queue_pair_.reset();
            continue;
        }
        if (is_unwanted(*session, *name, adopting)) {
            unwanted[name->device].push_back(name->number);
        }
        queue_pair_ = std::move(name);
    }
    for (const auto& [device, numbers] : unwanted) {
        calls_.release_adopted(device, numbers);
    }
    next_turn_ = more ? context_.executor.after(Duration(0), [this] { go_on(); }) : nullptr;
}

bool AdoptionReview::is_unwanted(const Session& session, const QueuePairName& name, bool adopting)
{
    const ManagedDevice* device = devices_.find(name.device);
    const Member* member = device == nullptr ? nullptr : device->book().find(name.number);
    if (member == nullptr || member->session != session.id) {
        return false;
    }
    if (!adopting) {
        return true;
    }
    const Rules& rules = policy_.rules();
    const auto choice = choose_for_adoption(*rules.matcher, member->request, *member->owner, true);
    if (choice.verdict == AdoptionVerdict::Adopt) {
        return false;
    }
    verdicts_.refuse(device->info().name, name.number, verdict_of(choice, member->request, rules, member->owner->pid));
    return true;
}

}    // namespace rdmaqos
