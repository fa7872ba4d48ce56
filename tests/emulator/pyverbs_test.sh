#!/bin/bash
# pyverbs_test.sh EMULATOR CLIENTS [USER]: Debian's Python bindings.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# Another python3 that comes first in the path knows nothing of Debian's packages.
python=/usr/bin/python3
"$python" -c 'import pyverbs.device' 2>/dev/null || skip "python3-pyverbs is not installed"
enter_emulator "$0" "$@"

"${client[@]}" "$python" -B "$here/pyverbs_test.py" || fail "status $?"
check_nothing_is_left
