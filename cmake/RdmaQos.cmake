# What every target of the project has in common.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

option(RDMAQOS_WERROR "Treat compiler warnings as errors" OFF)
option(RDMAQOS_LIBFUZZER "Build the libFuzzer targets (clang only)" OFF)
set(RDMAQOS_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, e.g. address,undefined")

# A precompiled header makes a build from nothing a third faster; ccache, which by default does not cache what uses one,
# is for those who turn it off. The lint preset does, so that a source that leans on it for an include is found.
option(RDMAQOS_PCH "Use a precompiled header for the libraries" OFF)
if(NOT RDMAQOS_PCH)
    find_program(CCACHE ccache)
    if(CCACHE)
        set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
    endif()
endif()

# The sources of a library or a test program compiled as one take a third of their time: most of it are templates that
# they share. For builds from nothing; after a change, sources of their own are faster. The presets dev and tsan compile
# each alone, so that a source that leans on its neighbour is found.
option(RDMAQOS_BATCHES "Compile the sources of a target as one" OFF)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)

add_library(rdmaqos_options INTERFACE)
target_compile_options(rdmaqos_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor)
if(RDMAQOS_WERROR)
    target_compile_options(rdmaqos_options INTERFACE -Werror)
endif()
# Machines with a fused multiply-add, as every arm64 is, would round figures otherwise than x86-64: what the policy gives to whom must
# not depend on the machine.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    target_compile_options(rdmaqos_options INTERFACE -ffp-contract=off)
endif()
# A sixth of the compiler's time is its garbage collection, which these sources hardly need.
target_compile_options(rdmaqos_options INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=500000>)
if(RDMAQOS_BATCHES AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Sources of a batch look like headers, where an anonymous namespace would be a mistake.
    target_compile_options(rdmaqos_options INTERFACE -Wno-subobject-linkage)
endif()
if(RDMAQOS_SANITIZE)
    # `undefined` leaves out doubles that are divided by 0 or do not fit an integer: the presets name those checks.
    # What `undefined` checks at every access to an object costs gcc a third of its time; the fuzzers' tree checks it too,
    # with clang. The sanitizers' own checks make gcc see uninitialised and overlapping values where there are none.
    target_compile_options(rdmaqos_options INTERFACE -fsanitize=${RDMAQOS_SANITIZE} -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
        target_compile_options(rdmaqos_options INTERFACE -fno-sanitize=null,alignment,object-size,vptr
            -Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
        # A call where `address` would write out its check: a fifth of the time that is left.
        if(RDMAQOS_SANITIZE MATCHES address)
            target_compile_options(rdmaqos_options INTERFACE --param=asan-instrumentation-with-call-threshold=0)
            # Half of what a program takes to start: the places that `undefined` would name are 20 MB of pointers, which the
            # loader relocates and the search for leaks reads. It traps, and `address` prints where.
            set(trap -fsanitize-undefined-trap-on-error)
            target_compile_options(rdmaqos_options INTERFACE ${trap})
            target_link_options(rdmaqos_options INTERFACE ${trap} $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
        endif()
    endif()
    if(RDMAQOS_SANITIZE MATCHES address)
        add_library(rdmaqos_sanitizers OBJECT ${CMAKE_CURRENT_LIST_DIR}/sanitizers.cpp)
        target_link_libraries(rdmaqos_options
            INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<TARGET_OBJECTS:rdmaqos_sanitizers>>)
    endif()
    target_link_options(rdmaqos_options INTERFACE -fsanitize=${RDMAQOS_SANITIZE})
endif()
if(RDMAQOS_LIBFUZZER)
    # Everything is instrumented for coverage; only the fuzzers get a main() of libFuzzer.
    target_compile_options(rdmaqos_options INTERFACE -fsanitize=fuzzer-no-link)
    target_link_options(rdmaqos_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_include_directories(rdmaqos_options INTERFACE ${PROJECT_SOURCE_DIR})

# The headers that nearly every source includes, compiled once.
function(rdmaqos_use_pch target)
    if(NOT RDMAQOS_PCH)
        return()
    endif()
    if(NOT TARGET rdmaqos_pch)
        file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/pch.cpp CONTENT "")
        add_library(rdmaqos_pch OBJECT ${PROJECT_BINARY_DIR}/pch.cpp)
        target_link_libraries(rdmaqos_pch PRIVATE rdmaqos_options fmt::fmt tl::expected)
        target_precompile_headers(rdmaqos_pch PRIVATE
            <algorithm> <functional> <map> <memory> <optional> <string> <vector> <fmt/format.h> <tl/expected.hpp>)
    endif()
    target_precompile_headers(${target} REUSE_FROM rdmaqos_pch)
    # It can be used only with the definitions that it was compiled with, also by a library that does not link fmt.
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)
endfunction()

# rdmaqos_library(NAME SOURCES ... LINK PUBLIC|PRIVATE ...): the static library rdmaqos_NAME of one folder.
function(rdmaqos_library name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
    add_library(rdmaqos_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(rdmaqos_${name} PUBLIC rdmaqos_options)
    if(ARG_LINK)
        target_link_libraries(rdmaqos_${name} ${ARG_LINK})
    endif()
    set_target_properties(rdmaqos_${name} PROPERTIES UNITY_BUILD ${RDMAQOS_BATCHES})
    rdmaqos_use_pch(rdmaqos_${name})
endfunction()

# rdmaqos_executable(NAME SOURCES ... LINK ...)
function(rdmaqos_executable name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE rdmaqos_options ${ARG_LINK})
endfunction()
