/* clang-format off */
/* librdmaqos: the C library for programs that use rdma-qosd. See librdmaqos(3).
 *
 *     struct rdmaqos_handle *qos;
 *     if (rdmaqos_open(&qos, NULL) == 0)
 *         rdmaqos_register(qos, NULL, NULL);
 *     ...
 *     rdmaqos_attach(qos, qp, NULL, NULL);      // in INIT or RTS
 *
 * Results. A function that returns int returns 0 or more for success and a negative errno otherwise; what else it returns
 * is said at the function. rdmaqos_last_error() then has the sentence, as the daemon said it where it was the daemon that
 * refused. Without a daemon every function returns -ENOTCONN, also for the handle NULL, and does nothing: a program may call
 * them all and go on without a class.
 *
 * Threads. Every function may be called from any thread at any time, except that nothing may use a handle or an answer
 * while or after it is closed or freed. Calls on one handle take turns; each ends within the handle's timeout.
 *
 * Cancellation. No function is a cancellation point. A thread that is cancelled (pthread_cancel) while it is in one, or
 * in the handler, ends at the next cancellation point after that, or at once if its cancellation is asynchronous.
 *
 * fork. A child inherits the handle, but not the session: there every function on the handle returns -ECHILD, and
 * rdmaqos_close() frees the child's copies of its descriptors, if they are still there, without disturbing the parent.
 * A child that wants a class opens a handle of its own.
 *
 * Descriptors. The handle's are above 2. A program that closes those that it does not know should not close these; if
 * it does, they are opened again, the session too, and files that the program has opened under their numbers are left
 * alone.
 *
 * Ownership. A handle, an answer or a domain belongs to the caller until it is closed, freed or destroyed. Texts that a
 * function returns belong to the library. What is passed in is copied; queue pairs are remembered by their numbers and are
 * not touched later, and no descriptor is kept open.
 *
 * Growth. Every structure begins with its size, which the init function next to it sets: call that first, then fill in what
 * you want. So a program may run with a newer or an older library, and this library with a newer or an older daemon: what
 * one of them does not know gives -EOPNOTSUPP.
 *
 * Units: rates are in kbit/s, sizes in bytes, times in milliseconds.
 */
#ifndef RDMAQOS_H
#define RDMAQOS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of <infiniband/verbs.h>, which need not be included. */
struct ibv_ah_attr;
struct ibv_comp_channel;
struct ibv_cq;
struct ibv_cq_ex;
struct ibv_cq_init_attr_ex;
struct ibv_pd;
struct ibv_qp;
struct ibv_qp_attr;
struct ibv_qp_init_attr;
struct ibv_qp_init_attr_ex;
union ibv_gid;

#define RDMAQOS_SOCKET "/run/rdma-qos/bus"

/* A connection to the daemon, and at most one session on it. */
struct rdmaqos_handle;
/* What the daemon answered: a grant, the place of a queue pair, or a path. It never changes. */
struct rdmaqos_answer;

/* ---- errors ---- */

/* What went wrong in the last call of this thread that failed, or that returned RDMAQOS_PENDING, as a sentence; "" if
 * none has. Valid until this thread calls the library again. */
const char *rdmaqos_last_error(void);
/* The D-Bus name of that error, "org.rdmaqos1.Error.UnknownLevel" for example; "" if the daemon did not say it. */
const char *rdmaqos_last_error_name(void);
/* The version of the library that runs: "0.1.0". */
const char *rdmaqos_version(void);

/* The errno that stands for an error of the daemon:
 *   -ENOTCONN    no daemon                        -EACCES      LevelNotAllowed, NotOwner, AccessDenied
 *   -ETIMEDOUT   no answer in time, Timeout       -ENOENT      UnknownLevel, NoMatchingPath, UnknownDevice, UnknownSession
 *   -EINVAL      InvalidArgs, BadQueuePair, WrongDevice, NotUverbs
 *   -EAGAIN      Busy: try again shortly          -EBADFD      BadState: the queue pair is not in INIT or RTS
 *   -EDQUOT      LimitsExceeded                   -ENOSPC      NoSpace
 *   -ENODEV      DeviceGone                       -EIO         DeviceFailed, IOError and everything else
 *   -EOPNOTSUPP  NotSupported, or a method that this daemon does not know; also what this library does not know: a bit of
 *                a mask, or a part that was added to a structure later and is not 0
 *   -EKEYREJECTED InvalidPolicy                   -EBADMSG     an answer that is not as documented
 * and the library's own: -ECHILD in a forked child, -EALREADY for a handle that has a session, -EBADF for a queue pair whose
 * device has been closed, -ENOMEM. */

