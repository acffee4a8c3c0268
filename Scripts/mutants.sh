#!/usr/bin/env bash
# Plants mistakes into a copy of the sources. The random sessions have to notice each of Tests/Mutants: those against a
# model, and those of a whole client whose streams are cut. A test of one behaviour has to notice each of
# Tests/Mutants/Behaviours. Those of Tests/Mutants/Lookups are in lookups, their versions, whom they wake, what sessions
# make of them and in the differ; random transactions of the service have to notice each, or the test that a patch names.
#
# usage: Scripts/mutants.sh [NAME…]      without names all of Tests/Mutants; or files of your own, PATH/TO/NAME.patch
#        Scripts/mutants.sh --behaviours [--alone] [NUMBER…]    thirty behaviours of client-api 7, drawn by a seed
#        Scripts/mutants.sh --draw        says which thirty
#        Scripts/mutants.sh --lookups [NAME…]             all of Tests/Mutants/Lookups, or these
#        Scripts/mutants.sh --lookups --draw SEED         ten of them
#   POWERSYNC_PROPERTY_SEEDS=200         how many sessions each mistake gets
#   POWERSYNC_LANGUAGE_CONFIGURATIONS=100    with how many configurations random transactions are tried for each
#   MUTANT_SECONDS=600                   how long the sessions, or one test, may take
#   MUTANTS_AT_ONCE=2                    how many of Tests/Mutants/Lookups are tried at a time
#
# The first line of a patch says what it breaks. In the sessions a mistake is noticed by an assertion that names its
# seed, and by nothing else (mutants-verdict.sh). A patch that no longer fits is a failure, too: the code that it broke
# has changed, and so must the patch. Needs GNU's timeout and bash 4.4.
#
# Those of Tests/Mutants/Lookups are built once, all together: each is behind a switch (plant-lookups.sh). The tests run
# first with none of them turned on; unless they pass, nothing is said of any. What they say of one is in
# .build/mutants/output-NAME.txt. Needs a system on which the tests are a program, such as Linux: two runs of
# `swift test` wait for each other.
#
# The patch of a behaviour names in its head the test that has to fail, which runs by itself. A build takes longer than
# that, so the mistakes of a group are planted together; --alone, or a number, plants one by itself. A group has at most
# one mistake in what syncs (Sync, Upload, Transport, Control, Database), at most one in SQL and queries (Core, Queries)
# and at most one in what are values (Schema, JSON, Wire), and none of its tests comes to lines in which another of its
# mistakes makes a difference.
set -euo pipefail
cd "$(dirname "$0")/.."

# Those of some lines whose hash with the seed is smallest: one that comes or goes changes one of them.
draw() {
    local name
    while read -r name; do
        printf '%s %s\n' "$(printf '%s %s' "$1" "$name" | sha256sum)" "$name"
    done | sort | awk -v count="$2" 'NR <= count { print $3 }'
}

seed=14
drawn() {
    git grep -hoE '\.behaviour\([0-9, ]+\)' -- Tests ':!*/BehaviourListTests.swift' | grep -oE '[0-9]+' | sort -nu |
        draw "$seed" 30 | sort -n
}

failed=0
report() {
    if [[ $2 != noticed* ]]; then failed=1; fi
    printf '%-36s | %s\n' "$(basename "$1" .patch)" "$2"
}

alone=
kind=sessions
case ${1:-} in
--draw)
    drawn
    exit
    ;;
--behaviours)
    kind=behaviours
    shift
    if [ "${1:-}" = --alone ]; then
        alone=1
        shift
    fi
    ;;
--lookups)
    kind=lookups
    shift
    if [ "${1:-}" = --draw ]; then
        seed=${2:?usage: Scripts/mutants.sh --lookups --draw SEED}
        mapfile -t ten < <(for patch in Tests/Mutants/Lookups/*.patch; do basename "$patch" .patch; done | draw "$seed" 10)
        echo "Seed $seed draws ${ten[*]}."
        set -- "${ten[@]}"
    fi
    ;;
esac

names=("$@")
patches=()
if [ "$kind" = behaviours ]; then
    if [ ${#names[@]} -gt 0 ]; then
        alone=1
    else
        mapfile -t names < <(drawn)
        echo "Seed $seed draws ${names[*]}."
        if [ ${#names[@]} -ne 30 ]; then
            echo 'There are not as many behaviours.' >&2
            exit 1
        fi
    fi
    for name in "${names[@]}"; do patches+=("$PWD/Tests/Mutants/Behaviours/$name.patch"); done
elif [ "$kind" = lookups ]; then
    if [ ${#names[@]} -eq 0 ]; then patches=("$PWD"/Tests/Mutants/Lookups/*.patch); fi
    for name in "${names[@]}"; do patches+=("$PWD/Tests/Mutants/Lookups/$name.patch"); done
elif [ ${#names[@]} -eq 0 ]; then
    patches=("$PWD"/Tests/Mutants/*.patch)
else
    for name in "${names[@]}"; do
        case $name in
        /*) patches+=("$name") ;;
        */*) patches+=("$PWD/$name") ;;
        *) patches+=("$PWD/Tests/Mutants/$name.patch") ;;
        esac
    done
fi

export POWERSYNC_ONLY=Client,Wire
if [ "$kind" = lookups ]; then POWERSYNC_ONLY=MockService,Stack; fi
export POWERSYNC_PROPERTY_SEEDS="${POWERSYNC_PROPERTY_SEEDS:-200}"
export POWERSYNC_LANGUAGE_CONFIGURATIONS="${POWERSYNC_LANGUAGE_CONFIGURATIONS:-100}"
unset POWERSYNC_SEED POWERSYNC_PLANTED
folder=$PWD/.build/mutants
source=$folder/source
log=$folder/mutants.log
# Files that take the place of the project's.
planted=$folder/planted
rm -rf "$planted"
mkdir -p "$planted"
if [ "$kind" = lookups ]; then Scripts/plant-lookups.sh "$planted"; fi

