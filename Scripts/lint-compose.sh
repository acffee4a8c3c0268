#!/usr/bin/env bash
# Checks docker-compose.yml against the schema of the compose specification, and its variables; needs no Docker.
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
"$venv/bin/check-jsonschema" --quiet --builtin-schema vendor.compose-spec docker-compose.yml

# Every variable has a value in .env or a default, and the service's configuration gets all that it asks for.
status=0
while read -r name; do
    if ! grep -q "^$name=" .env; then
        echo "docker-compose.yml: \${$name} stands neither in .env nor has it a default"
        status=1
    fi
done < <(sed 's/#.*//' docker-compose.yml | grep -oE '\$\{[A-Z0-9_]+\}' | tr -d '${}' | sort -u)
while IFS=: read -r file name; do
    if ! grep -qE "^ +$name: " docker-compose.yml; then
        echo "$file: docker-compose.yml does not set $name"
        status=1
    fi
done < <(grep -HoE '^[^#]*!env [A-Za-z0-9_]+' docker/powersync.yaml docker/mock-service.yaml | sed 's/:.*!env /:/' | sort -u)
exit $status
