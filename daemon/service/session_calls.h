// What clients ask of their sessions, and what devices report of the queue pairs in them. `Register` with queue pairs:
//
//     register_session() ── choose() its level, SessionTable::add() ─▶ attach_to()
//     attach_to()        ── accept() each queue pair: its file, and as a Member with its class
//                        ─▶ ManagedDevice::add(), once for each device ─▶ worker: admits and places them
//     finish_attach()    ── what the device refused leaves the session ─▶ the reply, with Grants::of()
//
// `Attach` begins at attach_to(), and adopt() does for a program that did not register.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/loop/callback.h"
#include "daemon/service/context.h"
#include "daemon/service/device_table.h"
#include "daemon/service/grants.h"
#include "daemon/service/leaving_sessions.h"
#include "daemon/service/policy_in_force.h"
#include "daemon/service/session_table.h"
#include "daemon/service/tally.h"

namespace rdmaqos {

class SessionCalls {
public:
    // All must outlive it.
    SessionCalls(ServiceContext& context, const PolicyInForce& policy, const DeviceTable& devices,
                 SessionTable& sessions, Grants& grants, Tally& tally)
        : context_(context), policy_(policy), devices_(devices), sessions_(sessions), grants_(grants), tally_(tally)
    {
    }

    // InvalidPolicy while there is none, Busy while shutting down.
    [[nodiscard]] Result<void> ready() const;

    // `peer` is whose connection a call came by; a session belongs to the peer that registered it.
    void register_session(PeerId peer, std::shared_ptr<const Identity> identity, RegisterRequest request,
                          Callback<RegisterReply> done);
    void attach(PeerId peer, SessionId session, std::vector<QueuePairRequest> queue_pairs,
                Callback<std::vector<QueuePairResult>> done);
    void detach(PeerId peer, SessionId session, const std::string& device, std::uint32_t number, Callback<void> done);
    // Empty rate: back to the class's own value.
    void set_rate(PeerId peer, SessionId session, const std::string& device, std::uint32_t number,
                  std::optional<RateLimit> rate, Callback<void> done);
    void release(PeerId peer, SessionId session, Callback<void> done);
    // The connection closed or its process ended: every session of it goes.
    void peer_gone(PeerId peer);

    // Attaches queue pairs of a program that did not register, in a session that is the daemon's own: the one its
    // process has, or a new one. A session that has lost its last queue pair ends.
    void adopt(std::shared_ptr<const Identity> owner, std::vector<QueuePairRequest> queue_pairs,
               Callback<std::vector<QueuePairResult>> done);
    // Takes adopted ones out of the tree and of their sessions; others are left alone.
    void release_adopted(const std::string& device, const std::vector<std::uint32_t>& numbers);
    // Of an adopted session.
    void program_ended(SessionId id)
    {
        remove(id, [] {});
    }

    // As the functions of DeviceListener with these names.
    void queue_pairs_changed(const std::string& device, const std::vector<std::uint32_t>& numbers);
    void queue_pairs_vanished(const std::string& device, const std::vector<std::pair<SessionId, std::uint32_t>>& gone);
    void device_was_reset(const std::string& device, const std::vector<SessionId>& affected);

private:
    [[nodiscard]] Result<Session*> owned(PeerId peer, SessionId id);
    // A queue pair of the caller's session, which has it.
    [[nodiscard]] Result<std::pair<Session*, ManagedDevice*>>
    owned_queue_pair(PeerId peer, SessionId id, const std::string& device, std::uint32_t number);
    // By the rules that are in force. UnknownSession: its session has ended.
    [[nodiscard]] Result<Membership> membership_now(const Member& member) const;
    // One ClientFile for each open file, however often its descriptor is passed; a queue pair without one is of the
    // file its session brought before. LimitReached: too many.
    [[nodiscard]] static Result<void> resolve_file(Session& session, const std::string& device, QueuePairRef& ref);
    [[nodiscard]] Result<Member> make_member(const Session& session, const QueuePairRequest& request,
                                             const ManagedDevice& device) const;
    using NamedQueuePairs = std::set<std::pair<ManagedDevice*, std::uint32_t>>;    // so far in one call
    [[nodiscard]] Result<Member> accept(Session& session, QueuePairRequest& request, ManagedDevice& device,
                                        NamedQueuePairs& named) const;
    void attach_to(Session& session, std::vector<QueuePairRequest> queue_pairs,
                   Callback<std::vector<QueuePairResult>> done);
    void finish_attach(SessionId id, const std::vector<QueuePairResult>& results);
    // Its program has attached it itself.
    void take_over(const Session& session, const QueuePairResult& attached);
    // Of a session of the daemon's own: ends it if it has nothing left.
    void end_if_empty(Session& session);
    // Its end begins; `done` when the devices have released its queue pairs.
    void remove(SessionId id, LoopCallback<void()> done);
    // Its queue pairs are not what they were.
    void notify_changed(Session& session);

    ServiceContext& context_;
    const PolicyInForce& policy_;
    const DeviceTable& devices_;
    SessionTable& sessions_;
    Grants& grants_;
    Tally& tally_;
    LeavingSessions leaving_{context_, devices_, sessions_, grants_};
};

}    // namespace rdmaqos
