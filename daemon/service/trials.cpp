#include "daemon/service/trials.h"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/service/plans.h"
#include "lib/base/text.h"

namespace rdmaqos {
namespace {

constexpr const char* kNoTrial = "no policy is being tried";

}    // namespace

Result<void> Trials::may_begin(const TrialRequest& request) const
{
    if (auto here = context_.not_ending(); !here) {
        return here;
    }
    if (request.timeout < kShortestTrial || request.timeout > kLongestTrial) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("a policy is tried for {} to {} seconds, not for {}", kShortestTrial.count(),
                                std::chrono::seconds(kLongestTrial).count(), request.timeout.count()));
    }
    if (auto may = may_bring(request.who->account(), *request.text); !may) {
        return may;
    }
    // TriedText returns it as a D-Bus string.
    if (!is_valid_utf8(request.text->text) || request.text->text.find('\0') != std::string::npos) {
        return fail(ErrorCode::InvalidArgument, "the policy is not UTF-8 text");
    }
    if (!policy_.policy()) {
        return fail(ErrorCode::InvalidPolicy,
                    "no policy is in force, so there is none to go back to: write the file, and reload");
    }
    if (reloads_.is_beginning_trial()) {
        return fail(ErrorCode::Busy, "another trial is being started");
    }
    return {};
}

void Trials::begin(TrialRequest request, Callback<TrialOutcome> done)
{
    if (const auto may = may_begin(request); !may) {
        done(fail(may.error()));
        return;
    }
    reloads_.begin_trial(std::move(request), [this, done = std::move(done)](ReloadOutcome outcome) {
        const bool accepted = outcome.accepted;
        done(TrialOutcome{std::move(outcome), accepted ? trial_.status() : std::nullopt});
    });
}

Result<void> Trials::compare(const Loaded& files, std::uint64_t number) const
{
    if (trial_.number() != number) {
        return fail(ErrorCode::InvalidArgument, "the trial has ended while the files were read");
    }
    if (!files.ok()) {
        return fail(ErrorCode::InvalidPolicy,
                    fmt::format("the files cannot be used: {}", why_refused(files.diagnostics(), {})));
    }
    const Policy& read = *files.policy.value;
    if (read.revision != policy_.revision()) {
        return fail(ErrorCode::InvalidArgument,
                    fmt::format("the files are not what is tried, revision {}, but revision {}: {}", policy_.revision(),
                                read.revision, fmt::join(differing_files(*policy_.policy(), read), ", ")));
    }
    return {};
}

void Trials::confirm(const std::string& revision, Callback<void> done)
{
    const auto status = trial_.status();
    if (!status) {
        done(fail(ErrorCode::InvalidArgument, kNoTrial));
        return;
    }
    if (status->revision != revision) {
        done(fail(ErrorCode::InvalidArgument,
                  fmt::format("revision {} is tried, not {}", status->revision, printable(revision))));
        return;
    }
    context_.loader.run(
        [root = context_.options.root, names = context_.options.names, now = context_.options.wall_clock()] {
            return std::make_shared<const Loaded>(load_files(root, names, now));
        },
        [this, number = trial_.number(), done = std::move(done)](Result<std::shared_ptr<const Loaded>> files) mutable {
            if (!files) {
                done(fail(files.error()));
                return;
            }
            const auto same = compare(**files, number);
            context_.loader.discard(std::move(*files));
            if (!same) {
                done(same);
                return;
            }
            trial_.end(TrialStep::Confirmed, policy_.revision());
            reloads_.save(*policy_.policy(), [done = std::move(done)] { done({}); });
        });
}

void Trials::revert(Callback<ReloadOutcome> done)
{
    if (trial_.number() == 0) {
        done(fail(ErrorCode::InvalidArgument, kNoTrial));
        return;
    }
    reloads_.go_back(trial_.number(), TrialStep::Reverted,
                     [done = std::move(done)](ReloadOutcome outcome) { done(std::move(outcome)); });
}

}    // namespace rdmaqos
