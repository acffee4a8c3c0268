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

echo 'Building the module (some minutes after a fresh clone)…' >&2
swift build --target PowerSync >&2
build=$(swift build --show-bin-path)
target=$(swift -print-target-info | sed -nE 's/^ *"unversionedTriple": "(.*)".*/\1/p' | head -n 1)
maps=()
for map in Platform/*/C/module.modulemap Platform/*/C?*/module.modulemap "$build/CPowerSyncSystem.build/module.modulemap"; do
    if [ -f "$map" ]; then maps+=(-Xcc "-fmodule-map-file=$map"); fi
done
"$tool" -module-name PowerSync -minimum-access-level public -target "$target" -I "$build/Modules" \
    -module-cache-path "$build/ModuleCache" -output-dir "$folder" "${maps[@]}"
