#!/usr/bin/env bash
# Plants one mistake after the other into a copy of the sources; the property test has to notice each.
#
# usage: Scripts/mutants.sh [NAME…]      without names all of Tests/Mutants
#   POWERSYNC_PROPERTY_SEEDS=200         how many sessions each mistake gets
#
# The first line of a patch says what it breaks. A patch that no longer fits is a failure, too: the code that it
# broke has changed, and so must the patch.
set -euo pipefail
cd "$(dirname "$0")/.."

export POWERSYNC_ONLY=Client
export POWERSYNC_PROPERTY_SEEDS="${POWERSYNC_PROPERTY_SEEDS:-200}"
unset POWERSYNC_PROPERTY_SEED
folder=$PWD/.build/mutants
source=$folder/source
log=$folder/mutants.log

names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for patch in Tests/Mutants/*.patch; do names+=("$(basename "$patch" .patch)"); done
fi

# Files that did not change keep their time, so that a second run builds little.
mkdir -p "$source"
git ls-files -co --exclude-standard -z -- Package.swift Wire Platform Client Backend MockService Stack Benchmarks Tests |
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

# Prints how many sessions it took, nothing if all of them passed.
sessions() {
    local output=$folder/output.txt
    if swift test --skip-build --disable-xctest --package-path "$source" --scratch-path "$folder/build" \
        --filter SyncPropertyTests >"$output" 2>&1; then
        cat "$output" >>"$log"
        return
    fi
    cat "$output" >>"$log"
    local first
    first=$(grep -oE '^↳ seed [0-9]+' "$output" | grep -oE '[0-9]+' | sort -n | head -n 1)
    echo "$((${first:-0} + 1))"
}

: >"$log"
echo 'Building the tests in a copy of the sources…'
if ! build; then
    echo "The build failed; see $log." >&2
    exit 1
fi
if [ -n "$(sessions)" ]; then
    echo "The property test fails without any mistake; see $log." >&2
    exit 1
fi
failed=0
printf '%-36s | %s\n' mutant result
for name in "${names[@]}"; do
    patch=$PWD/Tests/Mutants/$name.patch
    if ! git -C "$source" apply "$patch" 2>>"$log"; then
        result='the patch does not fit any more'
        failed=1
    else
        if ! build; then
            result='does not build'
            failed=1
        else
            count=$(sessions)
            if [ -n "$count" ]; then
                result="noticed after $count seeds"
            else
                result="NOT noticed in $POWERSYNC_PROPERTY_SEEDS seeds"
                failed=1
            fi
        fi
        git -C "$source" apply -R "$patch"
    fi
    printf '%-36s | %s\n' "$name" "$result"
done
exit $failed
