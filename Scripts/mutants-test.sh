#!/usr/bin/env bash
# Proves what Scripts/mutants-verdict.sh says of outputs that were kept, that each behaviour that Scripts/mutants.sh draws
# has its mistake, and that all mistakes fit the code.
set -euo pipefail
cd "$(dirname "$0")/.."

failed=0
says() {
    local status=$1 file=$2 wanted=$3 verdict
    verdict=$(Scripts/mutants-verdict.sh "$status" "Tests/Mutants/Outputs/$file.txt" "${@:4}")
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

says 0 passed 'passed' Suite/test
says 1 noticed 'noticed by Suite/test at SyncPropertyTests.swift:32' Suite/test
says 1 no-seed 'noticed by Suite/test at SyncPropertyTests.swift:49' Suite/test
says 1 time-limit "$other: no issue was recorded" Suite/test
says 1 crashed "$other: Fatal error: planted" Suite/test

behaviours=Tests/Mutants/Behaviours
planted=$(for patch in "$behaviours"/*.patch; do basename "$patch" .patch; done | sort -n)
if ! diff <(Scripts/mutants.sh --draw) <(printf '%s\n' "$planted"); then
    echo 'drawn behaviours (<) are not those that have a mistake (>)'
    failed=1
fi
# Trying them takes long, and one whose code has changed is noticed here.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for kind in Sessions Behaviours Lookups; do
    mkdir "$scratch/$kind"
    if ! Scripts/plant.sh "$kind" "$scratch/$kind"; then failed=1; fi
    for patch in Tests/Mutants/"$kind"/*.patch; do
        if ! grep -q "^+.*Planted\.isHere(\"$(basename "$patch" .patch)\")" "$patch"; then
            echo "$patch is not behind a switch of its name"
            failed=1
        fi
    done
done
# What does not even parse would be noticed by the build alone.
while read -r file; do
    if ! swiftc -frontend -parse "$file"; then failed=1; fi
done < <(find "$scratch" -name '*.swift')
# A test that was renamed would notice nothing.
while IFS=: read -r patch name; do
    if ! git grep -q "func ${name##*/}(" -- ":(glob)Tests/**/$(basename "${name%/*}").swift"; then
        echo "$patch: there is no test $name"
        failed=1
    fi
done < <(grep -H '^Test: ' Tests/Mutants/*/*.patch | sed 's/:Test: /:/')
exit "$failed"
