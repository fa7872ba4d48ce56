#include "daemon/service/trial_in_force.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "lib/base/log.h"
#include "lib/base/text.h"

namespace rdmaqos {
namespace {

std::string_view in_words(TrialStep how)
{
    switch (how) {
    case TrialStep::TimedOut:
        return "nobody has confirmed it in time";
    case TrialStep::Reverted:
        return "it was reverted";
    case TrialStep::Reloaded:
        return "a reload has taken the files";
    case TrialStep::Begun:
    case TrialStep::Confirmed:
        break;
    }
    return {};
}

}    // namespace

std::shared_ptr<const SourceFile> TrialInForce::text() const
{
    return current_ ? current_->text : nullptr;
}

std::optional<TrialStatus> TrialInForce::status() const
{
    if (!current_) {
        return std::nullopt;
    }
    const Duration left = std::max<Duration>(current_->ends - context_.clock.now(), Duration::zero());
    return TrialStatus{current_->revision, current_->before.policy->revision, current_->file_revision,
                       std::chrono::ceil<std::chrono::seconds>(left), current_->who};
}

void TrialInForce::notify(TrialStep step, const std::string& revision)
{
    context_.notify([&](ServiceObserver& observer) { observer.trial_changed(step, revision); });
}

void TrialInForce::begin(const TrialRequest& request, std::string revision, std::string file_revision, Before before,
                         std::function<void(std::uint64_t)> at_end)
{
    const std::string replaced = current_ ? fmt::format(", in place of the trial of {}", current_->revision) : "";
    if (current_) {
        before = std::move(current_->before);
    }
    const std::uint64_t number = ++last_number_;
    current_ = Current{
        number,
        request.text,
        std::move(revision),
        std::move(file_revision),
        std::move(before),
        request.who,
        context_.clock.now() + request.timeout,
        context_.executor.after(request.timeout, [number, at_end = std::move(at_end)] { at_end(number); })};
    log_event(
        LogLevel::Notice, LogEvent::TrialBegun, {},
        {{"REVISION", current_->revision},
         {"UID", fmt::format("{}", request.who->uid)},
         {"PID", fmt::format("{}", request.who->pid)},
         {"COMMAND", request.who->command}},
        "policy {} is tried for {} s, begun by uid {}, pid {}{}{}: unless it is confirmed, the policy of the files "
        "comes back",
        current_->revision, request.timeout.count(), request.who->uid, request.who->pid,
        request.who->command.empty() ? "" : fmt::format(" ({})", printable(request.who->command)), replaced);
    notify(TrialStep::Begun, current_->revision);
}

void TrialInForce::set_revision(std::string revision)
{
    if (current_) {
        current_->revision = std::move(revision);
    }
}

void TrialInForce::end(TrialStep how, const std::string& revision)
{
    const Current ended = *std::exchange(current_, std::nullopt);
    if (how == TrialStep::Confirmed) {
        log_event(LogLevel::Notice, LogEvent::TrialConfirmed, {}, {{"REVISION", revision}},
                  "policy {}, which was tried, is confirmed: it is the policy of the files", revision);
    } else {
        log_event(LogLevel::Warning, LogEvent::TrialReverted, {},
                  {{"REVISION", revision}, {"TRIED", ended.revision}, {"CAUSE", std::string(to_string(how))}},
                  "the trial of policy {} is over, {}: policy {} is in force", ended.revision, in_words(how), revision);
    }
    notify(how, revision);
}

}    // namespace rdmaqos
