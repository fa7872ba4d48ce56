# shellcheck shell=bash
# Without polkit, and without a journal.

# shellcheck source=../lib.sh
. ./lib.sh

bare_is_bare()
{
    equal "$(property LoadState polkit.service)" masked "polkit"
    equal "$(property LoadState systemd-journald.service)" masked "journald"
    [[ ! -e /run/systemd/journal/stdout ]] || fail "there is a journal's socket"
}
test_case bare_is_bare "neither polkit nor journald runs"

bare_starts()
{
    start_with base
    contains "$(property StatusText)" "1 device port" "STATUS="
    hold e2e-bare system.slice alice --level payroll
    eventually "alice's queue pair is in a leaf" has_attached e2e-bare.service
}
test_case bare_starts "without a journal the daemon starts and serves"

bare_reload()
{
    start_with base
    local said
    sed -i 's/share: 30/share: 48/' "$policy"
    systemctl reload rdma-qosd.service
    put_policy broken
    refused systemctl reload rdma-qosd.service >/dev/null
    contains "$(property StatusText)" "the newest policy is refused: $policy:5:21: " "STATUS= says what no journal does"
    said=$(refused rdma-qosctl reload)
    contains "$said" "$policy:6:29: error:" "rdma-qosctl reload says all of it"
}
test_case bare_reload "without a journal, status and rdma-qosctl say why a policy is refused"

bare_log_file()
{
    local folder=/run/systemd/system/rdma-qosd.service.d
    mkdir -p "$folder" /var/log/rdma-qos
    printf '[Service]\nStandardError=append:/var/log/rdma-qos/log\n' >"$folder/log.conf"
    systemctl daemon-reload
    start_with base
    put_policy broken
    refused systemctl reload rdma-qosd.service >/dev/null
    local said
    said=$(cat /var/log/rdma-qos/log)
    rm "$folder/log.conf"
    systemctl daemon-reload
    contains "$said" "ready: policy " "the log file"
    equal "$(grep -c "$policy:5:21: error:" <<<"$said")" 1 "lines of the diagnostic in the log file"
}
test_case bare_log_file "without a journal, a drop-in sends the log to a file"

bare_no_polkit()
{
    start_with base
    local said status=0
    said=$(as_user carol rdma-qosctl --system-bus reload 2>&1) || status=$?
    echo "$said"
    equal "$status" 4 "the exit status of a reload without polkit"
    contains "$said" "polkit cannot be asked" "what carol is told"
    contains "$said" "without it only root may do this" "what carol is told"
    rdma-qosctl --system-bus reload >/dev/null || fail "root may not reload without polkit"
}
test_case bare_no_polkit "without polkit only root may reload, and others are told"
