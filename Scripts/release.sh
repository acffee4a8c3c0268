#!/usr/bin/env bash
# Builds the executables for release and puts them into .build/dist, stripped.
# On Linux they carry Swift's libraries inside and need only the system's C libraries.
set -euo pipefail
cd "$(dirname "$0")/.."

flags=(-c release)
if [ "$(uname -s)" = Linux ]; then flags+=(--static-swift-stdlib); fi
mkdir -p .build/dist
for product in powersync-stack powersync-backend powersync-mock-service; do
    if [ $# -gt 0 ] && [[ " $* " != *" $product "* ]]; then continue; fi
    swift build "${flags[@]}" --product "$product"
    install -m 755 "$(swift build "${flags[@]}" --show-bin-path)/$product" ".build/dist/$product"
    strip ".build/dist/$product"
done
ls -l .build/dist
