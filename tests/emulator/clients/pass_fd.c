// pass_fd EMULATOR: a uverbs file lives as long as its last descriptor. One process opens the device, builds a tree
// with queue pairs and hands its descriptor to another, which kills it, finds everything alive, and closes.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/emulator/clients/check.h"
#include "tests/emulator/clients/prm.h"
#include "tests/emulator/clients/uverbs.h"
#include "tests/emulator/clients/world.h"

enum { QUEUE_PAIRS = 4, LEAVES = 2, ELEMENTS = 1 + LEAVES };
enum { SHARE = 17, RATE = 2500 };
enum { CLOSE_TIME = 500, AN_HOUR = 3600000 };    // milliseconds

// What the holder of the descriptor must know.
struct handover {
    uint32_t leaf_handle;
    uint32_t leaf_id;
    uint32_t root_id;
    uint32_t qp_handles[QUEUE_PAIRS];
    uint32_t qp_numbers[QUEUE_PAIRS];
};

static const char* emulator;

// ---- the first process ----

static int make_element(int fd, const struct prm_element* element, uint32_t* handle, uint32_t* id)
{
    uint8_t in[ELEMENT_IN];
    uint8_t out[GENERAL_OUT] = {0};
    prm_create_element(in, element);
    const int failure = uverbs_devx_create(fd, handle, &(struct uverbs_buffer){in, sizeof(in)},
                                           &(struct uverbs_buffer){out, sizeof(out)});
    *id = prm_object_id(out);
    return failure;
}

static int build(struct handover* made, struct world* world)
{
    uint32_t unused = 0;
    uint32_t other = 0;
    if (!open_world(world)) {
        return ENODEV;
    }
    const int fd = world->context->cmd_fd;
    int failure = make_element(fd, &(struct prm_element){.type = ELEMENT_TSAR}, &unused, &made->root_id);
    if (failure == 0) {
        failure = make_element(fd, &(struct prm_element){ELEMENT_QUEUE_GROUP, made->root_id, SHARE, RATE},
                               &made->leaf_handle, &made->leaf_id);
    }
    if (failure == 0) {
        failure = make_element(fd, &(struct prm_element){ELEMENT_QUEUE_GROUP, made->root_id, 1, 0}, &unused, &other);
    }
    for (int i = 0; i < QUEUE_PAIRS && failure == 0; ++i) {
        struct ibv_qp* qp = create_qp(world, IBV_QPT_RC);
        failure = qp != NULL ? drive_qp(qp, IBV_QPS_RTS) : errno;
        if (failure == 0) {
            uint8_t in[MODIFY_QP_IN];
            uint8_t out[MODIFY_QP_OUT];
            made->qp_handles[i] = qp->handle;
            made->qp_numbers[i] = qp->qp_num;
            prm_attach(in, OP_RTS2RTS_QP, qp->qp_num, made->leaf_id, made->leaf_id);
            failure = uverbs_devx_modify(fd, qp->handle, &(struct uverbs_buffer){in, sizeof(in)},
                                         &(struct uverbs_buffer){out, sizeof(out)});
        }
    }
    return failure;
}

static bool transfer(int socket, bool sending, struct handover* content, int* fd)
{
    _Alignas(struct cmsghdr) char ancillary[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {content, sizeof(*content)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = ancillary, .msg_controllen = sizeof(ancillary)};
    if (sending) {
        struct cmsghdr* rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(rights), fd, sizeof(int));
        return sendmsg(socket, &message, 0) == (ssize_t)sizeof(*content);
    }
    const bool whole = recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == (ssize_t)sizeof(*content);
    const struct cmsghdr* rights = CMSG_FIRSTHDR(&message);
    if (!whole || rights == NULL || rights->cmsg_type != SCM_RIGHTS) {
        return false;
    }
    memcpy(fd, CMSG_DATA(rights), sizeof(int));
    return true;
}

static int be_owner(int socket)
{
    struct handover made = {0};
    struct world world = {0};
    const int failure = build(&made, &world);
    if (failure != 0) {
        fprintf(stderr, "the first process: %s\n", strerror(failure));
        return 1;
    }
    if (!transfer(socket, true, &made, &world.context->cmd_fd)) {
        return 1;
    }
    for (;;) {
        pause();
    }
}

// ---- the second process ----

