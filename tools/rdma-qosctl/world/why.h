// Why a process gets the bandwidth it gets: its queue pairs, their way through the tree, and what is narrow on it.
//
// For each leaf the process has queue pairs in, three answers of the solver:
//
//     alone      it alone sends: what the caps on its way leave of the port
//     busy       every leaf that holds queue pairs sends all it can, each queue pair up to the rate it is paced at:
//     what its
//                share of that is
//     own        its part of `busy`, if others have queue pairs in the same leaf (they compete queue pair by queue
//     pair)
//
// In attach mode per-process, others have trees of their own, and the port is assumed to serve all trees equally.
//
// Where the port divides itself among traffic classes, the first step of the way is the class that the DSCP of the
// queue pairs leads to, and only who is in the same class competes below it. Where it is not known what they carry
// (World::carried), the DSCP of the level is assumed, and that is said.
//
// Queue pairs in no leaf can still be paced: then `own` is what their rates add up to.
//
// Pure functions over what the daemon says of itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/units.h"
#include "tools/rdma-qosctl/world/mark_path.h"
#include "tools/rdma-qosctl/world/program_rates.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// What holds a process most, where it sends all it can.
enum class Narrowness : std::uint8_t {
    Nothing,    // it gets the port
    Paced,      // the rate of each queue pair
    Capped,     // a max-rate on its way; nobody else takes from it
    Crowded,    // others that send, or that may: all who have queue pairs are taken to, in the tree or outside
    Outside,    // not in the tree: no class is enforced
};
[[nodiscard]] std::string_view to_string(Narrowness narrowness);    // "nothing", "paced", ...

// One element on the way from the root to a leaf.
struct WhyStep {
    std::string path;    // of the tree of a process: "/pid:4711"; of a traffic class: a name for it
    std::optional<std::uint8_t> port_class{};    // a traffic class of the port, above the tree; its share is its weight
    bool is_strict = false;                      // such a class, which has no share
    bool is_held_by_siblings = true;             // if there are any: they take from it when all send
    bool is_tree_of_process = false;             // attach mode per-process: its share is assumed, nothing sets it
    std::optional<std::uint32_t> share;          // empty: the root, or a strict class
    std::uint32_t share_of = 0;    // the shares of all siblings that have queue pairs below, its own included
    std::optional<Bandwidth> max_rate;
    bool is_narrowest_cap = false;
    std::vector<std::string> siblings;    // others that have queue pairs below them: "bulk (share 30)"
};

// What one of those that divide the port leaves to what is below it, when all send.
struct WhyStage {
    std::string by;          // "traffic class 1", "the tree"
    Bandwidth rate;          // what is left
    double part = 1;         // of what the stage before left
    bool assumed = false;    // nothing sets it
};

// What a port does now, by its counters.
struct PortUse {
    std::string device;
    Bandwidth link_speed;
    Bandwidth transmits;
    Bandwidth receives;
    std::vector<ProgramRate> programs{};    // of the sessions that are explained, those whose bytes are counted

    // Of the sending side, 0 to 1.
    [[nodiscard]] double utilisation() const;
};

struct WhyLeaf {
    std::string device;
    std::string leaf;                          // empty: these queue pairs are in none
    std::string level;                         // empty: none
    std::string lost_level{};                  // without a level: the one that a reload took
    std::vector<std::uint64_t> queue_pairs;    // numbers, of these sessions
    std::uint64_t others_in_leaf = 0;          // queue pairs of others in the same leaf
    std::uint64_t outside = 0;                 // queue pairs of other programs in no leaf of this port
    std::string outside_senders{};             // whose; empty: not known
    std::size_t other_processes = 0;           // with trees of their own: attach mode per-process
    std::vector<WhyStep> steps;
    std::optional<std::uint8_t> port_class{};    // empty: the port divides nothing, or that is not known
    std::string class_reason{};                  // why this one, a sentence
    // Of the level, where its queue pairs carry another one, which leads to another class.
    std::optional<std::uint8_t> missing_dscp{};
    std::vector<WhyStage> stages{};    // from the port to `own`; with traffic classes only
    Bandwidth link_speed;
    Bandwidth alone;
    Bandwidth busy;
    Bandwidth own;
    std::optional<Bandwidth> paced;    // the sum of its queue pairs' own rates, if each has one
    std::string pacing;                // "burst: ..., packet: ..." of them; "burst and packet: various"
    Narrowness narrowness = Narrowness::Nothing;
    std::string verdict;    // a sentence
    std::string remark;     // what the daemon says of these queue pairs: what is not held, what to know; may be empty
    std::string advice;     // what to do
};

// The sessions of a process of which the same is to be said: one answer for each leaf, however many sessions there are.
struct WhySession {
    SessionView session;                         // the first of them
    std::vector<std::uint64_t> more_sessions;    // ids of the others
    std::vector<WhyLeaf> leaves;
    std::string note;        // without queue pairs: what that means
    std::string advice{};    // with the note, if a reload took its level
};

// What was asked for, and who that is.
struct WhyReport {
    std::string target;
    std::vector<WhySession> sessions;
    std::vector<PortUse> ports;       // of the devices in use, where there are counters
    std::vector<MarkPath> marks{};    // of their queue pairs in levels that have a DSCP
    // Without a session, and of adopted processes what was not adopted:
    std::string note;    // a sentence
    std::vector<api::HostQueuePair> queue_pairs;
    std::vector<std::string> advice;
};

// What answering took.
struct WhyWork {
    std::size_t trees = 0;      // built and solved, with all who send
    std::size_t answers = 0;    // leaves that were explained
};

// In the order of the first session of each answer. `outside`: queue pairs of the host that are in no leaf, by which to
// say whose they are; may be empty.
[[nodiscard]] std::vector<WhySession> explain_sessions(const World& world,
                                                       const std::vector<const SessionView*>& sessions,
                                                       const std::vector<api::HostQueuePair>& outside = {},
                                                       WhyWork* work = nullptr);
[[nodiscard]] WhySession explain_session(const World& world, const SessionView& session,
                                         const std::vector<api::HostQueuePair>& outside = {});

// Takes back `Crowded` where the port transmits too little now for anybody to take from it.
void judge_by_use(const World& world, const std::vector<PortUse>& ports, std::vector<WhySession>& sessions);

// The sessions that "4711" (pid or queue pair), "qp:17", "mlx5_0:17" or "job-7.scope" (unit, may be a glob) stands for.
[[nodiscard]] std::vector<const SessionView*> sessions_of(const World& world, const std::string& target);

}    // namespace rdmaqos::ctl
