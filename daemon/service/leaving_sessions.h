// Sessions that end: their queue pairs are taken out some at a time, users one after the other.
//
// Thread: the main loop.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "daemon/loop/gathering.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/grants.h"
#include "daemon/service/session_table.h"

namespace rdmaqos {

class LeavingSessions {
public:
    // All must outlive it.
    LeavingSessions(ServiceContext& context, const DeviceTable& devices, SessionTable& sessions, Grants& grants)
        : context_(context), devices_(devices), sessions_(sessions), grants_(grants)
    {
    }

    // take_out() follows, for all that have begun; `done` when the devices have released its queue pairs.
    void begin(SessionId id, LoopCallback<void()> done);
    void take_out();

private:
    // Of one session: some of its queue pairs, or, when it has none, itself.
    void take_out_some();

    ServiceContext& context_;
    const DeviceTable& devices_;
    SessionTable& sessions_;
    Grants& grants_;
    std::map<Account, std::deque<std::pair<SessionId, std::shared_ptr<Gathering>>>> leaving_;    // by user
    Account last_to_leave_ = 0;    // whose session had its turn last
    bool taking_out_ = false;      // has a turn to come
};

}    // namespace rdmaqos
