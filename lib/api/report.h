// What a reload, a plan, a trial and the management of devices say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/api/plan.h"
#include "lib/api/record.h"
#include "lib/base/diagnostic.h"

namespace rdmaqos::api {

template <>
inline constexpr auto kLast<Severity> = Severity::Note;

struct Diagnostic {
    Severity severity = Severity::Error;
    std::string message{};
    std::string hint{};
    std::string file{};
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    std::uint32_t length = 0;
    std::optional<std::string> quote{};
    std::uint32_t quote_offset = 0;
};

constexpr bool has_line(const Diagnostic& diagnostic)
{
    return diagnostic.line != 0;
}

template <>
struct Table<Diagnostic> {
    using D = Diagnostic;
    static constexpr auto keys = std::tuple{
        key<&D::severity>("severity", "`error`, `warning` or `note`; a note belongs to what is before it"),
        key<&D::message>("message", "what is wrong, a sentence fragment"),
        key_unless_empty<&D::hint>("hint", "what to do about it"),
        key_unless_empty<&D::file>("file", "absent: it concerns no file"),
        key_unless_empty<&D::line>("line", "from 1; absent: the file as a whole"),
        key_when<&has_line, &D::column>("column", "from 1, in bytes"),
        key_when<&has_line, &D::length>("length", "bytes that are meant, from there on"),
        key<&D::quote>("quote",
                       "the line, or the part of a long one around the column; see [Quoted lines](#quoted-lines)"),
        key_unless_empty<&D::quote_offset>("quote-offset", "bytes of the line before `quote`; absent: none"),
    };
};

// A device that takes no part.
struct LeftOut {
    std::string device;
    std::string why;

