// The keys of what D-Bus answers: their types and what they mean. The conversion writes no others (convert_out.cpp;
// the compiler refuses what is not here), and docs/dbus.md is drawn from these tables.
#pragma once

#include <array>

#include "lib/api/record.h"

namespace rdmaqos {

using AnswerKey = api::Row;

inline constexpr std::array kGrantKeys{
    AnswerKey{"level", "s", "the level it got"},
    AnswerKey{"rule", "s", "why it got this level, in words"},
    AnswerKey{"verified", "b",
              "whether all that chose the level is known from the kernel; else the client claimed some"},
    AnswerKey{"sl", "y", "service level; set it on the connection"},
    AnswerKey{"mtu", "u", "most bytes of a packet"},
    AnswerKey{"rate", "t", "the level's `rate-limit`, kbit/s"},
    AnswerKey{"packet-life", "y", "n for 4.096 µs · 2ⁿ"},
    AnswerKey{"pkey", "q", "partition key"},
    AnswerKey{"traffic-class", "y", "of RoCE packets; set it on the connection"},
    AnswerKey{"dscp", "y", "the upper 6 bits of `traffic-class`"},
    AnswerKey{
        "sl-source", "s",
        "`host`: on InfiniBand, too, `sl` replaces the service level that the subnet manager gave; absent: it does "
        "not"},
    AnswerKey{"share", "u", "weight of the class among its siblings"},
    AnswerKey{"max-rate", "t", "cap of the class as the policy has it, kbit/s"},
    AnswerKey{"max-rate-now", "t", "the lowest of the caps from its leaf up to the root, and the link, kbit/s"},
    AnswerKey{"per-queue-pair-max-rate", "t", "limit of each queue pair, kbit/s"},
    AnswerKey{"per-queue-pair-max-burst", "t", "bytes"},
    AnswerKey{"per-queue-pair-typical-packet", "u", "bytes"},
    AnswerKey{"message-model", "s", "`default`, `low-latency`, `high-bandwidth` or `force-low-latency`"},
    AnswerKey{"leaf", "s",
              "path of the leaf; of a class that is fair by process or the like, once there is a queue pair"},
    AnswerKey{
        "enforced", "b",
        "whether the device enforces it; before there is a queue pair, what one can expect. This and what follows are "
        "of the device of the queue pairs, else of the `device` of the request, else of the first"},
    AnswerKey{"cause", "s", "why it is not enforced, one of [Causes](#causes)"},
    AnswerKey{"reason", "s",
              "the same as a sentence; or what else is to know, such as types for which a limit does not hold"},
    AnswerKey{"lost-level", "s", "without a `level`: the one that it had until a reload"},
    AnswerKey{"lost-reason", "s",
              "why it was lost, one of [these](#lost-levels); with `lost-level`, as the next three"},
    AnswerKey{"lost-revision", "s", "of the policy that took it"},
    AnswerKey{"lost-at", "t", "when, in seconds since 1970"},
    AnswerKey{"renamed-to", "s",
              "the level that gives the same under another name, or has `renamed-from`; absent: none"},
    AnswerKey{
        "detached-devices", "as",
        "devices that went away, were reset or were released with queue pairs of the session on them, until it has "
        "named each of these again, in Attach or Detach; absent: none"},
    AnswerKey{"returned-devices", "as", "those of them that the daemon manages again: attach the queue pairs again"},
    AnswerKey{"losses", "u", "how often a device took queue pairs of the session along; absent: never"},
    AnswerKey{"queue-pairs", "aa{sv}", "of Register with `queue-pairs`: the results"},
};

inline constexpr std::array kQueuePairKeys{
    AnswerKey{"device", "s", "name/port, whatever name the request used"},
    AnswerKey{"number", "u", ""},
    AnswerKey{"error", "s", "a D-Bus error name: this queue pair was refused, the others were not"},
    AnswerKey{"message", "s", "the error as a sentence"},
    AnswerKey{"level", "s", ""},
    AnswerKey{"rule", "s", "as in a grant"},
    AnswerKey{"leaf", "s", "path of the leaf it is in, as `path` in the device's `Tree`"},
    AnswerKey{"responder-leaf", "s", "path of the leaf of its RDMA READ responses"},
    AnswerKey{"rate", "t", "at which it is paced, kbit/s; absent: it is not paced"},
    AnswerKey{"max-burst", "t", "bytes; absent with a `rate`: the device's default"},
    AnswerKey{"typical-packet", "u", "bytes; absent with a `rate`: the port's MTU"},
    AnswerKey{"max-rate-now", "t", "the lowest of `rate`, the caps from its leaf up to the root, and the link, kbit/s"},
    AnswerKey{"enforced", "b", "whether it gets what its level, or SetRate, says"},
    AnswerKey{"cause", "s", "why not, one of [Causes](#causes)"},
    AnswerKey{"reason", "s", "the same as a sentence, or what else is to know"},
    AnswerKey{"lost-level", "s", "as in a grant, like the next four"},
    AnswerKey{"lost-reason", "s", ""},
    AnswerKey{"lost-revision", "s", ""},
    AnswerKey{"lost-at", "t", ""},
    AnswerKey{"renamed-to", "s", ""},
    AnswerKey{"owner", "s",
              "`unverified`: the kernel does not say whose it is "
              "([security.md](security.md#descriptors-of-clients))"},
};

inline constexpr std::array kOwnerKeys{
    AnswerKey{"pid", "u", ""},
    AnswerKey{"start-time", "t", "clock ticks after boot, field 22 of /proc/PID/stat"},
    AnswerKey{"uid", "u", ""},
    AnswerKey{"unit", "s", "its systemd unit"},
    AnswerKey{"cgroup", "s", ""},
    AnswerKey{"slurm-job", "s", "the number of its Slurm job"},
    AnswerKey{"kubernetes-pod", "s", "the UID of its pod"},
    AnswerKey{"executable", "s", "to root and to the session's own connection"},
    AnswerKey{"command", "s", "the kernel's name of the process"},
};

inline constexpr std::array kHostQueuePairKeys{
    AnswerKey{"device", "s", "name/port; the name alone where the daemon does not manage the device"},
    AnswerKey{"number", "u", ""},
    AnswerKey{"type", "s", "`rc`, `uc`, `ud`, `raw-packet`, `xrc-ini`, `xrc-tgt`, `smi`, `gsi`, `driver`, `devx`"},
    AnswerKey{"state", "s", "`RESET`, `INIT`, `RTR`, `RTS`, `SQD`, `SQE`, `ERR`; absent: the kernel does not tell"},
    AnswerKey{"remote", "u", "number of the queue pair at the other end; of connected types"},
    AnswerKey{"kernel", "s", "it belongs to this part of the kernel; absent: to a program"},
    AnswerKey{"pid", "u", "of the program, with the next four; absent: not known"},
    AnswerKey{"start-time", "t", "as of an owner"},
    AnswerKey{"uid", "u", "the effective one"},
    AnswerKey{"unit", "s", ""},
    AnswerKey{"command", "s", ""},
    AnswerKey{"session", "t", "that attached it: last part of its object path"},
    AnswerKey{
        "level", "s",
        "as of a result, like the next five; only with `session`, or alone: the level, only monitored, into which "
        "the queue pair would be adopted"},
    AnswerKey{"rule", "s", ""},
    AnswerKey{"leaf", "s", ""},
    AnswerKey{"responder-leaf", "s", ""},
    AnswerKey{"rate", "t", ""},
    AnswerKey{"enforced", "b", ""},
    AnswerKey{"reason", "s", "as of a result; without a session, more about `outside`, and what to do"},
    AnswerKey{"outside", "s",
              "why it is in no leaf, one of [these](#outside) or of [Causes](#causes); absent: it is in one"},
};

inline constexpr std::array kHostCountKeys{
    AnswerKey{"device", "s",
              "name/port; the name alone where the daemon does not manage the device; absent with a `failure` that "
              "concerns the whole host"},
    AnswerKey{"outside", "s", "as of a queue pair; absent: those that are in a leaf"},
    AnswerKey{"count", "t", "queue pairs of this device for which that holds"},
    AnswerKey{"failure", "s", "why queue pairs of the device, or of the host, are not known; there is nothing else"},
};

inline constexpr std::array kSessionCountKeys{
    AnswerKey{"uid", "u", "those of this user"},
    AnswerKey{"state", "s", "`detached`: those whose device went away"},
    AnswerKey{"lost-level", "s",
              "those that lost this level, or whose queue pairs did; as of a grant, with the next four"},
    AnswerKey{"lost-reason", "s", ""},
    AnswerKey{"lost-revision", "s", ""},
    AnswerKey{"lost-at", "t", ""},
    AnswerKey{"renamed-to", "s", ""},
    AnswerKey{"cause", "s", "queue pairs that are not held to what their level says, one of [Causes](#causes)"},
    AnswerKey{"sessions", "t", "absent with `cause`"},
    AnswerKey{"queue-pairs", "t", "absent with `state`"},
};

inline constexpr std::array kPathAnswerKeys{
    AnswerKey{"level", "s", ""},
    AnswerKey{"rule", "s", "why the pair gets this level, in words"},
    AnswerKey{"source", "s", "as asked for"},
    AnswerKey{"destination", "s", "as asked for"},
    AnswerKey{"error", "s", "a D-Bus error name: this pair has no path"},
    AnswerKey{"message", "s", "the error as a sentence"},
    AnswerKey{"mtu", "u", "bytes"},
    AnswerKey{"rate", "t", "kbit/s"},
    AnswerKey{"packet-life", "y", "n for 4.096 µs · 2ⁿ"},
    AnswerKey{"pkey", "q", ""},
    AnswerKey{"sl", "y", ""},
    AnswerKey{"traffic-class", "y", "of RoCE packets"},
    AnswerKey{"dscp", "y", "the upper 6 bits of `traffic-class`"},
    AnswerKey{"sl-source", "s", "as in a grant"},
    AnswerKey{"assumed", "as",
              "which of `mtu` and `rate` is known of neither port: those of the first device, or usual ones"},
};

inline constexpr std::array kLevelKeys{
    AnswerKey{"name", "s", ""},
    AnswerKey{"use", "s", "what it is for, as the policy says"},
    AnswerKey{"sl", "y", ""},
    AnswerKey{"mtu-limit", "u", "bytes"},
    AnswerKey{"rate-limit", "t", "kbit/s"},
    AnswerKey{"packet-life", "y", "n for 4.096 µs · 2ⁿ"},
    AnswerKey{"traffic-class", "y", ""},
    AnswerKey{"class", "s", "path; absent: the level schedules nothing, and has none of the next eight"},
    AnswerKey{"share", "u", ""},
    AnswerKey{"min-rate", "t", "kbit/s"},
    AnswerKey{"min-rate-part", "u", "of the link, in hundredths of a per cent, in place of `min-rate`"},
    AnswerKey{"max-rate", "t", "kbit/s"},
    AnswerKey{"max-rate-part", "u", "as `min-rate-part`"},
    AnswerKey{"fair-by", "s", "`none`, `process`, `user`, ..."},
    AnswerKey{"fair-by-pattern", "s", "over the paths of cgroups, with `cgroup`"},
    AnswerKey{"devices", "as", "that have its class, as the policy names them; absent: all"},
    AnswerKey{"per-queue-pair-max-rate", "t", "kbit/s"},
    AnswerKey{"message-model", "s", "as in a grant"},
    AnswerKey{"mode", "s",
              "`monitor`: it is only monitored, and `class` is what it would have; absent: it is enforced"},
    AnswerKey{"restricted", "b", "whether it has `allow`"},
    AnswerKey{"renamed-from", "as", "names that it had, by which requests still get it; absent: none"},
    AnswerKey{"overrides", "aa{sv}",
              "values of the above that a transient file has put in place, [keys](#overrides); absent: none"},
    AnswerKey{"sessions", "u", "in it, counted at most once a second"},
    AnswerKey{"queue-pairs", "u", "in it, likewise"},
    AnswerKey{
        "unregistered", "u",
        "of a level that is only monitored: how many of these belong to programs that did not register and would be "
        "adopted into it"},
};

inline constexpr std::array kOverrideKeys{
    AnswerKey{"property", "s", "`max-rate`, `min-rate`, `share` or `per-queue-pair-max-rate`"},
    AnswerKey{"value", "s", "in words: `10 Gbit/s`"},
    AnswerKey{"in-place-of", "s", "what holds without it, likewise"},
    AnswerKey{"file", "s", "in which it is"},
    AnswerKey{"until", "t", "when it ends, in seconds since 1970; absent: at no time of its own"},
    AnswerKey{"cgroup", "s", "with which it ends; absent: with none"},
    AnswerKey{"owner", "s", "for whom it is, as the file says"},
};

inline constexpr std::array kCounterKeys{
    AnswerKey{"transmit-bytes", "t", ""},
    AnswerKey{"receive-bytes", "t", ""},
    AnswerKey{"taken-at", "t", "µs of the monotonic clock"},
};

inline constexpr std::array kRunningFileKeys{
    AnswerKey{"name", "s", "as in `PolicySources`"},
    AnswerKey{"text", "s", "with which it is in force"},
};

inline constexpr std::array kManagerStatistics{
    AnswerKey{"calls", "t", ""},
    AnswerKey{"calls-refused", "t", ""},
    AnswerKey{"connections", "t", ""},
    AnswerKey{"sessions", "t", ""},
    AnswerKey{"sessions-now", "t", "those there are"},
    AnswerKey{"reloads", "t", ""},
};

inline constexpr std::array kDeviceStatistics{
    AnswerKey{"operations", "t", ""},     AnswerKey{"failed", "t", ""},
    AnswerKey{"retries", "t", ""},        AnswerKey{"drift-found", "t", ""},
    AnswerKey{"drift-repaired", "t", ""}, AnswerKey{"queue-depth", "t", "calls that wait for the device now"},
};

}    // namespace rdmaqos
