#!/usr/bin/env bash
# Checks docker-compose.yml against the schema of the compose specification; needs no Docker.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.39.0
venv=.build/lint-venv
marker=$venv/check-jsonschema-$version
if [ ! -e "$marker" ]; then
    Scripts/setup.sh python
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "check-jsonschema==$version"
    touch "$marker"
fi
"$venv/bin/check-jsonschema" --builtin-schema vendor.compose-spec docker-compose.yml
