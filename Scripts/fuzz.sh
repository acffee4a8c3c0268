#!/usr/bin/env bash
# Feeds the decoders of sync lines with mutated lines until the time is up or a property does not hold (libFuzzer).
# It starts from every line of the fixtures and from what earlier runs found interesting; whatever it found is then
# run again under AddressSanitizer. (In one build, the two leave libFuzzer without coverage.)
#
# usage: Scripts/fuzz.sh [options of libFuzzer]
#   FUZZ_SECONDS=600    how long
set -euo pipefail
cd "$(dirname "$0")/.."

fuzz=.build/fuzz
export POWERSYNC_FUZZ=1
mkdir -p "$fuzz/corpus" "$fuzz/findings"
rm -rf "$fuzz/seeds"
mkdir "$fuzz/seeds"
before=$(find "$fuzz/findings" -type f | wc -l)

complain() {
    echo "Fuzzing found something." >&2
    if [ "$(find "$fuzz/findings" -type f | wc -l)" -gt "$before" ]; then
        # shellcheck disable=SC2012 # libFuzzer names them
        echo "The input: $fuzz/findings/$(ls -t "$fuzz/findings" | head -1)" >&2
    fi
    exit 1
}

# Swift's own reports of crashes would keep libFuzzer from writing the input down.
run() {
    local program=$1
    shift
    SWIFT_BACKTRACE=enable=no "$program" "$fuzz/corpus" "$fuzz/seeds" -timeout=20 -rss_limit_mb=2048 \
        -artifact_prefix="$fuzz/findings/" "$@" || complain
}

echo 'Building the decoders for fuzzing…'
swift build -c release --sanitize fuzzer --scratch-path "$fuzz/coverage" --product PowerSyncFuzzing
POWERSYNC_FUZZ_FIXTURES=Tests/Fixtures POWERSYNC_FUZZ_SEEDS="$fuzz/seeds" \
    run "$fuzz/coverage/release/PowerSyncFuzzing" -max_len=65536 -max_total_time="${FUZZ_SECONDS:-600}" "$@"

echo 'Building them with AddressSanitizer…'
swift build -c release --sanitize fuzzer --sanitize address --scratch-path "$fuzz/address" --product PowerSyncFuzzing
run "$fuzz/address/release/PowerSyncFuzzing" -runs=0
