#!/usr/bin/env bash
# Proves that nothing in the environment narrows what .ci/run runs, and that it fails where a part does: it is played with a
# make that only tells its environment, and fails for the target that MAKE_FAILS names.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/.ci" "$folder/Scripts" "$folder/bin"
cp .ci/run "$folder/.ci/"
printf '#!/bin/sh\n' >"$folder/Scripts/setup.sh"
# shellcheck disable=SC2016 # expanded when it runs
printf '#!/bin/sh\nenv >"%s/told-$1"\n[ "$1" != "${MAKE_FAILS:-}" ]\n' "$folder" >"$folder/bin/make"
chmod +x "$folder/Scripts/setup.sh" "$folder/bin/make"

kept=POWERSYNC_TEST_PATIENCE=2
narrow=(ARGS='--filter None' DATABASE_URI=postgresql://h/d POWERSYNC_TESTS=unit POWERSYNC_ONLY=YAML POWERSYNC_SEED=1
    POWERSYNC_PROPERTY_SEEDS=1 POWERSYNC_LIFECYCLES=1 POWERSYNC_PEERS=left-out MAKEFLAGS=in MFLAGS=-in
    GNUMAKEFLAGS=-in MAKEFILES=/dev/null)
run() { env "PATH=$folder/bin:$PATH" "$kept" "${narrow[@]}" "$@" "$folder/.ci/run"; }
status=0
if ! output=$(run); then
    printf 'nothing fails, and .ci/run does:\n%s\n' "$output"
    status=1
fi
for target in peers test test-package test-api lint; do
    for setting in "${narrow[@]}"; do
        if grep -qxF -- "$setting" "$folder/told-$target"; then
            echo "$setting reaches make $target"
            status=1
        fi
    done
    grep -qxF "$kept" "$folder/told-$target" || { echo "$kept does not reach make $target" && status=1; }
done
grep -qxF POWERSYNC_PEERS=required "$folder/told-test" || { echo 'tests may leave peers out' && status=1; }
if run MAKE_FAILS=peers >/dev/null 2>&1; then
    echo 'make peers fails, and .ci/run does not'
    status=1
fi
while read -r target name; do
    if output=$(run "MAKE_FAILS=$target"); then
        echo "make $target fails, and .ci/run does not"
        status=1
    elif [ "$(grep '^FAILED' <<<"$output")" != "FAILED  $name" ]; then
        printf 'make %s fails, and .ci/run says:\n%s\n' "$target" "$output"
        status=1
    fi
done <<'TARGETS'
test tests
test-package package
test-api api
lint lint
TARGETS
exit $status
