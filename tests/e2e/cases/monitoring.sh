# shellcheck shell=bash
# Prometheus, node_exporter, Grafana's queries and systemd-journal-remote as an administrator sets them up: metrics,
# alerts, dashboard and fields of the journal arrive there as documented.

# shellcheck source=../lib.sh
. ./lib.sh

readonly settings=/etc/rdma-qos/rdma-qosd.yaml
readonly examples=/usr/share/doc/rdma-qosd/examples
readonly state=/var/lib/rdma-qos
readonly alerts=/etc/prometheus/rdma-qos-alerts.yaml
readonly drop_in=/run/systemd/system/rdma-qosd.service.d/e2e-monitoring.conf
readonly classes_drop_in=/run/systemd/system/rdma-qosd.service.d/port-classes.conf

# put_settings [LINE...]: what the manual says, written every second, and these.
put_settings()
{
    printf '%s\n' 'version: 1' 'metrics: {textfile: /var/lib/prometheus/node-exporter/rdma-qos.prom, interval: 1s}' \
        "$@" >"$settings"
}

# Only the waits are shorter than in the shipped rules.
short_alerts()
{
    sed -E 's/for: [0-9]+m/for: 2s/; s/\[(5m|10m|1h)\]/[15s]/; s/> 120$/> 10/' "$examples/rdma-qos-alerts.yaml"
}

# The neighbours run from the first case on.
monitored()
{
    [[ ! -e $scratch/monitored ]] || return 0
    put_settings
    short_alerts >"$alerts"
    cat >/etc/prometheus/prometheus.yml <<'END'
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [/etc/prometheus/rdma-qos-alerts.yaml]
scrape_configs:
  - job_name: node
    static_configs: [{targets: ['127.0.0.1:9100']}]
END
    echo 'ARGS="--web.listen-address=127.0.0.1:9090"' >/etc/default/prometheus
    echo 'ARGS="--web.listen-address=127.0.0.1:9100 --path.sysfs=/run/emulator/sys"' \
        >/etc/default/prometheus-node-exporter
    date +%s >"$scratch/monitored"
    systemctl restart prometheus-node-exporter.service prometheus.service
    start_with base
    eventually "Prometheus has the daemon's metrics" has_series rdmaqos_build_info
}

# prometheus PATH [NAME=VALUE...]: what its HTTP API answers.
prometheus()
{
    local path=$1 pairs=() pair
    shift
    for pair in "$@"; do
        pairs+=(--data-urlencode "$pair")
    done
    curl --silent --show-error --get "http://127.0.0.1:9090/api/v1/$path" "${pairs[@]}"
}

has_series()
{
    prometheus query "query=$1" | jq -e '.data.result != []' >/dev/null
}

# The programs' versions, for the table.
version_of()
{
    dpkg-query -W -f '${Version}' "$1"
}

# is_firing ALERT
is_firing()
{
    prometheus alerts | jq -e --arg name "$1" \
        '.data.alerts | any(.labels.alertname == $name and .state == "firing")' >/dev/null
}
# is_quiet ALERT: it neither fires nor waits to.
is_quiet()
{
    prometheus alerts | jq -e --arg name "$1" '.data.alerts | any(.labels.alertname == $name) | not' >/dev/null
}

# fires ALERT...
fires()
{
    local alert
    for alert in "$@"; do
        eventually "$alert fires" is_firing "$alert"
        prometheus alerts | jq -r --arg name "$alert" '.data.alerts[] | select(.labels.alertname == $name) |
            "\($name) fires: \(.annotations.summary)"'
        echo "$alert" >>"$scratch/fired"
    done
}
resolves()
{
    local alert
    for alert in "$@"; do
        eventually "$alert resolves" is_quiet "$alert"
    done
}

# documented: of each metric of the manual "NAME TYPE LABEL,LABEL".
documented()
{
    # shellcheck disable=SC2016 # Markdown's backticks
    zcat -f /usr/share/doc/rdma-qosd/metrics.md* |
        sed -nE 's/^\| `(rdmaqos_[a-z_]+)` \| ([a-z]+) \|( [^|]*)?\| .*/\1 \2 \3/p' | tr -d '`' |
        while read -r name type labels; do
            echo "$name $type $(tr -d ' ' <<<"$labels" | tr ',' '\n' | sort | paste -sd ,)"
        done | sort
}

