#!/usr/bin/env bash
# Runs a command with two busy processes beside it, as on a machine that others use too. They end with the command and
# with this script, however it ends. The command finds their ids in BUSY_PROCESSES.
#
# usage: Scripts/busy.sh COMMAND...
#   POWERSYNC_TEST_PATIENCE=3    what the tests get of it, unless it is set
set -euo pipefail

busy=()
trap 'kill "${busy[@]}" 2>/dev/null || true' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
for _ in 1 2; do
    # The loop looks for its owner itself, so that it goes even if that is killed.
    sh -c 'while kill -0 "$1" 2>/dev/null; do :; done' busy "$$" &
    busy+=($!)
done
export BUSY_PROCESSES="${busy[*]}"
export POWERSYNC_TEST_PATIENCE="${POWERSYNC_TEST_PATIENCE:-3}"
# A job of its own has signals as after a login (a plain background process ignores SIGINT), and all of it can be ended.
status=0
set -m
"$@" </dev/null &
set +m
command=$!
trap 'kill "${busy[@]}" 2>/dev/null || true; kill -- "-$command" 2>/dev/null || true' EXIT
wait "$command" || status=$?
exit "$status"
