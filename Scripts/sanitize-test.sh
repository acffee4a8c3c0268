#!/usr/bin/env bash
# Proves what Scripts/sanitize-verdict.sh says of outputs that were kept, and that sanitize.sh has no suppressions.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
says() {
    local status=$1 file=$2 wanted=$3 verdict
    verdict=$(Scripts/sanitize-verdict.sh "$status" "Tests/Sanitizers/$file.txt")
    if [ "$verdict" != "$wanted" ]; then
        printf '%s with status %s: "%s", not "%s"\n' "$file" "$status" "$verdict" "$wanted"
        failed=1
    fi
}

says 0 clean clean
# A test that holds that a wait which is over is told has a known issue.
says 0 known clean
says 1 clean 'failed: status 1'
says 1 race 'reported: WARNING: ThreadSanitizer: data race'
# That of a child that was killed.
says 0 race 'reported: WARNING: ThreadSanitizer: data race'
says 1 overflow 'reported: ERROR: AddressSanitizer: heap-buffer-overflow on address 0x502000012340 at pc 0x55d0c0ffee00 bp 0x7ffc0ffee000 sp 0x7ffc0ffedff8'
says 1 failed 'failed: status 1'
says 0 nothing 'failed: no test ran'

if grep -rnE 'suppress(ion)?s?=|no_sanitize' Scripts/sanitize.sh Wire Platform Client --include='*.sh' --include='*.swift' --include='*.[ch]'; then
    echo 'a sanitizer is told to look away'
    failed=1
fi
exit "$failed"
