/* How the preload library talks to rdma-qosd: what to set for a connection, and which queue pairs exist.
 *
 * The implementation is a library of its own, which the preload library loads when the program makes its first queue
 * pair: a program that makes none, a shell for example, never has a D-Bus library in it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GOVERNOR_VERSION = 3, NAME_BYTES = 64, LEVEL_BYTES = 256, GID_BYTES = 16 };

/* What is known of a connection before its queue pair goes to RTR, as far as the policy may match by it. */
struct connection {
    char device[NAME_BYTES]; /* "mlx5_0" */
    uint32_t port;
    bool has_destination;
    uint8_t destination[GID_BYTES];
    uint16_t destination_lid; /* on InfiniBand, where there is no GID; 0: none */
    bool has_pkey;
    uint16_t pkey;
    bool has_service_id;
    uint64_t service_id;
    bool has_tos;
    uint8_t tos;
};

/* What the connection's level says. */
struct marking {
    bool has_sl;
    uint8_t sl;
    bool sl_of_host; /* on InfiniBand: it replaces the subnet manager's */
    bool has_traffic_class;
    uint8_t traffic_class;
    char level[LEVEL_BYTES];
};

enum queue_pair_type { TYPE_RC, TYPE_UC, TYPE_UD, TYPE_RAW_PACKET, TYPE_DEVX, TYPE_OTHER };

struct queue_pair {
    int fd; /* of the open device; copied for the daemon */
    uint32_t handle;
    uint32_t number;
    enum queue_pair_type type;
    struct connection connection;
};

struct governor_options {
    const char* root;  /* of the daemon's socket; "" for the host's */
    const char* level; /* for all queue pairs; "": each is matched by its connection */
};

enum { GOVERNOR_TEXT = 256 };

/* Each function may be called by any thread. Together they wait for a daemon that is slow, or does not answer, for at
 * most a second (RDMA_QOS_RUN_PATIENCE_MS: so many milliseconds), and for a twentieth of the time after that; what
 * there is no time for is done by a thread of the governor. The results are 0, -ENOTCONN: there is no daemon, or it
 * does not answer, or refuses the session: all queue pairs are concerned; another negative errno: what was asked for is
 * refused. `text`, of GOVERNOR_TEXT bytes, is then a sentence. */
struct governor {
    int version;
    /* Once, before the others; `options` is copied. */
    int (*start)(const struct governor_options* options, char* text);
    int (*mark)(const struct connection* connection, struct marking* marking, char* text);
    /* In INIT or RTS. It is remembered, and attached when that is possible, and again when the daemon has been
     * restarted. `complete`: it has all that its level gives; in INIT it may lack a rate that the device can set only
     * in RTS. */
    int (*attach)(const struct queue_pair* queue_pair, bool* complete, char* text);
    /* After it was destroyed. Does not wait. */
    void (*detach)(const char* device, uint32_t number);
    /* The program's first thread ends. If it was the last, the process is to end, too. */
    void (*first_thread_ends)(void);
};

#define GOVERNOR_SYMBOL "rdma_qos_run_governor"
