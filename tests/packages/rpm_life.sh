#!/bin/bash
# rpm_life.sh WORK PREVIOUS VERSION: the life of the RPM packages in WORK/previous and WORK/current, in a root that has a shell and
# no more, from their installation to the last erasure. Runs as root, or as what a user namespace takes for root.
set -euo pipefail

work=$1 previous=$2 version=$3
root=$work/root
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND"' ERR
failures=0
fail()
{
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# For the scripts of the packages: a shell, and what they call.
for program in sh mkdir touch rm; do
    file=$(readlink -f "$(command -v "$program")")
    install -D "$file" "$root/bin/$program"
    ldd "$file" | grep -oE '/[^ ]+' | while read -r library; do
        [[ -e $root$library ]] || install -D "$(readlink -f "$library")" "$root$library"
    done
done
mkdir -p "$root/sbin" "$root/etc/systemd/system/multi-user.target.wants" "$root/var/lib"
printf '#!/bin/sh\n' | tee "$root/sbin/ldconfig" >/dev/null
printf '#!/bin/sh\necho "$*" >>/systemctl.log\n' >"$root/bin/systemctl"
chmod 755 "$root/sbin/ldconfig" "$root/bin/systemctl"
: >"$root/systemctl.log"

# The libraries that they need are Debian's, of which rpm knows nothing.
packages()
{
    PATH=/usr/sbin:/usr/bin:/sbin:/bin rpm --root "$root" --nodeps "$@" >"$work/said" 2>&1 || {
        cat "$work/said"
        fail "rpm $*"
    }
    # The first is what rpm does at the erasure; of the second it warns in every chroot.
    if grep -iE 'warning|error' "$work/said" | grep -vE ' saved as .*\.rpmsave$|private mounts in chroot not implemented'; then
        fail "rpm $* complains"
    fi
}

# wanted WHAT...: what the scripts wanted of systemctl, since the last time.
wanted()
{
    local got
    got=$(sed 's/ *rdma-qosd\.service//; s/--no-reload *//' "$root/systemctl.log" | tr '\n' ';')
    [[ $got == "$*" ]] || fail "systemctl is called with \"$got\" instead of \"$*\" (line $(caller))"
    : >"$root/systemctl.log"
}

everything()
{
    (cd "$root" && find . -path ./var/lib/rpm -prune -o -path ./systemctl.log -o -print | LC_ALL=C sort)
}

# verified WANTED: what rpm finds changed since it installed it.
verified()
{
    local got
    got=$(rpm --root "$root" --nodeps -Va 2>&1 | sed 's/ \+/ /g' || true)
    [[ $got == "$1" ]] || fail "rpm -Va says \"$got\" instead of \"$1\" (line $(caller))"
}

all=(rdma-qosd rdma-qos-tools rdma-qos-emulator librdmaqos librdmaqos-devel)
etc=$root/etc/rdma-qos
everything >"$work/before"

echo "-- install version $previous"
packages -i "$work"/previous/*.rpm
wanted 'preset;'
[[ $(rpm --root "$root" -q --qf '%{VERSION}' rdma-qosd) == "$previous" ]] || fail "the version is not $previous"
verified ''

echo "-- upgrade to version $version"
sed -i 's/^  - name: DEFAULT$/  - {name: mine, schedule: {share: 7}}\n&/' "$etc/policy.yaml"
override=$root/run/rdma-qos/policy.d/90-override-bulk.yaml
mkdir -p "$etc/policy.d" "$root/var/lib/rdma-qos" "${override%/*}"
echo '{version: 1}' | tee "$override" >"$etc/policy.d/60-mine.yaml"
(cd "$etc" && md5sum policy.yaml policy.d/60-mine.yaml) >"$work/mine"
packages -U "$work"/current/*.rpm
# Nothing stops it: the restart is the last thing, after the files are there.
wanted 'daemon-reload;try-restart;'
(cd "$etc" && md5sum --quiet -c "$work/mine") || fail "the upgrade takes an edited policy"
verified 'S.5....T. c /etc/rdma-qos/policy.yaml'

echo "-- use"
for program in sbin/rdma-qosd bin/rdma-qosctl bin/rdma-qos-run; do
    said=$("$root/usr/$program" --version 2>&1) || fail "$program does not run: $said"
    [[ $said == *"$version" && $said != *"$previous"* ]] || fail "$program reports the version $said"
done
said=$("$root/usr/bin/rdma-qosctl" --root "$root" check 2>&1) || fail "rdma-qosctl check: $said"
for launcher in 'rdma-qos-emulator run' rdma-qos-run; do
    # shellcheck disable=SC2086 # two words
    library=$("$root/usr/bin/"$launcher -- printenv LD_PRELOAD) || fail "$launcher does not run"
    [[ $library == "$root"/usr/lib64/rdma-qos/*.so && -e $library ]] || fail "$launcher loads $library"
done

echo "-- downgrade, where the programs report their version too"
packages -U --oldpackage "$work"/previous/*.rpm
wanted 'daemon-reload;try-restart;'
[[ $("$root/usr/sbin/rdma-qosd" --version) == *"$previous" ]] || fail "rdma-qosd reports $("$root/usr/sbin/rdma-qosd" --version)"
[[ -e $override ]] || fail "an upgrade or a downgrade ends an override"

echo "-- erase"
packages -e "${all[@]}"
[[ ! -e $root/run/rdma-qos ]] || fail "the next installation finds an override"
[[ -e $root/var/lib/rdma-qos ]] || fail "what the daemon has kept is gone, though nobody asked for that"
wanted 'disable --now;daemon-reload;'
[[ -e $etc/policy.yaml.rpmsave && -e $etc/policy.d/60-mine.yaml ]] || fail "an edited policy is gone: $(ls "$etc")"
rm -r "$etc" "$root/var/lib/rdma-qos"
# Folders that packages of the system have, and this root did not, stay.
everything | diff "$work/before" - | grep -E '^<|rdma' && fail "erasing leaves something, or takes something that was there"

echo "-- with a policy of OpenSM"
mkdir "$etc"
printf 'qos-ulps\n    default : 0\nend-qos-ulps\n' >"$etc/policy.conf"
packages -i "$work"/previous/rdma-qos{d,-tools}-[0-9]*.rpm
[[ ! -e $etc/policy.yaml && -e $etc/rdma-qosd.yaml ]] || fail "there is a policy.yaml next to the policy.conf"
packages -U "$work"/current/rdma-qos{d,-tools}-[0-9]*.rpm
[[ ! -e $etc/policy.yaml ]] || fail "an upgrade puts a policy.yaml next to the policy.conf"
"$root/usr/bin/rdma-qosctl" --root "$root" check >"$work/said" 2>&1 || fail "rdma-qosctl check: $(cat "$work/said")"
# Both are the administrator's mistake, and not taken.
touch "$etc/policy.yaml"
packages -U --oldpackage "$work"/previous/rdma-qos{d,-tools}-[0-9]*.rpm
[[ -e $etc/policy.yaml ]] || fail "an upgrade takes the administrator's policy.yaml"
[[ ! -e $root/var/lib/rpm-state/rdma-qosd ]] || fail "the scripts leave a note"

((failures == 0)) || exit 1
