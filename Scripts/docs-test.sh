#!/usr/bin/env bash
# Proves that Scripts/docs.sh writes the reference without a warning and shows it: fetches the index and three pages.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
server=''
finish() {
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
    rm -rf "$folder"
}
trap finish EXIT
fail() {
    echo "docs.sh: $1" >&2
    exit 1
}

# What the arguments are, and what it must say of them before it builds anything.
refuses() {
    local text=$1 result=0
    shift
    Scripts/docs.sh "$@" >"$folder/out" 2>&1 || result=$?
    if [ "$result" -ne 2 ] || ! grep -qF "docs: $text; usage:" "$folder/out"; then
        fail "$* ended with $result and said: $(cat "$folder/out")"
    fi
}
refuses 'unknown argument --what' --what
refuses 'unknown argument x' --serve 8080 x
refuses 'there is no port word' --serve word
refuses 'there is no port 65536' --serve 65536
refuses 'there is no port ' --serve ''

Scripts/docs.sh --serve >"$folder/address" 2>"$folder/log" &
server=$!
for _ in {1..6000}; do
    if [ -s "$folder/address" ]; then break; fi
    kill -0 "$server" 2>/dev/null || fail "it ended: $(cat "$folder/log")"
    sleep 0.1
done
address=$(sed -nE 's/^(http:[^ ]*)\/documentation.*/\1/p' "$folder/address")
[ -n "$address" ] || fail "it named no address: $(cat "$folder/address")"

# The page, the data behind it, and a text that stands there.
python3 - "$address" <<'PYTHON'
import sys
import urllib.request

pages = {
    "": "Keep the SQLite database of an app in step with Postgres",
    "/powersyncdatabaseprotocol": "Starts syncing in the background",
    "/queries": "Runs a callback with a reading connection",
    "/powersyncerror/code-swift.struct": "The kind of a failure",
}
for path, text in pages.items():
    with urllib.request.urlopen(f"{sys.argv[1]}/documentation/powersync{path}/") as answer:
        page = answer.read().decode()
    if "<title>" not in page:
        sys.exit(f"docs.sh: {path or 'the index'} is no page")
    with urllib.request.urlopen(f"{sys.argv[1]}/data/documentation/powersync{path}.json") as answer:
        data = answer.read().decode()
    if text not in data:
        sys.exit(f"docs.sh: {path or 'the index'} does not say: {text}")
PYTHON
