// Commands on a uverbs file without libibverbs: what a holder of somebody else's descriptor can do. Each answers 0 or
// an errno.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct uverbs_buffer {
    void* data;
    size_t length;
};

int uverbs_devx_create(int fd, uint32_t* handle, const struct uverbs_buffer* in, const struct uverbs_buffer* out);
// Also of a queue pair's handle.
int uverbs_devx_modify(int fd, uint32_t handle, const struct uverbs_buffer* in, const struct uverbs_buffer* out);
int uverbs_devx_query(int fd, uint32_t handle, const struct uverbs_buffer* in, const struct uverbs_buffer* out);
int uverbs_devx_destroy(int fd, uint32_t handle);

// enum ibv_qp_state
int uverbs_query_qp_state(int fd, uint32_t handle, unsigned* state);

#ifdef __cplusplus
}
#endif
