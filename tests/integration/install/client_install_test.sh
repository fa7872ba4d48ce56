#!/bin/bash
# client_install_test.sh CMAKE BUILD SOURCE [FLAG]: installs the C library into a prefix, and builds programs with what is there, by
# pkg-config and by CMake.
set -euo pipefail

cmake=$1 build=$2 source=$3 flag=${4-}
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
failures=0
fail()
{
    echo "FAILED: $*"
    failures=$((failures + 1))
}

"$cmake" --install "$build" --prefix "$stage/usr" >"$stage/log" 2>&1 || {
    cat "$stage/log"
    exit 1
}
library=$(dirname "$(find "$stage" -name librdmaqos.so.1)")
export PKG_CONFIG_PATH=$library/pkgconfig
[[ $(pkg-config --modversion librdmaqos) == 1.* ]] || fail "pkg-config does not tell the version"
if grep -rIl "$source" "$stage/usr"; then
    fail "a file says where it was built"
fi

# Exactly as their heads say.
for example in governed resource_domain; do
    grep -q "pkg-config --cflags --libs librdmaqos libibverbs" "$source/lib/client/examples/$example.c" ||
        fail "$example.c does not say how it is built"
    read -ra flags < <(pkg-config --cflags --libs librdmaqos libibverbs)
    cc -std=c99 -Wall -Wextra -Werror ${flag:+"$flag"} "$(find "$stage/usr" -name "$example.c")" -o "$stage/$example" "${flags[@]}" ||
        fail "$example.c does not build with pkg-config"
    LD_LIBRARY_PATH=$library ldd "$stage/$example" | grep "librdmaqos.so.1 => $library/" >"$stage/found" ||
        fail "$example does not find the library by its soname"
    status=0
    LD_LIBRARY_PATH=$library "$stage/$example" 2>"$stage/said" || status=$?
    if [[ $status != 1 ]] || ! grep -q usage "$stage/said"; then
        fail "$example does not run: $(cat "$stage/said")"
    fi
done

mkdir "$stage/project"
cat >"$stage/project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(user LANGUAGES C)
find_package(rdmaqos 1.0 REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE rdmaqos::rdmaqos)
CMAKE
cat >"$stage/project/user.c" <<'C'
#include <rdmaqos.h>
#include <stdio.h>
int main(void)
{
    return puts(rdmaqos_version()) < 0;
}
C
# With the generator that this project needs itself: make is not installed everywhere.
if "$cmake" -G Ninja -S "$stage/project" -B "$stage/built" -DCMAKE_PREFIX_PATH="$stage/usr" -DCMAKE_C_FLAGS="$flag" >"$stage/log" 2>&1 &&
    "$cmake" --build "$stage/built" >>"$stage/log" 2>&1; then
    [[ $("$stage/built/user") == 1.* ]] || fail "the program of the CMake project does not run"
else
    fail "find_package(rdmaqos): $(cat "$stage/log")"
fi

((failures == 0))
echo "pkg-config and CMake find it"