// A number of the first device in the emulator's state; -1: not there.
static long state_number(const char* key)
{
    char line[512];
    snprintf(line, sizeof(line), "'%s' ctl state --json", emulator);
    FILE* said = popen(line, "r");
    if (said == NULL) {
        return -1;
    }
    static char text[1 << 20];
    const size_t length = fread(text, 1, sizeof(text) - 1, said);
    text[length] = '\0';
    if (pclose(said) != 0) {
        return -1;
    }
    char quoted[64];
    snprintf(quoted, sizeof(quoted), "\"%s\"", key);
    const char* device = strstr(text, "\"mlx5_0\"");
    // The keys of an object come in any order: its first brace is before its name.
    while (device != NULL && device > text && *device != '{') {
        --device;
    }
    const char* found = device != NULL ? strstr(device, quoted) : NULL;
    const char* colon = found != NULL ? strchr(found, ':') : NULL;
    return colon != NULL ? strtol(colon + 1, NULL, 10) : -1;
}

// How long it took, in milliseconds; -1: it failed.
static long time_of_close(int fd)
{
    struct timespec begin;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (close(fd) != 0) {
        return -1;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
}

static bool set_close_time(int milliseconds)
{
    char line[512];
    snprintf(line, sizeof(line), "'%s' ctl set close-ms %d", emulator, milliseconds);
    return system(line) == 0;
}

static void check_alive(int fd, const struct handover* made)
{
    uint8_t in[ELEMENT_IN];
    uint8_t out[ELEMENT_OUT] = {0};
    const struct uverbs_buffer answer = {out, sizeof(out)};
    prm_element_command(in, OP_QUERY_GENERAL_OBJECT, made->leaf_id);
    check_errno(uverbs_devx_query(fd, made->leaf_handle, &(struct uverbs_buffer){in, GENERAL_OUT}, &answer), 0,
                "the leaf answers");
    const struct prm_element leaf = prm_read_element(out);
    check(leaf.parent == made->root_id && leaf.share == SHARE && leaf.max_rate == RATE, "with what was written",
          "parent %u, share %u, rate %u", leaf.parent, leaf.share, leaf.max_rate);
    prm_modify_element(in, made->leaf_id, SELECT_SHARE, SHARE + 1, 0);
    check_errno(uverbs_devx_modify(fd, made->leaf_handle, &(struct uverbs_buffer){in, sizeof(in)}, &answer), 0,
                "and can be modified");
    for (int i = 0; i < QUEUE_PAIRS; ++i) {
        unsigned state = 0;
        check_errno(uverbs_query_qp_state(fd, made->qp_handles[i], &state), 0, "a queue pair answers");
        check_number(state, IBV_QPS_RTS, "it is in RTS");
        uint8_t command[MODIFY_QP_IN];
        prm_attach(command, OP_RTS2RTS_QP, made->qp_numbers[i], made->leaf_id, 0);
        check_errno(
            uverbs_devx_modify(fd, made->qp_handles[i], &(struct uverbs_buffer){command, sizeof(command)}, &answer), 0,
            "and can be attached");
    }
    check_errno(uverbs_devx_destroy(fd, made->leaf_handle), EBUSY, "its leaf is busy");
}

int main(int argc, char** argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: pass_fd EMULATOR\n");
        return 2;
    }
    emulator = argv[1];
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
        return 2;
    }
    fflush(stdout);
    const pid_t owner = fork();
    if (owner < 0) {
        perror("fork");
        return 1;
    }
    if (owner == 0) {
        close(sockets[0]);
        _exit(be_owner(sockets[1]));
    }
    close(sockets[1]);
    struct handover made = {0};
    int fd = -1;
    if (check(transfer(sockets[0], false, &made, &fd), "the descriptor arrives", "it does not")) {
        check_number(state_number("elements"), ELEMENTS, "elements before");
        kill(owner, SIGKILL);
        waitpid(owner, NULL, 0);
        check_number(state_number("files"), 1, "one file after the owner's death");
        check_alive(fd, &made);
        check_number(state_number("elements"), ELEMENTS, "its elements live");
        const int copy = dup(fd);
        check(set_close_time(AN_HOUR), "a slow last close is ordered", "it is not");
        check(close(fd) == 0, "a close that is not the last returns", "errno %d", errno);
        check(set_close_time(CLOSE_TIME), "one that is less slow is ordered", "it is not");
        check_number(state_number("elements"), ELEMENTS, "a copy of the descriptor keeps them");
        const long last = time_of_close(copy);
        check(last >= CLOSE_TIME, "the last close takes its time", "%ld ms", last);
        check_number(state_number("files"), 0, "no file after the last close");
        check_number(state_number("elements"), 0, "no element");
        check_number(state_number("leaves"), 0, "no leaf");
        check_number(state_number("leaked"), 0, "nothing leaked");
        check(set_close_time(0), "and is taken back", "it is not");
    }
    waitpid(owner, NULL, 0);
    return check_result();
}
