// Preloaded beside ibsim's libumad2sim: that takes the sizes of packets from libibumad, which knows them when a port
// was opened by it. Programs that use the kernel's interface themselves, as rdma-qosctl does, never open one so.
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

namespace {

template <typename Function>
Function* function_of(void* library, const char* name)
{
    void* found = library == nullptr ? nullptr : dlsym(library, name);
    if (found == nullptr) {
        std::fprintf(stderr, "umad_port: no %s: %s\n", name, dlerror());
        std::abort();
    }
    return reinterpret_cast<Function*>(found);
}

[[gnu::constructor]] void open_port()
{
    void* library = dlopen("libibumad.so.3", RTLD_NOW | RTLD_GLOBAL);
    function_of<int()>(library, "umad_init")();
    function_of<int(const char*, int)>(library, "umad_open_port")(nullptr, 0);
}

}    // namespace