# collected: the same of what Prometheus has now.
collected()
{
    prometheus metadata | jq '.data | with_entries(select(.key | startswith("rdmaqos_")) | .value |= .[0].type)' \
        >"$scratch/types.json"
    prometheus series 'match[]={__name__=~"rdmaqos_.+"}' "start=$(($(date +%s) - 5))" |
        jq -r --slurpfile types "$scratch/types.json" '.data[] | .__name__ as $name |
            ([$name, ($name | sub("_(bucket|sum|count)$"; ""))] | map(select($types[0][.])) | .[0] // $name) as $family |
            "\($family) \($types[0][$family]) \(del(.__name__, .le, .instance, .job) | keys | join(","))"' | sort -u
}

has_all_metrics()
{
    documented >"$scratch/documented"
    collected >"$scratch/collected"
    cmp -s "$scratch/documented" "$scratch/collected"
}

# with_port_classes [LINE...]: the daemon with these settings, which sets traffic classes where the tree does not divide
# the port, with this policy but for DSCPs.
with_port_classes()
{
    put_settings 'attach-mode: per-process' 'port-classes: manage' "$@"
    install -D -m 644 /usr/share/rdma-qos/port-classes.conf "$classes_drop_in"
    systemctl daemon-reload
    sed -i 's/{name: rpc,/& dscp: 26,/; s/{name: bulk,/& dscp: 10,/' "$policy"
    systemctl restart rdma-qosd.service
}

without_port_classes()
{
    rm "$classes_drop_in"
    systemctl daemon-reload
    put_settings
    start_with base
}

monitoring_metrics()
{
    monitored
    # Every metric that comes with something to say: of levels that are monitored, overridden and lost, of adoption,
    # traffic classes and counters.
    sed -i 's/^  - {name: batch/  - {name: trial, mode: monitor, schedule: {share: 5}}\n&/' "$policy"
    with_port_classes 'unregistered: adopt' 'queue-pair-counters: bind'
    hold e2e-payroll system.slice alice --level payroll
    eventually "alice's program is attached" has_attached e2e-payroll.service
    hold e2e-marked system.slice bob --level bulk
    eventually "bob's program is attached" has_attached e2e-marked.service
    sed -i '/name: payroll/d' "$policy"
    systemctl reload rdma-qosd.service
    rdma-qosctl override bulk --max-rate 10Gbps --for 10m
    (eventually "all metrics are there" has_all_metrics) ||
        fail "documented (<) and in Prometheus (>): $(diff "$scratch/documented" "$scratch/collected" || true)"
    echo "$(wc -l <"$scratch/collected") metrics, $(prometheus query 'query=count({__name__=~"rdmaqos_.+"})' |
        jq -r '.data.result[0].value[1]') series"
    promtool check metrics </var/lib/prometheus/node-exporter/rdma-qos.prom
    equal "$(prometheus query 'query=node_textfile_scrape_error' | jq -r '.data.result[0].value[1]')" 0 \
        "node_exporter's errors"
    fires RdmaQosLevelLost
    rdma-qosctl override clear bulk
    without_port_classes
    resolves RdmaQosLevelLost
    table_row Prometheus "$(version_of prometheus)" "metrics of the manual, their types and labels" \
        "$(wc -l <"$scratch/documented")" 0
}
test_case monitoring_metrics "Prometheus has the metrics of the manual and no others, with their types and labels"

monitoring_down()
{
    monitored
    systemctl stop rdma-qosd.service
    fires RdmaQosdDown
    systemctl start rdma-qosd.service
    resolves RdmaQosdDown
}
test_case monitoring_down "an alert says that the daemon has ended"

monitoring_hang()
{
    monitored
    start_with base
    local pid
    pid=$(property MainPID)
    kill -STOP "$pid"
    fires RdmaQosMetricsOld
    kill -CONT "$pid"
    resolves RdmaQosMetricsOld
}
test_case monitoring_hang "an alert says that the metrics are old"

monitoring_reload()
{
    monitored
    start_with base
    put_policy broken
    refused systemctl reload rdma-qosd.service
    fires RdmaQosReloadRefused
    put_policy base
    systemctl reload rdma-qosd.service
    resolves RdmaQosReloadRefused
}
test_case monitoring_reload "an alert says that a reload was refused"

