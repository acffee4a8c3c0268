#!/usr/bin/env bash
# Plants mistakes into a copy of the sources, which tests have to notice. Of Tests/Mutants
#   Sessions     are in what syncs: random sessions have to notice each, those against a model, and those of a whole
#                client whose streams are cut
#   Behaviours   are in thirty behaviours of client-api 7, drawn by a seed: the test that a patch names has to notice it
#   Lookups      are in lookups, their versions, whom they wake, what sessions make of them and in the differ: random
#                transactions of the service have to notice each, or the test that a patch names
#
# usage: Scripts/mutants.sh [NAME…]                    without names all of Sessions
#        Scripts/mutants.sh --behaviours [NUMBER…]     all of Behaviours, or these
#        Scripts/mutants.sh --lookups [NAME…]          all of Lookups, or these
#        Scripts/mutants.sh --lookups --draw SEED      ten of them
#        Scripts/mutants.sh --draw                     says which thirty behaviours are drawn
#   POWERSYNC_PROPERTY_SEEDS=200         how many sessions each mistake gets
#   POWERSYNC_LANGUAGE_CONFIGURATIONS=100    with how many configurations random transactions are tried for each
#   MUTANT_SECONDS=600                   how long the sessions, or one test, may take
#   MUTANTS_AT_ONCE=2                    how many are tried at a time
#
# All of a folder are built once, together: each is behind a switch of its name (plant.sh). The tests run first with none
# of them turned on; unless they pass, nothing is said of any. What they say of one is in
# .build/mutants/output-NAME.txt.
#
# The first line of a patch says what it breaks. In the sessions a mistake is noticed by an assertion that names its
# seed, and by nothing else (mutants-verdict.sh). A patch that no longer fits is a failure, too: the code that it broke
# has changed, and so must the patch. Needs GNU's timeout, bash 4.4, and a system on which the tests are a program, such
# as Linux: two runs of `swift test` wait for each other.
set -euo pipefail
cd "$(dirname "$0")/.."

# Those of some lines whose hash with the seed is smallest: one that comes or goes changes one of them.
draw() {
    local name
    while read -r name; do
        printf '%s %s\n' "$(printf '%s %s' "$1" "$name" | sha256sum)" "$name"
    done | sort | awk -v count="$2" 'NR <= count { print $3 }'
}

kind=Sessions
case ${1:-} in
--draw)
    git grep -hoE '\.behaviour\([0-9, ]+\)' -- Tests ':!*/BehaviourListTests.swift' | grep -oE '[0-9]+' | sort -nu |
        draw 14 30 | sort -n
    exit
    ;;
--behaviours)
    kind=Behaviours
    shift
    ;;
--lookups)
    kind=Lookups
    shift
    if [ "${1:-}" = --draw ]; then
        seed=${2:?usage: Scripts/mutants.sh --lookups --draw SEED}
        mapfile -t ten < <(for patch in Tests/Mutants/Lookups/*.patch; do basename "$patch" .patch; done | draw "$seed" 10)
        echo "Seed $seed draws ${ten[*]}."
        set -- "${ten[@]}"
    fi
    ;;
esac

# What each is tried with, in which an issue must name its seed: a patch of a behaviour names its test itself.
export POWERSYNC_PROPERTY_SEEDS="${POWERSYNC_PROPERTY_SEEDS:-200}"
export POWERSYNC_LANGUAGE_CONFIGURATIONS="${POWERSYNC_LANGUAGE_CONFIGURATIONS:-100}"
case $kind in
Sessions) only=Client,Wire seeded='SyncPropertyTests|SyncFaultTests' tries="$POWERSYNC_PROPERTY_SEEDS seeds" ;;
Behaviours) only=Client,Wire seeded='' tries='' ;;
Lookups) only=MockService,Stack seeded=IncrementalTests tries="$POWERSYNC_LANGUAGE_CONFIGURATIONS configurations" ;;
esac
export POWERSYNC_ONLY=$only
unset POWERSYNC_SEED POWERSYNC_PLANTED

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    mapfile -t names < <(for patch in "Tests/Mutants/$kind"/*.patch; do basename "$patch" .patch; done | sort -V)
fi
# What the head of a patch says of it, such as its test.
field() { sed -n "/^diff /q; s/^$1: //p" "Tests/Mutants/$kind/$2.patch"; }
filter=$seeded
for name in "${names[@]}"; do
    if [ ! -e "Tests/Mutants/$kind/$name.patch" ]; then
        echo "There is no Tests/Mutants/$kind/$name.patch." >&2
        exit 1
    fi
    test=$(field Test "$name")
    if [ -n "$test" ]; then filter+="${filter:+|}$test\\("; fi
done

folder=$PWD/.build/mutants
source=$folder/source
log=$folder/mutants.log
# Files that take the place of the project's.
planted=$folder/planted
rm -rf "$planted" "$folder/results"
mkdir -p "$planted" "$source" "$folder/results"
Scripts/plant.sh "$kind" "$planted"

# Files that did not change keep their time, so that a second run builds little.
{
    git ls-files -co --exclude-standard -z -- Package.swift Wire Platform Client Conformance Backend MockService Stack Benchmarks Tests
    (cd "$planted" && find . -name Planted.swift -print0)
} | while IFS= read -r -d '' file; do
    from=$file
    if [ -e "$planted/$file" ]; then from=$planted/$file; fi
    if [ -e "$from" ] && ! cmp -s "$from" "$source/$file"; then
        mkdir -p "$source/$(dirname "$file")"
        cp "$from" "$source/$file"
    fi
done
(cd "$source" && find . -name '*.swift' -not -path './.build/*') | while read -r file; do
    if [ ! -e "$file" ] && [ ! -e "$planted/$file" ]; then rm "$source/$file"; fi
done

echo 'Building the tests in a copy of the sources…'
if ! swift build --build-tests --package-path "$source" --scratch-path "$folder/build" >"$log" 2>&1; then
    echo "The build failed; see $log." >&2
    exit 1
fi
program=$(swift build --show-bin-path --package-path "$source" --scratch-path "$folder/build")/powersyncPackageTests.xctest

# What the tests of a filter say with a mistake turned on, or with none if there is no third name; with the name of the
# test if it is one.
judge() {
    local output=$folder/output-${3:-nothing}.txt status=0
    env --chdir="$source" ${3:+"POWERSYNC_PLANTED=$3"} timeout --kill-after=10 "${MUTANT_SECONDS:-600}" \
        "$program" --testing-library swift-testing --filter "$1" >"$output" 2>&1 || status=$?
    Scripts/mutants-verdict.sh "$status" "$output" "${2:-}"
}

result=$(judge "$filter")
if [ "$result" != passed ]; then
    echo "Without any mistake the tests say: $result; see $folder/output-nothing.txt." >&2
    exit 1
fi
printf '%-36s | %s\n' mutant result

# Tries one mistake and keeps what is said of it.
try() {
    local test result
    test=$(field Test "$1")
    result=$(judge "${test:-$seeded}${test:+\\(}" "$test" "$1")
    if [ "$result" = passed ]; then
        result="NOT noticed in $tries"
        if [ -n "$test" ]; then result="NOT noticed by $test"; fi
    fi
    echo "$result" >"$folder/results/$1"
    printf '%-36s | %s\n' "$1" "$result"
}

for name in "${names[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "${MUTANTS_AT_ONCE:-2}" ]; do wait -n || true; done
    try "$name" &
done
wait
failed=0
for name in "${names[@]}"; do
    # One that has no result was not tried to its end.
    if ! grep -qs '^noticed' "$folder/results/$name"; then failed=1; fi
done
exit "$failed"
