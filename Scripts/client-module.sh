#!/usr/bin/env bash
# Builds the module PowerSync and prints the options, one a line, with which a tool of the compiler finds it.
set -euo pipefail
cd "$(dirname "$0")/.."

echo 'Building the module (some minutes after a fresh clone)…' >&2
swift build --target PowerSync >&2
build=$(swift build --show-bin-path)
printf '%s\n' -I "$build/Modules" -module-cache-path "$build/ModuleCache"
for map in "$PWD"/Platform/*/C/module.modulemap "$PWD"/Platform/*/C?*/module.modulemap "$build/CPowerSyncSystem.build/module.modulemap"; do
    if [ -f "$map" ]; then printf '%s\n' -Xcc "-fmodule-map-file=$map"; fi
done
