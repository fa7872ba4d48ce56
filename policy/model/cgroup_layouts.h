// Whose a cgroup is, by the layouts of workload managers. Paths begin at the root of the hierarchy, as in the daemon's
// /proc/PID/cgroup. Only what root alone can make counts: below a unit that is somebody's own (a user's manager, a
// container) everybody may call a cgroup "job_1", and there it is nobody's.
#pragma once

#include <string>
#include <string_view>

namespace rdmaqos {

// The number of the Slurm job, "" for none. Cgroup v2: "/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0", or
// "NODE_slurmstepd.scope" where a host plays several nodes (Slurm's cgroup_v2.html). Cgroup v1, in the hierarchies of
// its controllers: "/slurm/uid_1000/job_4711/step_0", or "/slurm_NODE/..." (cgroups.html).
[[nodiscard]] std::string slurm_job_of_cgroup(std::string_view path);

// The UID of the pod, "" for none, with '-' also where systemd's names have '_'. The kubelet makes a cgroup for each
// pod, the container runtime (containerd, CRI-O) one for each container below (pkg/kubelet/cm of Kubernetes):
//     driver systemd "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/cri-containerd-ID.scope"
//     driver cgroupfs   "/kubepods/burstable/podUID/ID"
// A guaranteed pod is one level higher. A `--cgroup-root` may stand before: slices, or "/kubelet".
[[nodiscard]] std::string kubernetes_pod_of_cgroup(std::string_view path);

// The outermost cgroup on the way from the root to `path` that matches `pattern` (a glob over whole paths, in which '*'
// also matches '/'); "" if none does.
[[nodiscard]] std::string_view matching_cgroup(std::string_view path, const std::string& pattern);

}    // namespace rdmaqos
