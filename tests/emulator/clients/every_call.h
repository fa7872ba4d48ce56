// every_call: uses every call of libibverbs and libmlx5 that the emulator plays, and checks what it answers.
#pragma once

#include <stdbool.h>

#include "tests/emulator/clients/check.h"
#include "tests/emulator/clients/world.h"

// `rdma-qos-emulator ctl WORDS`; false: there is no such program, or it failed.
bool control(const char* words);
bool can_control(void);

void check_device(void);
void check_advertised(void);
void check_import(void);
void check_objects(void);
void check_domains(void);
void check_states(void);
void check_elements(void);
void check_attaching(void);
void check_limits(void);
void check_rates(void);
void check_devx(void);
void check_devx_queue_pair(void);
void check_events(void);
void check_faults(void);
void check_kernels(void);
void check_reset(void);
