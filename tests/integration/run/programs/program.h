// A program that knows nothing of rdma-qosd: makes queue pairs, connects each to a GID, says what the device has of
// them, and waits. How it gets at libibverbs is the difference between the programs.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

// What a program wants of libibverbs.
struct verbs {
    struct ibv_device** (*get_device_list)(int*);
    void (*free_device_list)(struct ibv_device**);
    const char* (*get_device_name)(struct ibv_device*);
    struct ibv_context* (*open_device)(struct ibv_device*);
    int (*close_device)(struct ibv_context*);
    struct ibv_pd* (*alloc_pd)(struct ibv_context*);
    int (*dealloc_pd)(struct ibv_pd*);
    struct ibv_cq* (*create_cq)(struct ibv_context*, int, void*, struct ibv_comp_channel*, int);
    int (*destroy_cq)(struct ibv_cq*);
    struct ibv_qp* (*create_qp)(struct ibv_pd*, struct ibv_qp_init_attr*);
    int (*modify_qp)(struct ibv_qp*, struct ibv_qp_attr*, int);
    int (*query_qp)(struct ibv_qp*, struct ibv_qp_attr*, int, struct ibv_qp_init_attr*);
    int (*destroy_qp)(struct ibv_qp*);
};

struct options {
    const char* way;        // the first argument
    const char* device;     // -d, "mlx5_0"; "mlx5_0,mlx5_1": a world on each, with as many queue pairs
    int count;              // -n, of queue pairs
    const char* gids;       // -g "GID,GID": the queue pairs are dealt to them in turn
    int gid_index;          // -i: its own GID; on Ethernet the kernel marks packets of RoCE v2 only
    int lid;                // -l: instead of a GID, on InfiniBand
    int sl;                 // -s, as the program would set them itself
    int traffic_class;      // -c
    int threads;            // -t: how many make queue pairs at the same time
    bool forks;             // -f: a child makes as many again
    const char* until;      // -u: waits until this file is there
    int status;             // -x: the exit status
    bool ends_by_thread;    // -e: the first thread ends by pthread_exit(), and another ends the program
    int cycles;             // -k: how often each queue pair is made and destroyed before the one that stays
    bool closes;    // -C: closes all descriptors but its devices' and the lowest three, and opens its own, which it
                    // must still have in the end; with -f the child does
    const char* data;    // -o: closes the lowest three, and this file becomes the third
    bool measures;       // -m: says how long modify_qp() took on average
};

struct world_of_program {
    struct ibv_context* context;
    struct ibv_pd* pd;
    struct ibv_cq* cq;
};

// Makes, connects and describes one; the next of the GIDs.
typedef void (*make_one)(const struct world_of_program* world, const uint8_t gid[16]);

// Runs the program; the exit status.
int run_program(int argc, char** argv, const struct verbs* verbs, make_one make);

extern const struct verbs* verbs;
extern struct options options;

// A queue pair of verbs, from RESET to RTS; ends the program if that fails.
void make_by_verbs(const struct world_of_program* world, const uint8_t gid[16]);
// One step with all that an RC queue pair needs for it.
void step(struct ibv_qp* qp, enum ibv_qp_state state, const uint8_t gid[16]);
// "qp 258 sl 3 traffic-class 104 pid 4711"
void describe(uint32_t number, unsigned sl, unsigned traffic_class);
void describe_qp(struct ibv_qp* qp);
_Noreturn void give_up(const char* what);
