#include "daemon/model/trial.h"

namespace rdmaqos {

std::string_view to_string(TrialStep step)
{
    switch (step) {
    case TrialStep::Begun:
        return "begun";
    case TrialStep::Confirmed:
        return "confirmed";
    case TrialStep::TimedOut:
        return "timeout";
    case TrialStep::Reverted:
        return "revert";
    case TrialStep::Reloaded:
        return "reload";
    }
    return {};
}

}    // namespace rdmaqos
