#include "tools/rdma-qos-run/preload/complaint.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static atomic_bool said[COMPLAINTS];

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
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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
    if (length > 0 && size > 0) {
        const size_t count = (size_t)size < sizeof(whole) ? (size_t)size : sizeof(whole) - 1;
        (void)!write(STDERR_FILENO, whole, count);
    }
    errno = saved;
}
