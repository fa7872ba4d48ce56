// look [EMULATOR]: how another process's open devices look in /proc, by every function that can ask. The other process
// has both devices open, and sockets, a pipe and a file that are none. With EMULATOR the first device goes and comes.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/emulator/clients/check.h"
#include "tests/emulator/clients/uverbs.h"
#include "tests/emulator/clients/world.h"

enum { DEVICES = 2, OTHERS = 4 };
enum { MAJOR = 231, MINOR = 192 };

struct opened {
    int device[DEVICES];
    int other[OTHERS];    // a pair of sockets, a pipe's end, a file
    uint32_t qp_handle;
};

static pid_t owner;

// ---- the other process ----

static void be_owner(int report)
{
    struct opened opened = {0};
    struct world world = {0};
    int pipe_ends[2];
    const char* names[DEVICES] = {"mlx5_0", "mlx5_1"};
    for (int i = 0; i < DEVICES; ++i) {
        if (!open_world_of(&world, names[i])) {
            _exit(1);
        }
        opened.device[i] = world.context->cmd_fd;
        if (i == 0) {
            struct ibv_qp* qp = create_qp(&world, IBV_QPT_RC);
            if (qp == NULL || drive_qp(qp, IBV_QPS_RTS) != 0) {
                _exit(1);
            }
            opened.qp_handle = qp->handle;
        }
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, opened.other) != 0 || pipe(pipe_ends) != 0) {
        _exit(1);
    }
    opened.other[2] = pipe_ends[0];
    opened.other[3] = open("/dev/null", O_RDONLY);
    if (write(report, &opened, sizeof(opened)) != sizeof(opened)) {
        _exit(1);
    }
    for (;;) {
        pause();
    }
}

// ---- looking ----

static const char* text_of(ssize_t length, char* text)
{
    if (length < 0) {
        return strerror(errno);
    }
    text[length] = '\0';
    return text;
}

static void check_text(const char* got, const char* expected, const char* name)
{
    check(strcmp(got, expected) == 0, name, "\"%s\" instead of \"%s\"", got, expected);
}

static bool is_device(mode_t mode, unsigned of_major, unsigned of_minor, int index)
{
    return S_ISCHR(mode) && of_major == MAJOR && of_minor == (unsigned)(MINOR + index);
}

static void check_status(int failed, const struct stat* status, int index, const char* name)
{
    check(failed == 0 && is_device(status->st_mode, major(status->st_rdev), minor(status->st_rdev), index), name,
          "%d, mode %o, %u:%u", failed, status->st_mode, major(status->st_rdev), minor(status->st_rdev));
}

static void check_statx(int failed, const struct statx* status, int index, const char* name)
{
    check(failed == 0 && is_device(status->stx_mode, status->stx_rdev_major, status->stx_rdev_minor, index), name,
          "%d, mode %o, %u:%u", failed, status->stx_mode, status->stx_rdev_major, status->stx_rdev_minor);
}

// fortified programs call these
extern ssize_t __readlink_chk(const char* path, char* text, size_t room, size_t size);
extern ssize_t __readlinkat_chk(int folder, const char* path, char* text, size_t room, size_t size);
extern int __xstat(int version, const char* path, struct stat* result);
extern int __lxstat(int version, const char* path, struct stat* result);
extern int __fxstatat(int version, int folder, const char* path, struct stat* result, int flags);