/* ---- open and close ---- */

enum {
    /* Only the direct socket. Otherwise the system bus is tried after it; that cannot take descriptors, so queue pairs of
     * real devices cannot be attached there (-EOPNOTSUPP). */
    RDMAQOS_OPEN_DIRECT = 1 << 0,
    /* Only the system bus. */
    RDMAQOS_OPEN_SYSTEM_BUS = 1 << 1,
    /* Open although the daemon is not there. rdmaqos_register() and the attach functions then return RDMAQOS_PENDING, and
     * what they were asked for is done when the daemon comes. */
    RDMAQOS_OPEN_WITHOUT_DAEMON = 1 << 2,
    /* A thread of the library dispatches: the program need not watch rdmaqos_get_fd(), and its handler is called on that
     * thread, which blocks all signals. */
    RDMAQOS_OPEN_THREAD = 1 << 3,
    /* After the daemon has gone, do not connect again. */
    RDMAQOS_OPEN_ONCE = 1 << 4,
    /* What the daemon refuses is remembered all the same, and asked for again: the session every 10 seconds, a queue
     * pair too, unless what is wrong is the queue pair itself. The functions return the refusal. */
    RDMAQOS_OPEN_PERSIST = 1 << 5
};

/* A result of register and attach: remembered, and done when the daemon is there. */
#define RDMAQOS_PENDING 1

struct rdmaqos_open_attr {
    size_t size;
    uint32_t flags;              /* RDMAQOS_OPEN_... */
    uint32_t open_timeout_ms;    /* for connecting, until the daemon has answered; 0: 1000 */
    uint32_t timeout_ms;         /* for each call; 0: 5000 */
    const char *socket;          /* NULL: RDMAQOS_SOCKET */
};
static inline void rdmaqos_open_attr_init(struct rdmaqos_open_attr *attr)
{
    memset(attr, 0, sizeof(*attr));
    attr->size = sizeof(*attr);
}

/* Connects: to the direct socket, and if that is not there to the system bus. NULL stands for the defaults. On failure
 * *handle is NULL. -ENOTCONN: there is no daemon. */
int rdmaqos_open(struct rdmaqos_handle **handle, const struct rdmaqos_open_attr *attr);
/* Ends the session: its queue pairs leave their classes. NULL does nothing. Not from the handler. */
void rdmaqos_close(struct rdmaqos_handle *handle);

enum rdmaqos_transport { RDMAQOS_TRANSPORT_NONE = 0, RDMAQOS_TRANSPORT_DIRECT = 1, RDMAQOS_TRANSPORT_SYSTEM_BUS = 2 };
/* An enum rdmaqos_transport: how the daemon is connected now. */
int rdmaqos_get_transport(struct rdmaqos_handle *handle);

/* ---- what a class is asked for by ---- */

enum {
    RDMAQOS_BY_QOS_CLASS = 1 << 0,
    RDMAQOS_BY_SERVICE_ID = 1 << 1,
    RDMAQOS_BY_TOS = 1 << 2,
    RDMAQOS_BY_DESTINATION_PORT = 1 << 3,
    RDMAQOS_BY_PKEY = 1 << 4,
    RDMAQOS_BY_PORT = 1 << 5,
    /* Of rdmaqos_query_path() alone; the others ignore them. */
    RDMAQOS_BY_SL = 1 << 6,
    RDMAQOS_BY_MTU = 1 << 7,
    RDMAQOS_BY_RATE = 1 << 8,
    RDMAQOS_BY_PACKET_LIFE = 1 << 9
};

