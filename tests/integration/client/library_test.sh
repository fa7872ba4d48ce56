#!/bin/bash
# library_test.sh LIBRARY SOURCE: what the library shows, and whether its header is clean. No daemon is needed.
set -euo pipefail

library=$1 source=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
fail()
{
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# Exported, in the version script, and declared in the header: the same functions.
nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sort >"$scratch/exported"
sed -n 's/^    \(rdmaqos_[a-z_]*\);$/\1@@RDMAQOS_1.0/p' "$source/lib/client/librdmaqos.map" | sort >"$scratch/listed"
diff -u "$scratch/listed" "$scratch/exported" || fail "the library exports something else than librdmaqos.map lists"
cat >"$scratch/declared.c" <<C
#include "rdmaqos.h"
C
gcc -E -P -I"$source/lib/client" "$scratch/declared.c" | tr '\n' ' ' | grep -oE 'rdmaqos_[a-z_]+ *\(' | tr -d ' (' |
    sort -u | grep -v '_init$' | sed 's/$/@@RDMAQOS_1.0/' >"$scratch/declared"
diff -u "$scratch/listed" "$scratch/declared" || fail "the header declares something else than librdmaqos.map lists"

soname=$(objdump -p "$library" | awk '$1 == "SONAME" {print $2}')
[[ $soname == librdmaqos.so.1 ]] || fail "the soname is $soname"
# A library for programs of any kind. (One with sanitizers needs theirs.)
if ! nm -D "$library" | grep -E ' U __(asan|tsan)_' >"$scratch/sanitizer"; then
    objdump -p "$library" | awk '$1 == "NEEDED" && $2 !~ /^ld-linux/ {print $2}' | sort >"$scratch/needed"
    diff -u - "$scratch/needed" <<LIST || fail "it needs other libraries"
libc.so.6
libibverbs.so.1
libsystemd.so.0
LIST
fi

# Alone, twice, and in front of and behind libibverbs; every declaration with a comment is man page and header's business.
cat >"$scratch/use.c" <<C
#include <rdmaqos.h>
#include <infiniband/verbs.h>
#include <rdmaqos.h>
int main(void)
{
    struct rdmaqos_open_attr a; struct rdmaqos_request b; struct rdmaqos_queue_pair c; struct rdmaqos_rate d;
    struct rdmaqos_domain_attr e; struct rdmaqos_achieved f;
    rdmaqos_open_attr_init(&a); rdmaqos_request_init(&b); rdmaqos_queue_pair_init(&c); rdmaqos_rate_init(&d);
    rdmaqos_domain_attr_init(&e); rdmaqos_achieved_init(&f);
    return a.size && b.size && c.fd == -1 && d.size && e.size && f.size ? 0 : 1;
}
C
cp "$scratch/use.c" "$scratch/use.cpp"
echo '#include <rdmaqos.h>' >"$scratch/alone.c"
cp "$scratch/alone.c" "$scratch/alone.cpp"
strict=(-Wall -Wextra -pedantic -Wshadow -Werror -I"$source/lib/client" -isystem /usr/include)
for standard in c99 c11 c17; do
    gcc -std=$standard "${strict[@]}" -Wstrict-prototypes -c "$scratch/alone.c" -o "$scratch/alone.o" || fail "not clean as $standard"
    gcc -std=$standard -Wall -Wextra -Werror -I"$source/lib/client" "$scratch/use.c" -o "$scratch/use" || fail "not usable as $standard"
    "$scratch/use" || fail "an init function does not set what it says"
done
for standard in c++11 c++17 c++20; do
    g++ -std=$standard "${strict[@]}" -Wold-style-cast -c "$scratch/alone.cpp" -o "$scratch/alone.o" || fail "not clean as $standard"
    g++ -std=$standard -Wall -Wextra -Werror -I"$source/lib/client" "$scratch/use.cpp" -o "$scratch/use" || fail "not usable as $standard"
    "$scratch/use" || fail "an init function does not set what it says"
done

# Every function is in the manual page.
while IFS=@ read -r function _; do
    grep -q "^\.B .*\b$function(" "$source/docs/man/librdmaqos.3" || fail "librdmaqos(3) does not have $function"
done <"$scratch/listed"

((failures == 0))
echo "$(wc -l <"$scratch/listed") functions, each exported, declared and documented"
