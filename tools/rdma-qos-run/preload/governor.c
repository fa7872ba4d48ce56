/* The governor: librdmaqos, with what somebody else's process asks for.
 *
 * Calls of the daemon that the program waits for happen under one lock. A thread of its own hears what the daemon says,
 * for a client that reads nothing is disconnected, comes back after a restart of the daemon, and does what there was no
 * time for. librdmaqos has such a thread, too; this one also sees to it that it is not the last in the process. */
#include "tools/rdma-qos-run/preload/governor.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/client/internal.h"
#include "lib/client/rdmaqos.h"

enum {
    TRY_AGAIN_MS = 10000, /* after librdmaqos could not be used */
    LONGEST_PATIENCE_MS = 3600 * 1000,
    WATCH_MS = 5000,  /* how often the thread looks whether it is still needed, and has its descriptors */
    ENDING_MS = 100,  /* the same when the program's first thread has ended */
    PASS_ON_MS = 250, /* the same when there is something left to do */
    QUICK_MS = 20,    /* an answer that takes no longer is not waited for */
    REGAINED = 20     /* one part in so many of the time that passes may be waited again */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char socket_path[320];
static char level[LEVEL_BYTES];

static struct rdmaqos_handle* handle;    /* NULL: none yet */
static struct rdmaqos_handle* of_parent; /* in a child: what it has inherited */
static bool watching;                    /* there is the thread */
static atomic_bool first_thread_ended;
static uint32_t patience_ms = 1000; /* in all, and of each call of the thread */
static int64_t credit_ms;           /* what is left of it */
static int64_t credit_since_ms;
static bool hung;             /* it did not answer, and has not yet been heard of again */
static int64_t not_before_ms; /* when to try again to open a handle */
static char last_failure[GOVERNOR_TEXT];

/* What there was no time for, the newest first. */
struct waiting {
    struct queue_pair queue_pair;
    struct waiting* next;
};
static struct waiting* waiting;

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void say(char* text, const char* what)
{
    (void)snprintf(text, GOVERNOR_TEXT, "%s", what);
}

/* ---- time ---- */

/* For how long the next call may be waited for; 0: not at all. */
static uint32_t allowance(void)
{
    const int64_t regained = (now_ms() - credit_since_ms) / REGAINED;
    credit_since_ms += regained * REGAINED;
    credit_ms = credit_ms + regained < patience_ms ? credit_ms + regained : patience_ms;
    return hung || credit_ms <= 0 ? 0 : (uint32_t)credit_ms + QUICK_MS;
}

static int64_t begin_waiting(uint32_t allowed)
{
    rdmaqos_wait_at_most(allowed > 0 ? allowed : 1);
    return now_ms();
}

static void end_waiting(int64_t begin)
{
    const int64_t waited = now_ms() - begin - QUICK_MS;
    credit_ms -= waited > 0 ? waited : 0;
    rdmaqos_wait_at_most(0);
}

/* ---- queue pairs that wait ---- */

static bool forget(const char* device, uint32_t number)
{
    for (struct waiting** place = &waiting; *place != NULL; place = &(*place)->next) {
        struct waiting* const found = *place;
        if (found->queue_pair.number == number && strcmp(found->queue_pair.connection.device, device) == 0) {
            *place = found->next;
            free(found);
            return true;
        }
    }
    return false;
}

static void remember(const struct queue_pair* queue_pair)
{
    (void)forget(queue_pair->connection.device, queue_pair->number);    // as it was in INIT
    struct waiting* one = calloc(1, sizeof(*one));
    if (one != NULL) {
        one->queue_pair = *queue_pair;
        one->next = waiting;
        waiting = one;
    }
}

/* What the policy may match by; `end` has to live as long as the request. */
static struct rdmaqos_request request_of(const struct connection* connection, char end[RDMAQOS_GID_TEXT])
{
    struct rdmaqos_request request;
    rdmaqos_request_init(&request);
    request.device = connection->device;
    if (connection->port != 0) {
        request.mask |= RDMAQOS_BY_PORT;
        request.port = connection->port;
    }
    if (connection->has_destination) {
        union ibv_gid destination;
        memcpy(destination.raw, connection->destination, sizeof(destination.raw));
        request.destination = rdmaqos_gid_text(&destination, end);
    } else if (connection->destination_lid != 0) {
        (void)snprintf(end, RDMAQOS_GID_TEXT, "lid:%u", connection->destination_lid);
        request.destination = end;
    }
    if (connection->has_pkey) {
        request.mask |= RDMAQOS_BY_PKEY;
        request.pkey = connection->pkey;
    }
    if (connection->has_service_id) {
        request.mask |= RDMAQOS_BY_SERVICE_ID;
        request.service_id = connection->service_id;
    }
    if (connection->has_tos) {
        request.mask |= RDMAQOS_BY_TOS;
        request.tos = connection->tos;
    }
    return request;
}

static int attach_described(const struct queue_pair* queue_pair, bool* complete)
{
    static const uint32_t types[] = {RDMAQOS_QP_RC, RDMAQOS_QP_UC, RDMAQOS_QP_UD, RDMAQOS_QP_RAW_PACKET,
                                     RDMAQOS_QP_DEVX};
    char end[RDMAQOS_GID_TEXT];
    const struct rdmaqos_request request = request_of(&queue_pair->connection, end);
    struct rdmaqos_queue_pair described;
    rdmaqos_queue_pair_init(&described);
    described.device = queue_pair->connection.device;
    described.port = queue_pair->connection.port;
    described.fd = queue_pair->fd;
    described.handle = queue_pair->handle;
    described.number = queue_pair->number;
    described.type = types[queue_pair->type];
    /* For libmlx5 the number of a raw packet queue pair is that of its send queue. */
    described.sq_number = queue_pair->type == TYPE_RAW_PACKET ? queue_pair->number : 0;
    struct rdmaqos_answer* place = NULL;
    const int result = rdmaqos_attach_number(handle, &described, level[0] != '\0' ? NULL : &request, &place);
    *complete = result == 0 && rdmaqos_answer_enforced(place) != 0;
    rdmaqos_answer_free(place);
    return result;
}

/* ---- the daemon ---- */

/* Nobody answered; a daemon that says so itself does. */
static bool is_silence(int result)
{
    return result == -ETIMEDOUT && rdmaqos_last_error_name()[0] == '\0';
}

/* What a call has given. 0, or as struct governor says, with `text`. */
static int judge(int result, char* text)
{
    if (result == 0) {
        return 0;
    }
    say(text, rdmaqos_last_error());
    if (is_silence(result)) {
        say(text, "rdma-qosd does not answer");
        say(last_failure, text);
        hung = true;
        return -ENOTCONN;
    }
    if (result == -ENOTCONN || result == RDMAQOS_PENDING) {
        return -ENOTCONN;
    }
    /* No session: the level is not there or not for us. That holds for every queue pair, until librdmaqos, which goes
     * on to ask, gets one. */
    return rdmaqos_get_grant(handle, NULL) == -ENOENT ? -ENOTCONN : result;
}

static int open_and_register(char* text)
{
    struct rdmaqos_open_attr open;
    struct rdmaqos_request request;
    const uint32_t allowed = allowance();
    rdmaqos_open_attr_init(&open);
    rdmaqos_request_init(&request);
    /* Without a daemon, or refused, too: what is attached is remembered, and comes into its class when it can. Nobody
     * else could see to that. */
    open.flags = RDMAQOS_OPEN_DIRECT | RDMAQOS_OPEN_WITHOUT_DAEMON | RDMAQOS_OPEN_PERSIST;
    open.open_timeout_ms = allowed > 0 ? allowed : 1;
    open.timeout_ms = patience_ms;
    open.socket = socket_path;
    request.level = level[0] != '\0' ? level : NULL;

    rdmaqos_close(of_parent);
    of_parent = NULL;
    int64_t begin = begin_waiting(allowed);
    int result = rdmaqos_open(&handle, &open);
    end_waiting(begin);
    if (result != 0) {
        say(text, rdmaqos_last_error());
        say(last_failure, text);
        not_before_ms = now_ms() + TRY_AGAIN_MS;
        return -ENOTCONN;
    }
    begin = begin_waiting(allowance());
    result = judge(rdmaqos_register(handle, &request, NULL), text);
    end_waiting(begin);
    return result;
}

/* ---- the thread ---- */

/* Whether the program's first thread has ended and no other is left: then this one must not keep the process alive. */
static bool is_last(void)
{
    /* The folder itself, its parent, and one for each thread; the first one has its own to the end. */
    enum { LINKS_OF_TWO = 4 };
    struct stat tasks;
    return first_thread_ended && stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink <= LINKS_OF_TWO;
}

/* Each without the lock, which the program waits for. */
static void pass_on(void)
{
    bool ignored = false;
    pthread_mutex_lock(&mutex);
    while (waiting != NULL && !hung) {
        struct waiting* const one = waiting;
        waiting = one->next;
        pthread_mutex_unlock(&mutex);
        const bool silence = is_silence(attach_described(&one->queue_pair, &ignored));
        pthread_mutex_lock(&mutex);
        hung = hung || silence;
        if (silence) {
            one->next = waiting;
            waiting = one;
        } else {
            free(one);    // librdmaqos has it, unless it can never be attached
        }
    }
    pthread_mutex_unlock(&mutex);
}

static void open_again(void)
{
    char ignored[GOVERNOR_TEXT];
    pthread_mutex_lock(&mutex);
    if (handle == NULL && waiting != NULL && now_ms() >= not_before_ms) {
        (void)open_and_register(ignored);
    }
    pthread_mutex_unlock(&mutex);
}

static void* watch(void* unused)
{
    (void)unused;
    while (!is_last()) {
        pthread_mutex_lock(&mutex);
        struct rdmaqos_handle* const mine = handle;
        const bool is_busy = waiting != NULL && !hung;
        pthread_mutex_unlock(&mutex);
        /* Asked for anew: the program may have closed it. */
        struct pollfd readable = {mine != NULL ? rdmaqos_get_fd(mine) : -1, POLLIN, 0};
        const int count = poll(&readable, 1, first_thread_ended ? ENDING_MS : is_busy ? PASS_ON_MS : WATCH_MS);
        if (mine == NULL) {
            open_again();
            continue;
        }
        (void)rdmaqos_dispatch(mine);
        if (count > 0 && rdmaqos_get_transport(mine) == RDMAQOS_TRANSPORT_DIRECT) {
            pthread_mutex_lock(&mutex);
            hung = false;
            pthread_mutex_unlock(&mutex);
        }
        pass_on();
    }
    return NULL;
}

static void begin_watching(void)
{
    enum { STACK_BYTES = 256 * 1024 };
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    if (watching) {
        return;
    }
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    watching = pthread_create(&thread, &attributes, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (watching) {
        (void)pthread_setname_np(thread, "rdma-qos-run");
    }
}

/* The child of a fork has neither the session nor the thread, and none of the queue pairs. Nothing is freed here, where
 * only what is safe in a signal handler may be done. */
static void begin_in_child(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    memcpy(&mutex, &fresh, sizeof(mutex));
    of_parent = handle != NULL ? handle : of_parent;
    handle = NULL;
    waiting = NULL;
    watching = false;
    first_thread_ended = false;
    hung = false;
    credit_ms = patience_ms;
    not_before_ms = 0;
}

static void first_thread_ends(void)
{
    pthread_mutex_lock(&mutex);
    first_thread_ended = true;
    if (handle != NULL) {
        rdmaqos_wait_at_most(QUICK_MS);
        rdmaqos_wake(handle);
        rdmaqos_wait_at_most(0);
    }
    pthread_mutex_unlock(&mutex);
}

/* ---- the interface ---- */

/* 0: there is somebody to ask, and time for it. */
static int ready(char* text)
{
    if (handle == NULL && now_ms() >= not_before_ms) {
        const int result = open_and_register(text);
        begin_watching();
        return result;
    }
    if (handle != NULL && allowance() > 0) {
        return 0;
    }
    say(text, handle == NULL || hung ? last_failure : "rdma-qosd answers too slowly to be waited for");
    return -ENOTCONN;
}

static int start(const struct governor_options* options, char* text)
{
    const int length = snprintf(socket_path, sizeof(socket_path), "%s/run/rdma-qos/bus", options->root);
    if (length < 0 || (size_t)length >= sizeof(socket_path)) {
        say(text, "the path of the daemon's socket is too long");
        return -ENAMETOOLONG;
    }
    (void)snprintf(level, sizeof(level), "%s", options->level);
    const char* patience = secure_getenv("RDMA_QOS_RUN_PATIENCE_MS");
    const unsigned long given = patience != NULL ? strtoul(patience, NULL, 10) : 0;
    patience_ms = given > 0 && given <= LONGEST_PATIENCE_MS ? (uint32_t)given : patience_ms;
    credit_ms = patience_ms;
    credit_since_ms = now_ms();
    (void)pthread_atfork(NULL, NULL, begin_in_child);
    return 0;
}

static void read_marking(const struct rdmaqos_answer* path, struct marking* marking)
{
    const int sl = rdmaqos_answer_sl(path);
    const int traffic_class = rdmaqos_answer_traffic_class(path);
    marking->has_sl = sl >= 0;
    marking->sl = (uint8_t)(sl >= 0 ? sl : 0);
    marking->sl_of_host = rdmaqos_answer_sl_source(path) == RDMAQOS_SL_HOST;
    marking->has_traffic_class = traffic_class >= 0;
    marking->traffic_class = (uint8_t)(traffic_class >= 0 ? traffic_class : 0);
    (void)snprintf(marking->level, sizeof(marking->level), "%s", rdmaqos_answer_level(path));
}

static int mark(const struct connection* connection, struct marking* marking, char* text)
{
    pthread_mutex_lock(&mutex);
    int error = ready(text);
    if (error == 0) {
        char end[RDMAQOS_GID_TEXT];
        struct rdmaqos_request request = request_of(connection, end);
        struct rdmaqos_answer* path = NULL;
        request.level = level[0] != '\0' ? level : NULL;
        const int64_t begin = begin_waiting(allowance());
        error = judge(rdmaqos_query_path(handle, &request, &path), text);
        end_waiting(begin);
        if (error == 0) {
            read_marking(path, marking);
        }
        rdmaqos_answer_free(path);
    }
    pthread_mutex_unlock(&mutex);
    return error;
}

static int attach(const struct queue_pair* queue_pair, bool* complete, char* text)
{
    *complete = false;
    pthread_mutex_lock(&mutex);
    int error = ready(text);
    const uint32_t allowed = handle != NULL ? allowance() : 0;
    if (allowed == 0) {
        remember(queue_pair);
        if (handle != NULL && !hung) {
            rdmaqos_wait_at_most(1);
            rdmaqos_wake(handle);    // the thread has something to do
            rdmaqos_wait_at_most(0);
        }
    } else {
        /* Also without a daemon, or a session: then it is remembered. */
        char why[GOVERNOR_TEXT];
        const int64_t begin = begin_waiting(allowed);
        const int result = attach_described(queue_pair, complete);
        if (is_silence(result)) {
            remember(queue_pair);    // perhaps it did not come as far as librdmaqos' memory
        }
        const int attached = judge(result, why);
        end_waiting(begin);
        if (error == 0 && attached != 0) {
            error = attached;
            say(text, why);
        }
    }
    pthread_mutex_unlock(&mutex);
    return error;
}

static void detach(const char* device, uint32_t number)
{
    char ignored[GOVERNOR_TEXT];
    pthread_mutex_lock(&mutex);
    (void)forget(device, number);
    if (handle != NULL) {
        const int64_t begin = begin_waiting(allowance());
        (void)judge(rdmaqos_detach_number(handle, device, number), ignored);
        end_waiting(begin);
    }
    pthread_mutex_unlock(&mutex);
}

extern const struct governor rdma_qos_run_governor;
__attribute__((visibility("default")))
const struct governor rdma_qos_run_governor = {GOVERNOR_VERSION, start, mark, attach, detach, first_thread_ends};