/* All of it is optional. Empty: the administrator's rules decide by who the program is. */
struct rdmaqos_request {
    size_t size;
    uint64_t mask;                 /* RDMAQOS_BY_...: which numbers below are set */
    const char *level;             /* this level, or an error; no rule is consulted */
    const char *qos_class_name;    /* a name of the policy */
    const char *device;            /* "mlx5_0", "mlx5_0/1", a netdev or a PCI address; of an attached queue pair: its own */
    const char *source;            /* GID, GUID or LID ("lid:17") of the own end; rdmaqos_gid_text() writes a GID */
    const char *destination;       /* GID, GUID or LID of the other end */
    const char *port_space;        /* "tcp", "udp", "ipoib" or "ib", with destination_port: the service-id of rdma_cm */
    uint64_t service_id;
    uint32_t qos_class;            /* 12 bits */
    uint32_t port;                 /* of device */
    uint16_t destination_port;
    uint16_t pkey;                 /* with or without the membership bit */
    uint8_t tos;                   /* as set with RDMA_OPTION_ID_TOS */
    uint8_t sl;                    /* that the path must have */
    uint8_t packet_life;           /* n for 4.096 us * 2^n */
    uint8_t reserved;
    uint32_t mtu;                  /* bytes */
    uint64_t rate;                 /* an InfiniBand rate in kbit/s */
};
static inline void rdmaqos_request_init(struct rdmaqos_request *request)
{
    memset(request, 0, sizeof(*request));
    request->size = sizeof(*request);
}

#define RDMAQOS_GID_TEXT 40
/* "fe80:0000:0000:0000:0002:c903:0000:1234", for source and destination; returns text. */
const char *rdmaqos_gid_text(const union ibv_gid *gid, char text[RDMAQOS_GID_TEXT]);

/* ---- the session ---- */

/* Makes the handle's session. NULL: an empty request. *grant, unless the pointer is NULL, is to be freed.
 * RDMAQOS_PENDING: see RDMAQOS_OPEN_WITHOUT_DAEMON; *grant is NULL then. -EALREADY: it has one. After
 * RDMAQOS_EVENT_DETACHED it may be called again, but need not. */
int rdmaqos_register(struct rdmaqos_handle *handle, const struct rdmaqos_request *request,
                     struct rdmaqos_answer **grant);
/* Ends the session and forgets its queue pairs; the handle stays open. */
int rdmaqos_release(struct rdmaqos_handle *handle);
/* What the session is granted now. -ENOENT: there is no session. */
int rdmaqos_get_grant(struct rdmaqos_handle *handle, struct rdmaqos_answer **grant);

/* What a connection with these criteria would get, without a session and without queue pairs. */
int rdmaqos_query_path(struct rdmaqos_handle *handle, const struct rdmaqos_request *request, struct rdmaqos_answer **path);

/* ---- queue pairs ---- */

enum rdmaqos_qp_type {
    RDMAQOS_QP_RC = 0,
    RDMAQOS_QP_UC = 1,
    RDMAQOS_QP_UD = 2,
    RDMAQOS_QP_RAW_PACKET = 3,
    RDMAQOS_QP_DEVX = 4    /* made by a DEVX command, of whatever transport */
};

/* A queue pair without its struct ibv_qp. */
struct rdmaqos_queue_pair {
    size_t size;
    const char *device;    /* "mlx5_0" */
    uint32_t port;         /* 0: the device's only port */
    int fd;                /* ibv_context.cmd_fd; -1: none, of a simulated device */
    uint32_t handle;       /* ibv_qp.handle; of RDMAQOS_QP_DEVX that of the DEVX object */
    uint32_t number;       /* ibv_qp.qp_num */
    uint32_t type;         /* enum rdmaqos_qp_type */
    uint32_t sq_number;    /* of RDMAQOS_QP_RAW_PACKET: the send queue's number; 0: unknown */
};
static inline void rdmaqos_queue_pair_init(struct rdmaqos_queue_pair *queue_pair)
{
    memset(queue_pair, 0, sizeof(*queue_pair));
    queue_pair->size = sizeof(*queue_pair);
    queue_pair->fd = -1;
}
/* The queue pair's numbers. device belongs to the device and is valid as long as that is open. -EOPNOTSUPP: its type
 * cannot be attached. */
int rdmaqos_describe(struct ibv_qp *qp, struct rdmaqos_queue_pair *queue_pair);

/* Puts a queue pair, which is in INIT or RTS (a raw packet one in RTS), into a class: with a request into the one that
 * its own criteria get, with NULL into the session's. It keeps its place from INIT to RTS, and loses it in RESET and
 * ERR: attach it again then. After a restart of the daemon, and when its device was away and is back, it is attached
 * again by itself. *place, unless the pointer is NULL, is to be freed. If the handle has no session, it registers: with
 * an empty request, or as it did before a session that was refused (RDMAQOS_EVENT_REFUSED). Detach a queue pair before
 * it is destroyed, or use rdmaqos_destroy_qp(). RDMAQOS_PENDING: see RDMAQOS_OPEN_WITHOUT_DAEMON. -EBADFD, -EAGAIN,
 * ...: it is not attached. */
