/* The queue pairs that this process has made and not destroyed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tools/rdma-qos-run/preload/governor.h"

struct known {
    struct queue_pair queue_pair;
    bool has_pkey_index;
    uint16_t pkey_index;
    bool in_place; /* since it was last brought from RESET to INIT; nothing is left to be done at RTS */
    bool asked;    /* the governor knows it */
    struct known* next;
};

/* Each takes a lock for a moment, waits for nobody else, and may be used while other threads fork. */
void known_add(const struct queue_pair* queue_pair);
/* A copy; false: it is not known. */
bool known_find(int fd, uint32_t handle, struct known* copy);
/* As it is now, if it is still there. */
void known_update(const struct known* changed);
/* What it was; false: it was not known. */
bool known_remove(int fd, uint32_t handle, struct known* last);
