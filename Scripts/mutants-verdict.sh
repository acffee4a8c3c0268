#!/usr/bin/env bash
# Prints what a run of tests says of a planted mistake. In the random sessions only an assertion that names its seed
# notices it, of a test that runs by itself any issue but its time limit does. A crash, a time-out or a lack of memory
# says nothing about what the tests are for.
#
# usage: Scripts/mutants-verdict.sh STATUS FILE [TEST]      the status and the output of `swift test`, under `timeout`
#
#   noticed after 13 seeds | noticed by TEST at File.swift:12 | passed | failed for another reason: …
set -euo pipefail

status=$1
file=$2
test=${3:-}

# The first seed that an issue names, on a line of its own below it.
seed=$(awk '
    /^✘ Test .* recorded an issue / && !/Time limit was exceeded|Caught error/ { inside = 1; next }
    /^(✘|✔|◇|➜)/ { inside = 0 }
    inside && match($0, /^(↳ )?seed [0-9]+/) {
        text = substr($0, RSTART, RLENGTH)
        sub(/^.*seed /, "", text)
        if (seed == "" || text + 0 < seed) seed = text + 0
    }
    END { print seed }' "$file")

# Where the first issue arose.
place=$(sed -nE '/Time limit was exceeded/d
    /^✘ Test .* recorded an issue /{
        s/^.* at ([^ ]+\.swift:[0-9]+):[0-9]+: .*$/\1/p
        q
    }' "$file")

other() {
    echo "failed for another reason: $1"
    exit
}

ended=$(grep -cE '^(✔|✘) Test run with [1-9][0-9]* test.* (passed|failed) after ' "$file" || true)
if crash=$(grep -m 1 -oE 'Fatal error.{0,80}|unexpected signal code [0-9]+|Program crashed.{0,80}' "$file"); then other "$crash"; fi
case $status in
124 | 137) other 'it took too long, or too much memory' ;;
0) if [ "$ended" -eq 1 ]; then echo passed; else other 'no test ran'; fi ;;
1)
    [ "$ended" -eq 1 ] || other 'the run did not come to its end'
    if [ -n "$test" ]; then
        [ -n "$place" ] || other 'no issue was recorded'
        echo "noticed by $test at $place"
        exit
    fi
    [ -n "$seed" ] || other 'no assertion named a seed'
    echo "noticed after $((seed + 1)) seeds"
    ;;
*) other "status $status" ;;
esac
