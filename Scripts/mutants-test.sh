#!/usr/bin/env bash
# Proves what Scripts/mutants-verdict.sh says of outputs that were kept.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
says() {
    local status=$1 file=$2 wanted=$3 verdict
    verdict=$(Scripts/mutants-verdict.sh "$status" "Tests/Mutants/Outputs/$file.txt")
    if [ "$verdict" != "$wanted" ]; then
        printf '%s with status %s: "%s", not "%s"\n' "$file" "$status" "$verdict" "$wanted"
        failed=1
    fi
}

other='failed for another reason'
says 0 passed 'passed'
says 1 noticed 'noticed after 6 seeds'
says 1 noticed-by-trait 'noticed after 13 seeds'
# A seed was named, but it may be the crash that ended the session.
says 1 crashed "$other: Fatal error: planted"
says 1 killed "$other: unexpected signal code 9"
says 124 ended-early "$other: it took too long, or too much memory"
says 137 ended-early "$other: it took too long, or too much memory"
says 1 ended-early "$other: the run did not come to its end"
says 1 no-seed "$other: no assertion named a seed"
says 0 nothing "$other: no test ran"
says 127 nothing "$other: status 127"
exit "$failed"
