#!/usr/bin/env bash
# Installs the peers of Scripts/peers-requirements.txt from PyPI into .build/peers, where they disturb nothing, and the
# system's PgBouncer; quick and silent when they are there. Needs the network at its first run, and whenever the
# requirements change.
#
# usage: Scripts/peers.sh
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=Scripts/peers-requirements.txt
folder=.build/peers
Scripts/setup.sh pgbouncer
if cmp -s "$requirements" "$folder/$(basename "$requirements")"; then exit 0; fi
Scripts/setup.sh python
rm -rf "$folder"
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet --disable-pip-version-check --require-hashes --requirement "$requirements"
# Last, because tests take it for the sign that all is there.
cp "$requirements" "$folder"
