#include "tests/integration/run/programs/program.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/emulator/clients/prm.h"
#include "tests/emulator/clients/uverbs.h"

const struct verbs* verbs;
struct options options;
static make_one make;
static double modify_us;    // spent in modify_qp(), with -m
static double modify_computing_us;
static int modify_calls;

static double now_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

_Noreturn void give_up(const char* what)
{
    fprintf(stderr, "the program fails: %s: %s\n", what, strerror(errno));
    exit(90);
}

void describe(uint32_t number, unsigned sl, unsigned traffic_class)
{
    printf("qp %u sl %u traffic-class %u pid %d\n", number, sl, traffic_class, (int)getpid());
    fflush(stdout);
}

// On Ethernet mlx5 keeps the service level as the priority, and verbs do not tell it.
static unsigned priority_of(const struct ibv_qp* qp)
{
    enum { QUERY_QP = 0x50b, PRIORITY = 192 + 192 + 289 };
    uint8_t in[16] = {0};
    uint8_t out[272] = {0};
    prm_set(in, 0, 16, QUERY_QP);
    prm_set(in, 72, 24, qp->qp_num);
    const int error = uverbs_devx_query(qp->context->cmd_fd, qp->handle, &(struct uverbs_buffer){in, sizeof(in)},
                                        &(struct uverbs_buffer){out, sizeof(out)});
    if (error != 0) {
        errno = error;
        give_up("QUERY_QP");
    }
    return prm_get(out, PRIORITY, 3);
}

static struct ibv_ah_attr query_address(struct ibv_qp* qp)
{
    struct ibv_qp_attr attributes;
    struct ibv_qp_init_attr initial;
    if (verbs->query_qp(qp, &attributes, IBV_QP_AV, &initial) != 0) {
        give_up("query_qp");
    }
    attributes.ah_attr.sl |= (uint8_t)priority_of(qp);
    return attributes.ah_attr;
}

void describe_qp(struct ibv_qp* qp)
{
    const struct ibv_ah_attr address = query_address(qp);
    describe(qp->qp_num, address.sl, address.grh.traffic_class);
}

void step(struct ibv_qp* qp, enum ibv_qp_state state, const uint8_t gid[16])
{
    struct ibv_qp_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.qp_state = state;
    attributes.port_num = 1;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.dest_qp_num = qp->qp_num;
    attributes.max_dest_rd_atomic = attributes.max_rd_atomic = 1;
    attributes.timeout = 14;
    attributes.ah_attr.port_num = 1;
    attributes.ah_attr.is_global = options.lid == 0;
    attributes.ah_attr.dlid = (uint16_t)options.lid;
    attributes.ah_attr.sl = (uint8_t)options.sl;
    attributes.ah_attr.grh.traffic_class = (uint8_t)options.traffic_class;
    attributes.ah_attr.grh.hop_limit = 1;
    attributes.ah_attr.grh.sgid_index = (uint8_t)options.gid_index;
    memcpy(&attributes.ah_attr.grh.dgid, gid, 16);
    int mask = IBV_QP_STATE;
    if (state == IBV_QPS_INIT) {
        mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    } else if (state == IBV_QPS_RTR) {
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                IBV_QP_MIN_RNR_TIMER;
    } else {
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
    }
    errno = 77;
    const double begin = now_us(CLOCK_MONOTONIC);
    const double computed = now_us(CLOCK_PROCESS_CPUTIME_ID);
    const int error = verbs->modify_qp(qp, &attributes, mask);
    if (options.measures) {
        modify_computing_us += now_us(CLOCK_PROCESS_CPUTIME_ID) - computed;
        modify_us += now_us(CLOCK_MONOTONIC) - begin;
        ++modify_calls;
    }
    if (error != 0) {
        errno = error;
        give_up("modify_qp");
    }
    if (errno != 77) {
        give_up("a call that succeeds changes errno");
    }
}

void make_by_verbs(const struct world_of_program* world, const uint8_t gid[16])
{
    struct ibv_qp_init_attr initial = {
        .send_cq = world->cq,
        .recv_cq = world->cq,
        .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
    };
    for (int cycle = 0;; ++cycle) {
        struct ibv_qp* qp = verbs->create_qp(world->pd, &initial);
        if (qp == NULL) {
            give_up("create_qp");
        }
        step(qp, IBV_QPS_INIT, gid);
        step(qp, IBV_QPS_RTR, gid);
        step(qp, IBV_QPS_RTS, gid);
        if (cycle == options.cycles) {
            describe_qp(qp);
            return;
        }
        usleep(5000);    // it is used
        query_address(qp);
        const int error = verbs->destroy_qp(qp);
        if (error != 0) {
            errno = error;
            give_up("destroy_qp");
        }
    }
}

static void open_world_of_program(struct world_of_program* world, const char* name)
{
    struct ibv_device** devices = verbs->get_device_list(NULL);
    for (struct ibv_device** each = devices; each != NULL && *each != NULL; ++each) {
        if (strcmp(verbs->get_device_name(*each), name) == 0) {
            world->context = verbs->open_device(*each);
        }
    }
    if (world->context == NULL) {
        give_up("open_device");
    }
    verbs->free_device_list(devices);
    world->pd = verbs->alloc_pd(world->context);
    world->cq = verbs->create_cq(world->context, 64, NULL, NULL, 0);
    if (world->pd == NULL || world->cq == NULL) {
        give_up("alloc_pd, create_cq");
    }
}

