#!/bin/bash
# run.sh BUILD [FUZZER...]: each libFuzzer target of a build tree (or those named: yaml_policy, opensm_policy) for RDMAQOS_FUZZ_SECONDS (60)
# seconds, from the project's own examples. What it has found out is kept in BUILD/tests/libfuzzer/corpus for the next
# run; an input that breaks something stays beside it, named in the output.
set -euo pipefail

build=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(cd "$here/../.." && pwd)
seconds=${RDMAQOS_FUZZ_SECONDS:-60}
work=$build/tests/libfuzzer

# seed NAME: the texts a fuzzer begins with, one file each, in $work/seeds/NAME.
seed()
{
    local folder=$work/seeds/$1 number=0 file
    rm -rf "$folder"
    mkdir -p "$folder"
    while read -r -d '' file; do
        cp "$file" "$folder/$((number += 1))"
    done < <(
        case $1 in
            opensm_policy)
                mkdir -p "$work/opensm-corpus"
                tar -C "$work/opensm-corpus" -xf "$project/tests/opensm/corpus.tar.xz"
                find "$work/opensm-corpus" "$project/tests/golden" -name '*.conf' -size -64k -print0
                ;;
            yaml_policy) find "$project/config" "$project/tests/golden" -name '*.yaml' -size -64k -print0 ;;
        esac
    )
    ((number > 0)) || {
        echo "no seed for $1" >&2
        exit 1
    }
}

fuzzers=("$@")
if ((${#fuzzers[@]} == 0)); then
    for program in "$work"/*_fuzzer; do
        name=${program##*/}
        fuzzers+=("${name%_fuzzer}")
    done
fi
failures=0
for name in "${fuzzers[@]}"; do
    seed "$name"
    mkdir -p "$work/corpus/$name"
    # The keys and words of a YAML policy are drawn by docgen.
    words=("$here/dictionaries/$name.dict")
    [[ $name != yaml_policy ]] || words+=("$work/dictionaries/$name.dict")
    cat "${words[@]}" >"$work/$name.dict"
    printf '\n-- %s, %s s\n' "$name" "$seconds"
    # Only a crash, a leak, a hang of 10 s or 2 GiB of memory is a failure.
    if ! "$work/${name}_fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
        -dict="$work/$name.dict" -artifact_prefix="$work/$name-" -print_final_stats=1 -verbosity=0 \
        "$work/corpus/$name" "$work/seeds/$name"; then
        echo "FAILED: $name"
        failures=$((failures + 1))
    fi
done
((failures == 0))
