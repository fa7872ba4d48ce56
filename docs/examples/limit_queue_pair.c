/* Registers with a level, attaches a queue pair and limits its rate.
 *
 * It shows how to use the D-Bus API (docs/dbus.md) over the direct socket with sd-bus: Register, Attach, SetRate,
 * ListQueuePairs and the rate that holds. A session ends with its connection, so the program waits for a line on stdin
 * before it ends.
 *
 *     cc -std=c11 -Wall -Wextra limit_queue_pair.c -o limit_queue_pair $(pkg-config --cflags --libs libsystemd)
 *     ./limit_queue_pair SOCKET LEVEL DEVICE NUMBER KBIT [TYPE]
 *
 * For example: ./limit_queue_pair /run/rdma-qos/bus storage mlx5_0 4711 1000000
 *
 * A simulated device needs only the device and the number of a queue pair. For a real one, the program that has the
 * queue pair adds "handle" (ibv_qp.handle) and "uverbs" (ibv_context.cmd_fd, type h) in attach(). The limit needs a
 * level with a leaf for each queue pair (fair-by: queue-pair), or a device that paces this type of queue pair; SetRate
 * says what is missing.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

#define MANAGER_PATH "/org/rdmaqos1"
#define MANAGER "org.rdmaqos1.Manager"
#define SESSION "org.rdmaqos1.Session"

static int check(int result, const char* what)
{
    if (result < 0) {
        fprintf(stderr, "%s: %s\n", what, strerror(-result));
        exit(1);
    }
    return result;
}

static _Noreturn void refused(const char* method, const char* name, const char* message)
{
    fprintf(stderr, "%s: %s: %s\n", method, name, message ? message : "");
    exit(1);
}

static sd_bus* connect_to(const char* path)
{
    char address[256];
    snprintf(address, sizeof address, "unix:path=%s", path);
    sd_bus* bus = NULL;
    check(sd_bus_new(&bus), "sd_bus_new");
    check(sd_bus_set_address(bus, address), path);
    /* No sd_bus_set_bus_client(): there is no bus daemon that would answer Hello. */
    check(sd_bus_start(bus), path);
    return bus;
}

static sd_bus_message* new_call(sd_bus* bus, const char* object, const char* interface, const char* method)
{
    sd_bus_message* call = NULL;
    check(sd_bus_message_new_method_call(bus, &call, NULL, object, interface, method), method);
    return call;
}

static sd_bus_message* send_call(sd_bus* bus, sd_bus_message* call)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    sd_bus_message* answer = NULL;
    if (sd_bus_call(bus, call, 0, &error, &answer) < 0)
        refused(sd_bus_message_get_member(call), error.name, error.message);
    sd_bus_message_unref(call);
    return answer;
}

/* The next a{sv}: 0 at the end of an aa{sv}. */
static int enter(sd_bus_message* message)
{
    return check(sd_bus_message_enter_container(message, 'a', "{sv}"), "answer");
}

static void leave(sd_bus_message* message)
{
    while (check(sd_bus_message_at_end(message, 0), "answer") == 0)
        check(sd_bus_message_skip(message, "{sv}"), "answer");
    check(sd_bus_message_exit_container(message), "answer");
}

/* Whether the a{sv} that was entered has the key: a key that does not apply is absent, and keys come in any order. */
static int get(sd_bus_message* message, const char* key, const char* type, void* value)
{
    int found = 0;
    check(sd_bus_message_rewind(message, 0), key);
    while (!found && check(sd_bus_message_enter_container(message, 'e', "sv"), key) > 0) {
        const char* name;
        check(sd_bus_message_read(message, "s", &name), key);
        found = strcmp(name, key) == 0;
        check(found ? sd_bus_message_read(message, "v", type, value) : sd_bus_message_skip(message, "v"), key);
        check(sd_bus_message_exit_container(message), key);
    }
    return found;
}

static void print_text(sd_bus_message* message, const char* key)
{
    const char* text;
    if (get(message, key, "s", &text))
        printf("%s: %s\n", key, text);
}

static char* register_session(sd_bus* bus, const char* level)
{
    sd_bus_message* call = new_call(bus, MANAGER_PATH, MANAGER, "Register");
    check(sd_bus_message_append(call, "a{sv}", 1, "level", "s", level), "Register");
    sd_bus_message* answer = send_call(bus, call);

    const char* path;
    int enforced;
    check(sd_bus_message_read(answer, "o", &path), "Register");
    char* session = strdup(path);
    enter(answer);
    print_text(answer, "level");
    if (get(answer, "enforced", "b", &enforced))
        printf("enforced: %s\n", enforced ? "yes" : "no");
    print_text(answer, "reason");
    sd_bus_message_unref(answer);
    return session;
}

static void attach(sd_bus* bus, const char* session, const char* device, uint32_t number, const char* type)
{
    sd_bus_message* call = new_call(bus, session, SESSION, "Attach");
    check(sd_bus_message_append(call, "aa{sv}", 1, 3, "device", "s", device, "number", "u", number, "type", "s", type),
          "Attach");
    sd_bus_message* answer = send_call(bus, call);

    check(sd_bus_message_enter_container(answer, 'a', "a{sv}"), "Attach");
    while (enter(answer)) {
        /* The call succeeds although a queue pair is refused: its own result says so. */
        const char *error, *message = NULL;
        if (get(answer, "error", "s", &error)) {
            get(answer, "message", "s", &message);
            refused("Attach", error, message);
        }
        print_text(answer, "leaf");
        leave(answer);
    }
    sd_bus_message_unref(answer);
}

static void set_rate(sd_bus* bus, const char* session, const char* device, uint32_t number, uint64_t rate)
{
    sd_bus_message* call = new_call(bus, session, SESSION, "SetRate");
    check(sd_bus_message_append(call, "sua{sv}", device, number, 1, "rate", "t", rate), "SetRate");
    sd_bus_message_unref(send_call(bus, call));
}

static void list(sd_bus* bus, const char* session)
{
    sd_bus_message* answer = send_call(bus, new_call(bus, session, SESSION, "ListQueuePairs"));
    check(sd_bus_message_enter_container(answer, 'a', "a{sv}"), "ListQueuePairs");
    while (enter(answer)) {
        const char* device = "";
        uint32_t number = 0;
        uint64_t rate = 0;
        get(answer, "device", "s", &device);
        get(answer, "number", "u", &number);
        /* "rate" is there if the queue pair is paced; this counts its leaf and all above it, too. */
        get(answer, "max-rate-now", "t", &rate);
        printf("queue pair %" PRIu32 " of %s: %" PRIu64 " kbit/s\n", number, device, rate);
        print_text(answer, "reason");
        leave(answer);
    }
    sd_bus_message_unref(answer);
}

int main(int argc, char** argv)
{
    if (argc < 6 || argc > 7) {
        fprintf(stderr, "usage: %s SOCKET LEVEL DEVICE NUMBER KBIT [TYPE]\n", argv[0]);
        return 1;
    }
    const char* device = argv[3];
    uint32_t number = (uint32_t)strtoul(argv[4], NULL, 0);

    sd_bus* bus = connect_to(argv[1]);
    char* session = register_session(bus, argv[2]);
    attach(bus, session, device, number, argc == 7 ? argv[6] : "rc");
    set_rate(bus, session, device, number, strtoull(argv[5], NULL, 0));
    list(bus, session);

    fflush(stdout);
    getchar();
    free(session);
    sd_bus_flush_close_unref(bus);
    return 0;
}
