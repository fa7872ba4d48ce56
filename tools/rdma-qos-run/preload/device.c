#include "tools/rdma-qos-run/preload/device.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tools/rdma-qos-run/preload/complaint.h"

enum { PATH_BYTES = 512 };

/* As libibverbs finds it. */
static const char* sysfs(void)
{
    const char* path = secure_getenv("SYSFS_PATH");
    return path != NULL && *path == '/' ? path : "/sys";
}

/* The first line of a file of sysfs. */
static bool read_line(const char* path, char* text, size_t bytes)
{
    const int fd = above_stdio(open(path, O_RDONLY | O_CLOEXEC));
    if (fd < 0) {
        return false;
    }
    const ssize_t length = read(fd, text, bytes - 1);
    close(fd);
    if (length <= 0) {
        return false;
    }
    text[length] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return true;
}

bool device_of_file(int fd, char name[NAME_BYTES])
{
    struct stat file;
    char folder[PATH_BYTES];
    if (fstat(fd, &file) != 0 || !S_ISCHR(file.st_mode)) {
        return false;
    }
    (void)snprintf(folder, sizeof(folder), "%s/class/infiniband_verbs", sysfs());
    const int folder_fd = above_stdio(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR* devices = folder_fd >= 0 ? fdopendir(folder_fd) : NULL;
    if (devices == NULL) {
        if (folder_fd >= 0) {
            close(folder_fd);
        }
        return false;
    }
    char number[32];
    (void)snprintf(number, sizeof(number), "%u:%u", major(file.st_rdev), minor(file.st_rdev));
    bool found = false;
    const struct dirent* each = NULL;
    while (!found && (each = readdir(devices)) != NULL) {    // NOLINT(concurrency-mt-unsafe): a stream of its own
        char path[PATH_BYTES + 300];
        char text[32];
        if (strncmp(each->d_name, "uverbs", strlen("uverbs")) != 0) {
            continue;
        }
        (void)snprintf(path, sizeof(path), "%s/%s/dev", folder, each->d_name);
        if (read_line(path, text, sizeof(text)) && strcmp(text, number) == 0) {
            (void)snprintf(path, sizeof(path), "%s/%s/ibdev", folder, each->d_name);
            found = read_line(path, name, NAME_BYTES);
        }
    }
    closedir(devices);
    return found;
}

bool port_is_ethernet(const char* device, unsigned port)
{
    char path[PATH_BYTES];
    char text[32];
    (void)snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports/%u/link_layer", sysfs(), device, port);
    return read_line(path, text, sizeof(text)) && strcmp(text, "Ethernet") == 0;
}

bool pkey_of_port(const char* device, unsigned port, unsigned index, uint16_t* pkey)
{
    char path[PATH_BYTES];
    char text[32];
    (void)snprintf(path, sizeof(path), "%s/class/infiniband/%s/ports/%u/pkeys/%u", sysfs(), device, port, index);
    if (!read_line(path, text, sizeof(text))) {
        return false;
    }
    *pkey = (uint16_t)strtoul(text, NULL, 0);
    return (*pkey & 0x7fff) != 0;
}
