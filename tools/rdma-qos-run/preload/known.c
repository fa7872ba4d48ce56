#include "tools/rdma-qos-run/preload/known.h"

#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 1024 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct known* buckets[BUCKETS];

static void lock(void)
{
    pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

/* A child begins with a table that nobody was changing. */
static void watch_forks(void)
{
    (void)pthread_atfork(lock, unlock, unlock);
}

static struct known** place_of(int fd, uint32_t handle)
{
    struct known** place = &buckets[((unsigned)fd * 31U + handle) % BUCKETS];
    while (*place != NULL && !((*place)->queue_pair.fd == fd && (*place)->queue_pair.handle == handle)) {
        place = &(*place)->next;
    }
    return place;
}

void known_add(const struct queue_pair* queue_pair)
{
    (void)pthread_once(&once, watch_forks);
    lock();
    struct known** place = place_of(queue_pair->fd, queue_pair->handle);
    if (*place == NULL) {
        *place = calloc(1, sizeof(**place));
    }
    if (*place != NULL) {
        /* One with the same handle was in a file that has been closed. */
        struct known* next = (*place)->next;
        **place = (struct known){.queue_pair = *queue_pair, .next = next};
    }
    unlock();
}

bool known_find(int fd, uint32_t handle, struct known* copy)
{
    lock();
    const struct known* found = *place_of(fd, handle);
    if (found != NULL) {
        *copy = *found;
        copy->next = NULL;
    }
    unlock();
    return found != NULL;
}

void known_update(const struct known* changed)
{
    lock();
    struct known* found = *place_of(changed->queue_pair.fd, changed->queue_pair.handle);
    if (found != NULL && found->queue_pair.number == changed->queue_pair.number) {
        struct known* next = found->next;
        *found = *changed;
        found->next = next;
    }
    unlock();
}

bool known_remove(int fd, uint32_t handle, struct known* last)
{
    lock();
    struct known** place = place_of(fd, handle);
    struct known* found = *place;
    if (found != NULL) {
        *last = *found;
        *place = found->next;
        free(found);
    }
    unlock();
    return found != NULL;
}