int rdmaqos_attach(struct rdmaqos_handle *handle, struct ibv_qp *qp, const struct rdmaqos_request *request,
                   struct rdmaqos_answer **place);
int rdmaqos_attach_number(struct rdmaqos_handle *handle, const struct rdmaqos_queue_pair *queue_pair,
                          const struct rdmaqos_request *request, struct rdmaqos_answer **place);
/* Many in one round trip (of up to 128). requests: NULL, or one for each, NULL for the session's. results: count of
 * them, each as of rdmaqos_attach(). places: NULL, or count of them, to be freed each. Returns how many failed, or a
 * negative errno if nothing was done. */
int rdmaqos_attach_many(struct rdmaqos_handle *handle, size_t count, struct ibv_qp *const *qps,
                        const struct rdmaqos_request *const *requests, int *results, struct rdmaqos_answer **places);
int rdmaqos_attach_numbers(struct rdmaqos_handle *handle, size_t count,
                           const struct rdmaqos_queue_pair *const *queue_pairs,
                           const struct rdmaqos_request *const *requests, int *results, struct rdmaqos_answer **places);

/* Takes it out of its class, and forgets it also if that fails or there is no daemon. -ENOENT: it was not attached. */
int rdmaqos_detach(struct rdmaqos_handle *handle, struct ibv_qp *qp);
int rdmaqos_detach_number(struct rdmaqos_handle *handle, const char *device, uint32_t number);
/* All in one round trip; results as of rdmaqos_attach_many(). */
int rdmaqos_detach_many(struct rdmaqos_handle *handle, size_t count, struct ibv_qp *const *qps, int *results);

/* Limits an attached queue pair. The limit is kept over a restart of the daemon. */
struct rdmaqos_rate {
    size_t size;
    uint64_t rate;              /* kbit/s; 0: the class's own */
    uint64_t max_burst;         /* bytes; 0: the class's, else the device's */
    uint32_t typical_packet;    /* bytes; 0: the class's, else the port's MTU */
    uint32_t reserved;
};
static inline void rdmaqos_rate_init(struct rdmaqos_rate *rate)
{
    memset(rate, 0, sizeof(*rate));
    rate->size = sizeof(*rate);
}
int rdmaqos_set_rate(struct rdmaqos_handle *handle, struct ibv_qp *qp, const struct rdmaqos_rate *rate);
int rdmaqos_set_rate_number(struct rdmaqos_handle *handle, const char *device, uint32_t number,
                            const struct rdmaqos_rate *rate);

/* Calls on a queue pair that the daemon may be moving at this moment: tried again while they say EBUSY, for at most 50 ms
 * (see the EBUSY section of clients.md). 0 or a positive errno, as the functions of libibverbs. The handle may be NULL. */
int rdmaqos_modify_qp(struct rdmaqos_handle *handle, struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);
/* Detaches it first, where it is attached. */
int rdmaqos_destroy_qp(struct rdmaqos_handle *handle, struct ibv_qp *qp);

/* ---- answers ---- */

void rdmaqos_answer_free(struct rdmaqos_answer *answer);
/* One more owner, who frees it as well. */
struct rdmaqos_answer *rdmaqos_answer_ref(const struct rdmaqos_answer *answer);
/* Any key of the daemon's answer by its name in dbus.md, "leaf" for example. NULL and -ENOENT: it is absent, or of
 * another type. Truth values are the numbers 0 and 1. A list of texts is one text, with blanks between them. */
const char *rdmaqos_answer_text(const struct rdmaqos_answer *answer, const char *key);
int rdmaqos_answer_number(const struct rdmaqos_answer *answer, const char *key, uint64_t *value);

