// Knows nothing of RDMA: a module does, which brings librdmacm with it, where the program's own symbols are not looked
// for. So do UCX and modules of Python.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv)
{
    void* module = dlopen(RUN_MODULE, RTLD_NOW | RTLD_LOCAL);
    void* found = module != NULL ? dlsym(module, "main_of_module") : NULL;
    int (*entry)(int, char**) = NULL;
    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 92;
    }
    memcpy(&entry, &found, sizeof(entry));
    return entry(argc, argv);
}
