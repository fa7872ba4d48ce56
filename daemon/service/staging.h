// A policy tried on the present devices and sessions, before it is in force: pure functions over copies, so that all of
// it can be done on the loader's thread, whatever the policy's size.
//
//     main loop                    loader's thread                                    main loop
//     Scene, Reading ──▶           read, resolve, match, place, compile: Tried ──▶    commit, or a report
//
// Sessions and devices that come and go meanwhile are not in the Scene: who commits compares the marks (Scene::mark).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/device/placement.h"
#include "daemon/model/reload.h"
#include "daemon/model/session.h"
#include "daemon/model/trial.h"
#include "lib/base/file.h"
#include "policy/load/policy_reader.h"
#include "policy/load/transient_files.h"
#include "policy/match/matcher.h"
#include "policy/model/local_port.h"
#include "policy/model/name_service.h"
#include "policy/model/request.h"
#include "policy/model/settings.h"
#include "policy/model/verdict.h"
#include "policy/text/read_result.h"

namespace rdmaqos {

// Everything a request is judged by; replaced as a whole.
struct Rules {
    std::shared_ptr<const Policy> policy;    // null: there is none
    std::shared_ptr<const Fabric> fabric;
    std::shared_ptr<const Matcher> matcher;    // of the policy
    bool by_port = false;                      // some rule asks by which device or port a path leaves
};
[[nodiscard]] Rules make_rules(std::shared_ptr<const Policy> policy, std::shared_ptr<const Fabric> fabric,
                               const std::vector<LocalPort>& ports);

// The level of a request under some rules.
struct Choice {
    const QosLevel* level = nullptr;    // points into the policy; null: none, `refused` says why
    bool verified = false;
    Membership membership;
    std::optional<Error> refused;
};
[[nodiscard]] Choice choose(const Rules& rules, const Request& request, const Identity& owner);
// Does this queue pair get a level of its own, and not its session's?
[[nodiscard]] bool has_own_choice(const Member& member, const Rules& rules, const Request& of_session,
                                  bool session_names_device);

// The fabric file as it was read, and what it looked like just before.
struct FabricFile {
    FileStamp stamp;
    ReadResult<Fabric> read;
};
// Where it is.
[[nodiscard]] std::filesystem::path fabric_path(const std::filesystem::path& root);
[[nodiscard]] FabricFile load_fabric(const std::filesystem::path& root);

// What reading all files gave.
struct Loaded {
    ReadResult<Settings> settings;
    ReadResult<Fabric> fabric;
    FileStamp fabric_stamp;
    ReadResult<Policy> policy;
    std::vector<TransientFile> transient_files;    // those that are not used any longer among them

    [[nodiscard]] Diagnostics diagnostics() const;
    [[nodiscard]] bool ok() const { return settings.value && fabric.value && policy.value; }
};
// `main_file`: a text in the place of kTriedFile; null: the file's own.
[[nodiscard]] Loaded load_files(const std::filesystem::path& root, const NameService& names,
                                std::chrono::system_clock::time_point now,
                                const std::shared_ptr<const SourceFile>& main_file = nullptr);

// `port-classes: manage` is an error in settings that were read if ports cannot be set, for this reason; empty: they
// can.
void check_privilege(ReadResult<Settings>& settings, const std::string& why_ports_cannot_be_set);

// What a policy is tried on.
struct Scene {
    struct Party {
        SessionId id{};
        Request request;
        std::shared_ptr<const Identity> owner;
        bool names_device = false;
        bool has_queue_pairs = false;
        std::string level;                        // now
        std::shared_ptr<const LostLevel> lost;    // if it has none
        bool adopted = false;
    };
    struct Device {
        std::string key;
        std::shared_ptr<const PlacementBook> book;
        PlacementBook empty;    // a book of this device for another policy
        Bandwidth link_speed;
        bool is_one_tree = true;    // attach mode shared: shares hold between processes
        bool is_tested = true;      // false: what it can do is found out before the first element is made
        bool held_back = false;     // nothing of a policy is put on it: it keeps none out
    };

    std::vector<LocalPort> ports;
    std::vector<Party> sessions;
    std::vector<Device> devices;
    std::vector<LeftOutDevice> left_out;
    std::shared_ptr<const Policy> policy;    // in force; null: none
    std::chrono::system_clock::time_point now;
    bool is_for_reload = true;          // false: groups get other members under the same policy
    std::vector<std::uint64_t> mark;    // another one: something of the above may have changed
};

// A policy tried, not yet in force.
struct Staged {
    struct Device {
        std::string key;
        PlacementBook book;
    };

    Rules rules;
    std::map<SessionId, Choice> sessions;
    std::vector<Device> devices;
    std::vector<JudgedFinding> findings;    // of devices that take part
    std::vector<LevelLoss> losses;          // of sessions and queue pairs that get no level any longer
    std::vector<LevelRenaming> renamings;
    std::vector<LeftOutDevice> left_out;

    [[nodiscard]] bool is_accepted() const { return rdmaqos::is_accepted(findings); }
};
// What reloads, plans, checks and the start ask. `scene`: with the books of the policy that runs.
[[nodiscard]] Staged stage(const Scene& scene, Rules rules, const Settings& settings);
[[nodiscard]] std::vector<SessionChange> session_changes(const Scene& scene, const Staged& staged);

// Names of files that are not the same in both, each once.
[[nodiscard]] std::vector<std::string> differing_files(const Policy& a, const Policy& b);

// What is to be read, and tried on what.
struct Reading {
    std::filesystem::path root;
    NameService names;
    std::chrono::system_clock::time_point now;
    // A policy that is not the host's goes with the running settings and fabric.
    std::shared_ptr<const SourceFile> text;
    Settings settings;
    std::shared_ptr<const Fabric> fabric;
    Scene scene;
    // The host's files with this text in the place of kTriedFile; null: as they are.
    std::shared_ptr<const SourceFile> main_file = {};
    // Only the transient files are read, and merged into these, which are in force, with the running settings and
    // fabric.
    std::optional<SourceFiles> running = {};
    // A trial begins, in place of this revision; empty: of another trial, or none begins.
    std::string before_trial = {};
    // As ServiceOptions::why_ports_cannot_be_set says.
    std::string why_ports_cannot_be_set = {};
};

struct Tried {
    Loaded loaded;
    std::optional<Staged> staged;    // empty: something is wrong in the files
    Scene scene;
    std::string main_file_before{};    // with Reading::main_file: TrialStatus::file_revision
    bool is_refresh = false;           // Reading::running
};
[[nodiscard]] std::shared_ptr<Tried> read_and_stage(const Reading& reading);

// What taking the policy would mean, but for what the devices have now; and what they would get, in the same order.
struct PlanDraft {
    PlanReport report;
    std::vector<std::shared_ptr<const DesiredState>> desired;
};
[[nodiscard]] PlanDraft draft_plan(const Tried& tried, const Policy& running);
// The scene in which this policy runs: the devices have its books.
[[nodiscard]] Scene running_in(Scene scene, const Staged& policy);

}    // namespace rdmaqos
