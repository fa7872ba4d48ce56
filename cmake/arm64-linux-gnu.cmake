# Toolchain file: for arm64 by Debian's cross compiler (crossbuild-essential-arm64). Libraries and headers of both architectures
# lie in one root file system, each in its multiarch folder; so do the dynamic linkers, and the emulator needs no prefix.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
# In front of programs that ctest starts.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