static void check_device(const char* folder, int fd, int index)
{
    char path[128];
    char name[16];
    char device[64];
    char text[128];
    static char group[128];
    struct stat status;
    struct statx extended;
    snprintf(group, sizeof(group), "%s/%d", folder, fd);
    check_group(group);
    snprintf(path, sizeof(path), "%s/%d", folder, fd);
    snprintf(name, sizeof(name), "%d", fd);
    snprintf(device, sizeof(device), "/dev/infiniband/uverbs%d", index);

    check_text(text_of(readlink(path, text, sizeof(text) - 1), text), device, "readlink");
    check_text(text_of(__readlink_chk(path, text, sizeof(text) - 1, sizeof(text)), text), device, "__readlink_chk");
    check_text(text_of(readlinkat(AT_FDCWD, path, text, sizeof(text) - 1), text), device, "readlinkat");
    check_text(text_of(readlink(path, text, 3), text), "/de", "readlink into 3 bytes");
    check_text(text_of(readlink(path, text, 12), text), "/dev/infinib", "readlink into 12 bytes");
    check_status(stat(path, &status), &status, index, "stat");
    check_status(__xstat(1, path, &status), &status, index, "__xstat");
    check_status(fstatat(AT_FDCWD, path, &status, 0), &status, index, "fstatat");
    check_statx(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &extended), &extended, index, "statx");
    check_statx(statx(AT_FDCWD, path, 0, STATX_INO, &extended), &extended, index, "statx of another mask");
    check(lstat(path, &status) == 0 && S_ISLNK(status.st_mode), "lstat", "mode %o", status.st_mode);
    check(__lxstat(1, path, &status) == 0 && S_ISLNK(status.st_mode), "__lxstat", "mode %o", status.st_mode);
    check(fstatat(AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode),
          "fstatat of the link itself", "mode %o", status.st_mode);

    // As a scan goes about it.
    const int scanned = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    check_text(text_of(readlinkat(scanned, name, text, sizeof(text) - 1), text), device, "readlinkat in the folder");
    check_text(text_of(__readlinkat_chk(scanned, name, text, sizeof(text) - 1, sizeof(text)), text), device,
               "__readlinkat_chk in the folder");
    check_status(fstatat(scanned, name, &status, 0), &status, index, "fstatat in the folder");
    check_status(__fxstatat(1, scanned, name, &status, 0), &status, index, "__fxstatat in the folder");
    check_statx(statx(scanned, name, 0, STATX_BASIC_STATS, &extended), &extended, index, "statx in the folder");
    check_statx(statx(scanned, name, AT_STATX_DONT_SYNC, STATX_TYPE, &extended), &extended, index,
                "statx of the type in the folder");
    const int above = openat(scanned, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof(path), "fd/%d", fd);
    check_status(fstatat(above, path, &status, 0), &status, index, "fstatat from the folder above");
    close(above);
    const int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (check(fchdir(scanned) == 0, "as the working folder", "%s", strerror(errno))) {
        check_text(text_of(readlink(name, text, sizeof(text) - 1), text), device, "readlink of its name alone");
        check_status(stat(name, &status), &status, index, "stat of its name alone");
    }
    check(fchdir(here) == 0, "and back", "%s", strerror(errno));
    close(here);
    close(scanned);
}

static void check_others(const char* folder, const struct opened* opened)
{
    const mode_t types[OTHERS] = {S_IFSOCK, S_IFSOCK, S_IFIFO, S_IFCHR};
    const char* begins[OTHERS] = {"socket:[", "socket:[", "pipe:[", "/dev/null"};
    for (int i = 0; i < OTHERS; ++i) {
        char path[128];
        char text[128];
        struct stat status;
        snprintf(path, sizeof(path), "%s/%d", folder, opened->other[i]);
        check_group(path);
        const char* said = text_of(readlink(path, text, sizeof(text) - 1), text);
        check(strncmp(said, begins[i], strlen(begins[i])) == 0, "readlink of no device", "\"%s\"", said);
        check(stat(path, &status) == 0 && (status.st_mode & S_IFMT) == types[i] && major(status.st_rdev) != MAJOR,
              "stat of no device", "mode %o", status.st_mode);
    }
}

// All that a scan of a process finds.
static void check_scan(const char* folder)
{
    check_group(folder);
    int found = 0;
    DIR* listed = opendir(folder);
    for (struct dirent* each = NULL; listed != NULL && (each = readdir(listed)) != NULL;) {
        struct statx status;
        if (statx(dirfd(listed), each->d_name, 0, STATX_TYPE, &status) == 0 && S_ISCHR(status.stx_mode) &&
            status.stx_rdev_major == MAJOR) {
            ++found;
        }
    }
    closedir(listed);
    check_number(found, DEVICES, "a scan finds its devices");
}