enum rdmaqos_message_model {
    RDMAQOS_MESSAGE_DEFAULT = 0,
    RDMAQOS_MESSAGE_LOW_LATENCY = 1,
    RDMAQOS_MESSAGE_HIGH_BW = 2,
    RDMAQOS_MESSAGE_FORCE_LOW_LATENCY = 3
};
enum rdmaqos_sl_source {
    RDMAQOS_SL_SUBNET_MANAGER = 0,    /* on InfiniBand the SL that the subnet manager gave stays */
    RDMAQOS_SL_HOST = 1               /* the level's SL replaces it */
};
/* The most used keys. Texts: "" if absent. Numbers: -ENOENT if absent. */
const char *rdmaqos_answer_level(const struct rdmaqos_answer *answer);
const char *rdmaqos_answer_leaf(const struct rdmaqos_answer *answer);
const char *rdmaqos_answer_reason(const struct rdmaqos_answer *answer);
int rdmaqos_answer_sl(const struct rdmaqos_answer *answer);
int rdmaqos_answer_traffic_class(const struct rdmaqos_answer *answer);
int rdmaqos_answer_enforced(const struct rdmaqos_answer *answer);          /* 0 or 1 */
int rdmaqos_answer_message_model(const struct rdmaqos_answer *answer);     /* enum rdmaqos_message_model */
int rdmaqos_answer_sl_source(const struct rdmaqos_answer *answer);         /* enum rdmaqos_sl_source; never absent */

/* What a grant, a place or a path changes in a connection, of which these say what was done: */
enum {
    RDMAQOS_APPLIED_SL = 1 << 0,
    RDMAQOS_APPLIED_TRAFFIC_CLASS = 1 << 1,
    /* InfiniBand: the level has another SL than the connection, which keeps its own (RDMAQOS_SL_SUBNET_MANAGER). */
    RDMAQOS_SL_DIFFERS = 1 << 2
};
/* Sets the SL and the traffic class on Ethernet; on InfiniBand the SL, if the level has `sl-source: host`. link_layer is
 * ibv_port_attr.link_layer. Bits of what was done. */
int rdmaqos_apply_ah(const struct rdmaqos_answer *answer, uint8_t link_layer, struct ibv_ah_attr *attr);
/* The same for the step to RTR: does nothing unless attr_mask has IBV_QP_AV, and asks the device for the link layer of
 * the port. */
int rdmaqos_apply_qp(const struct rdmaqos_answer *answer, struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);

/* ---- what happens ---- */

enum rdmaqos_event_type {
    RDMAQOS_EVENT_GRANT_CHANGED = 1,       /* by a reload of the policy, or the device is back; grant */
    RDMAQOS_EVENT_DETACHED = 2,            /* a device that it has queue pairs on went away or was released: message; grant.
                                            * They are attached again when it is back; those that a reset has ended
                                            * follow as LOST then: make new ones */
    RDMAQOS_EVENT_DAEMON_GONE = 3,         /* queue pairs go on without a class */
    RDMAQOS_EVENT_DAEMON_BACK = 4,         /* registered again; grant; queue pairs that could not be attached follow as LOST */
    RDMAQOS_EVENT_REFUSED = 5,             /* the daemon is back and refuses to register: message; not tried again, unless
                                            * with RDMAQOS_OPEN_PERSIST */
    RDMAQOS_EVENT_QUEUE_PAIR_LOST = 6,     /* not attached again, and forgotten: device, number, message */
    RDMAQOS_EVENT_QUEUE_PAIR_ATTACHED = 7, /* what was pending, or without its device, is attached: device, number, grant (its
                                            * place) */
    RDMAQOS_EVENT_QUEUE_PAIR_WAITING = 8   /* refused for 30 s, for a reason that may pass: device, number, message. It is
                                            * tried again every 10 s, until it is attached or detached */
};

struct rdmaqos_event {
    size_t size;
    uint32_t type;                          /* enum rdmaqos_event_type; ignore those you do not know */
    uint32_t number;                        /* of a queue pair */
    const char *device;                     /* of a queue pair; else NULL */
    const char *message;                    /* a sentence, or NULL */
    const struct rdmaqos_answer *grant;     /* or NULL; rdmaqos_answer_ref() keeps it */
};
/* Called by rdmaqos_dispatch() only, once at a time. It may call everything but rdmaqos_close(). What it is given is valid
 * until it returns. */
typedef void (*rdmaqos_handler)(struct rdmaqos_handle *handle, const struct rdmaqos_event *event, /* NOLINT: it is C */
                                void *data);
/* NULL: none. When it returns, the handler that was set before is not running, unless that is who calls. */
int rdmaqos_set_handler(struct rdmaqos_handle *handle, rdmaqos_handler handler, void *data);

