#!/usr/bin/env bash
# Proves that Scripts/examples.sh takes what compiles, and names the place of each example that does not.
# shellcheck disable=SC2016 # what looks like a command is the mark of a fence
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
status=0
# Writes a source whose doc comment has the lines of an example, the first of them in line 4.
source_file() {
    local file=$folder/$1 line
    mkdir -p "$(dirname "$file")"
    {
        printf '/// A type.\n///\n/// ```swift\n'
        while IFS= read -r line; do printf '/// %s\n' "$line"; done
        printf '/// ```\nstruct Example {}\n'
    } >"$file"
}
# The check must fail, and say this.
notices() {
    local output text
    if output=$(Scripts/examples.sh "$folder" 2>&1); then
        echo "not noticed: $*"
        status=1
        return
    fi
    for text in "$@"; do
        grep -qF -- "$text" <<<"$output" || { printf 'not noticed: %s\n%s\n' "$text" "$output" && status=1; }
    done
}

source_file Client/Good.swift <<'SWIFT'
let names = try await database.getAll("SELECT name FROM lists") { try $0.getString(index: 0) }
SWIFT
printf 'Words.\n\n```swift\nimport PowerSync\n\nlet text = account\n```\n\n```\nno example\n```\n' >"$folder/GUIDE.md"
if ! output=$(Scripts/examples.sh "$folder" 2>&1); then
    printf 'examples that compile are refused:\n%s\n' "$output"
    status=1
fi

source_file Client/Misspelled.swift <<'SWIFT'
try await database.disconnect()
try await database.disconect()
SWIFT
source_file Client/Warned.swift <<'SWIFT'
func unused() async throws {
    let version = try await database.getPowerSyncVersion()
}
SWIFT
printf '1. Words.\n\n   ```swift\n   let count: Int = "one"\n   ```\n' >"$folder/Client/LIST.md"
notices Client/Misspelled.swift:5: Client/Warned.swift:5: Client/LIST.md:4:
rm "$folder"/Client/*

source_file Client/Good.swift <<<'print(database.currentStatus.connected)'
printf '/// A type.\n///\n/// ```\n/// let a = 1\n/// ```\nstruct Example {}\n' >"$folder/Client/Unnamed.swift"
notices 'Client/Unnamed.swift:3: the fence names no language'
printf '/// A type.\n///\n/// ```swift\n/// let a = 1\nstruct Example {}\n' >"$folder/Client/Unnamed.swift"
notices 'Client/Unnamed.swift:3: the fence has no end'
exit $status
