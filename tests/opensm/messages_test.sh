#!/bin/bash
# messages_test.sh OPENSM_CASES CASES: of every case that OpenSM rejects, strict mode says what OpenSM said (messages.txt),
# and of a parse error at the same line and column.
set -euo pipefail
program=$1
compared=0
failed=0
for case in "$2"/*/; do
    case $(<"$case/rc") in
        2) wanted=$(sed -n 's/^Error in QoS Policy File (line \([0-9:]*\)): \(.*\)\.$/\1 \2/p' "$case/messages.txt") ;;
        3) wanted=$(sed -n 's/^LOG-ERROR: ERR AC1[0-3]: \(.*[^.]\)\.\{0,1\}$/\1/p' "$case/messages.txt") ;;
        *) continue ;;
    esac
    said=$("$program" answer "$case/policy.conf" --strict --topology "$case/topology.txt" \
        --queries "$case/queries.txt" 2>&1 >/dev/null || true)
    case $(<"$case/rc") in
        2) said=$(sed -n 's/^[^ ]*policy\.conf:\([0-9]*:[0-9]*\): error: \(.*\)$/\1 \2/p' <<<"$said") ;;
        3) said=$(sed -n 's/^[^ ]*policy\.conf[^ ]*: error: \(.*\)$/\1/p' <<<"$said") ;;
    esac
    compared=$((compared + 1))
    if [[ -z $wanted || $said != "$wanted" ]]; then
        printf 'FAIL %s: "%s", expected "%s"\n' "$(basename "$case")" "$said" "$wanted"
        failed=$((failed + 1))
    fi
done
printf '%d rejected, %d of them with other words\n' "$compared" "$failed"
((compared > 0 && failed == 0))
