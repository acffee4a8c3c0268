#!/usr/bin/env bash
# Proves that Scripts/busy.sh has two busy processes while its command runs, and none afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0
fail() {
    echo "busy.sh: $1"
    status=1
}

# Waits, ten seconds at most, until a command succeeds.
until_true() {
    for _ in {1..100}; do
        if "$@"; then return 0; fi
        sleep 0.1
    done
    return 1
}
none_alive() {
    local id
    for id in $ids; do
        if kill -0 "$id" 2>/dev/null; then return 1; fi
    done
}

# shellcheck disable=SC2016 # the command expands it
ids=$(Scripts/busy.sh sh -c 'kill -0 $BUSY_PROCESSES && echo $BUSY_PROCESSES') || fail 'they did not run'
[ "$(wc -w <<<"$ids")" -eq 2 ] || fail "two were expected, not: $ids"
until_true none_alive || fail "they outlived the command"

result=0
Scripts/busy.sh sh -c 'exit 7' || result=$?
[ "$result" -eq 7 ] || fail "the command ended with 7, the script with $result"

for signal in TERM KILL; do
    rm -f "$folder/ids"
    # shellcheck disable=SC2016 # the command expands it
    Scripts/busy.sh sh -c 'echo $BUSY_PROCESSES $$ >"$1.new"; mv "$1.new" "$1"; exec sleep 60' sh "$folder/ids" &
    until_true test -e "$folder/ids" || fail 'the command did not start'
    ids=$(cat "$folder/ids")
    kill -s "$signal" $!
    wait $! 2>/dev/null || true
    # Killed, it cannot end its command.
    if [ "$signal" = KILL ]; then
        kill "${ids##* }"
        ids=${ids% *}
    fi
    # shellcheck disable=SC2086 # several
    until_true none_alive || { fail "something outlived SIG$signal: $ids" && kill $ids; }
done
exit $status
