#!/usr/bin/env bash
# Plants one mistake after the other into a copy of the sources; the random sessions have to notice each: those against a
# model, and those of a whole client whose streams are cut.
#
# usage: Scripts/mutants.sh [NAME…]      without names all of Tests/Mutants; or files of your own, PATH/TO/NAME.patch
#   POWERSYNC_PROPERTY_SEEDS=200         how many sessions each mistake gets
#   MUTANT_SECONDS=600                   how long the sessions may take
#
# The first line of a patch says what it breaks. A mistake is noticed by an assertion that names its seed, and by
# nothing else (mutants-verdict.sh). A patch that no longer fits is a failure, too: the code that it broke has changed,
# and so must the patch. Needs GNU's timeout.
set -euo pipefail
cd "$(dirname "$0")/.."

export POWERSYNC_ONLY=Client
export POWERSYNC_PROPERTY_SEEDS="${POWERSYNC_PROPERTY_SEEDS:-200}"
unset POWERSYNC_SEED
folder=$PWD/.build/mutants
source=$folder/source
log=$folder/mutants.log

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for patch in Tests/Mutants/*.patch; do names+=("$(basename "$patch" .patch)"); done
fi

# Files that did not change keep their time, so that a second run builds little.
mkdir -p "$source"
git ls-files -co --exclude-standard -z -- Package.swift Wire Platform Client Conformance Backend MockService Stack Benchmarks Tests |
    while IFS= read -r -d '' file; do
        if [ -e "$file" ] && ! cmp -s "$file" "$source/$file"; then
            mkdir -p "$source/$(dirname "$file")"
            cp "$file" "$source/$file"
        fi
    done
(cd "$source" && find . -name '*.swift' -not -path './.build/*') | while read -r file; do
    if [ ! -e "$file" ]; then rm "$source/$file"; fi
done
# A repository of its own, or git would take the patches to be meant for this one.
if [ ! -e "$source/.git" ]; then git init -q -b mutants "$source"; fi

build() {
    swift build --build-tests --package-path "$source" --scratch-path "$folder/build" >>"$log" 2>&1
}

# Runs the sessions and prints what they say.
sessions() {
    local output=$folder/output.txt status=0
    timeout --kill-after=10 "${MUTANT_SECONDS:-600}" \
        swift test --skip-build --disable-xctest --package-path "$source" --scratch-path "$folder/build" \
        --filter 'SyncPropertyTests|SyncFaultTests' >"$output" 2>&1 || status=$?
    cat "$output" >>"$log"
    Scripts/mutants-verdict.sh "$status" "$output"
}

: >"$log"
echo 'Building the tests in a copy of the sources…'
if ! build; then
    echo "The build failed; see $log." >&2
    exit 1
fi
result=$(sessions)
if [ "$result" != passed ]; then
    echo "Without any mistake the sessions say: $result; see $log." >&2
    exit 1
fi
failed=0
printf '%-36s | %s\n' mutant result
for name in "${names[@]}"; do
    case $name in
    /*) patch=$name ;;
    */*) patch=$PWD/$name ;;
    *) patch=$PWD/Tests/Mutants/$name.patch ;;
    esac
    if ! git -C "$source" apply "$patch" 2>>"$log"; then
        result='the patch does not fit any more'
    else
        result='failed for another reason: it does not build'
        if build; then result=$(sessions); fi
        git -C "$source" apply -R "$patch"
    fi
    if [ "$result" = passed ]; then result="NOT noticed in $POWERSYNC_PROPERTY_SEEDS seeds"; fi
    if [[ $result != noticed* ]]; then failed=1; fi
    printf '%-36s | %s\n' "$(basename "$name" .patch)" "$result"
done
exit $failed