monitoring_no_policy()
{
    monitored
    systemctl stop rdma-qosd.service
    rm -f "$state/last-good-policy.json"
    put_policy broken
    systemctl start rdma-qosd.service
    fires RdmaQosNoPolicy
    put_policy base
    systemctl reload rdma-qosd.service
    resolves RdmaQosNoPolicy
}
test_case monitoring_no_policy "an alert says that there is no policy"

monitoring_state()
{
    monitored
    start_with base
    rm "$state/last-good-policy.json"
    mkdir -p "$state/last-good-policy.json/in-the-way"
    sed -i 's/share: 30/share: 31/' "$policy"
    systemctl reload rdma-qosd.service
    fires RdmaQosStateNotKept
    rm -r "$state/last-good-policy.json"
    put_policy base
    systemctl reload rdma-qosd.service
    resolves RdmaQosStateNotKept
}
test_case monitoring_state "an alert says that a file of the daemon cannot be written"

monitoring_refused_tree()
{
    monitored
    start_with base
    ctl_emulator fail modify 1 times 1000000
    sed -i 's/share: 60/share: 50/; s/share: 30/share: 31/; s/share: 10/share: 11/; s/share: 5}/share: 6}/' "$policy"
    systemctl reload rdma-qosd.service || true
    fires RdmaQosDeviceDegraded RdmaQosOperationsFail
    ctl_emulator clear
    put_policy base
    systemctl reload rdma-qosd.service
    resolves RdmaQosDeviceDegraded RdmaQosOperationsFail
}
test_case monitoring_refused_tree "alerts say that a device refuses its tree"

monitoring_port_classes()
{
    monitored
    put_policy base
    ctl_emulator dcb-fault mlx5_0 1 refuse times 1000000
    with_port_classes
    fires RdmaQosPortClasses
    ctl_emulator clear
    rdma-qosctl reconcile mlx5_0
    resolves RdmaQosPortClasses
    without_port_classes
}
test_case monitoring_port_classes "an alert says that a driver refuses traffic classes"

monitoring_unenforced()
{
    monitored
    start_with base
    ctl_emulator fail attach 1 times 1000000
    hold e2e-payroll system.slice alice --level payroll
    fires RdmaQosUnenforced
    ctl_emulator clear
    resolves RdmaQosUnenforced
}
test_case monitoring_unenforced "an alert says that queue pairs do not get what their level says"

monitoring_adoption()
{
    monitored
    mkdir -p "${drop_in%/*}"
    printf '[Service]\nCapabilityBoundingSet=~CAP_SYS_PTRACE\n' >"$drop_in"
    systemctl daemon-reload
    put_settings 'unregistered: adopt'
    start_with base
    fires RdmaQosNotAdopting
    rm "$drop_in"
    systemctl daemon-reload
    start_with base
    resolves RdmaQosNotAdopting
    pingpong trainer 18515
    eventually "the server listens" listens 18515
    pingpong e2e-client 18515 127.0.0.1
    eventually "the trainer is adopted" is_adopted trainer.service /rpc/pid:
    # A rate is of two values that Prometheus has.
    eventually "Prometheus has how long that took" has_series 'rate(rdmaqos_adoption_delay_seconds_count[10s]) > 0'
    put_settings
    systemctl reload rdma-qosd.service
}
test_case monitoring_adoption "an alert says that no program can be adopted"

monitoring_leaves()
{
    monitored
    {
        printf 'version: 1\nqos-levels:\n  - {name: DEFAULT}\n'
        seq -f '  - {name: level-%g, schedule: {share: 1}}' 248
    } >"$policy"
    systemctl reload rdma-qosd.service
    fires RdmaQosLeavesShort
    put_policy base
    systemctl reload rdma-qosd.service
    resolves RdmaQosLeavesShort
}
test_case monitoring_leaves "an alert says that leaves run out"

