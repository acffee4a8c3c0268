#!/usr/bin/env bash
# Prints what a run of tests under a sanitizer says. A report counts whatever the status is: a process that the tests start
# says it, too, and is killed before it could end with a status of its own.
#
# usage: Scripts/sanitize-verdict.sh STATUS FILE      the status and the output of `swift test`
#
#   clean | reported: WARNING: ThreadSanitizer: data race | failed: …
set -euo pipefail

status=$1
file=$2

if report=$(grep -m 1 -oE '(WARNING|ERROR|FATAL): (Thread|Address)Sanitizer:? .*' "$file"); then
    echo "reported: ${report% (pid=*}"
elif [ "$status" -ne 0 ]; then
    echo "failed: status $status"
elif [ "$(grep -cE '^(✔|━) Test run with [1-9][0-9]* test.* passed after ' "$file" || true)" -ne 1 ]; then
    echo 'failed: no test ran'
else
    echo clean
fi
