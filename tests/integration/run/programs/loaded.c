// Not linked to libibverbs: loads it when it runs. With the way `dlvsym` as NCCL does it, which looks every function up
// with its version; with `dlsym` as UCX's modules and Python's ctypes do.
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "tests/integration/run/programs/program.h"

// Not the inline ones of the header.
#undef ibv_query_port

static void* library;
static bool by_version;

static void find(void* place, const char* name)
{
    void* found = by_version ? dlvsym(library, name, "IBVERBS_1.1") : dlsym(library, name);
    if (found == NULL) {
        errno = ENOSYS;
        give_up(name);
    }
    memcpy(place, &found, sizeof(found));
}

int main(int argc, char** argv)
{
    struct verbs loaded;
    by_version = argc > 1 && strcmp(argv[1], "dlvsym") == 0;
    library = dlopen("libibverbs.so.1", RTLD_NOW);
    if (library == NULL) {
        give_up("dlopen");
    }
    find(&loaded.get_device_list, "ibv_get_device_list");
    find(&loaded.free_device_list, "ibv_free_device_list");
    find(&loaded.get_device_name, "ibv_get_device_name");
    find(&loaded.open_device, "ibv_open_device");
    find(&loaded.close_device, "ibv_close_device");
    find(&loaded.alloc_pd, "ibv_alloc_pd");
    find(&loaded.dealloc_pd, "ibv_dealloc_pd");
    find(&loaded.create_cq, "ibv_create_cq");
    find(&loaded.destroy_cq, "ibv_destroy_cq");
    find(&loaded.create_qp, "ibv_create_qp");
    find(&loaded.modify_qp, "ibv_modify_qp");
    find(&loaded.query_qp, "ibv_query_qp");
    find(&loaded.destroy_qp, "ibv_destroy_qp");
    return run_program(argc, argv, &loaded, make_by_verbs);
}
