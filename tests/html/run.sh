#!/bin/bash
# The pages of `rdma-qosctl simulate --html`, in headless Chromium: well-formed, no request, nothing on the console,
# nothing cut off or overlapping at widths of telephones to desktops.
#
#   tests/html/run.sh RDMA-QOSCTL                     the built command
#   tests/html/run.sh RDMA-QOSCTL --keep DIR          leaves pages and screenshots (light, dark, narrow) there
#   tests/html/run.sh RDMA-QOSCTL --update            also writes docs/images/simulate.png
#
# Ends with status 77, and says why, where Chromium or xmllint is not installed.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/lib.sh"

(($# > 0)) || die "which rdma-qosctl? (see the head of this script)"
ctl=$(realpath "$1")
shift
keep='' update=no
while (($# > 0)); do
    case $1 in
        --keep)
            keep=${2:?--keep needs a directory}
            shift
            ;;
        --update) update=yes ;;
        *) die "unknown option $1" ;;
    esac
    shift
done

for program in chromium xmllint; do
    if ! command -v "$program" >/dev/null; then
        note "skipped: $program is not installed (tools/install-deps.sh --full)"
        exit 77
    fi
done

hung=120    # seconds: longer is a hang
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail()
{
    note "FAILED: $*"
    failures=$((failures + 1))
}

# browse ARGUMENT...: no name is resolved, so nothing that Chromium itself wants reaches the network.
browse()
{
    timeout "$hung" chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --no-first-run \
        --disable-background-networking --disable-component-update --disable-sync \
        --host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir="$work/profile" "$@"
}

# render PAGE ARGUMENT...: a page of the examples.
render()
{
    local page=$1
    shift
    if ! (cd "$project_dir/config/examples" && "$ctl" simulate --offline "$@" --html "$work/$page" >/dev/null); then
        fail "$page is not made"
    fi
}

# Prints what a page asked for and what it wrote to the console.
misdeeds()
{
    browse --enable-logging=stderr --log-net-log="$work/net.json" --net-log-capture-mode=Everything \
        --screenshot="$work/unused.png" "file://$1" >/dev/null 2>"$work/log" || echo "Chromium failed: $(tail -n 3 "$work/log")"
    grep -o 'CONSOLE.*' "$work/log" || true
    # Requests of the browser itself come from "not an origin".
    grep -E '"url":"(https?|wss?|ftp):' "$work/net.json" | grep '"initiator":' | grep -v '"initiator":"not an origin"' |
        grep -oE '"url":"[^"]*"' || true
}

# The checks can fail: a page that does what ours must not.
cat >"$work/control.html" <<'HTML'
<!DOCTYPE html>
<html><body><p class="note" style="width:50px;white-space:nowrap">more text than there is room for</p>
<script>console.error("on the console");</script><img src="http://127.0.0.1:9/asked-for.png"/></body></html>
HTML
control=$(misdeeds "$work/control.html")
[[ $control == *"on the console"* ]] || fail "an error on the console would not be seen"
[[ $control == *"asked-for.png"* ]] || fail "a request would not be seen"

# look PAGE...: mistakes of the layout. Pages lie beside the script's page.
look()
{
    {
        printf '<!DOCTYPE html><html><body data-pages="%s"><pre id="report"></pre><script>' "$*"
        cat "$project_dir/tests/html/layout.js"
        printf '</script></body></html>'
    } >"$work/look.html"
    browse --allow-file-access-from-files --virtual-time-budget=60000 --dump-dom "file://$work/look.html" 2>/dev/null |
        sed -n '/<pre id="report">/,/<\/pre>/p' | sed 's/<\/pre>.*//; s/.*<pre id="report">//' | grep . || true
}
[[ $(look control.html) == *"cut off"* ]] || fail "text that is cut off would not be seen"

loads='rpc*40=1Gbps,rpc=inf,rpc.responder=inf,bulk=inf,storage=10Gbps,DEFAULT=inf'
render hour.html --devices devices.yaml --device mlx5_0 demo.yaml --loads loads.yaml --check
render now.html demo.yaml --load 'rpc*8=1Gbps,rpc=inf,training*2=inf,storage=inf'
render cluster.html cluster.yaml --load "$loads"
render nothing.html demo.yaml --load 'DEFAULT=inf'
# Names as long as they may be, and with everything that HTML cares for.
long="<b>&amp;\"'$(printf 'x%.0s' {1..110})"
cat >"$work/long.yaml" <<YAML
version: 1
qos-levels:
  - {name: DEFAULT}
  - name: '${long//\'/\'\'}'
    use: '$(printf 'words and <i>more</i> words %.0s' {1..8})'
    schedule: {fair-by: process}
YAML
cat >"$work/long-loads.yaml" <<YAML
version: 1
steps:
  - {at: 0s, use: '$(printf 'a step with a long name %.0s' {1..5})', loads: {'${long//\'/\'\'}': {senders: 9, rate: 7Gbps}}}
  - {at: 1s, loads: {'${long//\'/\'\'}': unlimited}}
until: 50s
YAML
render long.html "$work/long.yaml" --loads "$work/long-loads.yaml"
pages=(hour.html now.html cluster.html nothing.html long.html)
for page in "${pages[@]}"; do
    xmllint --noout "$work/$page" || fail "$page is not well-formed"
    found=$(misdeeds "$work/$page")
    [[ -z $found ]] || fail "$page: $found"
done
found=$(look "${pages[@]}")
[[ $found == "looked at all" ]] || fail "layout: $found"

# shot FILE WIDTH HEIGHT [dark]
shot()
{
    local options=()
    if [[ ${4:-} == dark ]]; then
        options=(--force-dark-mode --blink-settings=preferredColorScheme=0)
    fi
    browse "${options[@]}" --window-size="$2,$3" --screenshot="$1" "file://$work/hour.html" >/dev/null 2>&1
    [[ -s $1 ]] || fail "there is no screenshot"
}
shot "$work/light.png" 1280 1500
shot "$work/dark.png" 1280 1500 dark
shot "$work/narrow.png" 390 1700
if cmp -s "$work/light.png" "$work/dark.png"; then
    fail "light and dark do not differ"
fi
if [[ -n $keep ]]; then
    mkdir -p "$keep"
    cp "${pages[@]/#/$work/}" "$work"/{light,dark,narrow}.png "$keep"
fi
if [[ $update == yes ]]; then
    shot "$project_dir/docs/images/simulate.png" 1200 1475
fi
((failures == 0)) && note "${#pages[@]} pages: well-formed, quiet, and readable at every width"
