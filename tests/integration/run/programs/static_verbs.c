// Statically linked with libibverbs and its provider: no preload library gets into it.
#define RDMA_STATIC_PROVIDERS mlx5
#include <netdb.h>
#include <stddef.h>

#include "tests/integration/run/programs/program.h"

// Of libnl, which nobody asks for names here; the linker warns of libc's own in a static program.
int getaddrinfo(const char* name, const char* service, const struct addrinfo* hints, struct addrinfo** result)
{
    (void)name, (void)service, (void)hints, (void)result;
    return EAI_FAIL;
}
void freeaddrinfo(struct addrinfo* result)
{
    (void)result;
}
struct protoent* getprotobyname(const char* name)
{
    (void)name;
    return NULL;
}
struct protoent* getprotobynumber(int number)
{
    (void)number;
    return NULL;
}

// A macro of verbs.h, which brings the provider with it.
static struct ibv_device** get_device_list(int* count)
{
    return ibv_get_device_list(count);
}

int main(int argc, char** argv)
{
    static const struct verbs linked = {
        get_device_list, ibv_free_device_list, ibv_get_device_name, ibv_open_device, ibv_close_device,
        ibv_alloc_pd,    ibv_dealloc_pd,       ibv_create_cq,       ibv_destroy_cq,  ibv_create_qp,
        ibv_modify_qp,   ibv_query_qp,         ibv_destroy_qp,
    };
    return run_program(argc, argv, &linked, make_by_verbs);
}
