#!/bin/bash
# program_test.sh EMULATOR CLIENTS USER COMMAND...: a client that checks by itself. A bare name is one of CLIENTS, and a
# word EMULATOR becomes the path of the emulator.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
words=()
for word in "${@:4}"; do
    case $word in
        EMULATOR) words+=("$emulator") ;;
        *)
            if [[ -x $clients/$word ]]; then
                words+=("$clients/$word")
            else
                words+=("$word")
            fi
            ;;
    esac
done
need "${words[0]}"
enter_emulator "$0" "$@"

status=0
"${client[@]}" "${words[@]}" || status=$?
((status == 0)) || fail "${words[*]}: status $status"
check_nothing_is_left
