// The policy that is being tried, if one is: what to go back to, and when. In memory alone: whatever ends the daemon
// ends the trial.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/model/trial.h"
#include "daemon/service/context.h"
#include "policy/model/policy.h"
#include "policy/model/settings.h"

namespace rdmaqos {

class TrialInForce {
public:
    // `context` must outlive it.
    explicit TrialInForce(ServiceContext& context) : context_(context) {}

    // What ran before the first of the trials that replaced one another.
    struct Before {
        std::shared_ptr<const Policy> policy;    // never null
        Settings settings;
    };

    // 0: there is none. Each has a number of its own, the one that replaces another too.
    [[nodiscard]] std::uint64_t number() const { return current_ ? current_->number : 0; }
    // That stands for kTriedFile; null: there is none.
    [[nodiscard]] std::shared_ptr<const SourceFile> text() const;
    // Null: there is none.
    [[nodiscard]] const Before* before() const { return current_ ? &current_->before : nullptr; }
    // Empty: there is none.
    [[nodiscard]] std::optional<TrialStatus> status() const;

    // It takes the place of one that is in force, but for what that one goes back to. `at_end` is called when its time
    // is over, unless it has ended.
    void begin(const TrialRequest& request, std::string revision, std::string file_revision, Before before,
               std::function<void(std::uint64_t number)> at_end);
    // Other files of the host were read again.
    void set_revision(std::string revision);
    // There is one. `revision`: of the policy that is in force then.
    void end(TrialStep how, const std::string& revision);

private:
    struct Current {
        std::uint64_t number = 0;
        std::shared_ptr<const SourceFile> text;
        std::string revision;
        std::string file_revision;
        Before before;
        std::shared_ptr<const Identity> who;
        TimePoint ends{};
        std::unique_ptr<Timer> timer;
    };

    void notify(TrialStep step, const std::string& revision);

    ServiceContext& context_;
    std::optional<Current> current_;
    std::uint64_t last_number_ = 0;
};

}    // namespace rdmaqos
