// member COMMANDS: a program that knows nothing of rdma-qosd. Each line of the pipe COMMANDS names a device: it opens
// that device, once more if need be, and makes a queue pair in RTS there. It prints "mlx5_0 263", or "mlx5_0 0" and why
// not.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/emulator/clients/world.h"

static void join(const char* device)
{
    struct world world;
    memset(&world, 0, sizeof(world));
    int count = 0;
    struct ibv_device** all = ibv_get_device_list(&count);
    for (int i = 0; i < count && world.context == NULL; ++i) {
        if (strcmp(ibv_get_device_name(all[i]), device) == 0) {
            world.context = ibv_open_device(all[i]);
        }
    }
    if (world.context != NULL) {
        world.pd = ibv_alloc_pd(world.context);
        world.cq = ibv_create_cq(world.context, 16, NULL, NULL, 0);
    }
    struct ibv_qp* qp = world.pd != NULL && world.cq != NULL ? create_qp(&world, IBV_QPT_RC) : NULL;
    const int error = qp != NULL ? drive_qp(qp, IBV_QPS_RTS) : errno;
    if (qp != NULL && error == 0) {
        printf("%s %u\n", device, qp->qp_num);
    } else {
        printf("%s 0 %s\n", device, strerror(error));
    }
    fflush(stdout);
    ibv_free_device_list(all);
}

int main(int argc, char** argv)
{
    const int commands = argc == 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;    // to write, too: so it never ends
    FILE* lines = commands >= 0 ? fdopen(commands, "r") : NULL;
    if (lines == NULL) {
        perror("member: its commands");
        return 1;
    }
    for (char device[64]; fscanf(lines, "%63s", device) == 1;) {
        join(device);
    }
    return 0;
}