    friend bool operator==(const LeftOut&, const LeftOut&) = default;
};

template <>
struct Table<LeftOut> {
    static constexpr auto keys = std::tuple{
        key<&LeftOut::device>("device", "name/port"),
        key<&LeftOut::why>("why", "`disabled` or `released`"),
    };
};

// A level that sessions lose without getting another one.
struct LevelLoss {
    std::string level{};
    std::string reason{};
    std::string renamed_to{};
    std::uint32_t sessions = 0;
    std::uint32_t queue_pairs = 0;
};

template <>
struct Table<LevelLoss> {
    using L = LevelLoss;
    static constexpr auto keys = std::tuple{
        key<&L::level>("level"),
        key<&L::reason>("reason", "why, one of [these](#lost-levels)"),
        key_unless_empty<&L::renamed_to>("renamed-to", "as of a grant"),
        key<&L::sessions>("sessions",
                          "how many lose it, or some of their queue pairs do: those of `sessions` with this level "
                          "before, and a `loss`"),
        key<&L::queue_pairs>("queue-pairs", "how many lose it"),
    };
};

// What does not work on a device.
struct Failure {
    std::string device{};
    std::string path{};
    std::string operation{};
    std::string error{};
    std::uint32_t attempts = 0;
    bool given_up = false;
    std::string message{};
};

template <>
struct Table<Failure> {
    using F = Failure;
    static constexpr auto keys = std::tuple{
        key_unless_empty<&F::device>("device", "name/port; not where the device is known anyway"),
        key_unless_empty<&F::path>("path", "of the element; absent: the device as a whole"),
        key_unless_empty<&F::operation>("operation",
                                        "`create`, `modify`, `destroy`, `query`, of the traffic classes of its port "
                                        "`port-classes`; absent: there is no room for it"),
        key_unless_empty<&F::error>("error", "a D-Bus error name; with an `operation`"),
        key_unless_empty<&F::attempts>("attempts", "likewise"),
        key_unless_empty<&F::given_up>("given-up", "true: the daemon does not try again by itself; absent: it does"),
        key<&F::message>("message", "all of it as a sentence"),
    };
};

struct Reload {
    bool accepted = false;
    std::string revision{};
    std::uint32_t errors = 0;
    std::uint32_t warnings = 0;
    std::vector<Diagnostic> diagnostics{};
    std::uint32_t omitted = 0;
    std::vector<Finding> findings{};
    std::vector<LeftOut> left_out{};
    std::vector<std::string> unanswered{};
    std::vector<LevelLoss> lost_levels{};
    std::vector<Failure> failures{};
    std::string ended_trial{};
    std::optional<std::uint32_t> seconds_left{};
};

template <>
struct Table<Reload> {
    using R = Reload;
    static constexpr auto keys = std::tuple{
        key<&R::accepted>("accepted", "false: the running policy stays"),
        key_unless_empty<&R::revision>("revision",
                                       "of the policy: the running one after Reload, Refresh, Try and Revert, the one "
                                       "that was read in Check and Plan"),
        key<&R::errors>("errors", "how many `diagnostics` there were of this severity"),
        key<&R::warnings>("warnings", "likewise"),
        key<&R::diagnostics>("diagnostics", "of the files, [keys](#diagnostics-and-findings)"),
        key_unless_empty<&R::omitted>("omitted", "how many more there were, of 200"),
        key<&R::findings>("findings", "of the present devices, [keys](#diagnostics-and-findings)"),
        key<&R::left_out>("left-out", "devices that take no part, [keys](#devices-that-take-no-part)"),
        key<&R::unanswered>("unanswered",
                            "devices that were told and have not answered within 15 s: they take the policy when they "
                            "do"),
        key<&R::lost_levels>("lost-levels",
                             "of Reload: that sessions have lost without getting another one, with the keys of a "
                             "[plan](#plans)"),
        key<&R::failures>("failures",
                          "if it is accepted: what devices refused of it or have no room for, [keys](#results); the "
                          "daemon tries again by itself, but for those that are `given-up`"),
        key_unless_empty<&R::ended_trial>("ended-trial",
                                          "of Reload: revision of the trial that it has ended; absent: there was none"),
        key<&R::seconds_left>("seconds-left", "of Try, if it is accepted: until the policy goes back by itself"),
    };
};

// A policy in force for a while; without a revision: there is none.
struct Trial {
    std::string revision{};
    std::string goes_back_to{};
    std::string file_revision{};
    std::uint32_t seconds_left = 0;
    std::uint32_t uid = 0;
    std::uint32_t pid = 0;
    std::string command{};
    std::string user{};    // who began it: the name of the uid on this host, or "uid 1000"; not a key
};

constexpr bool is_on(const Trial& trial)
{
    return !trial.revision.empty();
}

template <>
struct Table<Trial> {
    using T = Trial;
    static constexpr auto keys = std::tuple{
        key_unless_empty<&T::revision>("revision",
                                       "of the policy in force: the text that is tried, and the other files of the "
                                       "host"),
        key_unless_empty<&T::goes_back_to>("goes-back-to", "revision of the policy that was in force before"),
        key_unless_empty<&T::file_revision>("file-revision",
                                            "revision of /etc/rdma-qos/policy.yaml alone as it was when the trial "
                                            "began; absent: it was not there"),
        key_when<&is_on, &T::seconds_left>("seconds-left", "until it goes back by itself"),
        key_when<&is_on, &T::uid>("uid", "of whoever began it"),
        key_when<&is_on, &T::pid>("pid", "likewise"),
        key_unless_empty<&T::command>("command", "likewise: the kernel's name of the process"),
    };
};

struct LevelChange {
    std::string level;
    std::string change;
    std::string message;
};

template <>
struct Table<LevelChange> {
    static constexpr auto keys = std::tuple{
        key<&LevelChange::level>("level"),
        key<&LevelChange::change>("change", "`new`, `changed`, `renamed` (by `renamed-from`) or `removed`"),
        key<&LevelChange::message>("message", "what changes, in words"),
    };
};

struct PartChange {
    std::string part;
    std::string name;
    std::string change;
    std::string message;
};

template <>
struct Table<PartChange> {
    using P = PartChange;
    static constexpr auto keys = std::tuple{
        key<&P::part>("part", "`match rule`, `ulp rule`, `port-group` or `partition`"),
        key<&P::name>("name", "of a rule its number, in the old policy if it is removed"),
        key<&P::change>("change", "`new`, `changed`, `moved` (to another place among the rules) or `removed`"),
        key<&P::message>("message", "what changes, in words"),
    };
};

// Queue pairs of a session that get another level or leaf; none: the session itself gets another level.
struct SessionChange {
    std::uint64_t session = 0;
    std::uint32_t pid = 0;
    std::uint32_t uid = 0;
    std::string unit{};
    std::string command{};
    std::string device{};
    std::uint32_t queue_pairs = 0;
    std::string level_before{};
    std::string level_after{};
    std::string leaf_before{};
    std::string leaf_after{};
    std::string rule{};
    std::string loss{};
    std::string user{};    // the name of the uid on this host; empty: it has none
};

template <>
struct Table<SessionChange> {
    using S = SessionChange;
    static constexpr auto keys = std::tuple{
        key<&S::session>("session", "last part of its object path"),
        key<&S::pid>("pid"),
        key<&S::uid>("uid"),
        key_unless_empty<&S::unit>("unit"),
        key_unless_empty<&S::command>("command"),
        key_unless_empty<&S::device>("device", "of the queue pairs"),
        key<&S::queue_pairs>("queue-pairs", "how many; 0: the session itself gets another level"),
        key_unless_empty<&S::level_before>("level-before"),
        key_unless_empty<&S::level_after>("level-after"),
        key_unless_empty<&S::leaf_before>("leaf-before", "absent: none"),
        key_unless_empty<&S::leaf_after>("leaf-after", "absent: none"),
        key_unless_empty<&S::rule>("rule", "that decides then, as in a grant"),
        key_unless_empty<&S::loss>("loss", "without `level-after`: why, one of [these](#lost-levels)"),
        added<&S::user>("user"),
    };
};

// What a reload would do.
struct Plan {
    bool accepted = false;
    std::string refusal{};
    std::string revision{};
    std::uint32_t errors = 0;
    std::uint32_t warnings = 0;
    std::vector<Diagnostic> diagnostics{};
    std::uint32_t omitted = 0;
    std::vector<LevelChange> levels{};
    std::vector<PartChange> changes{};
    std::uint32_t changes_omitted = 0;
    std::vector<SessionChange> sessions{};
    std::vector<LevelLoss> lost_levels{};
    std::vector<DevicePlan> devices{};
    std::vector<LeftOut> left_out{};
    bool writes = true;
    bool monitors = false;
};

template <>
struct Table<Plan> {
    using P = Plan;
    static constexpr auto keys = std::tuple{
        key<&P::accepted>("accepted", "whether a reload would take the policy"),
        key_unless_empty<&P::refusal>("refusal",
                                      "the message of the error that a reload would end with; absent: it would take "
                                      "the policy"),
        key_unless_empty<&P::revision>("revision", "of the policy that was read; absent if it has errors"),
        key<&P::errors>("errors", "as of Reload, like the next three"),
        key<&P::warnings>("warnings"),
        key<&P::diagnostics>("diagnostics"),
        key_unless_empty<&P::omitted>("omitted"),
        key<&P::levels>("levels", "that would change"),
        key<&P::changes>("changes", "rules, port groups and partitions that would change, at most 1000"),
        key_unless_empty<&P::changes_omitted>("changes-omitted", "how many more; absent: none"),
        key<&P::sessions>("sessions", "queue pairs of a session that would get another level or leaf"),
        key<&P::lost_levels>("lost-levels", "that some of these `sessions` would lose without getting another one"),
        key<&P::devices>("devices", "what would be done to each"),
        key<&P::left_out>("left-out", "as of Reload"),
        key<&P::writes>("writes", "false: with `mode: monitor`, nothing would be written to any device"),
        key_unless_empty<&P::monitors>("monitors",
                                       "true: `mode: monitor`, so that none of the operations would be carried out; "
                                       "the steps of a port would be, which put back what was there before"),
    };
};

// What Reconcile and the switches of a device have done.
struct DeviceResult {
    std::string device;
    std::uint64_t operations = 0;
    std::vector<Failure> failures{};
};

template <>
struct Table<DeviceResult> {
    using D = DeviceResult;
    static constexpr auto keys = std::tuple{
        key<&D::device>("device", "name/port"),
        key<&D::operations>("operations", "how many the device carried out, steps of its port included"),
        key<&D::failures>("failures", "what did not work"),
    };
};

// Where a device differs from what was written.
struct Drift {
    std::string device;
    std::string path;
    std::string kind;
    std::string expected;
    std::string found;
};

template <>
struct Table<Drift> {
    static constexpr auto keys = std::tuple{
        key<&Drift::device>("device", "name/port"),
        key<&Drift::path>("path", "of the element; of `port-classes`: the network interface"),
        key<&Drift::kind>("kind",
                          "`missing`, `share`, `max-rate`, `parent`, `kind`; `unknown`: rdma-qosd has elements on the "
                          "device that nothing uses; `unreadable`: drift cannot be seen, because the "
                          "device does not say what was written; `not-written`: the device refused it or has no room "
                          "for it, and `found` says why; `port-classes`: the port's traffic classes are not as they "
                          "should be, a drift for each kind of setting"),
        key<&Drift::expected>("expected", "in words"),
        key<&Drift::found>("found", "in words"),
    };
};

// A device that cannot be managed.
struct RefusedDevice {
    std::string device{};
    std::string netdev{};
    std::string pci_address{};
    std::string reason{};
};

template <>
struct Table<RefusedDevice> {
    using R = RefusedDevice;
    static constexpr auto keys = std::tuple{
        key<&R::device>("device", "name/port"),
        key_unless_empty<&R::netdev>("netdev"),
        key_unless_empty<&R::pci_address>("pci-address"),
        key<&R::reason>("reason", "why it is not managed, a sentence"),
    };
};

// A file of the daemon that cannot be read or written.
struct StateFailure {
    std::string file;
    std::string message;
    bool unsaved = false;
};

template <>
struct Table<StateFailure> {
    static constexpr auto keys = std::tuple{
        key<&StateFailure::file>("file", "below /var/lib/rdma-qos or /run/rdma-qos"),
        key<&StateFailure::message>("message", "what is wrong and what follows from it, a sentence"),
        key_unless_empty<&StateFailure::unsaved>("unsaved", "it could not be written: that is tried again with the "
                                                            "next change; absent: no"),
    };
};

// Programs that are adopted.
struct Adoption {
    std::string setting{};        // empty: an older daemon, which does not say
    std::string unavailable{};    // empty: they can be
    std::uint32_t programs = 0;
    std::uint32_t queue_pairs = 0;
};

template <>
struct Table<Adoption> {
    using A = Adoption;
    static constexpr auto keys = std::tuple{
        key<&A::setting>("setting", "`unregistered` of the settings: `ignore`, `count` or `adopt`"),
        key_unless_empty<&A::unavailable>("unavailable",
                                          "why no program can be adopted although the settings ask for it, and what to "
                                          "do"),
        key<&A::programs>("programs", "processes that are adopted now"),
        key<&A::queue_pairs>("queue-pairs", "of theirs, in the tree now"),
    };
};

// What the daemon has done, an a{st}.
struct ManagerStatistics {
    std::uint64_t calls = 0;
    std::uint64_t calls_refused = 0;
    std::uint64_t connections = 0;
    std::uint64_t sessions = 0;
    std::uint64_t sessions_now = 0;
    std::uint64_t reloads = 0;
};

template <>
struct Table<ManagerStatistics> {
    using M = ManagerStatistics;
    static constexpr auto keys = std::tuple{
        key<&M::calls>("calls"),
        key<&M::calls_refused>("calls-refused"),
        key<&M::connections>("connections"),
        key<&M::sessions>("sessions"),
        key<&M::sessions_now>("sessions-now", "those there are"),
        key<&M::reloads>("reloads"),
    };
};

}    // namespace rdmaqos::api
