/* librdma-qos-run.so, loaded before the program's own libraries: puts its queue pairs into classes of rdma-qosd.
 *
 * One function is in the way of every queue pair, however the program reaches libibverbs: ioctl() (uverbs_call.h). It
 * is no part of the data path: what posts work and polls for completions does not call the kernel. The functions of
 * librdmacm below only tell what a connection is for. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "tools/rdma-qos-run/preload/steering.h"

#define HOOK __attribute__((visibility("default")))

/* ---- ioctl ---- */

typedef int (*ioctl_function)(int fd, unsigned long request, ...);
static ioctl_function next_ioctl;
static _Thread_local int inside __attribute__((tls_model("initial-exec")));

/* Found before the program starts: later it may be where looking for a symbol has to wait for a lock. */
__attribute__((constructor)) static void find_ioctl(void)
{
    if (next_ioctl == NULL) {
        *(void**)&next_ioctl = dlsym(RTLD_NEXT, "ioctl");
    }
}

static int forward_ioctl(int fd, struct ib_uverbs_ioctl_hdr* header)
{
    return next_ioctl(fd, RDMA_VERBS_IOCTL, header);
}

HOOK int ioctl(int fd, unsigned long request, ...)
{
    va_list rest;
    va_start(rest, request);
    void* argument = va_arg(rest, void*);
    va_end(rest);
    if (next_ioctl == NULL) {
        find_ioctl();
    }
    if (request != RDMA_VERBS_IOCTL || argument == NULL || inside != 0) {
        return next_ioctl(fd, request, argument);
    }
    inside = 1;
    const int result = steer(fd, argument, forward_ioctl);
    inside = 0;
    return result;
}

/* ---- librdmacm ---- */

/* The function of librdmacm itself. That is not always where the program's own symbols are looked for: a module that
 * was loaded with RTLD_LOCAL may have brought it. */
static void* find_next(const char* name)
{
    void* found = dlsym(RTLD_NEXT, name);
    if (found == NULL) {
        void* library = dlopen("librdmacm.so.1", RTLD_LAZY | RTLD_NOLOAD);
        found = library != NULL ? dlsym(library, name) : NULL;
        if (library != NULL) {
            dlclose(library);    // whoever calls keeps it
        }
    }
    return found;
}

#define NEXT(name)                                                                                                     \
    __typeof__(&name) next = NULL;                                                                                     \
    *(void**)&next = find_next(#name);                                                                                 \
    if (next == NULL) {                                                                                                \
        errno = ENOSYS;                                                                                                \
        return -1;                                                                                                     \
    }

/* Types of service that were set before there was a queue pair. */
struct service_type {
    const struct rdma_cm_id* id;
    uint8_t tos;
    struct service_type* next;
};
static struct service_type* service_types;
static pthread_mutex_t service_types_mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock_service_types(void)
{
    pthread_mutex_lock(&service_types_mutex);
}

static void unlock_service_types(void)
{
    pthread_mutex_unlock(&service_types_mutex);
}

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static void watch_forks(void)
{
    (void)pthread_atfork(lock_service_types, unlock_service_types, unlock_service_types);
}

/* -1: none. */
static int find_service_type(const struct rdma_cm_id* id)
{
    int tos = -1;
    lock_service_types();
    for (const struct service_type* each = service_types; each != NULL; each = each->next) {
        if (each->id == id) {
            tos = each->tos;
            break;
        }
    }
    unlock_service_types();
    return tos;
}

static void remember_service_type(const struct rdma_cm_id* id, uint8_t tos)
{
    (void)pthread_once(&fork_once, watch_forks);
    lock_service_types();
    struct service_type* each = service_types;
    while (each != NULL && each->id != id) {
        each = each->next;
    }
    if (each == NULL && (each = calloc(1, sizeof(*each))) != NULL) {
        each->id = id;
        each->next = service_types;
        service_types = each;
    }
    if (each != NULL) {
        each->tos = tos;
    }
    unlock_service_types();
}

static void forget_service_type(const struct rdma_cm_id* id)
{
    lock_service_types();
    struct service_type** place = &service_types;
    while (*place != NULL && (*place)->id != id) {
        place = &(*place)->next;
    }
    struct service_type* found = *place;
    if (found != NULL) {
        *place = found->next;
        free(found);
    }
    unlock_service_types();
}

static uint16_t port_of(const struct sockaddr* address)
{
    if (address->sa_family == AF_INET) {
        return ntohs(((const struct sockaddr_in*)address)->sin_port);
    }
    return address->sa_family == AF_INET6 ? ntohs(((const struct sockaddr_in6*)address)->sin6_port) : 0;
}

/* The service-id that rdma_cm forms: the port space and the port of who was called. */
static void tell_service(struct rdma_cm_id* id, bool called)
{
    if (id == NULL || id->qp == NULL || id->verbs == NULL) {
        return;
    }
    const int saved = errno;
    const struct sockaddr* listener = called ? rdma_get_local_addr(id) : rdma_get_peer_addr(id);
    const uint16_t port = port_of(listener);
    /* Only an IPv4 address has its type of service in the query: without one it is 0. */
    int tos = find_service_type(id);
    tos = listener->sa_family != AF_INET ? -1 : tos < 0 ? 0 : tos;
    if (port != 0) {
        steer_service(id->verbs->cmd_fd, id->qp->handle, (uint64_t)id->ps << 16 | port, tos);
    }
    errno = saved;
}

HOOK int rdma_create_qp(struct rdma_cm_id* id, struct ibv_pd* pd, struct ibv_qp_init_attr* attributes)
{
    NEXT(rdma_create_qp)
    const int result = next(id, pd, attributes);
    if (result == 0) {
        tell_service(id, false);
    }
    return result;
}

HOOK int rdma_create_qp_ex(struct rdma_cm_id* id, struct ibv_qp_init_attr_ex* attributes)
{
    NEXT(rdma_create_qp_ex)
    const int result = next(id, attributes);
    if (result == 0) {
        tell_service(id, false);
    }
    return result;
}

/* Who accepts was called: the port is its own. The queue pair goes to RTR and RTS in there. */
HOOK int rdma_accept(struct rdma_cm_id* id, struct rdma_conn_param* parameters)
{
    NEXT(rdma_accept)
    tell_service(id, true);
    return next(id, parameters);
}

HOOK int rdma_set_option(struct rdma_cm_id* id, int level, int name, void* value, size_t length)
{
    NEXT(rdma_set_option)
    const int result = next(id, level, name, value, length);
    if (result == 0 && level == RDMA_OPTION_ID && name == RDMA_OPTION_ID_TOS && value != NULL && length == 1) {
        remember_service_type(id, *(const uint8_t*)value);
    }
    return result;
}

HOOK int rdma_destroy_id(struct rdma_cm_id* id)
{
    NEXT(rdma_destroy_id)
    forget_service_type(id);
    return next(id);
}