static void make_on(const char* device)
{
    struct world_of_program world = {0};
    open_world_of_program(&world, device);
    char* gids = strdup(options.gids);
    char* rest = gids;
    for (int i = 0; i < options.count; ++i) {
        char* word = strsep(&rest, ",");
        if (rest == NULL) {
            rest = word != NULL && i + 1 < options.count ? strcpy(gids, options.gids) : NULL;
        }
        uint8_t gid[16];
        if (word == NULL || inet_pton(AF_INET6, word, gid) != 1) {
            give_up("a GID");
        }
        make(&world, gid);
    }
    free(gids);
}

static void* make_all(void* unused)
{
    (void)unused;
    char* devices = strdup(options.device);
    char* rest = devices;
    for (char* device = NULL; (device = strsep(&rest, ",")) != NULL;) {
        make_on(device);
    }
    free(devices);
    return NULL;
}

enum { OWN_FILES = 24 };
static int own_files[OWN_FILES];

static void name_of_own(int i, char name[32])
{
    (void)snprintf(name, 32, "/memfd:own%d (deleted)", i);
}

// As a daemon does, and then it opens what it needs.
static void close_all_and_open_own(void)
{
    for (int fd = 3; fd < 1024; ++fd) {
        struct stat file;
        if (fstat(fd, &file) == 0 && !S_ISCHR(file.st_mode)) {
            close(fd);
        }
    }
    for (int i = 0; i < OWN_FILES; ++i) {
        char name[32];
        (void)snprintf(name, sizeof(name), "own%d", i);
        own_files[i] = memfd_create(name, 0);
    }
}

static void check_own(void)
{
    for (int i = 0; i < OWN_FILES; ++i) {
        char path[32];
        char name[32];
        char found[64] = "";
        struct stat file;
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", own_files[i]);
        name_of_own(i, name);
        if (readlink(path, found, sizeof(found) - 1) < 0 || strcmp(found, name) != 0) {
            give_up("a file of its own is not what it was");
        }
        if (fstat(own_files[i], &file) != 0 || file.st_size != 0) {
            give_up("somebody has written to a file of its own");
        }
    }
}

static void use_number_of_stderr(void)
{
    for (int fd = 0; fd <= 2; ++fd) {
        close(fd);
    }
    if (open("/dev/null", O_RDWR) != 0 || open("/dev/null", O_RDWR) != 1 ||
        open(options.data, O_RDWR | O_CREAT | O_TRUNC, 0600) != 2) {
        exit(92);
    }
}

static void wait_for_file(void)
{
    while (options.until != NULL && access(options.until, F_OK) != 0) {
        usleep(10000);
    }
}

static void* end_later(void* unused)
{
    (void)unused;
    usleep(100000);
    return NULL;
}

static void read_options(int argc, char** argv)
{
    options = (struct options){.way = argc > 1 ? argv[1] : "", .device = "mlx5_0", .count = 1, .gids = "fd00:20::1"};
    optind = 2;
    for (int option = 0; (option = getopt(argc, argv, "d:n:g:i:l:s:c:t:fu:x:ek:mCo:")) != -1;) {
        switch (option) {
        case 'd':
            options.device = optarg;
            break;
        case 'n':
            options.count = atoi(optarg);
            break;
        case 'g':
            options.gids = optarg;
            break;
        case 'i':
            options.gid_index = atoi(optarg);
            break;
        case 'l':
            options.lid = atoi(optarg);
            break;
        case 's':
            options.sl = atoi(optarg);
            break;
        case 'c':
            options.traffic_class = atoi(optarg);
            break;
        case 't':
            options.threads = atoi(optarg);
            break;
        case 'f':
            options.forks = true;
            break;
        case 'u':
            options.until = optarg;
            break;
        case 'x':
            options.status = atoi(optarg);
            break;
        case 'e':
            options.ends_by_thread = true;
            break;
        case 'k':
            options.cycles = atoi(optarg);
            break;
        case 'm':
            options.measures = true;
            break;
        case 'C':
            options.closes = true;
            break;
        case 'o':
            options.data = optarg;
            break;
        default:
            exit(91);
        }
    }
}

int run_program(int argc, char** argv, const struct verbs* reached, make_one how)
{
    read_options(argc, argv);
    verbs = reached;
    make = how;
    pthread_t threads[64];
    if (options.data != NULL) {
        use_number_of_stderr();
    }
    for (int i = 0; i < options.threads; ++i) {
        pthread_create(&threads[i], NULL, make_all, NULL);
    }
    if (options.threads == 0) {
        make_all(NULL);
    }
    pid_t child = -1;
    if (options.forks) {
        child = fork();
    }
    if (options.closes && child <= 0) {
        close_all_and_open_own();
    }
    if (child == 0 || (options.closes && !options.forks)) {
        make_all(NULL);
    }
    for (int i = 0; i < options.threads; ++i) {
        pthread_join(threads[i], NULL);
    }
    if (options.measures) {
        printf("modify_qp %.2f us, %.2f us computing\n", modify_us / modify_calls, modify_computing_us / modify_calls);
    }
    printf("ready\n");
    fflush(stdout);
    wait_for_file();
    if (options.closes && child <= 0) {
        check_own();
    }
    if (child > 0) {
        int status = 0;
        waitpid(child, &status, 0);
        options.status = WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : options.status;
    }
    if (options.ends_by_thread) {
        pthread_create(&threads[0], NULL, end_later, NULL);
        pthread_exit(NULL);
    }
    return options.status;
}