// ---- taking ----

static void check_taken(const struct opened* opened)
{
    check_group("taken");
    const int pidfd = (int)syscall(SYS_pidfd_open, owner, 0);
    const int fd = (int)syscall(SYS_pidfd_getfd, pidfd, opened->device[0], 0);
    struct stat status;
    unsigned state = 0;
    check_status(fstat(fd, &status), &status, 0, "fstat");
    check_errno(uverbs_query_qp_state(fd, opened->qp_handle, &state), 0, "its queue pair answers");
    check_number(state, IBV_QPS_RTS, "it is in RTS");
    check_number(syscall(SYS_kcmp, getpid(), owner, 0, fd, opened->device[0]), 0, "it is the same file for kcmp");
    char folder[64];
    snprintf(folder, sizeof(folder), "/proc/%d/fd", getpid());
    check_device(folder, fd, 0);
    check_device("/proc/self/fd", fd, 0);
    check_device("/proc/thread-self/fd", fd, 0);
    close(fd);
    close(pidfd);
}

// ---- a device that goes ----

static bool control(const char* emulator, const char* words)
{
    char line[512];
    snprintf(line, sizeof(line), "'%s' ctl %s", emulator, words);
    return system(line) == 0;
}

static void check_gone(const char* emulator, const char* folder, int fd)
{
    char path[128];
    char text[128];
    struct stat status;
    snprintf(path, sizeof(path), "%s/%d", folder, fd);
    check_group("unplugged");
    check(control(emulator, "unplug mlx5_0"), "the device goes", "it does not");
    check_text(text_of(readlink(path, text, sizeof(text) - 1), text), "/dev/infiniband/uverbs0 (deleted)", "readlink");
    check_status(stat(path, &status), &status, 0, "stat");
    check_number((long long)status.st_nlink, 0, "it has no name");
    check_group("plugged in again");
    check(control(emulator, "plug mlx5_0"), "the device comes", "it does not");
    check_text(text_of(readlink(path, text, sizeof(text) - 1), text), "/dev/infiniband/uverbs0 (deleted)", "readlink");
    struct stat node;
    check_status(stat(path, &status), &status, 0, "stat");
    check_status(stat("/dev/infiniband/uverbs0", &node), &node, 0, "stat of the node");
    check(status.st_rdev == node.st_rdev && status.st_ino != node.st_ino && node.st_nlink == 1,
          "the same number, another inode", "inodes %lu, %lu", status.st_ino, node.st_ino);
}

int main(int argc, char** argv)
{
    if (argc > 2) {
        fprintf(stderr, "usage: look [EMULATOR]\n");
        return 2;
    }
    int report[2];
    if (pipe(report) != 0) {
        return 2;
    }
    fflush(stdout);
    owner = fork();
    if (owner < 0) {
        perror("fork");
        return 1;
    }
    if (owner == 0) {
        be_owner(report[1]);
    }
    close(report[1]);
    struct opened opened = {0};
    if (check(read(report[0], &opened, sizeof(opened)) == sizeof(opened), "the other process has its devices open",
              "it has not")) {
        char folder[64];
        char of_thread[64];
        snprintf(folder, sizeof(folder), "/proc/%d/fd", owner);
        snprintf(of_thread, sizeof(of_thread), "/proc/%d/task/%d/fd", owner, owner);
        for (int i = 0; i < DEVICES; ++i) {
            check_device(folder, opened.device[i], i);
            check_device(of_thread, opened.device[i], i);
        }
        check_others(folder, &opened);
        check_scan(folder);
        check_taken(&opened);
        if (argc == 2) {
            check_gone(argv[1], folder, opened.device[0]);
        }
    }
    check_group("");
    kill(owner, SIGKILL);
    waitpid(owner, NULL, 0);
    return check_result();
}
