// A program for the container tests: tries what a sandbox should refuse, or attaches a queue pair of somebody else.
//
//     e2e_probe CHECK...          a line for each: its name, and "allowed" or the errno it is refused with
//     e2e_probe list              the names of all checks
//     e2e_probe open PATH         the same for opening a file to read
//     e2e_probe attach DEVICE SESSION NUMBER    attaches this queue pair, to this session (`-`: one of its own), as if
//                                 it had made it. Prints the result or the error
//     e2e_probe attach-files DEVICE COUNT       attaches queue pairs, each with a device file and a session of its own,
//                                 prints what came of it, and waits
//
// No check does harm where it is allowed: what needs an argument gets one that the kernel refuses with another errno.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/e2e/foreign_queue_pair.h"

namespace rdmaqos::test {
namespace {

// 0, or the errno.
int result_of(long returned)
{
    return returned < 0 ? errno : 0;
}

int close_after(int fd)
{
    const int error = result_of(fd);
    if (fd >= 0) {
        close(fd);
    }
    return error;
}

int make_file(const std::string& path)
{
    const int error = close_after(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    if (error == 0) {
        unlink(path.c_str());
    }
    return error;
}

int open_to_write(const char* path)
{
    return close_after(open(path, O_WRONLY | O_CLOEXEC));
}

int open_socket(int family, int type)
{
    return close_after(socket(family, type | SOCK_CLOEXEC, 0));
}

int map_writable_code()
{
    void* place = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return place == MAP_FAILED ? errno : 0;
}

int make_data_executable()
{
    void* place = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return place == MAP_FAILED ? errno : result_of(mprotect(place, 4096, PROT_READ | PROT_EXEC));
}

// In a child, which it changes.
int in_child(const std::function<int()>& function)
{
    const pid_t child = fork();
    if (child == 0) {
        _exit(function());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;    // EINTR stands for a signal
}

int make_set_uid_file()
{
    const std::string path = "/run/rdma-qos/e2e-set-uid";
    const int fd = open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) {
        return errno;
    }
    const int error = result_of(fchmod(fd, S_ISUID | S_IRWXU));
    close(fd);
    unlink(path.c_str());
    return error;
}

int real_time()
{
    sched_param parameters{};
    parameters.sched_priority = 1;
    return result_of(sched_setscheduler(0, SCHED_RR, &parameters));
}

// The calls that take nonsense here: whoever may make them is told so by another errno than EPERM. ENOSYS: they get
// through to a kernel that does not have them.
int may_call(long returned)
{
    return returned < 0 && errno == EPERM ? EPERM : 0;
}

int shared_time_namespace()
{
    return may_call(unshare(CLONE_NEWUTS));
}

#ifdef __x86_64__
// The 32-bit entry: system call 20 of that architecture is getpid.
int call_of_another_architecture()
{
    long returned = 20;
    asm volatile("int $0x80" : "+a"(returned) : : "memory", "r8", "r9", "r10", "r11");
    return returned > 0 ? 0 : static_cast<int>(-returned);
}
#endif

const std::map<std::string, std::function<int()>>& checks()
{
    static const std::map<std::string, std::function<int()>> table{
        {"write-usr", [] { return make_file("/usr/e2e-probe"); }},
        {"write-etc", [] { return make_file("/etc/rdma-qos/e2e-probe"); }},
        {"write-var", [] { return make_file("/var/lib/e2e-probe"); }},
        {"see-home", [] { return result_of(access("/root/.profile", F_OK)); }},
        {"write-run", [] { return make_file("/run/e2e-probe"); }},
        {"write-own-run", [] { return make_file("/run/rdma-qos/e2e-probe"); }},
        {"write-own-state", [] { return make_file("/var/lib/rdma-qos/e2e-probe"); }},
        {"write-node-exporter", [] { return make_file("/var/lib/prometheus/node-exporter/e2e-probe"); }},
        {"see-tmp", [] { return result_of(access("/tmp/rdma-qos-e2e/said", F_OK)); }},
        {"write-cgroup", [] { return open_to_write("/sys/fs/cgroup/cgroup.max.depth"); }},
        {"write-kernel-tunable", [] { return open_to_write("/proc/sys/net/ipv4/ip_forward"); }},
        {"read-kernel-log", [] { return result_of(klogctl(3, nullptr, 0)) == EPERM ? EPERM : 0; }},
        {"mount", [] { return may_call(mount("none", "/nowhere", "tmpfs", 0, nullptr)); }},
        {"unmount", [] { return may_call(umount2("/nowhere", 0)); }},
        {"load-module", [] { return may_call(syscall(SYS_init_module, nullptr, 0, nullptr)); }},
        {"reboot", [] { return may_call(syscall(SYS_reboot, 0, 0, 0, nullptr)); }},
        {"swap", [] { return may_call(syscall(SYS_swapon, nullptr, 0)); }},
        {"set-clock", [] { return may_call(syscall(SYS_clock_settime, -1, nullptr)); }},
#ifdef __x86_64__
        {"raw-io", [] { return may_call(syscall(SYS_iopl, 99)); }},
        {"modify-ldt", [] { return may_call(syscall(SYS_modify_ldt, 99, nullptr, 0)); }},
        {"other-architecture", [] { return in_child(call_of_another_architecture); }},
#endif
        {"trace", [] { return may_call(syscall(SYS_ptrace, 99, 0, 0, 0)); }},
        {"bpf", [] { return may_call(syscall(SYS_bpf, -1, nullptr, 0)); }},
        {"add-key", [] { return may_call(syscall(SYS_add_key, nullptr, nullptr, nullptr, 0, 0)); }},
        {"set-host-name", [] { return may_call(syscall(SYS_sethostname, nullptr, -1)); }},
        {"inet", [] { return open_socket(AF_INET, SOCK_STREAM); }},
        {"inet6", [] { return open_socket(AF_INET6, SOCK_DGRAM); }},
        {"packet", [] { return open_socket(AF_PACKET, SOCK_RAW); }},
        {"netlink", [] { return open_socket(AF_NETLINK, SOCK_RAW); }},
        {"unix", [] { return open_socket(AF_UNIX, SOCK_STREAM); }},
        {"map-writable-code", map_writable_code},
        {"make-data-executable", make_data_executable},
        {"new-namespace", [] { return in_child(shared_time_namespace); }},
        {"new-user-namespace", [] { return in_child([] { return may_call(unshare(CLONE_NEWUSER)); }); }},
        {"real-time", [] { return in_child(real_time); }},
        {"set-uid-file", make_set_uid_file},
        {"personality", [] { return in_child([] { return result_of(personality(PER_LINUX32)); }); }},
        {"gain-privileges", [] { return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? EPERM : 0; }},
        {"own-net-admin", [] { return prctl(PR_CAPBSET_READ, CAP_NET_ADMIN, 0, 0, 0) == 1 ? 0 : EPERM; }},
    };
    return table;
}

void print_result(const std::string& name, int error)
{
    fmt::print("{} {}\n", name, error == 0 ? "allowed" : error == EINTR ? "killed" : strerrorname_np(error));
}

int try_checks(const std::vector<std::string>& names)
{
    for (const auto& name : names) {
        const auto found = checks().find(name);
        if (found == checks().end()) {
            fmt::print(stderr, "e2e_probe: no check is called {}\n", name);
            return 2;
        }
        print_result(name, found->second());
    }
    return 0;
}

}    // namespace
}    // namespace rdmaqos::test

int main(int argc, char** argv)
{
    using namespace rdmaqos::test;
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 1 && words.front() == "list") {
        for (const auto& [name, function] : checks()) {
            fmt::print("{}\n", name);
        }
        return 0;
    }
    if (words.size() == 2 && words.front() == "open") {
        print_result(words.back(), close_after(open(words.back().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)));
        return 0;
    }
    if (words.size() == 4 && words.front() == "attach") {
        return attach_foreign(words[1], words[2], static_cast<std::uint32_t>(std::stoul(words[3])));
    }
    if (words.size() == 3 && words.front() == "attach-files") {
        return attach_many_files(words[1], std::stoul(words[2]));
    }
    return try_checks(words);
}
