#!/bin/bash
# Single mistakes in lib/nic_mlx5/commands.cpp, each of which must make a test of its bytes fail: nic_mlx5_test (its
# cases of commands, answers and capabilities) or, if that passes, nic_mlx5_bytes_test. First the file as it is must pass both.
#
#   mutation_test.sh SOURCE_DIR BUILD_DIR        of a build by ninja, with both tests built; else 77, which is skipped
#
# Only the mutated file is compiled, as the build does it; it is linked before the library, whose own is left out then.
set -euo pipefail
source_dir=$(realpath "$1")
build_dir=$(realpath "$2")
export source_dir build_dir

unit=tests/unit/nic_mlx5/nic_mlx5_test
bytes=tests/nic_mlx5/nic_mlx5_bytes_test
object=lib/nic_mlx5/CMakeFiles/rdmaqos_nic_mlx5.dir/commands.cpp.o
export unit bytes object

# NAME|sed expression
mutations=(
    'create-opcode|s/element_command(by, by.create/element_command(by, by.modify/'
    'query-opcode|s/element_command(by, by.query/element_command(by, by.destroy/'
    'query-length|s/by.query, element_id, by.named_bytes/by.query, element_id, by.written_bytes/'
    'no-object-type|s/set(command, kObjectType, kSchedulingElement);//'
    'states-swapped|s/Init2Init : Rts2Rts/Rts2Rts : Init2Init/'
    'no-extension|s/set(command, kQpcExt, 1);//'
    'no-select-of-group|s/set(command, kOptParamMaskHigh, kOptQueueGroup);//'
    'sides-swapped|s/kQueueGroupRequester, \(.*\)(requester)/kQueueGroupRequester, \1(responder)/'
    'no-select-of-rate|s/selected |= element::kSelectMaxAverageBw;//'
    'no-hierarchy|s/set(command, by.hierarchy, element::kHierarchyNic);//'
    'no-bitmask-of-sq|s/set(command, kSqModifyBitmask, kSqSelectQueueGroup);//'
    'queue-pair-opcode|s/set(command, kOpcode, QueryQp);/set(command, kOpcode, Rts2Rts);/'
    'most-possible|s/type << 1 | kCurrentCapabilities/type << 1/'
    'rate-unit|s|rate->kbps() / 1000|rate->kbps() / 1024|'
    'sq-bit|s/bit(qos, qos::kNicSqScheduling)/bit(qos, qos::kNicQpScheduling)/'
)

[[ -e $build_dir/build.ninja ]] || exit 77
unset GTEST_OUTPUT    # what fails here must not be in the report of the run
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export work
cd "$build_dir"
ninja -t commands "$object" | tail -1 >"$work/compile"
ninja -t commands "$unit" | tail -1 >"$work/link-unit"
ninja -t commands "$bytes" | tail -1 >"$work/link-bytes"

# build NAME: commands.o from the copy NAME.cpp.
build()
{
    local command
    command=$(<"$work/compile")
    command=${command//"$source_dir/lib/nic_mlx5/commands.cpp"/"$work/$1.cpp"}
    command=${command//"-o $object"/"-o $work/$1.o"}
    command=${command//"$object.d"/"$work/$1.d"}
    command=${command//" $object "/" $work/$1.o "}
    bash -c "$command -Wno-error"
}

# link NAME unit|bytes: the test with it.
link()
{
    local program=$unit command
    [[ $2 == unit ]] || program=$bytes
    command=$(<"$work/link-$2")
    bash -c "${command/" -o $program "/" $work/$1.o -o $work/$1-$2 "}"
}

passes()
{
    link "$1" "$2"
    if [[ $2 == unit ]]; then
        "$work/$1-unit" --gtest_filter='Commands.*:Answers.*:CapabilityAnswers.*'
    else
        tools/emulator/rdma-qos-emulator run -- "$work/$1-bytes"
    fi >"$work/$1-$2.log" 2>&1
}

# fails NAME unit|bytes: a case of it fails, as opposed to a program that cannot be linked or started.
fails()
{
    ! passes "$1" "$2" && grep -q '^\[  FAILED  \]' "$work/$1-$2.log"
}

# Prints "killed NAME by TEST" or what is wrong.
try()
{
    local name=${1%%|*} expression=${1#*|}
    sed "$expression" "$source_dir/lib/nic_mlx5/commands.cpp" >"$work/$name.cpp"
    if cmp -s "$work/$name.cpp" "$source_dir/lib/nic_mlx5/commands.cpp"; then
        echo "$name: the pattern is not in the file any longer"
    elif ! build "$name" >"$work/$name.log" 2>&1; then
        echo "$name: does not compile: $(grep -m1 error "$work/$name.log")"
    elif fails "$name" unit; then
        echo "killed $name by nic_mlx5_test"
    elif fails "$name" bytes; then
        echo "killed $name by nic_mlx5_bytes_test"
    else
        echo "$name: no test fails"
    fi
    rm -f "$work/$name"-{unit,bytes} "$work/$name.o"
}
export -f build link passes fails try

cp "$source_dir/lib/nic_mlx5/commands.cpp" "$work/original.cpp"
build original
for test in unit bytes; do
    if ! passes original "$test"; then
        tail -20 "$work/original-$test.log"
        echo "the file as it is fails"
        exit 1
    fi
done

# shellcheck disable=SC2016    # "$0" is for the shell that xargs starts
printf '%s\0' "${mutations[@]}" | xargs -0 -n1 -P2 bash -c 'try "$0"' | tee "$work/results"
killed=$(grep -c '^killed ' "$work/results" || true)
echo "$killed of ${#mutations[@]} mistakes are noticed"
[[ $killed == "${#mutations[@]}" ]]