monitoring_drift()
{
    monitored
    put_settings 'drift-interval: 1s'
    start_with base
    local element
    element=$(ctl_emulator state | sed -n 's/^ *id=\([0-9]*\) .*bw-share=30 .*/\1/p' | head -n 1)
    # It is an increase only of what Prometheus has seen before.
    sleep 3
    ctl_emulator drift mlx5_0 "$element" 77 90000
    fires RdmaQosDrift
    resolves RdmaQosDrift
}
test_case monitoring_drift "an alert says that another program changes the tree"

monitoring_slow()
{
    monitored
    put_settings 'limits: {device-queue: 4}'
    start_with base
    ctl_emulator delay any 2000 mlx5_0
    for _ in {1..4}; do
        rdma-qosctl reconcile mlx5_0 >/dev/null 2>&1 &
    done
    fires RdmaQosDeviceSlow
    ctl_emulator clear
    resolves RdmaQosDeviceSlow
    put_settings
    systemctl reload rdma-qosd.service
}
test_case monitoring_slow "an alert says that tasks wait for a device"

monitoring_refusals()
{
    monitored
    put_settings 'limits: {sessions-per-uid: 1}'
    start_with base
    hold e2e-bob system.slice bob --level bulk
    eventually "bob's program is attached" has_attached e2e-bob.service
    echo e2e-greedy.service >>"$scratch/held"
    systemd-run --quiet --collect --unit=e2e-greedy --uid=bob -p StandardError=null -- bash -c 'while :; do
        busctl --system call org.rdmaqos1 /org/rdmaqos1 org.rdmaqos1.Manager Register "a{sv}" 1 level s bulk; sleep 0.1; done'
    fires RdmaQosRefusals
    refused as_user carol "$probe" attach mlx5_0 - "$(session_of e2e-bob.service | jq '."queue-pairs"[0].number')"
    eventually "Prometheus has the refused queue pair" has_series \
        'sum(rate(rdmaqos_queue_pair_refusals_total[10s])) > 0'
    systemctl stop e2e-greedy.service
    resolves RdmaQosRefusals
    put_settings
    systemctl reload rdma-qosd.service
}
test_case monitoring_refusals "an alert says that clients are refused"

monitoring_every_alert()
{
    [[ -e $scratch/fired ]] || unable "the cases of the alerts have not run"
    local shipped fired
    promtool check rules "$examples/rdma-qos-alerts.yaml"
    shipped=$(sed -n 's/^ *- alert: \([A-Za-z]*\).*/\1/p' "$examples/rdma-qos-alerts.yaml" | sort)
    fired=$(sort -u "$scratch/fired")
    equal "$fired" "$shipped" "alerts that have fired, and those that are shipped"
    # Only what short_alerts says is not as shipped.
    equal "$(diff "$examples/rdma-qos-alerts.yaml" "$alerts" | grep -vE '^[<>] +(for: |expr: )|^[0-9,c]+$|^---$' || true)" \
        "" "what else differs in the copy of the rules"
    table_row Prometheus "$(version_of prometheus)" "alerts fire and resolve" "$(wc -l <<<"$shipped")" 0
}
test_case monitoring_every_alert "every alert that is shipped has fired and resolved"

# expressions: those of the dashboard with Grafana's variables replaced, a JSON string a line.
expressions()
{
    jq -c '.panels[] | .targets[]?.expr | gsub("\\$instance|\\$device"; ".*") | gsub("\\$__rate_interval"; "10s")' \
        "$examples/rdma-qos-dashboard.json"
}

