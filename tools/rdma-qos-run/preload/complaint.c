#include "tools/rdma-qos-run/preload/complaint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static atomic_bool said[COMPLAINTS];
static struct stat first_stderr;    // as the program was started with it; st_nlink 0 and st_ino 0: with none

__attribute__((constructor)) static void remember_stderr(void)
{
    if (fstat(STDERR_FILENO, &first_stderr) != 0) {
        first_stderr = (struct stat){0};
    }
}

static bool is_same_file(const struct stat* one, const struct stat* other)
{
    return one->st_ino != 0 && one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

/* A program may have closed its stderr, and have opened something else that got its number: a data file, a connection.
 * It is written to if it is that of the start, a terminal, or where stdout goes, too, to be appended: a log. */
static bool may_write_stderr(void)
{
    struct stat now;
    struct stat out;
    if (fstat(STDERR_FILENO, &now) != 0) {
        return false;
    }
    if (is_same_file(&now, &first_stderr) || isatty(STDERR_FILENO) == 1) {
        return true;
    }
    const int flags = fcntl(STDERR_FILENO, F_GETFL);
    return flags >= 0 && (flags & O_APPEND) != 0 && fstat(STDOUT_FILENO, &out) == 0 && is_same_file(&now, &out);
}

int above_stdio(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO) {
        return fd;
    }
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return moved;
}

/* The journal's own protocol: a datagram of fields, each on a line. syslog(3) would change what the program set with
 * openlog(). */
static void write_journal(const char* root, const char* line)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int length = snprintf(address.sun_path, sizeof(address.sun_path), "%s/run/systemd/journal/socket", root);
    if (length < 0 || (size_t)length >= sizeof(address.sun_path)) {
        return;
    }
    char entry[640];
    const int size = snprintf(entry, sizeof(entry), "PRIORITY=4\nSYSLOG_IDENTIFIER=rdma-qos-run\nMESSAGE=%s\n", line);
    const int fd = above_stdio(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) {
        return;
    }
    if (size > 0 && (size_t)size < sizeof(entry)) {
        (void)sendto(fd, entry, (size_t)size, MSG_NOSIGNAL, (const struct sockaddr*)&address, sizeof(address));
    }
    close(fd);
}

void complain(const char* root, enum complaint about, const char* format, ...)
{
    if (atomic_exchange(&said[about], true)) {
        return;
    }
    const int saved = errno;
    char text[448];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    for (char* each = text; *each != '\0'; ++each) {
        if ((unsigned char)*each < ' ') {
            *each = ' ';
        }
    }
    char line[512];
    const int length = snprintf(line, sizeof(line), "%s[%d]: %s", program_invocation_short_name, (int)getpid(), text);
    write_journal(root, line);
    char whole[544];
    const int size = snprintf(whole, sizeof(whole), "rdma-qos-run: %s\n", line);
    if (length > 0 && size > 0 && may_write_stderr()) {
        const size_t count = (size_t)size < sizeof(whole) ? (size_t)size : sizeof(whole) - 1;
        (void)!write(STDERR_FILENO, whole, count);
    }
    errno = saved;
}
