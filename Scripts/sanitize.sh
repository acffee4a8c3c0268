#!/usr/bin/env bash
# Runs tests under ThreadSanitizer, then under AddressSanitizer. A report is a failure, wherever it comes from: there are no
# suppressions.
#
# usage: Scripts/sanitize.sh [thread|address]      without an argument: both
#   POWERSYNC_ONLY=SQLite,System      these parts; unless set, those of the client with all that they stand on, and the server
#
# First a race, or a write behind the end, is planted that the sanitizer has to report: one that sees nothing is no proof.
# Everything that the tests said is in .build/sanitize.
set -euo pipefail
cd "$(dirname "$0")/.."

only=${POWERSYNC_ONLY:-Client,SQLite,System,HTTPClient,HTTPServer}
# The tests of System have the planted faults.
case ,$only, in *,System,*) ;; *) only+=,System ;; esac
export POWERSYNC_ONLY=$only
export POWERSYNC_TEST_PATIENCE="${POWERSYNC_TEST_PATIENCE:-3}"
# Each session takes several times as long as usual; other numbers are for the tests without a sanitizer.
export POWERSYNC_PROPERTY_SEEDS="${POWERSYNC_PROPERTY_SEEDS:-40}" \
    POWERSYNC_COORDINATOR_SEEDS="${POWERSYNC_COORDINATOR_SEEDS:-40}" POWERSYNC_LIFECYCLES="${POWERSYNC_LIFECYCLES:-40}" \
    POWERSYNC_CRASHES="${POWERSYNC_CRASHES:-8}" POWERSYNC_STARTS="${POWERSYNC_STARTS:-3}" \
    POWERSYNC_KILLS="${POWERSYNC_KILLS:-2}" POWERSYNC_ATTACHMENT_SEEDS="${POWERSYNC_ATTACHMENT_SEEDS:-4}" \
    POWERSYNC_CONNECTS="${POWERSYNC_CONNECTS:-30}" POWERSYNC_WATCHES="${POWERSYNC_WATCHES:-100}" \
    POWERSYNC_UPLOAD_ENTRIES="${POWERSYNC_UPLOAD_ENTRIES:-2000}"
# Whatever the environment says, that suppressions are among it, too. Leaks are not looked for: where an enum has several
# cases with a reference, Swift keeps the case in the reference's upper bits, and LeakSanitizer then takes for lost what a
# global holds (tried: of three cases the first is found). Long runs tell of them (LifecycleSequenceTests, EnduranceTests).
export TSAN_OPTIONS='exitcode=66' ASAN_OPTIONS='detect_leaks=0' LSAN_OPTIONS='' UBSAN_OPTIONS=''
# Tests let a process end by a failed precondition. Swift's backtracer then reads the stack from a thread of its own, which
# AddressSanitizer reports, and ThreadSanitizer crashes on.
export SWIFT_BACKTRACE=enable=no
unset POWERSYNC_SEED POWERSYNC_PLANTED

kinds=("$@")
if [ ${#kinds[@]} -eq 0 ]; then kinds=(thread address); fi
for kind in "${kinds[@]}"; do
    if [[ ! $kind =~ ^(thread|address)$ ]]; then
        echo "sanitize: there is no sanitizer $kind: thread, address" >&2
        exit 2
    fi
done

folder=.build/sanitize
mkdir -p "$folder"

# Runs tests and prints the verdict on what they said.
run() {
    local output=$1 status=0
    shift
    swift test --skip-build --disable-xctest --sanitize "$kind" --scratch-path ".build/$kind" \
        --experimental-maximum-parallelization-width "$(getconf _NPROCESSORS_ONLN)" "$@" >"$output" 2>&1 || status=$?
    Scripts/sanitize-verdict.sh "$status" "$output"
}

failed=0
for kind in "${kinds[@]}"; do
    # Memory is not judged then.
    export POWERSYNC_SANITIZER=$kind
    started=$SECONDS
    case $kind in
    # Of a stored property the two are told apart by the access that was seen first.
    thread) fault=race report='^reported: WARNING: ThreadSanitizer: (data|Swift access) race' ;;
    address) fault=overflow report='^reported: ERROR: AddressSanitizer: heap-buffer-overflow' ;;
    esac
    echo "Building the tests for the $kind sanitizer (some minutes)…"
    if ! swift build --build-tests --sanitize "$kind" --scratch-path ".build/$kind" >"$folder/$kind-build.txt" 2>&1; then
        tail -n 40 "$folder/$kind-build.txt"
        echo "The build failed; see $folder/$kind-build.txt." >&2
        exit 1
    fi
    verdict=$(POWERSYNC_PLANTED=$fault run "$folder/$kind-planted.txt" --filter PlantedFaultTests)
    if [[ ! $verdict =~ $report ]]; then
        echo "$kind: the planted $fault is not reported, but: $verdict; see $folder/$kind-planted.txt" >&2
        failed=1
        continue
    fi
    verdict=$(run "$folder/$kind.txt")
    echo "$kind: $verdict, after $((SECONDS - started)) s"
    if [ "$verdict" != clean ]; then
        failed=1
        grep -E '^✘' "$folder/$kind.txt" | head -n 20 || true
        grep -m 1 -A 60 -E 'Sanitizer: ' "$folder/$kind.txt" || true
        echo "Everything is in $folder/$kind.txt." >&2
    fi
done
exit $failed
