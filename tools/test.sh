#!/bin/bash
# Installs what is missing, builds with address and undefined behaviour sanitizers, and runs the tests.
#
#   tools/test.sh               unit, golden, property, integration and (short) fuzz tests, and checks of the scripts
#   tools/test.sh quick         what is worth waiting for at each save: the unit tests, the scripts, a daemon and its command
#   tools/test.sh --full        the default groups and every group below; those marked * on each Debian release
#   tools/test.sh GROUP...      only these groups
#   tools/test.sh --debian N GROUP...   these groups on Debian N, in a root file system of tools/in-debian.sh
#   tools/test.sh --ci          the default groups, then format, attack, kernel and e2e
#   tools/test.sh --list        the groups
#
# Groups of the default run: unit (with golden files and properties), integration, fuzz, scripts. Beyond it, each with
# what it takes on two cores:
#   format        that the sources are formatted, by the clang-format of Debian 12        1 min
#   attack        what hostile local users do, on an optimised build                    6 min
#   kernel        * on the kernel's own mlx5 driver, in virtual machines; optimised     7 min
#   kernel-daemon  * there: more firmware, ports and functions, hosts, crowds, restarts  10 min
#   faults        a fault at each step of what the daemon does, one at a time; optimised  20 min
#   kernel-faults  the same on the kernel's own driver, in virtual machines            30 min
#   isolated      integration tests once more, on firmware that isolates user contexts      4 min
#   sequences     500 random sequences of what administrators and hosts do; optimised     20 min
#   kernel-clients  programs there that are adopted, launched, or use the library       8 min
#   e2e           * in containers with systemd, D-Bus and polkit (needs root)           6 min
#   neighbours    OpenSM, Slurm, clients of D-Bus as Debian has them, in containers     25 min
#   tsan          unit, integration and isolated with the thread sanitizer              15 min
#   fuzz-long     every fuzzer, libFuzzer's too, for RDMAQOS_FUZZ_SECONDS (60) seconds  16 min
#   bytes         traffic of stock programs against what policies predict, while a compiler runs; optimised  60 min
#   rdma-core     rdma-core's own tests on the emulator; RDMAQOS_RDMA_CORE is its source  2 min
#   soak          many clients, reloads and faults for RDMAQOS_SOAK_SECONDS (300)      23 min
#   bench         the benchmarks, optimised build                                       8 min
#   growth        how costs grow with what there is, optimised build: exponents against what is claimed  5 min
#   package       * the packages, in a bare Debian, a container (needs root) and on a kernel 26 min
#   arm64         cross-built for arm64, and the unit tests below qemu-user (needs root)  30 min
#   html          the pages of rdma-qosctl simulate in headless Chromium                1 min
#   lint          clang-tidy over the sources                                           20 min
#   clean-root    * demo.sh and test.sh in a bare Debian (needs root)                   22 min
#
# The last line is "N passed, N failed", and the exit status is 0 only if nothing failed.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$project_dir/tools/debian.sh"

default_groups=(unit integration fuzz scripts)
extra_groups=(format attack kernel faults isolated sequences kernel-faults kernel-daemon kernel-clients e2e neighbours tsan fuzz-long bytes rdma-core soak bench growth package arm64 html lint clean-root)
# What depends on the system: --full runs it on each release.
groups_of_releases=(kernel kernel-daemon e2e package clean-root)
own_release=$(debian_here)

passed=0
failed=0
skipped=0
failures=()
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

stated_time()
{
    sed -n "s/^#   $1  .*[^ ]  *\([0-9]* min\)\$/\1/p" "$0"
}

# count PASSED FAILED SKIPPED NAME SECONDS [REMARK]: adds up and prints the line of a group.
count()
{
    passed=$((passed + $1))
    failed=$((failed + $2))
    skipped=$((skipped + $3))
    local line
    line=$(printf '%-14s %5d passed %4d failed' "$4" "$1" "$2")
    if (($3 > 0)); then
        line+=" $3 skipped"
    fi
    note "$line   $(duration "$5")${6:+   $6}"
}

