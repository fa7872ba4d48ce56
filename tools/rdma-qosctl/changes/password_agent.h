// Whom polkit asks for a password when a command runs in a terminal: pkttyagent, for as long as this lives. Where it is
// not installed, this does nothing.
#pragma once

#include <type_traits>

#include <sys/types.h>

#include "lib/bus/client.h"
#include "tools/rdma-qosctl/output/context.h"

namespace rdmaqos::ctl {

class PasswordAgent {
public:
    // Returns when polkit knows of it.
    PasswordAgent();
    ~PasswordAgent();
    PasswordAgent(const PasswordAgent&) = delete;
    PasswordAgent& operator=(const PasswordAgent&) = delete;

    // Whether somebody is there who can be asked, and need not be root anyway.
    [[nodiscard]] static bool has_somebody_to_ask();

private:
    pid_t pid_ = 0;    // 0: it does not run
};

// Calls, and calls again with somebody whom polkit can ask for the password that it wants.
template <typename Call>
std::invoke_result_t<Call> with_password(const Context& context, bus::Client& client, Call call)
{
    auto reply = call();
    if (reply || reply.error().code != ErrorCode::InteractiveAuthorizationRequired || !context.ask_password) {
        return reply;
    }
    const PasswordAgent agent;
    client.allow_interaction();
    return call();
}

}    // namespace rdmaqos::ctl
