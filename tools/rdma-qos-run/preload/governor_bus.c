/* The governor over the daemon's direct socket (docs/dbus.md), with sd-bus.
 *
 * A thread of its own reads what the daemon says: a client that reads nothing is disconnected, and after a restart of the
 * daemon somebody has to register again. It begins with the first session. All else happens on the caller's thread, under
 * one lock. */
#include "tools/rdma-qos-run/preload/governor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <systemd/sd-bus.h>

static const char kRoot[] = "/org/rdmaqos1";
static const char kManager[] = "org.rdmaqos1.Manager";
static const char kSession[] = "org.rdmaqos1.Session";

enum {
    PATIENCE_US = 1000000,     /* for a daemon that does not answer, once */
    TRY_AGAIN_S = 10,          /* after there was none */
    HUNG_S = 60,               /* after one that let us wait */
    WATCH_MS = 5000,           /* how often the thread looks whether it is still needed */
    COME_BACK_MS = 1000        /* and, without a daemon, whether there is one */
};

/* What was attached, or would be if there were a daemon. */
struct entry {
    struct queue_pair queue_pair;
    dev_t device;    /* of its file: a number of a descriptor may be used again */
    ino_t inode;
    struct entry* next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char socket_path[320];
static char level[LEVEL_BYTES];
static struct entry* entries;

static sd_bus* bus;              /* NULL: not connected */
static char session[128];        /* "": none */
static bool silent;              /* it has not answered in time, and nobody waits for it until it says something */
static time_t not_before;        /* of CLOCK_MONOTONIC: when a caller may try to connect again */
static time_t hung_until;        /* until then nobody does */
static bool watched;             /* there is the thread */
static char last_failure[GOVERNOR_TEXT] = "rdma-qosd is not there";

static time_t now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void say(char* text, const char* what)
{
    (void)snprintf(text, GOVERNOR_TEXT, "%s", what);
}

/* ---- the connection ---- */

static void disconnect(const char* why)
{
    if (why != last_failure) {
        say(last_failure, why);
    }
    bus = sd_bus_close_unref(bus);
    session[0] = '\0';
    silent = false;
    not_before = now_s() + TRY_AGAIN_S;
}

static bool is_local(const sd_bus_error* error)
{
    return error->name == NULL || strncmp(error->name, "System.Error.", strlen("System.Error.")) == 0 ||
           sd_bus_error_has_name(error, SD_BUS_ERROR_DISCONNECTED);
}

/* After a call that failed: what it means, and in `text` what to tell. */
static int judge(int result, const sd_bus_error* error, char* text)
{
    if (result == -ETIMEDOUT || sd_bus_error_has_name(error, SD_BUS_ERROR_TIMEOUT) ||
        sd_bus_error_has_name(error, SD_BUS_ERROR_NO_REPLY)) {
        silent = true;
        say(last_failure, "rdma-qosd does not answer");
    } else if (sd_bus_is_open(bus) > 0 && !is_local(error)) {
        say(text, error->message != NULL ? error->message : error->name);
        return result == -ENOTCONN ? -EIO : result;
    } else {
        disconnect("the connection to rdma-qosd has ended");
    }
    say(text, last_failure);
    return -ENOTCONN;
}

/* Calls, and waits for the answer for as long as is left of the patience. */
static int call(sd_bus_message* message, sd_bus_message** reply, char* text)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    const int result = sd_bus_call(bus, message, PATIENCE_US, &error, reply);
    const int judged = result < 0 ? judge(result, &error, text) : 0;
    sd_bus_error_free(&error);
    return judged;
}

/* Until it has authenticated us, or patience is at its end. sd-bus itself would wait for 25 s. */
static int wait_until_ready(void)
{
    struct timespec begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (true) {
        const int processed = sd_bus_process(bus, NULL);
        if (processed < 0) {
            return processed;
        }
        const int ready = sd_bus_is_ready(bus);
        if (ready != 0) {
            return ready < 0 ? ready : 0;
        }
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        const int64_t waited = (now.tv_sec - begin.tv_sec) * INT64_C(1000000) + (now.tv_nsec - begin.tv_nsec) / 1000;
        if (waited >= PATIENCE_US) {
            return -ETIMEDOUT;
        }
        if (processed == 0) {
            const int waiting = sd_bus_wait(bus, (uint64_t)(PATIENCE_US - waited));
            if (waiting < 0 && waiting != -EINTR) {
                return waiting;
            }
        }
    }
}

static int open_bus(void)
{
    char address[400];
    (void)snprintf(address, sizeof(address), "unix:path=%s", socket_path);
    int error = sd_bus_new(&bus);
    if (error >= 0) {
        error = sd_bus_set_address(bus, address);
    }
    if (error >= 0) {
        error = sd_bus_negotiate_fds(bus, 1);
    }
    if (error >= 0) {
        error = sd_bus_start(bus);
    }
    return error < 0 ? error : wait_until_ready();
}

