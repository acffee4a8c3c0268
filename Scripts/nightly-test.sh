#!/usr/bin/env bash
# Proves that a step of Scripts/nightly.sh fails in which no test ran, or one failed: it is played with a swift that only
# says what was kept.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/Scripts" "$folder/bin"
cp Scripts/nightly.sh Scripts/tests-ran.sh "$folder/Scripts/"
# shellcheck disable=SC2016 # the program that is written expands them
printf '#!/bin/sh\nif [ "$1" = test ]; then cat "$SAID" && exit "$STATUS"; fi\n' >"$folder/bin/swift"
chmod +x "$folder/bin/swift"

failed=0
# The status of the tests, what they said, the step, and what its line must begin with.
says() {
    local status=$1 said=$PWD/Tests/Sanitizers/$2.txt step=$3 wanted=$4 output result=0
    output=$(PATH=$folder/bin:$PATH STATUS=$status SAID=$said "$folder/Scripts/nightly.sh" "$step" 2>&1) || result=1
    if ! grep -qE "^$wanted +$step " <<<"$output" || { [ "$wanted" = ok ] && [ "$result" -ne 0 ]; } ||
        { [ "$wanted" = FAILED ] && [ "$result" -eq 0 ]; }; then
        printf '%s after %s with status %s is not %s:\n%s\n' "$step" "$2" "$status" "$wanted" "$output"
        failed=1
    fi
}

for step in bounds pruning; do
    says 0 clean "$step" ok
    says 0 known "$step" ok
    says 0 nothing "$step" FAILED
    says 1 failed "$step" FAILED
done
exit $failed