/* Readable (POLLIN) when there is something to dispatch; the same for the life of the handle, unless the program closes
 * it. */
int rdmaqos_get_fd(struct rdmaqos_handle *handle);
/* Handles what has arrived, connects again when it is time to, and calls the handler. Waits for nobody longer than the
 * handle's timeouts. Returns how many events were handled. */
int rdmaqos_dispatch(struct rdmaqos_handle *handle);

/* ---- resource domains ---- */

/* Queue pairs and completion queues of a domain share what their thread model allows them to share. */
struct rdmaqos_domain;

enum rdmaqos_thread_model {
    RDMAQOS_THREAD_SAFE = 0,      /* any thread at any time: the provider locks */
    RDMAQOS_THREAD_UNSAFE = 1,    /* the program sees to it that one thread at a time uses objects of the domain */
    RDMAQOS_THREAD_SINGLE = 2     /* one and the same thread uses them */
};

enum { RDMAQOS_DOMAIN_THREAD_MODEL = 1 << 0, RDMAQOS_DOMAIN_MESSAGE_MODEL = 1 << 1 };

struct rdmaqos_domain_attr {
    size_t size;
    uint32_t mask;             /* RDMAQOS_DOMAIN_...: which of the two are set */
    uint32_t thread_model;     /* enum rdmaqos_thread_model; absent: safe */
    uint32_t message_model;    /* enum rdmaqos_message_model; absent: the grant's, else default */
    uint32_t reserved;
    const struct rdmaqos_answer *grant;    /* or NULL; needed only during the call */
};
static inline void rdmaqos_domain_attr_init(struct rdmaqos_domain_attr *attr)
{
    memset(attr, 0, sizeof(*attr));
    attr->size = sizeof(*attr);
}

/* What a domain got. */
struct rdmaqos_achieved {
    size_t size;
    uint32_t thread_model;         /* how its objects may be used: never less safe than asked for */
    uint32_t message_model;        /* what the provider does; DEFAULT if a suggestion had no effect */
    uint8_t thread_domain;         /* 1: a thread domain of libibverbs, without the provider's locks */
    uint8_t own_doorbell;          /* 1: a doorbell register that no other domain uses */
    uint8_t single_threaded_cq;    /* 1: its completion queues are made without a lock */
    uint8_t reserved[5];
};
static inline void rdmaqos_achieved_init(struct rdmaqos_achieved *achieved)
{
    memset(achieved, 0, sizeof(*achieved));
    achieved->size = sizeof(*achieved);
}

/* NULL: safe, default. LOW_LATENCY and HIGH_BW are suggestions; FORCE_LOW_LATENCY, also that of a grant, gives -EOPNOTSUPP
 * where it cannot be honoured. The protection domain must outlive the domain. */
int rdmaqos_domain_create(struct ibv_pd *pd, const struct rdmaqos_domain_attr *attr, struct rdmaqos_domain **domain);
/* -EBUSY: a completion queue or queue pair of it exists; then it stays as it is. NULL does nothing. */
int rdmaqos_domain_destroy(struct rdmaqos_domain *domain);
int rdmaqos_domain_achieved(const struct rdmaqos_domain *domain, struct rdmaqos_achieved *achieved);
/* For other calls of libibverbs; it belongs to the domain. */
struct ibv_pd *rdmaqos_domain_pd(const struct rdmaqos_domain *domain);

/* As ibv_create_cq(), ibv_create_cq_ex(), ibv_create_qp() and ibv_create_qp_ex(), in the domain; attributes are not changed.
 * ibv_destroy_cq() and ibv_destroy_qp() end what they make. */
int rdmaqos_domain_create_cq(struct rdmaqos_domain *domain, int cqe, void *cq_context, struct ibv_comp_channel *channel,
                             int comp_vector, struct ibv_cq **cq);
int rdmaqos_domain_create_cq_ex(struct rdmaqos_domain *domain, const struct ibv_cq_init_attr_ex *attr,
                                struct ibv_cq_ex **cq);
int rdmaqos_domain_create_qp(struct rdmaqos_domain *domain, const struct ibv_qp_init_attr *attr, struct ibv_qp **qp);
int rdmaqos_domain_create_qp_ex(struct rdmaqos_domain *domain, const struct ibv_qp_init_attr_ex *attr,
                                struct ibv_qp **qp);

#ifdef __cplusplus
}
#endif

#endif
