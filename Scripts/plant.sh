#!/usr/bin/env bash
# Writes into a folder what the mistakes of a folder of Tests/Mutants make of the files that they change. All are planted,
# in the order of their names, each where the former ones are already; each is behind a switch, `Planted.isHere("NAME")`,
# which the environment variable POWERSYNC_PLANTED turns on by the name of its patch. Without that the files do what
# those of the project do.
#
# usage: Scripts/plant.sh KIND FOLDER     Sessions, Behaviours or Lookups, and an empty folder; fails if a patch does not
#                                         fit, and says which
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

kind=${1:?usage: Scripts/plant.sh KIND FOLDER}
folder=${2:?usage: Scripts/plant.sh KIND FOLDER}
patches=("$PWD/Tests/Mutants/$kind"/*.patch)
mapfile -t files < <(sed -n 's|^+++ b/||p' "${patches[@]}" | sort -u)
for file in "${files[@]}"; do
    mkdir -p "$folder/$(dirname "$file")"
    if [ -e "$file" ]; then cp "$file" "$folder/$file"; fi
    # Its target is that of the innermost folder that the manifest names.
    target=$(dirname "$file")
    until grep -qF "\"$target\"" Package.swift; do
        if [ "$target" = . ]; then
            echo "$file belongs to no target" >&2
            exit 1
        fi
        target=$(dirname "$target")
    done
    cp Tests/Mutants/Planted.swift "$folder/$target/Planted.swift"
done

# A repository of its own, or git would take the patches to be meant for the one around it.
git init -q -b planted "$folder"
failed=0
for patch in "${patches[@]}"; do
    if ! git -C "$folder" apply "$patch"; then
        echo "$(basename "$patch" .patch): the patch does not fit any more" >&2
        failed=1
    fi
done
exit "$failed"