monitoring_dashboard()
{
    monitored
    local dashboard=$examples/rdma-qos-dashboard.json problems expression answer count=0 now start missing=''
    problems=$(jq -r '
        def unless(condition; text): if condition then empty else text end;
        . as $all | [.templating.list[].name] as $variables |
        unless(.schemaVersion >= 36; "schemaVersion"),
        unless(([.panels[].id] | length) == ([.panels[].id] | unique | length); "two panels have the same id"),
        unless(any(.templating.list[]; .type == "datasource" and .query == "prometheus"); "no variable is a datasource"),
        (.. | objects | .datasource? // empty | objects | unless(.uid == "${datasource}"; "a datasource is \(.uid)")),
        (.panels[] | select(.type != "row") | .title as $title |
            unless(.datasource.type == "prometheus"; "\($title): its datasource"),
            unless(([.targets[].refId] | length) == ([.targets[].refId] | unique | length); "\($title): a refId twice"),
            (.targets[].expr | scan("\\$([a-z]+)")[0] | . as $name |
                unless($variables | index($name) != null; "\($title): $\($name)"))),
        ([.panels[].gridPos | range(.x; .x + .w) as $x | range(.y; .y + .h) as $y | "\($x) \($y)"] |
            unless(length == (unique | length); "panels overlap")),
        (.panels[].gridPos | unless(.x + .w <= 24; "a panel is too far to the right"))' "$dashboard")
    equal "$problems" "" "what is wrong with the dashboard"
    now=$(date +%s)
    start=$(<"$scratch/monitored")
    while read -r expression; do
        expression=$(jq -r . <<<"$expression")
        answer=$(prometheus query_range "query=$expression" "start=$start" "end=$now" step=1)
        count=$((count + 1))
        [[ $(jq -r .status <<<"$answer") == success ]] || fail "$expression: $answer"
        jq -e '.data.result != [] and any(.data.result[].values[]; .[1] != "NaN")' <<<"$answer" >/dev/null ||
            missing+=$'\n'$expression
    done < <(expressions)
    echo "$count queries"
    ((count > 30)) || fail "only $count queries"
    equal "$missing" "" "queries without a series"
    # What the lists of the variables are filled with.
    prometheus label/device/values 'match[]=rdmaqos_device_up' | jq -e '.data | index("mlx5_0/1")' >/dev/null ||
        fail "no device to choose"
    table_row "Grafana's queries" "$(version_of prometheus)" "queries of the dashboard, by Prometheus" "$count" 0
}
test_case monitoring_dashboard "Prometheus answers every query of the dashboard with a series"

# entries [OPTION...]: of our lines in a journal, what the manual says they have, one a line.
entries()
{
    journalctl -o json --all -q "$@" |
        jq -cS 'with_entries(select(.key | test("^(RDMAQOS_|MESSAGE|PRIORITY|CODE_|_PID$|_SYSTEMD_UNIT$|OBJECT_)")))' | sort
}

monitoring_journal()
{
    local events=0 id
    start_with base
    hold e2e-payroll system.slice alice --level payroll
    eventually "alice's program is attached" has_attached e2e-payroll.service
    refused as_user bob "$sample" --device mlx5_0 --level payroll -- true >/dev/null
    put_policy broken
    refused systemctl reload rdma-qosd.service >/dev/null
    systemctl stop rdma-qosd.service
    journalctl --sync
    journalctl -u rdma-qosd.service -o export -q >"$scratch/exported"
    /lib/systemd/systemd-journal-remote -o "$scratch/remote.journal" - <"$scratch/exported"
    entries -u rdma-qosd.service >"$scratch/here"
    entries --file "$scratch/remote.journal" >"$scratch/there"
    diff "$scratch/here" "$scratch/there" || fail "the other journal is not the same"
    # Events of the manual are found there by their ids; each has the fields that the manual gives it.
    for id in $(zcat -f /usr/share/man/man8/rdma-qosd.service.8* | sed -nE 's/^\.BR [a-z\\-]+ " ([0-9a-f]{32})"$/\1/p'); do
        ! grep -q "$id" "$scratch/here" || events=$((events + 1))
        equal "$(journalctl --file "$scratch/remote.journal" -o cat -q "MESSAGE_ID=$id" | wc -l)" \
            "$(journalctl -u rdma-qosd.service -o cat -q "MESSAGE_ID=$id" | wc -l)" "lines with the id $id"
    done
    echo "$(wc -l <"$scratch/there") lines, $events kinds of events"
    ((events >= 5)) || fail "only $events kinds of events"
    local said
    said=$(journalctl --file "$scratch/remote.journal" -o cat -q RDMAQOS_LEVEL=payroll "RDMAQOS_UID=$(id -u alice)" \
        RDMAQOS_UNIT=e2e-payroll.service)
    contains "$said" "has session" "alice's lines in the other journal"
    put_policy base
    systemctl start rdma-qosd.service
    table_row systemd-journal-remote "$(version_of systemd-journal-remote)" "lines and fields of the journal" \
        "$(wc -l <"$scratch/there")" 0
}
test_case monitoring_journal "a journal that systemd-journal-remote writes has our lines with all fields"
