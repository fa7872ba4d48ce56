#include "tools/rdma-qos-run/preload/steering.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/rdma-qos-run/preload/complaint.h"
#include "tools/rdma-qos-run/preload/device.h"
#include "tools/rdma-qos-run/preload/known.h"

/* What the launcher has put into the environment (tools/rdma-qos-run/main.cpp), read once: the program may change it.
 */
static struct {
    char root[256];
    char level[LEVEL_BYTES];
    bool keep_sl;
} settings;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct governor* governor; /* NULL: there is none, and a complaint has said why */

/* ---- the governor ---- */

static void copy_variable(const char* name, char* text, size_t bytes)
{
    const char* value = secure_getenv(name);
    (void)snprintf(text, bytes, "%s", value != NULL ? value : "");
}

/* "librdma-qos-run-governor.so" in the folder that this library was loaded from. */
static void* load_governor(void)
{
    Dl_info here;
    char path[512];
    if (dladdr((void*)load_governor, &here) == 0 || here.dli_fname == NULL) {
        return NULL;
    }
    const char* slash = strrchr(here.dli_fname, '/');
    const int folder = slash != NULL ? (int)(slash - here.dli_fname + 1) : 0;
    const int length = snprintf(path, sizeof(path), "%.*slibrdma-qos-run-governor.so", folder, here.dli_fname);
    return length > 0 && (size_t)length < sizeof(path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void find_governor(void)
{
    copy_variable("RDMA_QOS_RUN_ROOT", settings.root, sizeof(settings.root));
    copy_variable("RDMA_QOS_RUN_LEVEL", settings.level, sizeof(settings.level));
    const char* keep = secure_getenv("RDMA_QOS_RUN_KEEP_SL");
    settings.keep_sl = keep != NULL && *keep != '\0';
    void* library = load_governor();
    const struct governor* found = library != NULL ? dlsym(library, GOVERNOR_SYMBOL) : NULL;
    if (found == NULL || found->version != GOVERNOR_VERSION) {
        const char* why = dlerror();    // NOLINT(concurrency-mt-unsafe): of this thread
        complain(settings.root, COMPLAINT_NOT_GOVERNED, "it runs without a class: %s",
                 why != NULL ? why : "the parts of rdma-qos-run are of different versions");
        return;
    }
    char text[GOVERNOR_TEXT];
    const struct governor_options options = {settings.root, settings.level};
    if (found->start(&options, text) != 0) {
        complain(settings.root, COMPLAINT_NOT_GOVERNED, "it runs without a class: %s", text);
        return;
    }
    governor = found;
}

/* ---- the program's end ---- */

static pthread_key_t first_thread;

static void first_thread_ends(void* value)
{
    (void)value;
    if (governor != NULL) {
        governor->first_thread_ends();
    }
}

static void mark_first_thread(void)
{
    (void)pthread_setspecific(first_thread, &first_thread);
}

/* When the process exits, keys are not looked at: this is for a first thread that leaves the others alone. Of a child,
 * that is the thread that has called fork(). */
__attribute__((constructor)) static void watch_first_thread(void)
{
    if (pthread_key_create(&first_thread, first_thread_ends) == 0) {
        mark_first_thread();
        (void)pthread_atfork(NULL, NULL, mark_first_thread);
    }
}

static void tell(int error, const struct known* known, const char* text)
{
    if (error == -ENOTCONN) {
        complain(settings.root, COMPLAINT_NOT_GOVERNED, "it runs without a class: %s", text);
    } else {
        complain(settings.root, COMPLAINT_QUEUE_PAIR, "queue pair %u of %s is in no class: %s",
                 known->queue_pair.number, known->queue_pair.connection.device, text);
    }
}

struct interruptions {
    sigset_t signals;
    int cancellation;
};

/* While the daemon is asked no handler of the program runs on this thread: it might use queue pairs too, and would wait
 * for ever. Nor is the thread cancelled with a lock in its hands. */
static void hold_interruptions(struct interruptions* before)
{
    sigset_t held;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before->cancellation);
    sigfillset(&held);
    sigdelset(&held, SIGSEGV);
    sigdelset(&held, SIGBUS);
    sigdelset(&held, SIGILL);
    sigdelset(&held, SIGFPE);
    pthread_sigmask(SIG_BLOCK, &held, &before->signals);
}

static void release_interruptions(const struct interruptions* before)
{
    pthread_sigmask(SIG_SETMASK, &before->signals, NULL);
    (void)pthread_setcancelstate(before->cancellation, NULL);
}

/* ---- queue pairs ---- */

enum { HIGHEST_LID = 0xBFFF }; /* of a single port */

static void learn_of(struct known* known, const struct uverbs_call* call)
{
    struct connection* connection = &known->queue_pair.connection;
    known->in_place = known->in_place && call->step != STEP_INIT;    // what was in RESET or ERR has lost it
    if (call->has_port) {
        connection->port = call->port;
    }
    if (call->has_pkey_index) {
        known->has_pkey_index = true;
        known->pkey_index = call->pkey_index;
    }
    if (call->address.present) {
        connection->has_destination = call->address.has_gid;
        memcpy(connection->destination, call->address.gid, GID_BYTES);
        connection->destination_lid = call->address.lid <= HIGHEST_LID ? call->address.lid : 0;
    }
    /* On Ethernet there are no LIDs and no partitions. */
    if (connection->port == 0 || port_is_ethernet(connection->device, connection->port)) {
        connection->destination_lid = 0;
    } else if (known->has_pkey_index) {
        connection->has_pkey = pkey_of_port(connection->device, connection->port, known->pkey_index, &connection->pkey);
    }
}

/* Which marks the connection should have other than its own. */
static struct new_marks choose_marks(const struct known* known, const struct address* address,
                                     const struct marking* level)
{
    const struct connection* connection = &known->queue_pair.connection;
    struct new_marks marks = {.sl = level->sl, .traffic_class = level->traffic_class};
    marks.ethernet = port_is_ethernet(connection->device, connection->port);
    if (marks.ethernet) {
        marks.set_sl = level->has_sl;
        marks.set_traffic_class = level->has_traffic_class;
    } else if (level->has_sl && level->sl != address->sl) {
        marks.set_sl = level->sl_of_host;
        if (!level->sl_of_host) {
            complain(settings.root, COMPLAINT_MARKING,
                     "queue pair %u of %s keeps its own SL %u, level %s has SL %u: on InfiniBand the SL is the subnet "
                     "manager's, unless the level says `sl-source: host`",
                     known->queue_pair.number, connection->device, address->sl, level->level, level->sl);
        }
    }
    return marks;
}

static bool wants_marks(const struct known* known, const struct uverbs_call* call, struct new_marks* marks)
{
    if (governor == NULL || settings.keep_sl || call->step != STEP_RTR || !call->address.present) {
        return false;
    }
    struct marking level = {0};
    char text[GOVERNOR_TEXT];
    const int error = governor->mark(&known->queue_pair.connection, &level, text);
    if (error == -ENOTCONN) {
        tell(error, known, text);
    }
    if (error != 0) {
        return false;    // what else is wrong is told when it is attached
    }
    *marks = choose_marks(known, &call->address, &level);
    return marks->set_sl || marks->set_traffic_class;
}

/* The daemon may be moving a queue pair at this moment, and then the kernel refuses other calls on it. The program,
 * which knows nothing of the daemon, must not see that. */
static int forward_patiently(int fd, struct ib_uverbs_ioctl_hdr* header, forward_call forward)
{
    enum { FIRST = 20000, LONGEST = 4000000, TOTAL = 50000000 }; /* ns */
    const int before = errno;
    int result = forward(fd, header);
    long pause = FIRST;
    for (long slept = 0; result != 0 && errno == EBUSY && slept < TOTAL; slept += pause) {
        const struct timespec time = {0, pause};
        nanosleep(&time, NULL);
        pause = pause * 2 < LONGEST ? pause * 2 : LONGEST;
        errno = before;
        result = forward(fd, header);
    }
    return result;
}

/* With marks if the kernel takes them, else as the program wanted it. */
static int forward_marked(int fd, struct ib_uverbs_ioctl_hdr* header, const struct uverbs_call* call,
                          const struct known* known, const struct new_marks* marks, forward_call forward)
{
    _Alignas(8) uint8_t copy[MARKED_BYTES];
    if (!write_marks(call, marks, copy)) {
        return forward_patiently(fd, header, forward);
    }
    const __u64 original = call->command->data;
    const int before = errno;
    call->command->data = (uintptr_t)copy;
    const int result = forward_patiently(fd, header, forward);
    call->command->data = original;
    if (result == 0) {
        return 0;
    }
    const int refusal = errno;
    errno = before;
    const int again = forward_patiently(fd, header, forward);
    if (again == 0) {
        complain(settings.root, COMPLAINT_MARKING,
                 "queue pair %u of %s keeps its own marks: the device refuses SL %u, "
                 "traffic class %u: %s",
                 known->queue_pair.number, known->queue_pair.connection.device, marks->sl, marks->traffic_class,
                 strerrordesc_np(refusal));
    }
    return again;
}

/* Before RTR, while it is in INIT: one that only answers RDMA READ, as the server of ib_read_bw does, is never brought
 * to RTS, sends nevertheless, and cannot be attached in RTR. Only an RC queue pair answers; of what is made by DEVX
 * nobody knows the type. What is refused, or lacks its rate, is attached at RTS. `why`, of GOVERNOR_TEXT bytes: it is
 * not in its class yet. */
static void attach_early(struct known* known, char* why)
{
    const enum queue_pair_type type = known->queue_pair.type;
    bool complete = false;
    why[0] = '\0';
    if (governor == NULL || known->in_place || (type != TYPE_RC && type != TYPE_DEVX)) {
        return;
    }
    known->asked = true;
    known_update(known);
    const int error = governor->attach(&known->queue_pair, &complete, why);
    if (error == 0) {
        why[0] = '\0';
    } else if (error == -ENOTCONN) {
        tell(error, known, why);
        why[0] = '\0';
    }
    known->in_place = error == 0 && complete;
    known_update(known);
}

static void attach(struct known* known)
{
    if (governor == NULL) {
        return;
    }
    if (known->queue_pair.type == TYPE_OTHER) {
        complain(settings.root, COMPLAINT_QUEUE_PAIR,
                 "queue pair %u of %s is in no class: it is neither RC, UC, UD nor "
                 "raw packet",
                 known->queue_pair.number, known->queue_pair.connection.device);
        return;
    }
    known->in_place = known->asked = true;    // also if it is refused: the governor has it, and may do it later
    known_update(known);
    char text[GOVERNOR_TEXT];
    bool complete = false;
    const int error = governor->attach(&known->queue_pair, &complete, text);
    if (error != 0) {
        tell(error, known, text);
    }
}

/* ---- calls ---- */

static int steer_make(int fd, struct ib_uverbs_ioctl_hdr* header, const struct uverbs_call* call, forward_call forward)
{
    const int result = forward(fd, header);
    const int saved = errno;
    struct queue_pair made = {.fd = fd};
    if (result == 0 && read_made(header, call, &made.handle, &made.number, &made.type)) {
        if (device_of_file(fd, made.connection.device)) {
            known_add(&made);
            (void)pthread_once(&once, find_governor);
        } else {
            complain(settings.root, COMPLAINT_QUEUE_PAIR, "queue pair %u is in no class: its device is not in sysfs",
                     made.number);
        }
    }
    errno = saved;
    return result;
}

static int steer_step(int fd, struct ib_uverbs_ioctl_hdr* header, const struct uverbs_call* call, forward_call forward)
{
    struct known known;
    if (!known_find(fd, call->handle, &known)) {
        return forward(fd, header);
    }
    const int before = errno;
    struct new_marks marks;
    learn_of(&known, call);
    known_update(&known);
    const bool marked = wants_marks(&known, call, &marks);
    char why[GOVERNOR_TEXT] = "";
    if (call->step == STEP_RTR) {
        attach_early(&known, why);
    }
    errno = before;
    const int result = marked ? forward_marked(fd, header, call, &known, &marks, forward)
                              : forward_patiently(fd, header, forward);
    const int saved = errno;
    if (result == 0 && why[0] != '\0') {
        complain(settings.root, COMPLAINT_NOT_YET,
                 "queue pair %u of %s is in no class before it may send (RTS), also if it answers RDMA READ: %s",
                 known.queue_pair.number, known.queue_pair.connection.device, why);
    }
    if (result == 0 && call->step == STEP_RTS && !known.in_place) {
        attach(&known);
    }
    errno = saved;
    return result;
}

static int steer_destroy(int fd, struct ib_uverbs_ioctl_hdr* header, const struct uverbs_call* call,
                         forward_call forward)
{
    struct known known;
    if (!known_find(fd, call->handle, &known)) {
        return forward(fd, header);
    }
    const int result = forward_patiently(fd, header, forward);
    const int saved = errno;
    if (result == 0 && known_remove(fd, call->handle, &known) && known.asked && governor != NULL) {
        governor->detach(known.queue_pair.connection.device, known.queue_pair.number);
    }
    errno = saved;
    return result;
}

int steer(int fd, struct ib_uverbs_ioctl_hdr* header, forward_call forward)
{
    const struct uverbs_call call = read_call(header);
    if (call.kind == CALL_OTHER) {
        return forward(fd, header);
    }
    struct interruptions before;
    hold_interruptions(&before);
    int result = -1;
    switch (call.kind) {
    case CALL_MAKE:
        result = steer_make(fd, header, &call, forward);
        break;
    case CALL_STEP:
        result = steer_step(fd, header, &call, forward);
        break;
    case CALL_DESTROY:
        result = steer_destroy(fd, header, &call, forward);
        break;
    default:
        result = forward_patiently(fd, header, forward);
        break;
    }
    release_interruptions(&before);
    return result;
}

void steer_service(int fd, uint32_t handle, uint64_t service_id, int tos)
{
    struct known known;
    if (known_find(fd, handle, &known)) {
        struct connection* connection = &known.queue_pair.connection;
        connection->has_service_id = true;
        connection->service_id = service_id;
        connection->has_tos = tos >= 0;
        connection->tos = (uint8_t)(tos >= 0 ? tos : 0);
        known_update(&known);
    }
}
