#!/usr/bin/env bash
# Proves that nothing in the environment narrows what .ci/run runs: it is played with a make that only tells its environment.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/.ci" "$folder/Scripts" "$folder/bin"
cp .ci/run "$folder/.ci/"
printf '#!/bin/sh\n' >"$folder/Scripts/setup.sh"
# shellcheck disable=SC2016 # the target that make is given, then
printf '#!/bin/sh\nenv >"%s/told-$1"\n' "$folder" >"$folder/bin/make"
chmod +x "$folder/Scripts/setup.sh" "$folder/bin/make"

kept=POWERSYNC_TEST_PATIENCE=2
narrow=(ARGS='--filter None' DATABASE_URI=postgresql://h/d POWERSYNC_TESTS=unit POWERSYNC_ONLY=YAML POWERSYNC_SEED=1
    POWERSYNC_PROPERTY_SEEDS=1 POWERSYNC_LIFECYCLES=1)
env "PATH=$folder/bin:$PATH" "$kept" "${narrow[@]}" "$folder/.ci/run" >/dev/null
status=0
for target in test test-package test-api lint; do
    for setting in "${narrow[@]}"; do
        if grep -qxF -- "$setting" "$folder/told-$target"; then
            echo "$setting reaches make $target"
            status=1
        fi
    done
    grep -qxF "$kept" "$folder/told-$target" || { echo "$kept does not reach make $target" && status=1; }
done
exit $status
