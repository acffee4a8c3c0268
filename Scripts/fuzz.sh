#!/usr/bin/env bash
# Feeds what reads bytes from outside with mutated inputs, one target after the other, each until its time is up or a
# property does not hold (libFuzzer). A target starts from its first inputs, most of them from the fixtures, and from
# what earlier runs found interesting; whatever it found is then run again under AddressSanitizer. (In one build, the
# two leave libFuzzer without coverage.)
#
# usage: Scripts/fuzz.sh [TARGET...] [-OPTION of libFuzzer...]      without a target: all, in this order
#   lines            sync lines and streams of them, in JSON and BSON
#   pgoutput         what a source sends: messages, frames, rows of COPY
#   http             requests on one connection
#   tokens           tokens and the Authorization field
#   keys             sets of keys, keys in PEM and DER
#   configuration    the service's configuration and sync configurations
#   sync-configs     sync configurations of all editions, with what rows and requests come to
#   sql              the parser of SQL, and queries of all editions
#   values           texts of Postgres as values of SQLite
#   uploads          bodies of uploads, with values for every kind of column
#   maps             table maps
#   FUZZ_SECONDS=300    how long each
set -euo pipefail
cd "$(dirname "$0")/.."

all=(lines pgoutput http tokens keys configuration sync-configs sql values uploads maps)
targets=()
options=()
for argument in "$@"; do
    if [[ $argument == -* ]]; then options+=("$argument"); else targets+=("$argument"); fi
done
if [ ${#targets[@]} -eq 0 ]; then targets=("${all[@]}"); fi
for target in "${targets[@]}"; do
    if [[ " ${all[*]} " != *" $target "* ]]; then
        echo "fuzz: there is no target $target: ${all[*]}" >&2
        exit 2
    fi
done

fuzz=.build/fuzz
export POWERSYNC_FUZZ=1

# An input that takes milliseconds took five seconds on a machine whose processors others had; one that does not end is
# found in thirty, too. The stack is as small as that of macOS's threads. Swift's own reports of crashes would keep
# libFuzzer from writing the input down.
run() {
    local program=$1 folder=$fuzz/$2
    shift 2
    (
        ulimit -S -s 512
        SWIFT_BACKTRACE=enable=no exec "$program" "$folder/corpus" "$folder/seeds" -timeout=30 -rss_limit_mb=2048 \
            -artifact_prefix="$folder/findings/" "$@"
    )
}

# Feeds one target, then says what was found.
fuzz_target() {
    local target=$1 folder=$fuzz/$1 before
    mkdir -p "$folder/corpus" "$folder/findings"
    rm -rf "$folder/seeds"
    mkdir "$folder/seeds"
    touch "$folder/words"
    export POWERSYNC_FUZZ_TARGET=$target
    before=$(find "$folder/findings" -type f | wc -l)
    if POWERSYNC_FUZZ_FIXTURES=Tests/Fixtures POWERSYNC_FUZZ_FOLDER=$folder \
        run "$fuzz/coverage/release/PowerSyncFuzzing" "$target" -max_len=65536 -dict="$folder/words" \
        -entropic_scale_per_exec_time=1 \
        -max_total_time="${FUZZ_SECONDS:-300}" ${options[@]+"${options[@]}"} &&
        run "$fuzz/address/release/PowerSyncFuzzing" "$target" -runs=0; then
        return
    fi
    echo "Fuzzing of $target found something." >&2
    if [ "$(find "$folder/findings" -type f | wc -l)" -gt "$before" ]; then
        # shellcheck disable=SC2012 # libFuzzer names them
        echo "The input: $folder/findings/$(ls -t "$folder/findings" | head -1)" >&2
    fi
    failed+=("$target")
}

echo 'Building for fuzzing…'
swift build -c release --sanitize fuzzer --scratch-path "$fuzz/coverage" --product PowerSyncFuzzing
echo 'Building with AddressSanitizer…'
swift build -c release --sanitize fuzzer --sanitize address --scratch-path "$fuzz/address" --product PowerSyncFuzzing

failed=()
for target in "${targets[@]}"; do
    printf '\n-- %s\n' "$target"
    fuzz_target "$target"
done
if [ ${#failed[@]} -gt 0 ]; then
    printf '\nFindings: %s\n' "${failed[*]}" >&2
    exit 1
fi