static int register_session(char* text)
{
    sd_bus_message* message = NULL;
    sd_bus_message* reply = NULL;
    const char* path = NULL;
    int error = sd_bus_message_new_method_call(bus, &message, NULL, kRoot, kManager, "Register");
    if (error >= 0) {
        error = level[0] != '\0' ? sd_bus_message_append(message, "a{sv}", 1, "level", "s", level)
                                 : sd_bus_message_append(message, "a{sv}", 0);
    }
    if (error >= 0) {
        error = call(message, &reply, text);
    } else {
        say(text, strerrordesc_np(-error));
    }
    if (error >= 0 && (error = sd_bus_message_read(reply, "o", &path)) >= 0) {
        (void)snprintf(session, sizeof(session), "%s", path);
    }
    sd_bus_message_unref(message);
    sd_bus_message_unref(reply);
    return error < 0 ? error : 0;
}

static int attach_now(const struct queue_pair* queue_pair, char* text);
static void begin_watching(void);

/* Attaches again what is left from before; what is gone is forgotten. */
static void attach_all(void)
{
    char ignored[GOVERNOR_TEXT];
    struct entry** place = &entries;
    while (*place != NULL && bus != NULL && !silent) {
        struct entry* each = *place;
        struct stat file;
        if (fstat(each->queue_pair.fd, &file) != 0 || file.st_rdev != each->device || file.st_ino != each->inode) {
            *place = each->next;
            free(each);
            continue;
        }
        (void)attach_now(&each->queue_pair, ignored);
        place = &each->next;
    }
}

static int connect_now(char* text)
{
    int error = open_bus();
    if (error == -ETIMEDOUT) {
        disconnect("rdma-qosd does not answer");
        hung_until = now_s() + HUNG_S;
    } else if (error < 0) {
        char why[GOVERNOR_TEXT];
        (void)snprintf(why, sizeof(why), "rdma-qosd cannot be reached at %.150s: %s", socket_path,
                       strerrordesc_np(-error));
        disconnect(why);
    }
    if (error < 0) {
        say(text, last_failure);
        return -ENOTCONN;
    }
    error = register_session(text);
    if (error < 0 && bus != NULL) {
        /* Refused: the level is not there or not for us. That holds for every queue pair. */
        (void)snprintf(last_failure, sizeof(last_failure), "%s", text);
        disconnect(last_failure);
        return -ENOTCONN;
    }
    if (error == 0) {
        begin_watching();
        attach_all();
    }
    return error;
}

/* 0: there is a session. Waits at most once. */
static int ready(char* text)
{
    if (bus != NULL && session[0] != '\0' && !silent) {
        return 0;
    }
    if (bus == NULL && now_s() >= not_before && now_s() >= hung_until) {
        return connect_now(text);
    }
    say(text, last_failure);
    return -ENOTCONN;
}

/* ---- the thread ---- */

/* Whether the program's first thread has ended and no other is left: then this one must not keep the process alive. */
static bool is_last(void)
{
    struct stat tasks;
    enum { LINKS_OF_TWO = 4 };    // itself, its parent, and a folder for each thread
    if (stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > LINKS_OF_TWO) {
        return false;
    }
    char text[512];
    const int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    text[length > 0 ? length : 0] = '\0';
    const char* name_end = strrchr(text, ')');
    return name_end != NULL && name_end[1] == ' ' && name_end[2] == 'Z';
}

/* Reads what there is, or tries to come back. */
static void look(bool readable)
{
    char ignored[GOVERNOR_TEXT];
    if (bus == NULL) {
        if (now_s() >= hung_until) {
            (void)connect_now(ignored);
        }
        return;
    }
    int processed = 1;
    for (int i = 0; i < 64 && processed > 0; ++i) {
        processed = sd_bus_process(bus, NULL);
        silent = silent && processed <= 0;
    }
    if (processed < 0 || (readable && !sd_bus_is_open(bus))) {
        disconnect("rdma-qosd has ended");
    }
}

