# shellcheck shell=bash disable=SC2154    # set by who sources this
# A server and a client of it, for the tests that run stock programs. To be sourced after common.sh of the emulator's
# tests; expects `port`, behind which the ports are free, and `output`, a folder.

# pair NAME COMMAND...: a server, then a client of it; both must say that they have done all.
pair()
{
    local name=$1 server status=0
    shift
    port=$((port + 1))
    "${client[@]}" "$@" -p "$port" >"$output/server" 2>&1 &
    server=$!
    wait_until listens "$port" || fail "$name: the server does not come: $(cat "$output/server")"
    timeout "$program_hung" "${client[@]}" "$@" -p "$port" 127.0.0.1 >"$output/client" 2>&1 || status=$?
    wait "$server" || status=$((status == 0 ? 1 : status))
    ((status == 0)) || fail "$name ends with $status: $(tail -n 5 "$output/client") $(tail -n 5 "$output/server")"
    echo "ok $name"
}
