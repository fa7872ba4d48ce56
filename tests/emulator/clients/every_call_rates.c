// Rates of single queue pairs (packet pacing).
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/emulator/clients/every_call.h"

enum { TABLE_SIZE = 127, SOME_RATE = 1000000 };

static int set_rate(struct ibv_qp* qp, uint32_t rate, uint32_t burst, uint16_t packet)
{
    struct ibv_qp_rate_limit_attr attr = {.rate_limit = rate, .max_burst_sz = burst, .typical_pkt_sz = packet};
    return ibv_modify_qp_rate_limit(qp, &attr);
}

static void check_refused_types(const struct world* world)
{
    static const struct {
        enum ibv_qp_type type;
        const char* name;
    } rows[] = {{IBV_QPT_RC, "RC is refused"}, {IBV_QPT_UC, "UC is refused"}, {IBV_QPT_UD, "UD is refused"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
        struct ibv_qp* qp = qp_in_state(world, rows[i].type, IBV_QPS_RTS);
        if (qp != NULL) {
            const int answer = set_rate(qp, SOME_RATE, 0, 0);
            check(answer == EOPNOTSUPP || answer == EINVAL, rows[i].name, "%d (%s)", answer, strerror(answer));
            check_number(state_of_qp(qp), IBV_QPS_RTS, "it stays in RTS");
            check_errno(ibv_destroy_qp(qp), 0, "it goes");
        }
    }
}

static void check_one(struct ibv_qp* qp)
{
    check_errno(set_rate(qp, SOME_RATE, 0, 0), 0, "a rate");
    check_errno(set_rate(qp, SOME_RATE, 16384, 1024), 0, "with burst and packet size");
    check_errno(set_rate(qp, 2 * SOME_RATE, 16384, 0), 0, "with a burst");
    check_errno(set_rate(qp, 0, 16384, 0), EINVAL, "a burst without a rate is refused");
    check_errno(set_rate(qp, 0, 0, 0), 0, "the rate is lifted");
    check_errno(set_rate(qp, 0, 0, 0), 0, "and lifted again");
    struct ibv_qp_rate_limit_attr attr = {.rate_limit = SOME_RATE, .comp_mask = 1};
    check_errno(ibv_modify_qp_rate_limit(qp, &attr), EINVAL, "an unknown comp_mask is refused");
}

// One entry of the table for each rate; equal rates share theirs.
static void check_table(const struct world* world)
{
    struct ibv_qp* qps[TABLE_SIZE + 2] = {NULL};
    int ready = 0;
    while (ready < TABLE_SIZE + 2 && (qps[ready] = create_qp(world, IBV_QPT_RAW_PACKET)) != NULL &&
           drive_qp(qps[ready], IBV_QPS_RTS) == 0) {
        ++ready;
    }
    if (check_number(ready, TABLE_SIZE + 2, "queue pairs for the whole table")) {
        int entered = 0;
        while (entered < TABLE_SIZE && set_rate(qps[entered], SOME_RATE + (uint32_t)entered * 1000, 0, 0) == 0) {
            ++entered;
        }
        check_number(entered, TABLE_SIZE, "so many different rates");
        check_errno(set_rate(qps[TABLE_SIZE], 77 * SOME_RATE, 0, 0), ENOSPC, "and no more");
        check_errno(set_rate(qps[TABLE_SIZE], SOME_RATE, 0, 0), 0, "an equal one shares its entry");
        check_errno(step_qp(qps[1], IBV_QPS_ERR, 0), 0, "a queue pair in ERR");
        check_errno(set_rate(qps[TABLE_SIZE + 1], 77 * SOME_RATE, 0, 0), 0, "has lost its rate and leaves an entry");
    }
    int failures = 0;
    for (int i = 0; i < TABLE_SIZE + 2 && qps[i] != NULL; ++i) {
        failures += ibv_destroy_qp(qps[i]) != 0 ? 1 : 0;
    }
    check_number(failures, 0, "they go");
}

void check_rates(void)
{
    struct world world;
    if (!open_world(&world)) {
        return;
    }
    check_refused_types(&world);
    struct ibv_qp* qp = qp_in_state(&world, IBV_QPT_RAW_PACKET, IBV_QPS_INIT);
    if (qp != NULL) {
        check(set_rate(qp, SOME_RATE, 0, 0) != 0, "refused in INIT", "it was not");
        check_errno(step_qp(qp, IBV_QPS_RTR, 0), 0, "to RTR");
        check_errno(step_qp(qp, IBV_QPS_RTS, 0), 0, "to RTS");
        check_one(qp);
        check_errno(ibv_destroy_qp(qp), 0, "it goes");
        check_table(&world);
    }
    close_world(&world);
}