static void* watch(void* unused)
{
    (void)unused;
    while (!is_last()) {
        pthread_mutex_lock(&mutex);
        const int events = bus != NULL ? sd_bus_get_events(bus) : 0;
        struct pollfd readable = {bus != NULL ? sd_bus_get_fd(bus) : -1, (short)(events > 0 ? events : 0), 0};
        const int patience = bus != NULL ? WATCH_MS : COME_BACK_MS;
        pthread_mutex_unlock(&mutex);
        const int count = poll(&readable, 1, patience);
        pthread_mutex_lock(&mutex);
        look(count > 0);
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

static void begin_watching(void)
{
    if (watched) {
        return;
    }
    enum { STACK_BYTES = 256 * 1024 };
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    watched = pthread_create(&thread, &attributes, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (watched) {
        (void)pthread_setname_np(thread, "rdma-qos-run");
    }
}

/* The child of a fork has neither the session nor the thread, and none of the queue pairs. What belongs to the parent is left
 * as it is, not freed: only the descriptor is closed, and that at exec. */
static void begin_in_child(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    memcpy(&mutex, &fresh, sizeof(mutex));
    bus = NULL;
    entries = NULL;
    session[0] = '\0';
    silent = false;
    watched = false;
    not_before = 0;
    hung_until = 0;
}

/* ---- messages ---- */

static int append_connection(sd_bus_message* message, const struct connection* connection)
{
    int error = 0;
    char text[64];
    if (connection->has_destination) {
        const uint8_t* gid = connection->destination;
        size_t at = 0;
        for (int i = 0; i < GID_BYTES; i += 2) {
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%02x%02x", i == 0 ? "" : ":", gid[i], gid[i + 1]);
        }
        error = sd_bus_message_append(message, "{sv}", "destination", "s", text);
    }
    if (error >= 0 && connection->has_pkey) {
        error = sd_bus_message_append(message, "{sv}", "pkey", "q", connection->pkey);
    }
    if (error >= 0 && connection->has_service_id) {
        error = sd_bus_message_append(message, "{sv}", "service-id", "t", connection->service_id);
    }
    if (error >= 0 && connection->has_tos) {
        error = sd_bus_message_append(message, "{sv}", "tos", "y", connection->tos);
    }
    return error;
}

static int append_device(sd_bus_message* message, const struct connection* connection)
{
    char name[NAME_BYTES + 16];
    if (connection->port != 0) {
        (void)snprintf(name, sizeof(name), "%s/%u", connection->device, connection->port);
    } else {
        (void)snprintf(name, sizeof(name), "%s", connection->device);
    }
    return sd_bus_message_append(message, "{sv}", "device", "s", name);
}

/* The keys of an answer that are ours; others are passed over. */
static int read_answer(sd_bus_message* reply, struct marking* marking, char* failure)
{
    int error = sd_bus_message_enter_container(reply, 'a', "a{sv}");
    if (error > 0) {
        error = sd_bus_message_enter_container(reply, 'a', "{sv}");
    }
    while (error > 0 && (error = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
        const char* key = NULL;
        const char* word = NULL;
        error = sd_bus_message_read(reply, "s", &key);
        if (error <= 0) {
            break;
        }
        if (strcmp(key, "sl") == 0) {
            error = sd_bus_message_read(reply, "v", "y", &marking->sl);
            marking->has_sl = error > 0;
        } else if (strcmp(key, "traffic-class") == 0) {
            error = sd_bus_message_read(reply, "v", "y", &marking->traffic_class);
            marking->has_traffic_class = error > 0;
        } else if (strcmp(key, "sl-source") == 0) {
            error = sd_bus_message_read(reply, "v", "s", &word);
            marking->sl_of_host = error > 0 && strcmp(word, "host") == 0;
        } else if (strcmp(key, "level") == 0) {
            error = sd_bus_message_read(reply, "v", "s", &word);
            (void)snprintf(marking->level, LEVEL_BYTES, "%s", error > 0 ? word : "");
        } else if (strcmp(key, "message") == 0) {
            error = sd_bus_message_read(reply, "v", "s", &word);
            say(failure, error > 0 ? word : "");
        } else {
            error = sd_bus_message_skip(reply, "v");
        }
        if (error >= 0) {
            error = sd_bus_message_exit_container(reply);
        }
    }
    return error < 0 ? error : 0;
}

/* Sends what was built so far, if that went well, and reads the answer. */
static int ask(sd_bus_message* message, int built, struct marking* marking, char* text)
{
    sd_bus_message* reply = NULL;
    char failure[GOVERNOR_TEXT] = "";
    int error = built;
    if (built >= 0) {
        error = call(message, &reply, text);
    } else {
        say(text, strerrordesc_np(-built));
    }
    if (error >= 0 && (error = read_answer(reply, marking, failure)) < 0) {
        say(text, "rdma-qosd answers something else than documented");
    }
    if (error == 0 && failure[0] != '\0') {
        say(text, failure);
        error = -EPERM;
    }
    sd_bus_message_unref(message);
    sd_bus_message_unref(reply);
    return error;
}

static int query_path(const struct connection* connection, struct marking* marking, char* text)
{
    sd_bus_message* message = NULL;
    int error = sd_bus_message_new_method_call(bus, &message, NULL, kRoot, kManager, "QueryPath");
    if (error >= 0) {
        error = sd_bus_message_open_container(message, 'a', "{sv}");
    }
    if (error >= 0) {
        error = append_device(message, connection);
    }
    if (error >= 0) {
        error = append_connection(message, connection);
    }
    if (error >= 0 && level[0] != '\0') {
        error = sd_bus_message_append(message, "{sv}", "level", "s", level);
    }
    if (error >= 0) {
        error = sd_bus_message_close_container(message);
    }
    return ask(message, error, marking, text);
}

static const char* const kTypes[] = {"rc", "uc", "ud", "raw-packet", "devx"};

static int attach_now(const struct queue_pair* queue_pair, char* text)
{
    sd_bus_message* message = NULL;
    struct marking place = {0};
    int error = sd_bus_message_new_method_call(bus, &message, NULL, session, kSession, "Attach");
    if (error >= 0) {
        error = sd_bus_message_open_container(message, 'a', "a{sv}");
    }
    if (error >= 0) {
        error = sd_bus_message_open_container(message, 'a', "{sv}");
    }
    if (error >= 0) {
        error = append_device(message, &queue_pair->connection);
    }
    if (error >= 0) {
        error = sd_bus_message_append(message, "{sv}{sv}{sv}{sv}", "number", "u", queue_pair->number, "handle", "u",
                                      queue_pair->handle, "type", "s", kTypes[queue_pair->type], "uverbs", "h",
                                      queue_pair->fd);
    }
    if (error >= 0 && queue_pair->type == TYPE_RAW_PACKET) {
        /* For libmlx5 its number is that of its send queue. */
        error = sd_bus_message_append(message, "{sv}", "sq-number", "u", queue_pair->number);
    }
    if (error >= 0 && level[0] == '\0') {
        error = append_connection(message, &queue_pair->connection);
    }
    if (error >= 0) {
        error = sd_bus_message_close_container(message);
    }
    if (error >= 0) {
        error = sd_bus_message_close_container(message);
    }
    return ask(message, error, &place, text);
}

/* ---- the interface ---- */

static int start(const struct governor_options* options, char* text)
{
    const int length = snprintf(socket_path, sizeof(socket_path), "%s/run/rdma-qos/bus", options->root);
    if (length < 0 || (size_t)length >= sizeof(socket_path)) {
        say(text, "the path of the daemon's socket is too long");
        return -ENAMETOOLONG;
    }
    (void)snprintf(level, sizeof(level), "%s", options->level);
    (void)pthread_atfork(NULL, NULL, begin_in_child);
    return 0;
}

static int mark(const struct connection* connection, struct marking* marking, char* text)
{
    pthread_mutex_lock(&mutex);
    int error = ready(text);
    if (error == 0) {
        error = query_path(connection, marking, text);
    }
    pthread_mutex_unlock(&mutex);
    return error;
}

static void remember(const struct queue_pair* queue_pair)
{
    struct stat file;
    struct entry* made = calloc(1, sizeof(*made));
    if (made == NULL || fstat(queue_pair->fd, &file) != 0) {
        free(made);
        return;
    }
    made->queue_pair = *queue_pair;
    made->device = file.st_rdev;
    made->inode = file.st_ino;
    made->next = entries;
    entries = made;
}

/* False: it was not remembered. */
static bool forget(const char* device, uint32_t number)
{
    for (struct entry** place = &entries; *place != NULL; place = &(*place)->next) {
        struct entry* each = *place;
        if (each->queue_pair.number == number && strcmp(each->queue_pair.connection.device, device) == 0) {
            *place = each->next;
            free(each);
            return true;
        }
    }
    return false;
}

static int attach(const struct queue_pair* queue_pair, char* text)
{
    pthread_mutex_lock(&mutex);
    int error = ready(text);
    if (error == 0) {
        error = attach_now(queue_pair, text);
    }
    (void)forget(queue_pair->connection.device, queue_pair->number);
    remember(queue_pair);
    pthread_mutex_unlock(&mutex);
    return error;
}

static void detach(const char* device, uint32_t number)
{
    pthread_mutex_lock(&mutex);
    sd_bus_message* message = NULL;
    if (forget(device, number) && bus != NULL && session[0] != '\0' &&
        sd_bus_message_new_method_call(bus, &message, NULL, session, kSession, "Detach") >= 0 &&
        sd_bus_message_append(message, "su", device, number) >= 0 &&
        sd_bus_message_set_expect_reply(message, 0) >= 0) {
        (void)sd_bus_send(bus, message, NULL);
    }
    sd_bus_message_unref(message);
    pthread_mutex_unlock(&mutex);
}

extern const struct governor rdma_qos_run_governor;
__attribute__((visibility("default"))) const struct governor rdma_qos_run_governor = {GOVERNOR_VERSION, start, mark,
                                                                                      attach, detach};