# Files that did not change keep their time, so that a second run builds little.
mkdir -p "$source"
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
# A repository of its own, or git would take the patches to be meant for this one.
if [ ! -e "$source/.git" ]; then git init -q -b mutants "$source"; fi

build() {
    swift build --build-tests --package-path "$source" --scratch-path "$folder/build" >>"$log" 2>&1
}

# Runs the tests of a filter and prints what they say; with the name of the test if it is one.
judge() {
    local output=$folder/output.txt status=0
    timeout --kill-after=10 "${MUTANT_SECONDS:-600}" \
        swift test --skip-build --disable-xctest --package-path "$source" --scratch-path "$folder/build" \
        --filter "$1" >"$output" 2>&1 || status=$?
    cat "$output" >>"$log"
    Scripts/mutants-verdict.sh "$status" "$output" "${2:-}"
}

# The same with a mistake turned on, or with none if there is no third name.
judge_planted() {
    local output=$folder/output-${3:-nothing}.txt status=0
    env --chdir="$source" ${3:+"POWERSYNC_PLANTED=$3"} timeout --kill-after=10 "${MUTANT_SECONDS:-600}" \
        "$program" --testing-library swift-testing --filter "$1" >"$output" 2>&1 || status=$?
    Scripts/mutants-verdict.sh "$status" "$output" "${2:-}"
}

# What the head of a patch says of it, such as its test or its group.
field() { sed -n "/^diff /q; s/^$1: //p" "$2"; }

: >"$log"
# The groups, in the order of their first patches, and the patches of each, one a line.
order=()
declare -A groups=()
filter=
for patch in "${patches[@]}"; do
    if [ ! -e "$patch" ]; then
        report "$patch" 'there is no such patch'
        continue
    fi
    group=$patch
    test=$(field Test "$patch")
    if [ "$kind" != sessions ] && [ -n "$test" ]; then filter+="${filter:+|}$test\\("; fi
    if [ "$kind" = behaviours ] && [ -z "$alone" ]; then group=$(field Group "$patch"); fi
    if [ -z "${groups[$group]:-}" ]; then order+=("$group"); fi
    groups[$group]="${groups[$group]:-}$patch"$'\n'
done
if [ ${#order[@]} -eq 0 ]; then exit 1; fi
# The tests of which an issue must name its seed.
case $kind in
sessions) seeded='SyncPropertyTests|SyncFaultTests' tries="$POWERSYNC_PROPERTY_SEEDS seeds" ;;
lookups) seeded=IncrementalTests tries="$POWERSYNC_LANGUAGE_CONFIGURATIONS configurations" ;;
behaviours) seeded='' tries='' ;;
esac
if [ -n "$seeded" ]; then filter+="${filter:+|}$seeded"; fi

echo 'Building the tests in a copy of the sources…'
if ! build; then
    echo "The build failed; see $log." >&2
    exit 1
fi
if [ "$kind" = lookups ]; then
    program=$(swift build --show-bin-path --package-path "$source" --scratch-path "$folder/build")/powersyncPackageTests.xctest
    result=$(judge_planted "$filter")
    log=$folder/output-nothing.txt
else
    result=$(judge "$filter")
fi
if [ "$result" != passed ]; then
    echo "Without any mistake the tests say: $result; see $log." >&2
    exit 1
fi
printf '%-36s | %s\n' mutant result

# Tries a mistake that is behind its switch, and keeps what is said of it.
try_planted() {
    local name test result
    name=$(basename "$1" .patch)
    test=$(field Test "$1")
    result=$(judge_planted "${test:-$seeded}${test:+\\(}" "$test" "$name")
    if [ "$result" = passed ]; then
        result="NOT noticed in $tries"
        if [ -n "$test" ]; then result="NOT noticed by $test"; fi
    fi
    echo "$result" >"$folder/results/$name"
    report "$1" "$result"
}

if [ "$kind" = lookups ]; then
    rm -rf "$folder/results"
    mkdir "$folder/results"
    for patch in "${order[@]}"; do
        while [ "$(jobs -rp | wc -l)" -ge "${MUTANTS_AT_ONCE:-2}" ]; do wait -n || true; done
        try_planted "$patch" &
    done
    wait
    for patch in "${order[@]}"; do
        # One that has no result was not tried to its end.
        if ! grep -qs '^noticed' "$folder/results/$(basename "$patch" .patch)"; then failed=1; fi
    done
    exit "$failed"
fi
for group in "${order[@]}"; do
    applied=()
    while read -r patch; do
        if git -C "$source" apply "$patch" 2>>"$log"; then
            applied+=("$patch")
        else
            report "$patch" 'the patch does not fit any more'
        fi
    done < <(printf '%s' "${groups[$group]}")
    built=
    if build; then built=1; fi
    for patch in "${applied[@]}"; do
        test=$(field Test "$patch")
        if [ -z "$built" ]; then
            result='failed for another reason: it does not build'
        elif [ -n "$test" ]; then
            result=$(judge "$test\\(" "$test")
            if [ "$result" = passed ]; then result="NOT noticed by $test"; fi
        else
            result=$(judge "$seeded")
            if [ "$result" = passed ]; then result="NOT noticed in $tries"; fi
        fi
        report "$patch" "$result"
    done
    for patch in "${applied[@]}"; do git -C "$source" apply -R "$patch"; done
done
exit "$failed"
