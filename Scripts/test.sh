#!/usr/bin/env bash
# Builds and runs the tests; prints what fails and the last line, and keeps everything in .build/test.log.
#
# usage: Scripts/test.sh [arguments of swift test]
#   POWERSYNC_TESTS=unit    only tests that need no network and no database
#   POWERSYNC_ONLY=Crypto   only that part (CONTRIBUTING.md)
#   VERBOSE=1               print every line
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p .build
log=.build/test.log

# Lines of progress and of success, some of which run over several lines; a failing test has lines of its own. A known issue
# is one that its test wants.
quiet='/^━/ && !/^━ Test run with / { known = 1; next }
    known && /^↳/ { next }
    { known = 0 }
    /^✘/ || /Fatal error|error: |rash/ { inside = 0 }
    inside { if (/(started|seconds)\.$/) inside = 0; next }
    /^(◇|➜|✔ Test case)/ { inside = !/(started|seconds|skipped)\.$/ && !/skipped: /; next }
    /^✔ Suite/ || (/^✔ Test / && !/^✔ Test run with /) || /^\[[0-9]+\/[0-9]+\]/ { next }
    /^↳ (Testing Library Version|Target Platform)/ || /^(Building|Planning|\[Planning)/ { next }
    { print; fflush() }'
if [ -n "${VERBOSE:-}" ]; then quiet='{ print; fflush() }'; fi

echo "Building the tests (some minutes after a fresh clone)…"
# On a terminal the build shows its progress in one line by itself.
build() {
    if [ -t 1 ]; then
        : >"$log"
        swift build --build-tests
    else
        swift build --build-tests 2>&1 | tee "$log" | awk "$quiet"
    fi
}
if ! build; then
    echo "The build failed." >&2
    exit 1
fi
echo "The build took $SECONDS s."
started=$SECONDS
# All tests at once would starve each other on a small machine, and what they wait for would come too late.
width=$((2 * $(getconf _NPROCESSORS_ONLN)))

# How long the processors worked or waited, and how long a hypervisor had given them to somebody else instead.
times() {
    awk '$1 == "cpu" { for (i = 2; i <= 9; i++) all += $i; print all, $9 + 0 }' \
        /proc/stat 2>/dev/null || echo 0 0
}
# The tests make some 1,200 databases, 9 GB in 400,000 files. A file system in memory makes and removes those in a fraction
# of the time, where one has room and leaves enough for everything else.
roomy_memory() {
    local needed=$((14 << 20)) # KiB
    awk '$2 == "/dev/shm" && $3 == "tmpfs" && $4 !~ /noexec/ { found = 1 } END { exit !found }' /proc/mounts 2>/dev/null &&
        [ "$(df -Pk /dev/shm | awk 'NR == 2 { print $4 }')" -ge "$needed" ] &&
        [ "$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo)" -ge $((needed + (4 << 20))) ]
}
parent=${TMPDIR:-/tmp}
if [ -z "${TMPDIR:-}" ] && roomy_memory; then parent=/dev/shm; fi
# A folder of their own shows what they leave behind. Others may look through it: Postgres runs as another user.
left=$(mktemp -d "$parent/ps-XXXXXX")
chmod 1777 "$left"
trap 'rm -rf "$left"' EXIT
read -r all_before taken_before <<<"$(times)"
status=0
TMPDIR=$left swift test --skip-build --disable-xctest --experimental-maximum-parallelization-width "$width" "$@" 2>&1 |
    tee -a "$log" | awk "$quiet" || status=$?
read -r all taken <<<"$(times)"
share=0
if [ "$all" -gt "$all_before" ]; then share=$((100 * (taken - taken_before) / (all - all_before))); fi
echo "The tests took $((SECONDS - started)) s."
if [ "$share" -ge 10 ]; then echo "Others took $share % of this machine's processors meanwhile." >&2; fi
# What is there but for the files of `swift test`. The server of all tests ends behind them, and its databases go, which are
# hundreds of thousands of files: a minute, and another one for as long as they become fewer. A server that was left writes.
leftovers() { find "$left" -mindepth 1 -maxdepth 1 ! -name 'TemporaryDirectory.*' ! -name '_*.lock'; }
before=
while [ -n "$(leftovers)" ]; do
    files=$(find "$left" 2>/dev/null | wc -l) || true
    if [ -n "$before" ] && [ "$files" -ge "$before" ]; then break; fi
    before=$files
    for _ in $(seq 300); do
        [ -n "$(leftovers)" ] || break
        sleep 0.2
    done
done
if [ -n "$(leftovers)" ]; then
    echo "Tests have left these behind, which is a mistake of theirs:" >&2
    leftovers | while read -r path; do find "$path" -maxdepth 1; done >&2
    status=1
fi
if [ "$status" -ne 0 ]; then
    echo "Tests failed; everything they said is in $log." >&2
    exit 1
fi
# What was left out for want of somebody else's program is named, however quiet the rest is.
grep -E '^➜ Suite .* skipped: .*make peers' "$log" >&2 || true
Scripts/tests-ran.sh "$log"
