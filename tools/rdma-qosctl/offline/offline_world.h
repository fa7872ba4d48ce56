// Without a daemon: policies from files, devices from a profile or a simulation file, identities from /proc or the
// command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/result.h"
#include "lib/tree/compile.h"
#include "policy/explain/explain.h"
#include "policy/match/matcher.h"
#include "policy/model/identity.h"
#include "policy/model/local_port.h"
#include "policy/model/request.h"
#include "policy/model/settings.h"
#include "policy/model/simulation.h"
#include "policy/text/read_result.h"
#include "tools/rdma-qosctl/request/request_options.h"
#include "tools/rdma-qosctl/world/views.h"

namespace rdmaqos::ctl {

// A port a policy is compiled for.
struct Target {
    std::string device;    // "mlx5_0/1", "default profile"
    Capabilities capabilities;
    Bandwidth link_speed;
    std::uint32_t mtu = 4096;
    DeviceNames names;                 // of the default profile: empty
    std::optional<LocalPort> local;    // of the default profile: none
};

// A ConnectX-6 Dx at 100 Gbit/s.
[[nodiscard]] Target default_target();
[[nodiscard]] Target to_target(const SimulatedDevice& device);
[[nodiscard]] Target to_target(const DeviceView& device);

// The devices of a simulation file; empty name: the default profile alone. Error InvalidPolicy with the diagnostics.
[[nodiscard]] Result<std::vector<Target>> load_targets(const std::string& simulation);

// "-": stdin.
[[nodiscard]] Result<std::shared_ptr<const SourceFile>> read_source(const std::string& file);
// The same; null if it cannot be read, which is then among the diagnostics.
[[nodiscard]] std::shared_ptr<const SourceFile> load_source(const std::string& file, Diagnostics& diagnostics);
// The files in this order ("-": stdin); none: those of the host below `root`. Without a fabric: that of the host.
[[nodiscard]] ReadResult<Policy> load_policy(const std::vector<std::string>& files, const std::string& root);
[[nodiscard]] ReadResult<Policy> load_policy(const std::vector<std::string>& files, const std::string& root,
                                             const Fabric& fabric);
// The same for commands to which a broken policy is an error: InvalidPolicy with the diagnostics.
[[nodiscard]] Result<std::shared_ptr<const Policy>> require_policy(const std::vector<std::string>& files,
                                                                   const std::string& root);
[[nodiscard]] ReadResult<Settings> load_settings(const std::string& root);
[[nodiscard]] ReadResult<Fabric> load_fabric(const std::string& root);
// Of the topology of a compatibility case, of a fabric file, or, without either, of the host. InvalidPolicy with the
// diagnostics of a broken fabric file.
[[nodiscard]] Result<Fabric> require_fabric(const std::string& topology, const std::string& fabric,
                                            const std::string& root);

[[nodiscard]] Compiled compile_for(const Policy& policy, const Target& target, const Settings& settings);
// What the policy would do to an empty device, in the keys of docs/dbus.md, "Plan … devices".
[[nodiscard]] bus::Dict plan_for(const Policy& policy, const Target& target, const Settings& settings);

// Who asks.
struct IdentityOptions {
    std::string pid;     // of a running process; else this one, or nobody in particular
    std::string user;    // name or uid
    std::vector<std::string> groups;
    std::string unit;
    std::string cgroup;
    std::string executable;

    [[nodiscard]] bool any() const
    {
        return !(pid.empty() && user.empty() && groups.empty() && unit.empty() && cgroup.empty() && executable.empty());
    }
};
[[nodiscard]] Result<Identity> identity_of(const IdentityOptions& options);
// "uid 1000, groups 1000 4, unit job-7.scope, /usr/bin/ib_send_bw"
[[nodiscard]] std::string describe(const Identity& identity);

// Everything an offline answer needs.
struct OfflineWorld {
    std::shared_ptr<const Policy> policy;
    Fabric fabric;
    std::vector<Target> targets;
    std::shared_ptr<const Matcher> matcher;    // of the policy
    Identity identity;
};
[[nodiscard]] Result<OfflineWorld> load_world(const std::string& policy_file, const std::string& root,
                                              const std::string& simulation, const IdentityOptions& identity);

// For one pair of ends.
[[nodiscard]] Result<Explanation> explain_offline(const OfflineWorld& world, const RequestOptions& options);
// One answer for each pair of ends, which may be why it has no path; an error if none has one. Keys as of QueryPath.
[[nodiscard]] Result<std::vector<bus::Dict>> query_path_offline(const OfflineWorld& world,
                                                                const RequestOptions& options);

}    // namespace rdmaqos::ctl
