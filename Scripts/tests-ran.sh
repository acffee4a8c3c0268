#!/usr/bin/env bash
# Fails unless the output of `swift test` says that tests ran: a filter that fits nothing must not look green.
#
# usage: Scripts/tests-ran.sh FILE
set -euo pipefail

if ! grep -qE '^(✔|━) Test run with [1-9][0-9]* test' "$1"; then
    echo "No test ran; see $1." >&2
    exit 1
fi