# Reads ctest's JUnit file and the XML files of the GoogleTest programs in it. A GoogleTest program counts with each of
# its cases, any other test as one; a program that ended badly without a failed case counts as one failure.
# Prints: PASSED FAILED SKIPPED, then the names of what failed.
summarize()
{
    local junit=$1 directory=$2 name status cases bad out
    local good=0 wrong=0 left=0 names=()
    while read -r name status; do
        cases=0 bad=0 out=0
        if [[ -e $directory/$name.xml ]]; then
            read -r cases bad out < <(awk '
                match($0, /^<testsuites tests="[0-9]+" failures="[0-9]+"/) { split($0, part, "\""); cases = part[2]; bad = part[4] }
                /<skipped/ { out++ }
                END { print cases + 0, bad + 0, out + 0 }' "$directory/$name.xml")
        fi
        case $status in
            run) good=$((good + (cases > 0 ? cases - out : 1))) left=$((left + out)) ;;
            notrun | disabled) left=$((left + 1)) ;;
            *)
                bad=$((bad > 0 ? bad : 1))
                good=$((good + (cases > bad + out ? cases - bad - out : 0)))
                wrong=$((wrong + bad)) left=$((left + out))
                names+=("$name")
                ;;
        esac
    done < <(sed -n 's/.*<testcase name="\([^"]*\)".* status="\([a-z]*\)".*/\1 \2/p' "$junit")
    echo "$good $wrong $left"
    if ((${#names[@]} > 0)); then
        printf '%s\n' "${names[@]}"
    fi
}

# reasons_of_skips DIRECTORY: a line for each test that did not run, with what it said.
reasons_of_skips()
{
    local programs=()
    mapfile -t programs < <(find "$1" -name '*.xml' ! -name junit.xml | sort)
    awk '
        /<testcase / { split($0, part, "\""); name = part[2]; skipped = 0 }
        /<skipped message="SKIP_RETURN_CODE/ { skipped = 1 }
        /<system-out>/ && skipped { sub(/.*<system-out>/, ""); print name ": " $0; skipped = 0 }' "$1/junit.xml"
    awk '
        FNR == 1 { program = FILENAME; sub(/.*\//, "", program); sub(/\.xml$/, "", program) }
        /<testcase / { match($0, /name="[^"]*"/); name = substr($0, RSTART + 6, RLENGTH - 7) }
        /<skipped message="/ {
            sub(/.*<skipped message="/, "")
            sub(/^[^ ]*:[0-9]+(&#x0A;)?/, "")
            sub(/".*/, "")
            print program ": " name ": skipped: " $0
        }' "${programs[@]}" /dev/null
}

# reasons_of_failures DIRECTORY: a line for each failed case of a GoogleTest program, with where it failed and what it said first.
reasons_of_failures()
{
    local programs=()
    mapfile -t programs < <(find "$1" -name '*.xml' ! -name junit.xml | sort)
    awk -v source="$project_dir/" '
        FNR == 1 { program = FILENAME; sub(/.*\//, "", program); sub(/\.xml$/, "", program); reported = "" }
        /<testcase / {
            match($0, / name="[^"]*"/); name = substr($0, RSTART + 7, RLENGTH - 8)
            match($0, / classname="[^"]*"/); suite = substr($0, RSTART + 12, RLENGTH - 13)
        }
        /<failure message="/ && reported != suite "." name {
            reported = suite "." name
            sub(/.*<failure message="/, "")
            sub(/" type=".*/, "")
            sub(source, "")
            gsub(/&#x0A;/, " ")
            gsub(/&quot;/, "\"")
            gsub(/&apos;/, "\047")
            gsub(/&lt;/, "<")
            gsub(/&gt;/, ">")
            gsub(/&amp;/, "\\&")
            print program ": " reported ": " substr($0, 1, 400)
        }' "${programs[@]}" /dev/null
}

# running_tests OUTPUT: how many tests of ctest have ended, and the names of those that have begun and not ended.
running_tests()
{
    awk '
        $1 == "Start" { running[$3] = 1; next }
        /^ *[0-9]+\/[0-9]+ +Test / { sub(/.*#[0-9]+: /, ""); ended++; delete running[$1] }
        END {
            printf "%d tests ended; running:", ended
            for (name in running) { printf " %s", name }
            print ""
        }' "$1"
}

# still_running OUTPUT: a line now and then, so that a run that is cut off says where it was; and if no test has ended since
# the last one, which processes are that old.
still_running()
{
    local interval=300 seconds=0 line='' last
    while sleep 1 && kill -0 $$ 2>/dev/null; do
        if ((++seconds % interval == 0)); then
            last=$line
            line=$(running_tests "$1")
            note "$(printf '%14s %s' '' "$line")"
            if [[ $line == "$last" ]]; then
                ps -eo pid,ppid,stat,etimes,time,wchan:20,args --sort=-etimes |
                    awk -v least=$interval 'NR == 1 || ($4 > least && $7 !~ /^\[/)' | cut -c 1-180 | tail -n 40
            fi
        fi
    done
}

# run_label PRESET LABEL [GROUP]: the tests of one label, on all cores. Those of integration, isolated and faults wait
# as long as they compute.
run_label()
{
    local preset=$1 label=$2 group=${3:-$2} started=$SECONDS
    local build=$project_dir/build/$preset directory=$results/$group output=$results/$group.log
    local jobs
    jobs=$(jobs_to_use)
    if [[ $label == integration || $label == isolated || $label == faults ]]; then
        jobs=$((jobs * 3 / 2))
    fi
    mkdir -p "$directory"
    local run=(ctest --test-dir "$build" -L "^$label\$" -j "$jobs" --output-on-failure
        --output-junit "$directory/junit.xml")
    still_running "$output" &
    local telling=$!
    if ! GTEST_OUTPUT="xml:$directory/" "${run[@]}" >"$output" 2>&1; then
        cat "$output"
    fi
    kill "$telling"
    wait "$telling" 2>/dev/null || true
    if grep -q '^No tests were found' "$output"; then
        count 0 0 0 "$group" 0 "there is no test of this group"
        return
    fi
    local lines=()
    mapfile -t lines < <(summarize "$directory/junit.xml" "$directory")
    local numbers
    read -r -a numbers <<<"${lines[0]}"
    failures+=("${lines[@]:1}")
    mapfile -t -O "${#failures[@]}" failures < <(reasons_of_failures "$directory")
    local golden remark=''
    golden=$(cat "$directory"/*.xml | grep -c 'property name="golden"' || true)
    if ((golden > 0)); then
        remark="$golden of them with golden files"
    fi
    count "${numbers[@]}" "$group" $((SECONDS - started)) "$remark"
    reasons_of_skips "$directory" | while read -r reason; do
        note "$(printf '%14s %s' '' "$reason")"
    done
    # ctest keeps what a test that passes says to itself.
    { grep '^\[   HINT   \]' "$build/Testing/Temporary/LastTest.log" || true; } | while read -r hint; do
        note "$(printf '%14s %s' '' "$hint")"
    done
}

# run_command GROUP COMMAND...: one test that is a command; status 77: it says why it was skipped.
run_command()
{
    local group=$1 started=$SECONDS status=0
    shift
    "$@" || status=$?
    if ((status == 0)); then
        count 1 0 0 "$group" $((SECONDS - started))
    elif ((status == 77)); then
        count 0 0 1 "$group" $((SECONDS - started))
    else
        count 0 1 0 "$group" $((SECONDS - started))
        failures+=("$group: $*")
    fi
}

# run_tap GROUP RESULTS COMMAND...: a command that writes its cases to RESULTS as TAP; status 77: it says why it was skipped.
run_tap()
{
    local group=$1 tap=$2 started=$SECONDS status=0
    shift 2
    rm -f "$tap"
    "$@" || status=$?
    if ((status == 77)); then
        count 0 0 1 "$group" $((SECONDS - started))
        return
    fi
    local good bad out name
    good=$(grep -cE '^ok ' "$tap" || true)
    bad=$(grep -cE '^not ok ' "$tap" || true)
    out=$(grep -cE '^ok .* # SKIP' "$tap" || true)
    if ((status != 0 && ${bad:-0} == 0)) || ((${good:-0} + ${bad:-0} == 0)); then
        failures+=("$group: $* ended with status $status and no failed case")
        bad=1
    fi
    while read -r name; do
        failures+=("$group: $name")
    done < <(sed -n 's/^not ok [- ]*//p' "$tap")
    count $((${good:-0} - ${out:-0})) "$bad" "${out:-0}" "$group" $((SECONDS - started))
}

# run_attacks: one program, whose table is printed too.
run_attacks()
{
    local table=$results/attacks.txt
    RDMAQOS_ATTACK_TABLE=$table run_label release attack
    if [[ -e $table ]]; then
        cat "$table"
    fi
}

check_scripts()
{
    local script
    cd "$project_dir" || return
    for script in tools/*.sh tests/*/*.sh tests/*/*/*.sh tests/*/*/*/*.sh .ci/run; do
        [[ ! -e $script ]] || bash -n "$script" || return
    done
    if command -v shellcheck >/dev/null; then
        shellcheck -x -P SCRIPTDIR tools/*.sh tests/*/*.sh tests/*/*/*.sh tests/*/*/*/*.sh .ci/run
    fi
}

# .clang-format is written for the version of Debian 12; another one formats otherwise.
check_format()
{
    local wrong
    if ! command -v clang-format-14 >/dev/null; then
        note "format: skipped: clang-format-14, which is in Debian 12, is not installed"
        return 77
    fi
    cd "$project_dir" || return
    wrong=$(find daemon lib policy tests tools \( -name '*.cpp' -o -name '*.h' -o -name '*.c' \) -print0 |
        xargs -0 -n 50 -P "$(jobs_to_use)" clang-format-14 --dry-run 2>&1 | sed -n 's/^\([^:]*\):.*code should be.*/\1/p' | sort -u)
    if [[ -n $wrong ]]; then
        echo "not formatted (clang-format-14 -i FILE):" "$wrong"
        return 1
    fi
}


built=' '
# build_once PRESET [TARGET...]: with tests; each once per run.
build_once()
{
    local what="$*"
    if [[ $built != *" ${what// /+} "* ]]; then
        build_preset "$1" "$project_dir/build/$1.log" -DRDMAQOS_TESTS=ON -- "${@:2}"
        built+="${what// /+} "
    fi
}

run_group()
{
    case $1 in
        unit | integration | isolated | fuzz)
            build_once asan
            run_label asan "$1"
            ;;
        quick)
            build_once asan quick_programs
            run_label asan unit quick-unit
            run_label asan quick
            run_command scripts check_scripts
            ;;
        scripts) run_command scripts check_scripts ;;
        format) run_command format check_format ;;
        attack)
            build_once release attacks
            run_attacks
            ;;
        kernel | kernel-daemon | kernel-clients | kernel-faults)
            build_once release kernel_programs
            run_label release "$1"
            ;;
        faults)
            build_once release fault_test ports_manage_test
            run_label release faults
            ;;
        sequences)
            build_once release sequence_test
            run_label release sequences
            ;;
        e2e)
            build_once release e2e_programs
            run_tap e2e "$project_dir/build/release/e2e/results.tap" "$project_dir/tests/e2e/run.sh" \
                "$project_dir/build/release"
            ;;
        neighbours)
            build_once release e2e_programs
            # A boot that installs packages of its own is a neighbour's.
            local boot boots=()
            for boot in "$project_dir"/tests/e2e/boots/*/packages; do
                boots+=("$(basename "$(dirname "$boot")")")
            done
            run_tap neighbours "$project_dir/build/release/e2e/results.tap" "$project_dir/tests/e2e/run.sh" \
                "$project_dir/build/release" "${boots[@]}"
            if [[ -e $project_dir/build/release/e2e/table.txt ]]; then
                awk -F '|' '
                    BEGIN { $0 = "neighbour|version|what was run|cases|differences"; show() }
                    { show() }
                    function show() { printf "%-20s %-14s %-60s %6s %s\n", $1, $2, $3, $4, $5 }' \
                    "$project_dir/build/release/e2e/table.txt"
            fi
            ;;
        tsan)
            build_once tsan
            local label
            for label in unit integration isolated; do
                run_label tsan "$label" "tsan-$label"
            done
            ;;
        fuzz-long)
            build_once asan
            RDMAQOS_FUZZ_SECONDS=${RDMAQOS_FUZZ_SECONDS:-60} run_label asan fuzz fuzz-long
            build_once fuzz fuzzers
            run_command libfuzzer "$project_dir/tests/libfuzzer/run.sh" "$project_dir/build/fuzz"
            ;;
        bytes)
            build_once release rdma-qos-emulator rdma-qosd rdma-qosctl rdma-qos-run
            local programs=("$project_dir"/build/release/{tools/emulator/rdma-qos-emulator,daemon/rdma-qosd,tools/rdma-qosctl/rdma-qosctl})
            run_command bytes "$project_dir/tests/bytes/table.py" "${programs[@]}"
            run_command bytes-random "$project_dir/tests/bytes/random_shares.py" "${programs[@]}"
            run_command bytes-isolated "$project_dir/tests/bytes/table.py" "${programs[@]}" --isolated \
                --launcher "$project_dir/build/release/tools/rdma-qos-run/rdma-qos-run"
            ;;
        rdma-core)
            build_once release rdma-qos-emulator
            run_command rdma-core "$project_dir/tests/bytes/rdma_core_tests.sh" \
                "$project_dir/build/release/tools/emulator/rdma-qos-emulator" "$project_dir/build/release"
            ;;
        soak)
            build_once asan all soak_programs
            RDMAQOS_SOAK_SECONDS=${RDMAQOS_SOAK_SECONDS:-300} run_label asan soak
            ;;
        bench)
            build_once release benchmarks
            run_command bench "$project_dir/tests/bench/run.sh" "$project_dir/build/release"
            ;;
        growth)
            build_once release growth
            run_command growth "$project_dir/build/release/tests/bench/growth/growth"
            ;;
        package)
            run_command package "$project_dir/tests/packages/run.sh"
            run_command package-rpm "$project_dir/tests/packages/rpm.sh"
            build_once release e2e_programs
            local version log=$project_dir/build/packages.log
            version=$(dpkg-parsechangelog -l "$project_dir/debian/changelog" -S Version)
            "$project_dir/tools/package.sh" --version "$version~previous" "$project_dir/build/packages-previous" >"$log" ||
                cat "$log"
            "$project_dir/tools/package.sh" >"$log" || cat "$log"
            run_tap package-e2e "$project_dir/build/release/e2e/results.tap" "$project_dir/tests/e2e/run.sh" \
                --packages "$project_dir/build/packages" --previous "$project_dir/build/packages-previous" \
                "$project_dir/build/release" main upgrade
            build_once release kernel_programs
            run_command package-kernel "$project_dir/tests/packages/on_kernel.sh" "$project_dir/build/packages" \
                "$project_dir/build/release"
            ;;
        html)
            build_once release rdma-qosctl
            run_command html "$project_dir/tests/html/run.sh" "$project_dir/build/release/tools/rdma-qosctl/rdma-qosctl"
            ;;
        lint) run_command lint "$project_dir/tools/lint.sh" ;;
        arm64)
            run_tap arm64 "$project_dir/build/debian-12-arm64/results.tap" "$project_dir/tests/arm64/run.sh"
            ;;
        clean-root) run_command clean-root "$project_dir/tests/clean-root/run.sh" --debian "${own_release:-12}" ;;
    esac
}

# run_on RELEASE GROUP...: on another Debian; what that run counts is added.
run_on()
{
    local release=$1 group output=$results/debian-$1.log started=$SECONDS status=0 numbers
    shift
    heading "Debian $release"
    if ((EUID != 0)); then
        note "skipped: a root file system of Debian $release needs root: ${*}"
        count 0 0 $# "debian-$release" 0
        return
    fi
    # The bare system is another one each time.
    local here=()
    for group in "$@"; do
        if [[ $group == clean-root ]]; then
            run_command "clean-root-$release" "$project_dir/tests/clean-root/run.sh" --debian "$release"
        else
            here+=("$group")
        fi
    done
    ((${#here[@]} > 0)) || return 0
    "$project_dir/tools/in-debian.sh" "$release" ./tools/test.sh "${here[@]}" 2>&1 | tee "$output" || status=$?
    # The last line of that run.
    read -r -a numbers < <(awk '
        / skipped$/ && NF == 2 { out = $1 }
        /^[0-9]+ passed, [0-9]+ failed$/ { passed = $1; failed = $3; found = 1 }
        END { if (found) print passed, failed, out + 0 }' "$output")
    while read -r group; do
        failures+=("Debian $release: $group")
    done < <(sed -n 's/^failed: //p' "$output")
    if ((${#numbers[@]} == 0)); then
        failures+=("Debian $release: ${here[*]} ended with status $status and no result")
        numbers=(0 1 0)
    fi
    count "${numbers[@]}" "debian-$release" $((SECONDS - started))
}

wanted=()
releases=()
full=no
set_of_packages=--test
# Groups whose packages come on top; without them the group is skipped, and the rest is still worth running.
groups_with_packages=()
while (($# > 0)); do
    case $1 in
        --full)
            wanted=("${default_groups[@]}" "${extra_groups[@]}")
            full=yes
            set_of_packages=--full
            ;;
        --debian)
            debian_suite "${2:?--debian needs a release}" >/dev/null
            releases+=("$2")
            shift
            ;;
        --ci)
            wanted+=("${default_groups[@]}" format attack kernel e2e)
            groups_with_packages+=(format kernel e2e)
            ;;
        --list)
            printf '%s\n' "${default_groups[@]}" "${extra_groups[@]}"
            exit 0
            ;;
        -h | --help)
            help_of "$0"
            exit 0
            ;;
        fuzz-long | html | lint | clean-root | arm64)
            wanted+=("$1")
            set_of_packages=--full
            ;;
        format | kernel | e2e)
            wanted+=("$1")
            groups_with_packages+=("$1")
            ;;
        neighbours)
            wanted+=("$1")
            groups_with_packages+=(e2e)
            ;;
        kernel-daemon | kernel-clients | kernel-faults)
            wanted+=("$1")
            groups_with_packages+=(kernel)
            ;;
        package)
            wanted+=("$1")
            groups_with_packages+=(package e2e kernel)
            ;;
        *)
            [[ " quick ${default_groups[*]} ${extra_groups[*]} " == *" $1 "* ]] || die "unknown group $1 (try --help)"
            wanted+=("$1")
            ;;
    esac
    shift
done
if ((${#wanted[@]} == 0)); then
    wanted=("${default_groups[@]}")
fi

started=$SECONDS
if ((${#releases[@]} == 0)) || [[ " ${releases[*]} " == *" $own_release "* ]]; then
    heading "packages"
    "$project_dir/tools/install-deps.sh" "$set_of_packages"
    if [[ $set_of_packages != --full ]]; then
        for group in "${groups_with_packages[@]}"; do
            "$project_dir/tools/install-deps.sh" "--$group" ||
                warn "packages for the group $group are missing: it will be skipped"
        done
    fi
    heading "build and tests"
    note "on Linux $(uname -r), $(nproc) processors, $(awk '/^MemTotal/ { print int($2 / 1048576) }' /proc/meminfo) GiB, $(ulimit -n) open files, as $(id -un)"
    for group in "${wanted[@]}"; do
        run_group "$group"
    done
fi
for release in "${releases[@]}"; do
    [[ $release == "$own_release" ]] || run_on "$release" "${wanted[@]}"
done
if [[ $full == yes ]]; then
    for release in "${debian_releases[@]}"; do
        [[ $release == "$own_release" || " ${releases[*]} " == *" $release "* ]] || run_on "$release" "${groups_of_releases[@]}"
    done
fi

# Of integration, quick has only what shows most.
[[ " ${wanted[*]} " != *" quick "* ]] || wanted+=(unit scripts)
left_out=()
for group in "${default_groups[@]}" "${extra_groups[@]}"; do
    [[ " ${wanted[*]} " == *" $group "* ]] || left_out+=("$group")
done
if ((${#left_out[@]} > 0)); then
    heading "left out of this run"
    for group in "${left_out[@]}"; do
        time=$(stated_time "$group")
        note "$(printf '%-14s ./tools/test.sh %-14s %s' "$group" "$group" "${time:+about $time}")"
    done
fi

heading "result after $(duration $((SECONDS - started)))"
if ((${#failures[@]} > 0)); then
    printf 'failed: %s\n' "${failures[@]}"
fi
if ((skipped > 0)); then
    note "$skipped skipped"
fi
note "$passed passed, $failed failed"
((failed == 0))
