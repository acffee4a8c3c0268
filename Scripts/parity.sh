#!/usr/bin/env bash
# Compares what is public in the module PowerSync with every declaration of the contract (client-api.md, section 1).
# The declarations there are compiled as a module of the same name; two are the same if the compiler gives them the same
# mangled name, prints them alike, lets others set and override the same, and asks no more of types that conform. Each
# difference stands with its reason in Scripts/parity-differences.txt.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/ours" "$folder/contract" "$folder/module"
Scripts/symbol-graph.sh "$folder/ours"

tools=$(dirname "$(readlink -f "$(command -v swift)")")
info=$(swift -print-target-info)
compiler=$(sed -nE 's/^ *"compilerVersion": "(.*)".*/\1/p' <<<"$info" | head -n 1)
target=$(sed -nE 's/^ *"unversionedTriple": "(.*)".*/\1/p' <<<"$info" | head -n 1)
python3 Scripts/parity.py interface Documentation/Contract/client-api.md "$compiler" "$target" >"$folder/PowerSync.swiftinterface"
"$tools/swift-frontend" -compile-module-from-interface "$folder/PowerSync.swiftinterface" -module-name PowerSync \
    -o "$folder/module/PowerSync.swiftmodule" -module-cache-path "$folder/cache"
"$tools/swift-symbolgraph-extract" -module-name PowerSync -minimum-access-level public -target "$target" \
    -I "$folder/module" -module-cache-path "$folder/cache" -output-dir "$folder/contract"
python3 Scripts/parity.py compare "$folder/contract/PowerSync.symbols.json" "$folder/ours/PowerSync.symbols.json" \
    Scripts/parity-differences.txt
