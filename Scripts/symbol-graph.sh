#!/usr/bin/env bash
# Builds the module PowerSync and writes what is public in it as a symbol graph.
#
# usage: Scripts/symbol-graph.sh FOLDER
set -euo pipefail
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

tool=$(dirname "$(readlink -f "$(command -v swift)")")/swift-symbolgraph-extract
if [ ! -x "$tool" ]; then
    echo "symbol-graph: the toolchain has no $tool: install the whole of it (https://swift.org/install)" >&2
    exit 1
fi

lines=$(Scripts/client-module.sh)
options=()
while IFS= read -r option; do options+=("$option"); done <<<"$lines"
target=$(swift -print-target-info | sed -nE 's/^ *"unversionedTriple": "(.*)".*/\1/p' | head -n 1)
"$tool" -module-name PowerSync -minimum-access-level public -target "$target" -output-dir "$folder" "${options[@]}"
