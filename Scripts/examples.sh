#!/usr/bin/env bash
# Compiles all examples: every fence in Swift of a doc comment or a Markdown file, as an app that imports the client alone.
#
# An example is made of whole statements. It may speak of `database`, `connector` and `account` without declaring them
# (Scripts/examples.py), and stands in a function of its own. What does not compile, or makes a warning, is told with the file
# and the line where it stands. Takes seconds once the module is built; runs nothing.
#
# usage: Scripts/examples.sh [FOLDER]      those of the project, unless said otherwise
set -euo pipefail
folder=$(cd "${1:-$(dirname "$0")/..}" && pwd)
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 Scripts/examples.py "$folder" "$work"
lines=$(Scripts/client-module.sh)
options=()
while IFS= read -r option; do options+=("$option"); done <<<"$lines"
# The other style of diagnostics shows the lines of the file that is compiled, and not those of the example.
swiftc -c -wmo -parse-as-library -swift-version 6 -warnings-as-errors -diagnostic-style llvm -module-name Examples \
    "${options[@]}" -o "$work/Examples.o" "$work"/*.swift
echo 'examples: all of them compile'
