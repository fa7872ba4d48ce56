# shellcheck shell=bash
# The packages are upgraded and downgraded while programs have queue pairs in leaves. The container begins with the
# lower version (boot.sh); both are in /packages.

# shellcheck source=../lib.sh
. ./lib.sh

readonly programs=50

# with_firmware KIND MODE: the device lets queue pairs use leaves of any file (`shared`) or of their own (`isolated`),
# and the daemon has found out: its attach mode.
with_firmware()
{
    by_apt previous    # if the case before has left another version
    systemctl stop rdma-qosd.service
    rm -rf /var/lib/rdma-qos/self-test
    ctl_emulator set queue-groups "$1"
    start_with base
    hold_crowd "$programs"
    equal "$(rdma-qosctl devices mlx5_0/1 --json | jq -r '.devices[0]["attach-mode"]')" "$2" "the attach mode"
}

# Writes what the device has to "$scratch/seen", a line each time, as long as "$scratch/watched" is there.
watch()
{
    while [[ -e $scratch/watched ]]; do
        tree_and_places
    done >"$scratch/seen"
}

installed_version()
{
    dpkg-query -W -f '${Version}' rdma-qosd
}

# taken_to VERSION FUNCTION: the function installs this version. Nothing changes on the device at any time; when the
# programs have registered again, each queue pair has been written once, as it was.
taken_to()
{
    local version=$1 install=$2 before pid elements written
    before=$(tree_and_places)
    pid=$(property MainPID)
    equal "$(jq '[.places[] | select(.requester != 0)] | length' <<<"$before")" "$programs" \
        "queue pairs in leaves before"
    elements=$(jq '.tree | length' <<<"$before")
    mark "before-$pid-$install"
    : >"$scratch/watched"
    trap 'rm -f "$scratch/watched"' EXIT
    watch &
    "$install" "$version"
    rm "$scratch/watched"
    wait
    equal "$(installed_version)" "$(dpkg-deb -f /packages/"$version"/rdma-qosd_*.deb Version)" "the installed version"
    main_pid_changed "$pid" || fail "no other daemon runs"
    equal "$(readlink "/proc/$(property MainPID)/exe")" /usr/sbin/rdma-qosd "what the daemon executes"
    equal "$(tree_and_places)" "$before" "what the device has when the packages are installed"
    equal "$(sort -u "$scratch/seen")" "$before" "what the device had meanwhile"
    eventually "all programs have registered again" has_crowd "$programs"
    mark "after-$pid-$install"
    equal "$(tree_and_places)" "$before" "what the device has when the programs have registered again"
    written=$(commands_between "before-$pid-$install" "after-$pid-$install")
    equal "$(grep -c general-object <<<"$written" || true)" 0 "writes to elements"
    equal "$(sed -nE 's/.* qpn=([0-9]+) .*requester=([0-9]+) .*/\1 \2/p' <<<"$written" | sort)" \
        "$(jq -r '.places[] | select(.requester != 0) | "\(.qpn) \(.requester)"' <<<"$before" | sort)" \
        "places that were written, of each queue pair once"
    equal "$(property NRestarts)" 0 "failures of the daemon"
    echo "$elements elements and $programs queue pairs, seen $(wc -l <"$scratch/seen") times meanwhile; nothing changed"
}

# By apt, in one step; files of the administrator stay.
by_apt()
{
    DEBIAN_FRONTEND=noninteractive apt-get -q -y --allow-downgrades -o Dpkg::Options::=--force-confold install \
        /packages/"$1"/*.deb >"$scratch/apt.log" 2>&1 || fail "apt-get: $(tail -n 20 "$scratch/apt.log")"
}

# By dpkg, in two.
by_dpkg()
{
    local before pid
    before=$(tree_and_places)
    pid=$(property MainPID)
    dpkg --force-confold --unpack /packages/"$1"/*.deb >"$scratch/dpkg.log" 2>&1 ||
        fail "dpkg --unpack: $(tail -n 20 "$scratch/dpkg.log")"
    equal "$(tree_and_places)" "$before" "what the device has when the packages are unpacked"
    equal "$(property MainPID)" "$pid" "the daemon, before its packages are configured"
    dpkg --force-confold --configure -a >"$scratch/dpkg.log" 2>&1 ||
        fail "dpkg --configure: $(tail -n 20 "$scratch/dpkg.log")"
}

# there_and_back: to the higher version, and to the lower one.
there_and_back()
{
    taken_to current by_apt
    taken_to previous by_dpkg
}

upgrade_shared()
{
    with_firmware shared shared
    there_and_back
}
test_case upgrade_shared "an upgrade and a downgrade change nothing on the device"

upgrade_isolated()
{
    with_firmware isolated per-process
    there_and_back
}
test_case upgrade_isolated "an upgrade and a downgrade change nothing in the files of programs"
